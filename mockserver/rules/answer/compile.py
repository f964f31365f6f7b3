"""Compiles `then` to a CompiledThen, so that answering a call does only what depends on the call."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import SourceLocation
from mockserver.config.source import suggestion
from mockserver.config.timing import both_speeds, compiled, unknown_profile
from mockserver.core.call import OTHER, Call
from mockserver.core.draft import ArtifactDraft, Draft, DraftChoice, PlayCassette, RenderContext, RuleAnswer
from mockserver.core.json import Json
from mockserver.core.plan import Forward, Raw, Text, Timing
from mockserver.core.tokens import Chunks
from mockserver.kinds import KINDS_BY_KEY
from mockserver.kinds.kind import OperationKind
from mockserver.model import GENERATORS
from mockserver.model.budget import MAX_TEXT_TOKENS
from mockserver.rules.answer.checks import kind_of
from mockserver.rules.answer.content import (
    compile_content,
    compile_error,
    compile_failed,
    compile_headers,
    compile_raw,
    compile_trip,
    cut_of,
    finished,
    verdicts,
)
from mockserver.rules.answer.faults import compile_faults, order_dependent
from mockserver.rules.schema import BranchSpec, ChoiceSpec, GenerateSpec, ThenSpec, TimingSpec, UsageSpec
from mockserver.rules.templates import CompileContext, Compiled, combined, constant, gathered


class Branch(Struct, frozen=True):
    """A step, branch or fault of a rule: its path as `x-mockserver-source` shows it, and its place in the file."""

    path: str
    place: SourceLocation | None
    fault: str = ""


def _branches(then: ThenSpec, context: CompileContext) -> Iterator[Branch]:
    for path, inner in then.nested():
        here = context.at(*path)
        if path and not inner.steps and not inner.one_of:
            yield Branch(here.inside, _place(context.at(*path[:-1]) if path[-1] == "then" else here))
        for at, fault in enumerate(inner.faults or ()):
            name = next(iter(fault), "") if isinstance(fault, Mapping) else fault
            yield Branch(here.at("faults", at).inside, _place(here.at("faults", at)), str(name))


def _place(context: CompileContext) -> SourceLocation | None:
    return context.mistakes.document.place(context.path)


Responder = Callable[[RenderContext], RuleAnswer]
_Choices = Compiled[tuple[DraftChoice, ...]]


class CompiledThen(Struct, frozen=True):
    """The `then` of a rule, ready to answer calls, and what reports and checks need to know of it.

    `branches` are its steps, branches and faults. `order_dependent` names what in its faults depends on the order of
    calls. `answers` says of each step or branch whether it answers, or only changes how later rules' answers go out.
    `generators` are those that it uses. `known` is its answer, if it gives every call the same.
    """

    respond: Responder
    branches: tuple[Branch, ...] = ()
    order_dependent: tuple[str, ...] = ()
    answers: tuple[bool, ...] = (True,)
    generators: tuple[str, ...] = ()
    known: RuleAnswer | None = None


def compile_then(then: ThenSpec, context: CompileContext) -> CompiledThen:
    leaves = [inner for _, inner in then.nested() if not inner.steps and not inner.one_of]
    response = _response(then, context)
    return CompiledThen(
        respond=response.make,
        branches=tuple(_branches(then, context)),
        order_dependent=tuple(order_dependent(then)),
        answers=tuple(not leaf.model_fields_set <= {"timing", "faults"} for leaf in leaves),
        generators=tuple(_generate(leaf).kind for leaf in leaves if leaf.generate is not None),
        known=response.known[0] if response.known else None,
    )


def _response(then: ThenSpec, context: CompileContext) -> Compiled[RuleAnswer]:
    response = _unbent(then, context)
    faults = compile_faults(then, context)
    return response.into(lambda whole: replace(whole, faults=faults)) if faults else response


def _unbent(then: ThenSpec, context: CompileContext) -> Compiled[RuleAnswer]:
    timing = None if then.timing is None else _timing(then.timing, context.at("timing"))
    match kind_of(then, context):
        case "error":
            return compile_error(then, context).into(partial(RuleAnswer, timing=timing))
        case "content_filter":
            return compile_trip(then, context).into(partial(RuleAnswer, timing=timing))
        case "raw" if then.raw is not None:
            return compile_raw(then.raw, context.at("raw")).into(partial(RuleAnswer, timing=timing))
        case "cassette" if then.cassette is not None:
            return constant(RuleAnswer(PlayCassette(then.cassette), timing))
        case "forward":
            return constant(RuleAnswer(Forward()))
        case str() as key if key in KINDS_BY_KEY:
            return constant(RuleAnswer(_artifact(KINDS_BY_KEY[key], then, context), timing))
        case "delivery":
            return constant(RuleAnswer(None, timing))
        case "steps":
            return _steps(then.steps or [], context.at("steps"))
        case "one_of":
            return _one_of(then.one_of or [], context.at("one_of"))
        case None:
            return constant(RuleAnswer(Draft(())))
        case kind:
            draft = _draft(kind, then, context)
            if "json_" not in then.model_fields_set:
                return draft.into(partial(RuleAnswer, timing=timing))
            return Compiled(lambda scope: RuleAnswer(_json(draft.make(scope), scope.call), timing))


def _json(draft: Draft, call: Call) -> Draft | Raw:
    """The draft; at a path that no dialect knows, its JSON as the whole body."""
    if call.operation != OTHER:
        return draft
    text = next(part.text for part in draft.choices[0].parts if isinstance(part, Text))
    named = any(name == "content-type" for name, _ in draft.headers)
    headers = draft.headers if named else (*draft.headers, ("content-type", "application/json"))
    body = text.encode()
    return Raw(200, (*headers, ("content-length", str(len(body)))), body)


def _draft(kind: str, then: ThenSpec, context: CompileContext) -> Compiled[Draft]:
    model, usage = _model(then, context), _usage(then.usage)
    safety = verdicts(then.annotate, None, "prompt")
    headers = compile_headers(then.headers, context.at("headers")) if then.headers else ()
    broken = compile_failed(then.failed, context.at("failed"))
    mark = then.system_fingerprint if "system_fingerprint" in then.model_fields_set else ""
    return combined(
        _choices(kind, then, context),
        broken,
        lambda choices, why: Draft(choices, model, usage, safety, headers, why, mark),
    )


def _artifact(kind: OperationKind, then: ThenSpec, context: CompileContext) -> ArtifactDraft:
    return ArtifactDraft(
        stated=kind.compile(getattr(then, kind.key)),
        model=_model(then, context),
        usage=_usage(then.usage),
        headers=compile_headers(then.headers, context.at("headers")),
        key=kind.key,
    )


def _model(then: ThenSpec, context: CompileContext) -> str | None:
    if then.model is not None:
        context.at("model").refuse_template(then.model)
    return then.model


def _choices(kind: str, then: ThenSpec, context: CompileContext) -> _Choices:
    match kind:
        case "choices":
            return gathered(_choice(choice, context.at("choices", at)) for at, choice in enumerate(then.choices or []))
        case "echo":
            cut = _cut_of_unknown(then, context)
            echo = Compiled(lambda scope: DraftChoice((Text(scope.call.last_user, cut),)))
            return gathered((finished(then, context, echo),))
        case "generate":
            return _generated(then, context)
    return gathered((compile_content(then, context),))


def _cut_of_unknown(then: ThenSpec, context: CompileContext) -> Chunks:
    """How a text is cut that only a call decides."""
    cut = cut_of(then.chunks)
    if isinstance(cut, tuple):
        context.at("chunks").refuse("pieces need a text known at load; use token, word, char or {size: 7}")
    return cut


def _generated(then: ThenSpec, context: CompileContext) -> _Choices:
    spec = _generate(then)
    kind, options = spec.kind, spec.model_dump(exclude_unset=True, exclude={"kind"}, by_alias=True)
    if kind not in KINDS:
        here = context.at("generate", "kind") if spec is then.generate else context.at("generate")
        here.refuse(f'unknown generator "{kind[:60]}"{suggestion(kind, KINDS)}')
    if spec.schema_ is not None and kind != "schema":
        context.at("generate", "schema").refuse_key(f'"schema" does not go with kind: {kind}; write kind: schema')
    elif spec.schema_ is not None and (broken := _schema_error(spec.schema_)):
        context.at("generate", "schema").refuse(f"not a JSON Schema: {broken}")

    if spec.tokens is not None:
        _check_tokens(spec.tokens, kind, context.at("generate", "tokens"))

    cut = _cut_of_unknown(then, context)

    def make(scope: RenderContext) -> tuple[DraftChoice, ...]:
        made = (scope.generate(kind, options, index) for index in range(scope.call.options.n))
        return tuple([replace(choice, parts=tuple([replace(p, chunks=cut) for p in choice.parts])) for choice in made])

    ending = finished(then, context, constant(DraftChoice(()))).known[0]
    if ending == DraftChoice(()):
        return Compiled(make)
    return Compiled(make).into(lambda made: tuple([replace(ending, parts=choice.parts) for choice in made]))


def _generate(then: ThenSpec) -> GenerateSpec:
    return then.generate if isinstance(then.generate, GenerateSpec) else GenerateSpec(kind=then.generate or "auto")


def _schema_error(schema: Json) -> str | None:
    from mockserver.model.schema import schema_error

    return schema_error(schema)


def _check_tokens(tokens: int, kind: str, context: CompileContext) -> None:
    if tokens > MAX_TEXT_TOKENS:
        context.refuse(f'"tokens" expects at most {MAX_TEXT_TOKENS}, not {tokens}')
    elif kind in _OF_GIVEN_LENGTH:
        others = ", ".join(name for name in KINDS if name not in _OF_GIVEN_LENGTH)
        context.refuse_key(f'"tokens" has no effect for kind: {kind}; use it with {others}')


def _steps(steps: list[ThenSpec], context: CompileContext) -> Compiled[RuleAnswer]:
    """Choose the step by turn; the last one repeats."""
    makers = [_one(step, context.at(at)) for at, step in enumerate(steps)]
    last = len(makers) - 1
    return Compiled(lambda scope: makers[min(scope.call.turn, last)](scope))


def _one_of(branches: list[BranchSpec], context: CompileContext) -> Compiled[RuleAnswer]:
    """Choose a branch by seed and the conversation's opening, so that a conversation keeps its branch."""
    makers = [_one(branch.then, context.at(at, "then")) for at, branch in enumerate(branches)]
    *bounds, total = accumulate(branch.weight for branch in branches)
    labels = ("one_of", context.rule, context.label)

    def make(scope: RenderContext) -> RuleAnswer:
        drawn = scope.seed.fraction(*labels, scope.call.opening_fingerprint) * total
        return makers[bisect_right(bounds, drawn)](scope)

    return Compiled(make)


