"""Compiles `then` to a CompiledThen, so that only work that depends on the call is left for each answer."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import accumulate
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from mockserver.config.errors import SourceLocation
from mockserver.config.source import suggest
from mockserver.config.timing import compile_timing, explain_unknown_profile, has_both_speeds
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft, Draft, DraftChoice, PlayCassette, RenderContext, RuleAnswer
from mockserver.core.plan import Forward, Raw, Text, Timing
from mockserver.core.tokens import Chunks
from mockserver.kinds import OPERATIONS, THEN_KEYS
from mockserver.kinds.kind import ThenKey
from mockserver.model import GENERATORS
from mockserver.model.budget import MAX_TEXT_TOKENS
from mockserver.rules.answer.content import (
    add_ending,
    compile_content,
    compile_error,
    compile_failed,
    compile_headers,
    compile_raw,
    compile_trip,
    find_cut,
    make_verdicts,
)
from mockserver.rules.answer.faults import compile_faults, find_order_dependence
from mockserver.rules.answer.notices import add_notices
from mockserver.rules.checks import find_kind
from mockserver.rules.schema import BranchSpec, ChoiceSpec, GenerateSpec, ThenSpec, TimingSpec, UsageSpec
from mockserver.rules.templates import CompileContext, Compiled, combine, gather, make_constant


class Branch(Struct, frozen=True):
    """A step, branch or fault of a rule: its path as `x-mockserver-source` shows it, and its place in the file."""

    path: str
    place: SourceLocation | None
    fault: str = ""


def _list_branches(then: ThenSpec, context: CompileContext) -> Iterator[Branch]:
    for path, inner in then.walk():
        here = context.at(*path)
        if path and not inner.steps and not inner.one_of:
            yield Branch(here.inside, _find_place(context.at(*path[:-1]) if path[-1] == "then" else here))
        for at, fault in enumerate(inner.faults or ()):
            name = next(iter(fault), "") if isinstance(fault, Mapping) else fault
            yield Branch(here.at("faults", at).inside, _find_place(here.at("faults", at)), str(name))


def _find_place(context: CompileContext) -> SourceLocation | None:
    return context.mistakes.document.find_place(context.path)


MakeAnswer = Callable[[RenderContext], RuleAnswer]
_Choices = Compiled[tuple[DraftChoice, ...]]


class CompiledThen(Struct, frozen=True):
    """The `then` of a rule, ready to answer calls, with facts about it for reports and checks.

    `branches` are its steps, branches and faults. `order_dependent` names the features of its faults that depend on the
    order of calls. `answers` tells for each step or branch whether it answers, or only modifies how later rules'
    answers are sent. `generators` are the generators that it uses. `known` is its answer, if that is the same for every
    call. `files` are the files beside the rules that it sends.
    """

    respond: MakeAnswer
    branches: tuple[Branch, ...] = ()
    order_dependent: tuple[str, ...] = ()
    answers: tuple[bool, ...] = (True,)
    generators: tuple[str, ...] = ()
    known: RuleAnswer | None = None
    files: tuple[bytes, ...] = ()


def compile_then(then: ThenSpec, context: CompileContext) -> CompiledThen:
    leaves = [inner for _, inner in then.walk() if not inner.steps and not inner.one_of]
    response = _compile_response(then, context)
    return CompiledThen(
        respond=response.make,
        branches=tuple(_list_branches(then, context)),
        order_dependent=tuple(find_order_dependence(then)),
        answers=tuple(not leaf.model_fields_set <= {"timing", "faults"} for leaf in leaves),
        generators=tuple(_get_generate(leaf).kind for leaf in leaves if leaf.generate is not None),
        known=response.known[0] if response.known else None,
        files=tuple(context.files),
    )


def _compile_response(then: ThenSpec, context: CompileContext) -> Compiled[RuleAnswer]:
    response = _compile_outcome(then, context)
    faults = compile_faults(then, context)
    return response.map(lambda whole: replace(whole, faults=faults)) if faults else response


def _compile_outcome(then: ThenSpec, context: CompileContext) -> Compiled[RuleAnswer]:
    timing = None if then.timing is None else _compile_timing(then.timing, context.at("timing"))
    match find_kind(then, context):
        case "error":
            return compile_error(then, context).map(partial(RuleAnswer, timing=timing))
        case "content_filter":
            return compile_trip(then, context).map(partial(RuleAnswer, timing=timing))
        case "raw" if then.raw is not None:
            return compile_raw(then.raw, context.at("raw")).map(partial(RuleAnswer, timing=timing))
        case "cassette" if then.cassette is not None:
            return make_constant(RuleAnswer(PlayCassette(then.cassette), timing))
        case "forward":
            return make_constant(RuleAnswer(Forward()))
        case str() as key if key in THEN_KEYS:
            return _compile_artifact(THEN_KEYS[key], then, context).map(partial(RuleAnswer, timing=timing))
        case "delivery":
            return make_constant(RuleAnswer(None, timing))
        case "steps":
            return _compile_steps(then.steps or [], context.at("steps"))
        case "one_of":
            return _compile_one_of(then.one_of or [], context.at("one_of"))
        case None:
            return make_constant(RuleAnswer(Draft(())))
        case kind:
            draft = _compile_draft(kind, then, context)
            if "json_" not in then.model_fields_set:
                return draft.map(partial(RuleAnswer, timing=timing))
            return Compiled(lambda scope: RuleAnswer(_fit_json(draft.make(scope), scope.call), timing))


def _fit_json(draft: Draft, call: Call) -> Draft | Raw:
    """Return the draft; where no text can answer, as at a path that no dialect knows, its JSON is the whole body."""
    if OPERATIONS[call.operation].takes_text:
        return draft
    text = next(part.text for part in draft.choices[0].parts if isinstance(part, Text))
    named = any(name == "content-type" for name, _ in draft.headers)
    headers = draft.headers if named else (*draft.headers, ("content-type", "application/json"))
    body = text.encode()
    return Raw(200, (*headers, ("content-length", str(len(body)))), body)


def _compile_draft(kind: str, then: ThenSpec, context: CompileContext) -> Compiled[Draft]:
    model = _check_model(then, context)
    usage = _make_usage(then.usage)
    safety = make_verdicts(then.annotate, None, "prompt")
    headers = compile_headers(then.headers, context.at("headers")) if then.headers else ()
    broken = compile_failed(then.failed, context.at("failed"))
    mark = then.system_fingerprint if "system_fingerprint" in then.model_fields_set else ""
    draft = combine(
        _compile_choices(kind, then, context),
        broken,
        lambda choices, why: Draft(choices, model, usage, safety, headers, why, mark),
    )
    return add_notices(then, context, draft) if _NOTICES.intersection(then.stated_keys) else draft


def _compile_artifact(kind: ThenKey, then: ThenSpec, context: CompileContext) -> Compiled[ArtifactDraft]:
    stated = None
    try:
        stated = kind.compile(getattr(then, kind.key), context.read_file)
    except ValueError as why:
        context.at(kind.key).refuse(str(why))
    draft = ArtifactDraft(
        model=_check_model(then, context),
        usage=_make_usage(then.usage),
        headers=compile_headers(then.headers, context.at("headers")),
        key=kind.key,
    )
    return _compile_texts(stated, context.at(kind.key)).map(lambda made: replace(draft, stated=made))


def _compile_texts(stated: Any, context: CompileContext) -> Compiled[Any]:
    """Compile the templates in what a rule states: in a text, in the texts of a Struct, or in several of these."""
    match stated:
        case str():
            return context.compile_text(stated)
        case tuple() if all(isinstance(each, str | Struct) for each in stated):
            return gather([_compile_texts(each, context) for each in stated])
        case Struct():
            texts = {name: value for name, value in asdict(stated).items() if isinstance(value, str)}
            made = gather(map(context.compile_text, texts.values()))
            return made.map(lambda values: replace(stated, **dict(zip(texts, values, strict=True))))
    return make_constant(stated)


def _check_model(then: ThenSpec, context: CompileContext) -> str | None:
    if then.model is not None:
        context.at("model").refuse_template(then.model)
    return then.model


def _compile_choices(kind: str, then: ThenSpec, context: CompileContext) -> _Choices:
    match kind:
        case "choices":
            return gather(
                _compile_choice(choice, context.at("choices", at)) for at, choice in enumerate(then.choices or [])
            )
        case "echo":
            cut = _find_unknown_cut(then, context)
            echo = Compiled(lambda scope: DraftChoice((Text(scope.call.last_user, cut),)))
            return gather((add_ending(then, context, echo),))
        case "generate":
            return _compile_generated(then, context)
    return gather((compile_content(then, context),))


def _find_unknown_cut(then: ThenSpec, context: CompileContext) -> Chunks:
    """Return how to cut a text that only a call decides; exact pieces are a mistake."""
    cut = find_cut(then.chunks)
    if isinstance(cut, tuple):
        context.at("chunks").refuse("exact pieces need fixed text; use token, word, char or {size: 7}")
    return cut


def _compile_generated(then: ThenSpec, context: CompileContext) -> _Choices:
    spec = _get_generate(then)
    _check_generate(spec, context.at("generate"), is_table=spec is then.generate)
    kind = spec.kind
    options = spec.model_dump(exclude_unset=True, exclude={"kind"}, by_alias=True)
    cut = _find_unknown_cut(then, context)

    def make(scope: RenderContext) -> tuple[DraftChoice, ...]:
        made = (scope.generate(kind, options, index) for index in range(scope.call.options.n))
        return tuple([replace(choice, parts=tuple([replace(p, chunks=cut) for p in choice.parts])) for choice in made])

    ending = add_ending(then, context, make_constant(DraftChoice(()))).known[0]
    if ending == DraftChoice(()):
        return Compiled(make)
    return Compiled(make).map(lambda made: tuple([replace(ending, parts=choice.parts) for choice in made]))


def _get_generate(then: ThenSpec) -> GenerateSpec:
    return then.generate if isinstance(then.generate, GenerateSpec) else GenerateSpec(kind=then.generate or "auto")


def _check_generate(spec: GenerateSpec, context: CompileContext, *, is_table: bool) -> None:
    kind = spec.kind
    if kind not in KINDS:
        (context.at("kind") if is_table else context).refuse(f'unknown generator "{kind[:60]}"{suggest(kind, KINDS)}')
    if spec.schema_ is not None and kind != "schema":
        context.at("schema").refuse_key(f'"schema" cannot be combined with kind: {kind}; write kind: schema')
    elif spec.schema_ is not None:
        from mockserver.model.schema import find_schema_error  # slow to import, and few rules need it

        if why := find_schema_error(spec.schema_):
            context.at("schema").refuse(f"invalid JSON Schema: {why}")
    if spec.tokens is not None:
        _check_tokens(spec.tokens, kind, context.at("tokens"))


def _check_tokens(tokens: int, kind: str, context: CompileContext) -> None:
    if tokens > MAX_TEXT_TOKENS:
        context.refuse(f'"tokens" expects at most {MAX_TEXT_TOKENS}, not {tokens}')
    elif kind in _FIXED_LENGTH_KINDS:
        others = ", ".join(name for name in KINDS if name not in _FIXED_LENGTH_KINDS)
        context.refuse_key(f'"tokens" has no effect for kind: {kind}; use it with {others}')


def _compile_steps(steps: list[ThenSpec], context: CompileContext) -> Compiled[RuleAnswer]:
    """Choose the step by turn; the last one repeats."""
    makers = [_compile_branch(step, context.at(at)) for at, step in enumerate(steps)]
    last = len(makers) - 1
    return Compiled(lambda scope: makers[min(scope.call.turn, last)](scope))


def _compile_one_of(branches: list[BranchSpec], context: CompileContext) -> Compiled[RuleAnswer]:
    """Choose a branch by seed and the conversation's opening, so that a conversation keeps its branch."""
    makers = [_compile_branch(branch.then, context.at(at, "then")) for at, branch in enumerate(branches)]
    *bounds, total = accumulate(branch.weight for branch in branches)
    labels = ("one_of", context.rule, context.label)

    def make(scope: RenderContext) -> RuleAnswer:
        drawn = scope.seed.draw_fraction(*labels, scope.call.opening_fingerprint) * total
        return makers[bisect_right(bounds, drawn)](scope)

    return Compiled(make)


