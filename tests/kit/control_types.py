"""What the control API answers: the OpenAPI file is made from these types, and tests hold answers to them.

A field that may be missing is `Maybe`.
"""

from typing import Annotated, Any, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, field

T = TypeVar("T")
Maybe = T | UnsetType
Json = Any


def about(words: str) -> Meta:
    return Meta(description=words)


class Part(Struct, forbid_unknown_fields=True):
    """A table within an answer."""


class Answer(Part, kw_only=True):
    """A whole answer."""

    worker: Annotated[Maybe[int], about("the worker that answers, if several share nothing or a state")] = UNSET
    workers: Annotated[Maybe[int], about("how many there are")] = UNSET
    missing: Annotated[Maybe[list[int]], about("servers that share the state and did not answer")] = UNSET
    too_large: Annotated[Maybe[list[int]], about("servers whose answers were too large to be passed on")] = UNSET


class Error(Answer):
    """Why a request was refused."""

    error: str
    mistakes: Annotated[Maybe[list[str]], about("every mistake of rules, each with its place")] = UNSET


class Health(Answer):
    status: Literal["ok"]


class Mistake(Part):
    """A mistake of rules."""

    message: str
    text: Annotated[str, about("the message with its place")]
    file: Maybe[str] = UNSET
    line: Maybe[int] = UNSET
    column: Maybe[int] = UNSET


class Problem(Part):
    """What the last reload found."""

    mistakes: list[Mistake]


class Base(Part):
    """A base URL."""

    dialect: str
    url: str


class Room(Part):
    """The journal's size."""

    calls: int
    bytes: int
    room: Annotated[int, about("bytes that it may have")]


class Ready(Answer):
    """The server; fields from `boot` on only with the token, if one is needed."""

    status: Literal["ready"]
    version: str
    dialect: Annotated[str, about("the dialect of bare paths")]
    unmatched: Literal["generate", "error"]
    files: Annotated[list[str], about("rules files; without the token, if one is needed, only their names")]
    rules: Annotated[int, about("number of rules in files")]
    state: Annotated[Literal["memory", "ok", "lost"], about("shared state: none, reached, or not")]
    boot: Annotated[Maybe[str], about("another one after a restart")] = UNSET
    bases: Annotated[Maybe[list[Base]], about("base URLs, the default dialect's bare one first")] = UNSET
    settings: Annotated[Maybe[dict[str, Json]], about("settings that differ from their defaults")] = UNSET
    journal: Maybe[Room] = UNSET
    problem: Annotated[Maybe[Problem | None], about("mistakes of the last reload")] = UNSET
    writes: Annotated[Maybe[bool], about("whether `PUT files/0` may change the rules file")] = UNSET
    digest: Annotated[Maybe[str], about("with shared state: of rules and settings in files")] = UNSET
    differ: Annotated[Maybe[list[int]], about("servers that share the state and have other files")] = UNSET


class Usage(Part):
    """Tokens."""

    prompt_tokens: int
    completion_tokens: int


