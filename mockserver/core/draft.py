"""What rules and generators hand in: drafts of an answer, before the request's own limits are applied to them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mockserver.core.action import Bend
from mockserver.core.call import Call
from mockserver.core.http import Headers
from mockserver.core.json import Json
from mockserver.core.plan import Broken, Failure, Forward, Part, Raw, Safety, Timing
from mockserver.core.seed import Seed

AFTER_LAST_TOKEN = 1 << 62  # more tokens than any text has: a content filter that trips when all has been said


@dataclass(frozen=True, slots=True)
class DraftChoice:
    """One alternative. `finish` and `logprobs` are None where they follow from the request."""

    parts: tuple[Part, ...]
    finish: str | None = None
    safety: Safety = ()
    logprobs: tuple[float, ...] | None = None  # one for each token of the text, as a rule gives them
    filter_after: int | None = None  # tokens after which a content filter cuts the choice, if it is not over by then


@dataclass(frozen=True, slots=True)
class Draft:
    """A success as a rule or a generator means it; fewer choices than `n`: the last repeats."""

    choices: tuple[DraftChoice, ...]
    model: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)  # prompt, completion, reasoning, cached: stated by a rule
    prompt_safety: Safety = ()
    headers: Headers = ()
    broken: Broken | None = None


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """An answer that is no text: a vector, or the scores of a moderation; None where neither is stated."""

    document: tuple[float, ...] | Mapping[str, float] | None = None
    model: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class PlayCassette:
    """What a cassette holds for the call."""

    cassette: str


Generate = Callable[[str, Mapping[str, Json], int], DraftChoice]


@dataclass(frozen=True, slots=True)
class RenderContext:
    """A call at the moment a rule answers it: all that `then` may draw on.

    `match` holds the named groups of the rule's regular expressions. `generate(kind, options, index)` asks the
    generators for choice number `index`; kind "auto" is what an unmatched request would get.
    """

    call: Call
    match: Mapping[str, str]
    seed: Seed
    generate: Generate


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """A fault as a rule states it: it bends what is sent, or changes the draft. `label` sets its chance apart."""

    name: str
    label: str
    bend: Bend | None = None
    change: Callable[[Draft, Call], Draft] | None = None
    probability: float | None = None
    times: int | None = None
    path: str = ""  # inside the rule's `then`: `steps[1].faults[0]`

    @property
    def counts(self) -> bool:
        """Whether it may befall one call and not the next that is the same."""
        return self.probability is not None or self.times is not None


LocalOutcome = Draft | DocumentDraft | Failure | Raw  # what is answered from here
RuleOutcome = LocalOutcome | PlayCassette | Forward


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """What a rule's `then` comes to for one call; no outcome: what is answered without the rule.

    `path` says which of its steps and branches this is: `one_of[0].steps[2]`; empty where it has none.
    """

    outcome: RuleOutcome | None
    timing: Timing | None = None  # None: the settings' timing
    faults: tuple[FaultSpec, ...] = ()
    path: str = ""
