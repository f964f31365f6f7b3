"""Drafts: answers as rules and generators write them, before the request's limits are applied."""

from collections.abc import Callable, Mapping
from typing import Any, final

from msgspec import Struct

from mockserver.core.action import ChangeActions
from mockserver.core.call import Call
from mockserver.core.http import Headers
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.mcp_server import McpExtras
from mockserver.core.plan import Broken, Choice, Failure, Forward, Part, Raw, Safety, Text, Timing, ToolUse
from mockserver.core.seed import Seed
from mockserver.core.tokens import HUGE, count

AFTER_LAST_TOKEN = 1 << 62  # more than any text has: the filter trips at the end


class DraftChoice(Struct, frozen=True):
    """One choice. `finish` and `logprobs` are None if they follow from the request."""

    parts: tuple[Part, ...]
    finish: str | None = None
    safety: Safety = ()
    logprobs: tuple[float, ...] | None = None  # one for each token of the text, as a rule gives them
    filter_after: int | None = None  # tokens after which a content filter cuts the choice
    tokens: int | None = None  # the approximate count of its only text, if known


class PlainChoices(Struct, frozen=True):
    """Choices of texts and tool calls as they are if nothing is done to them; `calls`: of the one that has the most.

    Answers share them, so that what renderers keep with a choice serves all calls to which a rule says the same.
    `tokens`: the approximate count of the words of each.
    """

    choices: tuple[Choice, ...]
    calls: int
    tokens: tuple[int, ...]


@final
class Draft(Struct, frozen=True, dict=True):
    """A successful answer before limits; if there are fewer choices than `n`, the last repeats."""

    choices: tuple[DraftChoice, ...]
    model: str | None = None
    usage: Mapping[str, int] = {}  # fields of Usage, as a rule states them
    prompt_safety: Safety = ()
    headers: Headers = ()
    broken: Broken | None = None
    system_fingerprint: str | None = ""  # empty if the rule states none
    mcp: McpExtras | None = None

    @lazy_property
    def plain(self) -> PlainChoices | None:
        """The choices of an answer to which nothing is done; None if one of them is more than that."""
        choices: list[Choice] = []
        counts: list[int] = []
        most = 0
        for choice in self.choices:
            if not choice.parts or choice.finish is not None or choice.logprobs is not None:
                return None
            if choice.safety or choice.filter_after is not None:
                return None
            calls = 0
            tokens = 0
            for part in choice.parts:
                if type(part) is ToolUse:
                    calls += 1
                    words = part.call.arguments
                elif type(part) is Text:
                    words = part.text
                else:
                    return None
                if part.tokens is not None or len(words) > HUGE:
                    return None
                tokens += count(words) if choice.tokens is None else choice.tokens
            choices.append(Choice(choice.parts, "tool_calls" if calls else "stop"))
            counts.append(tokens)
            if calls > most:
                most = calls
        return PlainChoices(tuple(choices), most, tuple(counts))


class ArtifactDraft(Struct, frozen=True):
    """What is stated of an Artifact, under a `key` of `then`; the rest is generated, all of it if nothing is stated."""

    stated: Any = None
    model: str | None = None
    usage: Mapping[str, int] = {}
    headers: Headers = ()
    key: str = ""


class PlayCassette(Struct, frozen=True):
    """Answer with what this cassette holds for the call."""

    cassette: str


Generate = Callable[[str, Mapping[str, Json], int], DraftChoice]


class RenderContext(Struct, frozen=True, dict=True):
    """All that `then` may use when a rule answers a call.

    `match` holds the named groups of the rule's regular expressions. `generator(call, seed)` returns the generators.
    """

    call: Call
    match: Mapping[str, str]
    seed: Seed
    generator: Callable[[Call, Seed], Generate]

    @lazy_property
    def generate(self) -> Generate:
        """What asks the generators, by `generate(kind, options, index)`, for choice number `index`.

        Kind "auto" is what an unmatched request would get.
        """
        return self.generator(self.call, self.seed)


class FaultSpec(Struct, frozen=True):
    """A fault of a rule: `change_actions` changes what is sent, `change_draft` the draft.

    `label` separates its random stream.
    """

    name: str
    label: str
    change_actions: ChangeActions | None = None
    change_draft: Callable[[Draft, Call], Draft] | None = None
    probability: float | None = None
    times: int | None = None
    path: str = ""  # inside the rule's `then`: `steps[1].faults[0]`

    @property
    def counts(self) -> bool:
        """Whether it may apply to one call and not to the next equal one."""
        return self.probability is not None or self.times is not None


LocalOutcome = Draft | ArtifactDraft | Failure | Raw  # answered without a cassette or provider
RuleOutcome = LocalOutcome | PlayCassette | Forward


class RuleAnswer(Struct, frozen=True):
    """What a rule answers to one call. Without an outcome, a later rule answers.

    `path` names the step or branch: `one_of[0].steps[2]`; it is empty without one.
    """

    outcome: RuleOutcome | None
    timing: Timing | None = None  # None: the settings' timing
    faults: tuple[FaultSpec, ...] = ()
    path: str = ""