class Request(Part):
    """A request as sent, without credentials."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Json
    cut_off: Annotated[Maybe[str], about("how much of the body is kept, if not all")] = UNSET


class Frame(Part):
    """An event of a stream."""

    at_ms: Annotated[float, about("milliseconds since the request")]
    gap_ms: Annotated[float, about("milliseconds since the event before")]
    data: Json
    event: Annotated[Maybe[str], about("its `event:`")] = UNSET
    adds: Annotated[Maybe[str], about("the text that it adds to the answer")] = UNSET
    whole: Annotated[Maybe[bool], about("false: it broke off")] = UNSET


class Reply(Part, kw_only=True):
    """An answer as sent: a body or frames."""

    status: int | None
    headers: dict[str, str]
    body: Maybe[Json] = UNSET
    frames: Maybe[list[Frame]] = UNSET
    cut_off: Annotated[Maybe[str], about("how much is kept, if not all")] = UNSET


class CallBase(Part, kw_only=True):
    """What each form of a call may have."""

    retry_of: Annotated[Maybe[int], about("number of the first attempt")] = UNSET
    again_of: Annotated[Maybe[int], about("number of the call that was sent again")] = UNSET
    unmatched: Annotated[Maybe[bool], about("true: no rule answered, whether or not an answer was generated")] = UNSET
    service: Annotated[Maybe[bool], about("true: a rule with `service: true` answered")] = UNSET
    modified_by: Annotated[Maybe[list[str]], about("rules that only changed the answer")] = UNSET
    through: Annotated[
        Maybe[list[str]],
        about('the `steps`, `one_of` or `faults` entries that were used: `["rule rules.yaml:14 talk: steps[1]"]`'),
    ] = UNSET
    defect: Annotated[Maybe[str], about("why the rule, or mockserver itself, failed on the call")] = UNSET
    remarks: Annotated[Maybe[list[str]], about("why no model could answer so")] = UNSET
    recorded: Annotated[Maybe[str], about("where the answer was recorded: `cassette weather.yaml#3`")] = UNSET
    unrecorded: Annotated[
        Maybe[str], about("why it could not be recorded; the client got it anyway, so look here in tests that record")
    ] = UNSET
    websocket: Annotated[Maybe[bool], about("whether it came over a WebSocket")] = UNSET
    part_of: Annotated[Maybe[str], about('which part of a batch it is: `line 3 of batch_1, custom_id "a"`')] = UNSET
    frames: Annotated[Maybe[int], about("how many events of a stream were sent")] = UNSET
    said: Annotated[Maybe[str], about("with `digest`: the start of what was said last")] = UNSET
    answered: Annotated[Maybe[str], about("with `digest`: the start of what was answered")] = UNSET
    tools: Annotated[Maybe[list[str]], about("with `digest`: the tools that the answer calls")] = UNSET
    conversation: Annotated[Maybe[str | None], about("with `digest`: the same for calls that begin alike")] = UNSET


class Call(CallBase, kw_only=True):
    """A call of the journal."""

    call: Annotated[int, about("its number, as in the header `x-mockserver-call`")]
    at: Annotated[str, about("when it came, in UTC")]
    namespace: str
    method: str
    path: str
    dialect: str
    operation: str | None
    model: str | None
    attempt: Annotated[int, about("number of the attempt, from 1")]
    source: Annotated[str | None, about("what answered, as in the header `x-mockserver-source`")]
    status: int | None
    faults: Annotated[list[str], about("faults of the answer")]
    ended: Annotated[
        str,
        about(
            "`open`, `complete`, `client left after 3 frames`, `cut short after 2 frames`,"
            " `disconnected after 0 bytes`, `reset after …`, `server stopped after …`"
        ),
    ]
    first_byte_ms: float | None
    elapsed_ms: float | None
    streamed: bool
    bytes: Annotated[int, about("of the answer, that were sent")]
    usage: Annotated[Usage | None, about("tokens, as the answer says")]
    request: Annotated[Maybe[Request], about("the request as sent; in lists with `bodies`")] = UNSET
    reply: Annotated[Maybe[Reply], about("the answer as sent; in lists with `bodies`")] = UNSET


class CompactCall(CallBase):
    """A call without what is empty, null, false or usual."""

    call: int
    at: str
    dialect: str
    namespace: Maybe[str] = UNSET
    method: Maybe[str] = UNSET
    path: Maybe[str] = UNSET
    operation: Maybe[str] = UNSET
    model: Maybe[str] = UNSET
    attempt: Maybe[int] = UNSET
    source: Maybe[str] = UNSET
    status: Maybe[int] = UNSET
    faults: Maybe[list[str]] = UNSET
    ended: Maybe[str] = UNSET
    first_byte_ms: Maybe[float] = UNSET
    elapsed_ms: Maybe[float] = UNSET
    streamed: Maybe[bool] = UNSET
    bytes: Maybe[int] = UNSET
    usage: Maybe[Usage] = UNSET


class Calls(Answer):
    """Calls, newest last."""

    calls: list[Call]


class CompactCalls(Answer):
    """Calls, with `compact`."""

    calls: list[CompactCall]


class ToolCall(Part):
    """A call of a tool."""

    name: str
    arguments: Json
    id: Maybe[str | None] = UNSET


class MediaPart(Part):
    """A part of a message: a text, an image, a file."""

    kind: str
    type: Annotated[str | None, about("media type")]
    size: Annotated[int | None, about("bytes, about, if the request holds them")]


class Message(Part):
    """A message as parsed."""

    role: str
    text: str
    name: Maybe[str] = UNSET
    tool_calls: Annotated[Maybe[list[str]], about("names of the tools that it calls")] = UNSET
    calls: Annotated[Maybe[list[ToolCall]], about("its calls of tools")] = UNSET
    tool_call_id: Maybe[str] = UNSET
    parts: Annotated[Maybe[list[MediaPart]], about("images, files and other parts")] = UNSET
    cut: Annotated[Maybe[bool], about("true: the text had over 20,000 characters")] = UNSET


class Tool(Part):
    """A tool that is offered."""

    name: str
    description: str | None
    parameters: Json


class Asked(Part):
    """A request as parsed."""

    messages: list[Message]
    tools: list[Tool]
    stream: bool
    fingerprint: Annotated[str, about("the same for requests that mean the same")]
    prompts: Annotated[Maybe[list[str]], about("of completions and embeddings")] = UNSET
    options: Annotated[Maybe[dict[str, Json]], about("options that differ from usual")] = UNSET


class AnsweredPart(Part):
    """A text, a reasoning, a call or an item."""

    kind: str
    text: Maybe[str] = UNSET
    call: Maybe[ToolCall] = UNSET
    item: Maybe[Json] = UNSET


class Choice(Part):
    """A choice of an answer."""

    parts: list[AnsweredPart]
    finish: Annotated[str | None, about("the finish reason")]
    annotations: Maybe[list[dict[str, Json]]] = UNSET
    filters: Maybe[Json] = UNSET


class ParsedAnswer(Part):
    """An answer as parsed."""

    choices: list[Choice]
    whole: Annotated[bool, about("whether nothing is missing")]
    error: Maybe[Json] = UNSET
    prompt_filters: Maybe[Json] = UNSET


class Span(Part):
    """Characters of a text."""

    at: int
    size: int


class Finding(Part):
    """A condition and what the request has."""

    field: str
    predicate: str
    expected: Json
    actual: Json
    ok: bool
    ignoring: Annotated[Maybe[list[str]], about("`ignore_case`, `ignore_space`")] = UNSET
    hint: Annotated[Maybe[str], about("what would make it hold")] = UNSET
    span: Annotated[Maybe[Span], about("what of `actual` differs")] = UNSET
    from_: Annotated[Maybe[int], about("characters left out before `actual`")] = field(name="from", default=UNSET)


class NearRule(Part):
    """A rule that came near."""

    name: str | None
    where: str
    source: str
    findings: list[Finding]
    why: Annotated[Maybe[str], about("why it did not answer although it matches")] = UNSET
    change: Annotated[Maybe[str], about("a condition with which it would match")] = UNSET


class PassedRule(Part):
    """A rule that matched but did not answer."""

    name: str | None
    where: str
    source: str
    why: str


class Chain(Part):
    """Numbers of calls."""

    conversation: Annotated[list[int], about("those of the same conversation")]
    tries: Annotated[list[int], about("the attempts of this request")]


class Medium(Answer):
    type: Annotated[str, about("its media type")]
    size: Annotated[int, about("bytes")]


class Media(Answer):
    request: list[Medium]
    reply: list[Medium]


class CallDetail(Call, kw_only=True):
    """A call in full."""

    asked: Annotated[Asked | None, about("the request as parsed; null if it was refused")]
    answer: Annotated[ParsedAnswer, about("the answer as parsed")]
    asked_ms: Annotated[float | None, about("milliseconds until the request was parsed")]
    chain: Annotated[Chain, about("numbers of the calls of this `conversation`, and of the `tries` of this request")]
    findings: Annotated[Maybe[list[Finding]], about("the conditions of the rule that answered")] = UNSET
    nearest: Annotated[
        Maybe[list[NearRule]],
        about(
            "if no rule answered, those that came nearest, first those with a `change` that would make them match."
            " `span` says where `actual` differs, which begins after `from` characters"
        ),
    ] = UNSET
    tried: Annotated[Maybe[int], about("how many rules were tried")] = UNSET
    before: Annotated[Maybe[list[PassedRule]], about("which of them matched but did not answer, and why")] = UNSET
    now: Annotated[Maybe[str], about("what would answer now, if the rules have changed and it is another")] = UNSET
    media: Annotated[Maybe[Media], about("the pictures and sounds, which `GET calls/{number}/media` returns")] = UNSET
    worker: Maybe[int] = UNSET
    workers: Maybe[int] = UNSET


class Forgotten(Answer):
    forgotten: Annotated[int, about("how many calls were deleted")]


class RuleLines(Part):
    """Where a rule is written."""

    file: str
    line: int
    end: Annotated[Maybe[int], about("its last line")] = UNSET
    sha256: Annotated[Maybe[str], about("hash of the file, for `PUT files/0`")] = UNSET


class ListedRule(Part):
    """A rule."""

    name: str | None
    source: str
    added: Annotated[bool, about("by this API")]
    hits: int
    counts: Annotated[bool, about("whether it depends on the number of calls")]
    spec: Annotated[dict[str, Json], about("the rule as written")]
    last_call: Annotated[int | None, about("the last call that it answered")]
    remarks: Annotated[list[str], about("such as that it never answers")]
    where: Annotated[Maybe[RuleLines], about("where it is in a file")] = UNSET
    text: Annotated[Maybe[str], about("its lines there")] = UNSET


class Rules(Answer):
    """Rules in the order in which they are tried."""

    rules: list[ListedRule]


class Added(Answer):
    names: Annotated[list[str], about("of the rules that were added; those without get one")]
    rules: Annotated[int, about("how many rules the namespace has now")]


class Removed(Answer):
    removed: Annotated[list[str], about("their names")]


class CassetteInUse(Answer):
    """The cassette of a namespace."""

    namespace: str
    name: str | None
    record: Literal["none", "once", "new_episodes", "all"]
    own: Annotated[bool, about("whether the namespace has chosen it, not the settings")]
    forwards: Annotated[bool, about("whether requests may go upstream")]
    episodes: Annotated[int, about("how many it has")]
    unplayed: Annotated[list[int], about("numbers of the episodes that were not played")]


class Played(Answer):
    """Of all namespaces."""

    played: Annotated[dict[str, int], about("uses of each episode")]


class Episode(Part):
    """An episode of a cassette."""

    number: int
    source: str
    asked: Annotated[str, about("the start of what was asked")]
    status: int
    frames: Annotated[int | None, about("events, if it is a stream")]
    played: int


class Episodes(Answer):
    episodes: list[Episode]


class CheckedRule(Part):
    """A rule compared with a request."""

    name: str | None
    source: str
    verdict: Annotated[str, about("`holds`, `does not hold`, `matches, but why it is closed` or `fails: why`")]
    findings: list[Finding]


class Prompt(Part):
    """A prompt of several."""

    prompt: str
    rules: list[CheckedRule]


class Explained(Answer):
    """What would answer a request."""

    answered_by: Annotated[str, about("the source of the answer")]
    text: Annotated[str, about("the same for people")]
    why: Annotated[Maybe[str], about("why it would be refused")] = UNSET
    modified_by: Annotated[Maybe[list[str]], about("rules that would only change the answer")] = UNSET
    faults: Maybe[list[str]] = UNSET
    rules: Maybe[list[CheckedRule]] = UNSET
    prompts: Annotated[Maybe[list[Prompt]], about("in place of `rules`, if the request has several")] = UNSET
    call: Annotated[Maybe[int], about("the call that is explained")] = UNSET
    answered_then: Annotated[Maybe[str], about("what answered it")] = UNSET


class DueReply(Reply):
    """An answer that would be sent."""

    due_ms: Annotated[float, about("when all of it would be sent")]


class Tried(Answer):
    """The answer that a request would get."""

    answered_by: str
    reply: DueReply | None
    usage: Usage | None
    why: Annotated[Maybe[str], about("why there is no reply")] = UNSET
    modified_by: Maybe[list[str]] = UNSET
    call: Maybe[int] = UNSET
    answered_then: Maybe[str] = UNSET


class ChangedCall(Part):
    """A call that another source would answer."""

    call: int
    was: str
    now: str


class HiddenCall(Part):
    """A call that an earlier rule answers."""

    call: int
    by: str


class TriedRules(Answer):
    """What a draft of rules would change."""

    mistakes: list[Mistake]
    looked_at: Annotated[int, about("calls that were compared, within half a second")]
    of: Annotated[int, about("calls that there are")]
    answers: Annotated[list[ChangedCall], about("calls that the draft would answer")]
    lost: Annotated[list[ChangedCall], about("calls that the rule `instead_of` would lose")]
    hidden: Annotated[list[HiddenCall], about("calls that another rule answers first")]


class Spans(Part):
    """Which characters of two texts differ."""

    one: Span
    other: Span


class Difference(Part):
    """A place in which two calls differ; a side that lacks it is left out."""

    where: str
    one: Maybe[Json] = UNSET
    other: Maybe[Json] = UNSET
    spans: Maybe[Spans] = UNSET


class Times(Part):
    """Times of two calls."""

    first_byte_ms: list[float | None]
    elapsed_ms: list[float | None]


class Comparison(Answer):
    """What differs between two calls."""

    head: list[Difference]
    request: list[Difference]
    answer: list[Difference]
    times: Times


class State(Answer):
    """What a namespace has counted; what is shared is null while the shared state is lost."""

    namespace: str
    state: Annotated[str | None, about("of the scenario")]
    times: Annotated[dict[str, int] | None, about("used `times`, by rule")]
    attempts: dict[str, int] | None
    hits: Annotated[dict[str, int], about("answers, by source")]
    rules_added: int
    timing: Annotated[bool, about("false: answers are sent at once")]
    calls: int
    open: Annotated[int, about("calls that are being answered")]
    stored_answers: int | None


class States(Answer):
    namespaces: list[State]


class TimingState(Answer):
    namespace: str
    timing: bool


class Reset(Answer):
    reset: Annotated[list[str], about("names of namespaces")]


class Reloaded(Answer):
    rules: Annotated[int, about("number of rules in files")]
    at_next_start: Annotated[list[str], about("settings that change only then")]


class SentAgain(Answer):
    """The new call."""

    call: int
    source: str
    status: int


class WrittenRule(Answer):
    """Where a rule was written."""

    file: str
    from_: int = field(name="from")
    to: int
    sha256: Annotated[str, about("hash of the file now")]