def _compile_branch(then: ThenSpec, context: CompileContext) -> MakeAnswer:
    """Compile a step or branch; its answer has the path of the innermost one."""
    path = context.inside
    return _compile_response(then, context).map(lambda whole: whole if whole.path else replace(whole, path=path)).make


def _compile_choice(choice: ChoiceSpec, context: CompileContext) -> Compiled[DraftChoice]:
    if choice.content_filter is not None and choice.content_filter.on == "prompt":
        context.at("content_filter", "on").refuse(
            'all choices share one prompt; put the filter next to "choices", or write on: completion'
        )
    elif choice.annotate is not None and choice.annotate.prompt is not None:
        context.at("annotate", "prompt").refuse_key('all choices share one prompt; put this next to "choices"')
    elif find_kind(choice, context) is not None:
        return compile_content(choice, context)
    return make_constant(DraftChoice(()))


def _make_usage(usage: UsageSpec | None) -> dict[str, int]:
    stated = {} if usage is None else usage.model_dump(exclude_none=True)
    return {name.removesuffix("_tokens"): tokens for name, tokens in stated.items()}


def _compile_timing(timing: TimingSpec, context: CompileContext) -> Timing:
    if has_both_speeds(timing):
        context.at("tokens_per_second").refuse_key('use "tokens_per_second" or "per_token", not both')
    known = context.profiles
    if known is not None and timing.profile is not None and timing.profile not in known:
        context.at("profile").refuse(explain_unknown_profile(timing.profile, known))
    return compile_timing(timing, known or {})


# The kinds that `generate` accepts; arguments belong to a tool call.
KINDS = tuple(name for name in GENERATORS if name != "arguments")
_FIXED_LENGTH_KINDS = ("echo", "schema", "json")
_NOTICES = frozenset(("progress", "log", "ask"))  # keys of what MCP clients get before an answer
