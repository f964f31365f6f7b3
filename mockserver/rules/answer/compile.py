"""`then` compiled: from what a rule says to a Responder, so that a call only runs what is left to do."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from mockserver.config.errors import Place
from mockserver.config.source import did_you_mean
from mockserver.config.timing import both_speeds, compiled, unknown_profile
from mockserver.core.draft import Draft, DraftChoice, Moment, Replay, Response, Stated
from mockserver.core.plan import Forward, Text, Timing
from mockserver.model import GENERATORS
from mockserver.model.prose import MOST_TOKENS
from mockserver.model.schema import flaw
from mockserver.rules.answer.checks import kind_of
from mockserver.rules.answer.content import compile_content, cut_of, finished
from mockserver.rules.answer.context import Site
from mockserver.rules.answer.errors import (
    compile_error,
    compile_failed,
    compile_headers,
    compile_raw,
    compile_trip,
    verdicts,
)
from mockserver.rules.answer.faults import compile_faults
from mockserver.rules.schema import (
    BranchSpec,
    ChoiceSpec,
    GenerateSpec,
    ModerationSpec,
    ScoresSpec,
    ThenSpec,
    TimingSpec,
    UsageSpec,
)
from mockserver.rules.templates import Recipe, both, fixed, together


@dataclass(frozen=True, slots=True)
class Strand:
    """One of them: its path, as answers that go through it say it, where it stands, and the name of a fault."""

    path: str
    place: Place | None
    fault: str = ""


def strands(then: ThenSpec, site: Site) -> Iterator[Strand]:
    """Those of a `then`, in the order of the file; of steps that have branches, and the like, the innermost."""
    for at, step in enumerate(then.steps or ()):
        here = site.at("steps", at)
        yield from _inner(step, here, _place(here))
    for at, branch in enumerate(then.one_of or ()):
        here = site.at("one_of", at)
        yield from _inner(branch.then, here.at("then"), _place(here))
    for at, fault in enumerate(then.faults or ()):
        here = site.at("faults", at)
        yield Strand(here.inside, _place(here), str(next(iter(fault), "") if isinstance(fault, Mapping) else fault))


def _inner(then: ThenSpec, site: Site, place: Place | None) -> Iterator[Strand]:
    if not then.steps and not then.one_of:
        yield Strand(site.inside, place)
    yield from strands(then, site)


def _place(site: Site) -> Place | None:
    return site.mistakes.document.place(site.path)


_SURE = 0.95  # the score of a category that a rule only names


def stated(then: ThenSpec) -> Stated:
    """The vector or the scores that a rule gives."""
    if then.embedding is not None:
        return Stated(tuple(map(float, then.embedding)))
    return Stated({} if then.moderation is None else _scores(then.moderation))


def _scores(moderation: ModerationSpec) -> dict[str, float]:
    if isinstance(moderation, ScoresSpec):
        return dict(moderation.model_dump(exclude_unset=True, by_alias=True))
    return dict.fromkeys(moderation, _SURE)


Responder = Callable[[Moment], Response]
_Choices = Recipe[tuple[DraftChoice, ...]]


def compile_then(then: ThenSpec, site: Site) -> Responder:
    """The responder of a rule; whatever is wrong with its `then` is told to `site`."""
    return _response(then, site).make


def _response(then: ThenSpec, site: Site) -> Recipe[Response]:
    response = _unbent(then, site)
    faults = compile_faults(then, site)
    return response.into(lambda whole: replace(whole, faults=faults)) if faults else response


def _unbent(then: ThenSpec, site: Site) -> Recipe[Response]:
    timing = _timing(then.timing, site.at("timing"))
    match kind_of(then, site):
        case "error":
            return compile_error(then, site).into(lambda failure: Response(failure, timing))
        case "content_filter":
            return compile_trip(then, site).into(lambda failure: Response(failure, timing))
        case "raw" if then.raw is not None:
            return compile_raw(then.raw, site.at("raw")).into(lambda raw: Response(raw, timing))
        case "cassette" if then.cassette is not None:
            return fixed(Response(Replay(then.cassette), timing))
        case "forward":
            return fixed(Response(Forward()))
        case "embedding" | "moderation":
            return fixed(Response(_stated(then, site), timing))
        case "manner":
            return fixed(Response(None, timing))
        case "steps":
            return _steps(then.steps or [], site.at("steps"))
        case "one_of":
            return _one_of(then.one_of or [], site.at("one_of"))
        case None:
            return fixed(Response(Draft(())))
        case kind:
            return _draft(kind, then, site).into(lambda draft: Response(draft, timing))


def _draft(kind: str, then: ThenSpec, site: Site) -> Recipe[Draft]:
    model, usage = _model(then, site), _usage(then.usage)
    safety = verdicts(then.annotate, None, "prompt")
    headers = compile_headers(then.headers, site.at("headers"))
    broken = compile_failed(then.failed, site.at("failed"))
    return both(
        _choices(kind, then, site), broken, lambda choices, why: Draft(choices, model, usage, safety, headers, why)
    )


def _stated(then: ThenSpec, site: Site) -> Stated:
    headers = compile_headers(then.headers, site.at("headers"))
    return replace(stated(then), model=_model(then, site), usage=_usage(then.usage), headers=headers)


def _model(then: ThenSpec, site: Site) -> str | None:
    if then.model is not None:
        site.at("model").refuse_template(then.model)
    return then.model


def _choices(kind: str, then: ThenSpec, site: Site) -> _Choices:
    match kind:
        case "choices":
            return together(_choice(choice, site.at("choices", at)) for at, choice in enumerate(then.choices or []))
        case "echo":
            cut = cut_of(then.chunks)
            echo = Recipe(lambda moment: DraftChoice((Text(moment.call.last_user, cut),)))
            return together((finished(then, site, echo),))
        case "generate":
            return _generated(then, site)
    return together((compile_content(then, site),))


def _generated(then: ThenSpec, site: Site) -> _Choices:
    spec = then.generate if isinstance(then.generate, GenerateSpec) else GenerateSpec(kind=then.generate or "auto")
    kind, options = spec.kind, spec.model_dump(exclude_unset=True, exclude={"kind"}, by_alias=True)
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f"; it is one of {', '.join(KINDS)}"
        here = site.at("generate", "kind") if spec is then.generate else site.at("generate")
        here.refuse(f'unknown generator "{kind[:60]}"{hint}')
    if spec.schema_ is not None and kind != "schema":
        site.at("generate", "schema").refuse_key(f'"schema" does not go with kind: {kind}; write kind: schema')
    elif spec.schema_ is not None and (broken := flaw(spec.schema_)):
        site.at("generate", "schema").refuse(f"not a JSON Schema: {broken}")

    if spec.tokens is not None:
        _check_tokens(spec.tokens, kind, site.at("generate", "tokens"))

    cut = cut_of(then.chunks)
    if isinstance(cut, tuple):
        site.at("chunks").refuse("pieces need a text that is known; use token, word, char or {size: 7}")

    def make(moment: Moment) -> tuple[DraftChoice, ...]:
        made = (moment.generate(kind, options, index) for index in range(moment.call.n))
        return tuple([replace(choice, parts=tuple([replace(p, chunks=cut) for p in choice.parts])) for choice in made])

    ending = finished(then, site, fixed(DraftChoice(()))).known[0]
    if ending == DraftChoice(()):
        return Recipe(make)
    return Recipe(make).into(lambda made: tuple([replace(ending, parts=choice.parts) for choice in made]))


def _check_tokens(tokens: int, kind: str, site: Site) -> None:
    if tokens > MOST_TOKENS:
        site.refuse(f'"tokens" expects at most {MOST_TOKENS}, not {tokens}')
    elif kind in _OF_GIVEN_LENGTH:
        others = ", ".join(name for name in KINDS if name not in _OF_GIVEN_LENGTH)
        site.refuse_key(f'"tokens" changes nothing for kind: {kind}; it goes with {others}')


def _steps(steps: list[ThenSpec], site: Site) -> Recipe[Response]:
    """One for each turn of the conversation; the last repeats."""
    makers = [_one(step, site.at(at)) for at, step in enumerate(steps)]
    last = len(makers) - 1
    return Recipe(lambda moment: makers[min(moment.call.turn, last)](moment))


def _one_of(branches: list[BranchSpec], site: Site) -> Recipe[Response]:
    """One of several, the same one as long as the conversation goes on."""
    makers = [_one(branch.then, site.at(at, "then")) for at, branch in enumerate(branches)]
    *bounds, total = accumulate(branch.weight for branch in branches)
    labels = ("one_of", site.rule, site.label)

    def make(moment: Moment) -> Response:
        drawn = moment.seed.fraction(*labels, moment.call.opening) * total
        return makers[bisect_right(bounds, drawn)](moment)

    return Recipe(make)


def _one(then: ThenSpec, site: Site) -> Responder:
    """A step or a branch, which says that it is this one; so does the innermost, where it has some itself."""
    path = site.inside
    return _response(then, site).into(lambda whole: whole if whole.path else replace(whole, path=path)).make


def _choice(choice: ChoiceSpec, site: Site) -> Recipe[DraftChoice]:
    if choice.content_filter is not None and choice.content_filter.on == "prompt":
        site.at("content_filter", "on").refuse(
            "all choices have one prompt; let the filter trip beside them, or on: completion"
        )
    elif choice.annotate is not None and choice.annotate.prompt is not None:
        site.at("annotate", "prompt").refuse_key('all choices have one prompt; put this beside "choices"')
    elif kind_of(choice, site) is not None:
        return compile_content(choice, site)
    return fixed(DraftChoice(()))


def _usage(usage: UsageSpec | None) -> dict[str, int]:
    stated = {} if usage is None else usage.model_dump(exclude_none=True)
    return {name.removesuffix("_tokens"): tokens for name, tokens in stated.items()}


def _timing(timing: TimingSpec | None, site: Site) -> Timing | None:
    if timing is None:
        return None
    if both_speeds(timing):
        site.at("tokens_per_second").refuse_key('"tokens_per_second" and "per_token" are two ways to say it; keep one')
    known = site.profiles
    if known is not None and timing.profile is not None and timing.profile not in known:
        site.at("profile").refuse(unknown_profile(timing.profile, known))
    return compiled(timing, known or {})


# What `generate` can name: arguments belong to a tool call.
KINDS = tuple(name for name in GENERATORS if name != "arguments")
_OF_GIVEN_LENGTH = ("echo", "schema", "json")