def _one(then: ThenSpec, context: CompileContext) -> Responder:
    """Compile a step or branch; its answer carries the path of the innermost one."""
    path = context.inside
    return _response(then, context).into(lambda whole: whole if whole.path else replace(whole, path=path)).make


def _choice(choice: ChoiceSpec, context: CompileContext) -> Compiled[DraftChoice]:
    if choice.content_filter is not None and choice.content_filter.on == "prompt":
        context.at("content_filter", "on").refuse(
            'all choices share one prompt; put the filter next to "choices", or write on: completion'
        )
    elif choice.annotate is not None and choice.annotate.prompt is not None:
        context.at("annotate", "prompt").refuse_key('all choices share one prompt; put this next to "choices"')
    elif kind_of(choice, context) is not None:
        return compile_content(choice, context)
    return constant(DraftChoice(()))


def _usage(usage: UsageSpec | None) -> dict[str, int]:
    stated = {} if usage is None else usage.model_dump(exclude_none=True)
    return {name.removesuffix("_tokens"): tokens for name, tokens in stated.items()}


def _timing(timing: TimingSpec, context: CompileContext) -> Timing:
    if both_speeds(timing):
        context.at("tokens_per_second").refuse_key('use "tokens_per_second" or "per_token", not both')
    known = context.profiles
    if known is not None and timing.profile is not None and timing.profile not in known:
        context.at("profile").refuse(unknown_profile(timing.profile, known))
    return compiled(timing, known or {})


# The kinds that `generate` accepts; arguments belong to a tool call.
KINDS = tuple(name for name in GENERATORS if name != "arguments")
_OF_GIVEN_LENGTH = ("echo", "schema", "json")
