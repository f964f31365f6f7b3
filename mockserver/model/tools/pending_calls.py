"""The calls of a turn that are still to be made: those that instructions and the user ask for, without those made.

Knows the conversation and its tools, not how arguments are generated.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from mockserver.core.call import Call, Tool, ToolCall
from mockserver.core.json import Json, parsed
from mockserver.core.tool_results import calls, calls_since_last_user, since_last_user
from mockserver.model.arguments import Mentions, mentions
from mockserver.model.prose.results import results_text
from mockserver.model.tools.choosing import ToolRequest, is_follow_up, refers_back, tool_requests
from mockserver.model.tools.clauses import answers, reopened, unquoted
from mockserver.model.tools.offers import properties_of, required_of
from mockserver.model.vocabulary import ends, keys, stem, vocabulary, weight, words


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tools of which the first is called before the second, whenever `cause` (one of the two) is called."""

    first: Tool
    second: Tool
    cause: str


@dataclass(frozen=True, slots=True)
class Instructions:
    """`always` are called in every turn, in order; `never` are not; `hints` say when to call a tool, by its name."""

    always: tuple[Tool, ...] = ()
    pairs: tuple[Pair, ...] = ()
    never: frozenset[str] = frozenset()
    hints: Mapping[str, str] = field(default_factory=dict)


def instructions(call: Call, tools: Sequence[Tool]) -> Instructions:
    """Return what the system messages of a call say about these tools."""
    found = [
        _Instruction(sentence, named) for sentence in _sentences(call) if (named := tuple(_named(sentence, tools)))
    ]
    pairs = tuple(pair for order in found if order.kind == "pair" for pair in _pairs(order))
    forbidden = [tool for order in found if order.kind == "never" for tool in order.tools]
    return Instructions(
        always=_once(tool for order in found if order.kind == "always" for tool in order.tools),
        pairs=pairs,
        never=frozenset(tool.name for tool in (tools if _forbids_all(call) else forbidden)),
        hints=_hints(order for order in found if order.kind == "hint"),
    )


def _forbids_all(call: Call) -> bool:
    return any(_NO_TOOLS.search(sentence) and not _CONDITION.search(sentence) for sentence in _sentences(call))


@dataclass(frozen=True, slots=True)
class _Instruction:
    """A sentence, and the tools that it names."""

    sentence: str
    tools: tuple[Tool, ...]

    @property
    def kind(self) -> Literal["never", "pair", "always", "hint"]:
        if _FORBIDDEN.search(self.sentence):
            return "hint" if _CONDITION.search(self.sentence) else "never"
        if len(self.tools) == 2 and _JOINT.search(self.sentence):
            return "pair"
        obliged = _OBLIGATION.search(self.sentence) and not _CONDITION.search(self.sentence)
        return "always" if obliged else "hint"


def _pairs(order: _Instruction) -> Iterator[Pair]:
    joint = _JOINT.search(order.sentence)
    one, other = order.tools
    if joint is None:
        return
    leading = not words(order.sentence[: joint.start()])
    before = joint[0].lower() == "before"
    first, second = (one, other) if before != leading else (other, one)
    yield Pair(first, second, cause=(second if before else first).name)


def _hints(found: Iterable[_Instruction]) -> dict[str, str]:
    hints: dict[str, str] = {}
    for order in found:
        for tool in order.tools:
            hints[tool.name] = f"{hints.get(tool.name, '')} {order.sentence}"
    return hints


def _sentences(call: Call) -> Iterator[str]:
    """The sentences of all system messages, of long ones those at the beginning and at the end."""
    for message in call.messages:
        if message.role in ("system", "developer"):
            text = ends(message.text, _LONGEST_END, _LONGEST_END)
            yield from (sentence for sentence in _END.split(unquoted(text)) if sentence.strip())


def _named(sentence: str, tools: Sequence[Tool]) -> Iterator[Tool]:
    """The tools that a sentence names, in its order: as they are written, or by all words of their names."""
    said = words(sentence)
    heard = frozenset().union(*map(keys, said))
    places = [(at, index) for index, tool in enumerate(tools) if (at := _place(tool, sentence, said)) is not None]
    for _, index in sorted(places):
        if heard:
            yield tools[index]


def _place(tool: Tool, sentence: str, said: Sequence[str]) -> int | None:
    """Where a sentence names a tool, in characters."""
    written = re.search(rf"(?<!\w){re.escape(tool.name)}(?!\w)", sentence, re.IGNORECASE)
    if written and (not tool.name.isalpha() or _CALLING.search(sentence)):
        return written.start()
    parts = [word for word in words(tool.name) if keys(word)]
    roots = [keys(part) if weight(part) < 0.5 else keys(part) & {stem(part)} for part in parts]
    if len(parts) < 2 or not all(any(root & keys(word) for word in said) for root in roots):
        return None
    return sentence.lower().find(parts[0][:3])


def _once(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    return tuple({tool.name: tool for tool in tools}.values())


_LONGEST_END = 20_000
_END = re.compile(r"(?<=[.!?])\s+|\n+|;\s")
_FORBIDDEN = re.compile(
    r"\b(?:never|do\s+not|don't|must\s+not|may\s+not|cannot|should\s+not|shouldn't|avoid)\b[^.]{0,20}?"
    r"\b(?:call|use|invoke|run|us|calling|using|invoking|running)\b",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"\b(?:never|do\s+not|don't|must\s+not|may\s+not|cannot|should\s+not|shouldn't)\s+(?:call|use|invoke|run)\s+"
    r"(?:any|the|your|these)?\s*(?:of\s+the\s+|of\s+your\s+)?(?:tools|functions|tool\s+calls?|tool|function)\s*[.!]?\s*$",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|only|unless|in\s+case|where|questions?|requests?|as\s+needed|asks?|about|more\s+than|"
    r"twice|until|without)\b",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\b(?:before|after)\b", re.IGNORECASE)
_OBLIGATION = re.compile(
    r"\b(?:always|must|first|before|begin|start|make\s+sure|need\s+to|have\s+to|required|every|step\s*\d|shall)\b",
    re.IGNORECASE,
)
_CALLING = re.compile(
    r"\b(?:call|use|invoke|run|consult|query|execute|tool|function|calling|using|invoking|running|search|check|look)\b",
    re.IGNORECASE,
)


def ending_tools(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Return the tools that end a turn: those that say so, or else those named by a noun where others have verbs."""
    said = tuple(filter(_says_so, tools))
    if said or len(tools) < 2:
        return said
    shapes = tuple(tool for tool in tools if _SHAPE.fullmatch(tool.name) and not _begins_with_verb(tool.name))
    others = tuple(tool for tool in tools if not _SHAPE.fullmatch(tool.name))
    return shapes if others else ()


def _says_so(tool: Tool) -> bool:
    named = words(tool.name)
    if tool.kind != "function" or not named:
        return False
    telling = _ENDING.intersection(named) or named in _WHOLE
    return bool(telling) or _ENDS.search(tool.description[:_LONGEST]) is not None


def _begins_with_verb(name: str) -> bool:
    return stem(words(name)[0]) in map(stem, _VERBS)


_LONGEST = 900  # characters of a description
_ENDING = frozenset({"final", "finish", "finalize", "terminate", "conclude", "completion"})
_WHOLE = frozenset(
    {("respond",), ("answer",), ("submit",), ("reply",), ("output",), ("done",), ("complete", "task"), ("task", "done")}
    | {(verb, what) for verb in ("submit", "give", "return") for what in ("answer", "result", "output", "response")}
)
_ENDS = re.compile(
    r"\bends?\s+(?:this|the)\s+(?:conversation|run|task)\b|\bfinal\s+(?:answer|response|result|output)\b", re.I
)
_SHAPE = re.compile(r"[A-Z][a-z0-9]+(?:[A-Z]\w*)?")  # a class: WeatherReport
_VERBS = vocabulary(
    "get fetch search find look check list show read write create make add delete remove update set send book cancel "
    "buy order pay run execute compute calculate convert translate open close start stop multiply divide sum subtract "
    "query ask call transfer move copy lookup schedule reserve submit generate draw play save load edit"
)


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call to make, and the texts with its arguments; calls of one `stage` need not wait for each other."""

    tool: Tool
    said: Mentions
    stage: int = 0


def pending_calls(call: Call, tools: Sequence[Tool]) -> tuple[PendingCall, ...]:
    """Return the calls of these tools to make before the user is answered, in order."""
    ordered = instructions(call, tools)
    free = tuple(tool for tool in tools if tool.name not in ordered.never)
    asked = _wanted(call, free, ordered)
    staged = tuple(_staged(_with_orders(asked, ordered, ending_tools(tools), call.last_user)))
    return tuple(_left([each for request, stage in staged for each in _each(call, request, stage)], call))


def calls_of(call: Call, tool: Tool) -> tuple[PendingCall, ...]:
    """Return the calls of one tool, where all that the user said is meant for it; those not made yet come first."""
    every = tuple(_each(call, ToolRequest(tool, call.last_user), 0))
    return (*_left(every, call), *every)


def ending_call(call: Call, tool: Tool) -> PendingCall:
    """Return a call that ends the turn, with arguments from the results first, then from what the user said."""
    return PendingCall(tool, mentions(*filter(None, (_content(call, tool), *_results(call), call.last_user))))


def _wanted(call: Call, tools: Sequence[Tool], ordered: Instructions) -> tuple[ToolRequest, ...]:
    """What the user asks for, apart from ending the turn; a bare `and in Rome?` repeats an earlier request."""
    ends = {tool.name for tool in ending_tools(tools)}
    work = [tool for tool in tools if tool.name not in ends]
    found = tool_requests(call.last_user, work, ordered.hints)
    for text in () if found and not answers(call) else reopened(call):
        if asked := tool_requests(text, work, ordered.hints):
            return tuple(replace(request, text=f"{request.text}. {call.last_user}") for request in asked)
    if found or not is_follow_up(call.last_user):
        return found
    before = [made.name for made in calls(call)][: len(calls(call)) - len(calls_since_last_user(call))]
    tool = next((tool for name in reversed(before) for tool in work if tool.name == name), None)
    spoken = tool is not None and mentions(call.last_user).evidence(properties_of(tool)) > 0
    return (ToolRequest(tool, call.last_user),) if tool is not None and spoken else ()


def _with_orders(
    asked: Sequence[ToolRequest], ordered: Instructions, ends: Sequence[Tool], text: str
) -> tuple[ToolRequest, ...]:
    """The requests with the calls that instructions put before, between and after them."""
    ending = {tool.name for tool in ends}
    always = [tool for tool in ordered.always if tool.name not in ending]
    names = {tool.name for tool in always}
    first = [own for tool in always for own in _own(asked, tool, text)]
    rest = [request for request in asked if request.tool.name not in names]
    if first and rest:
        rest = [replace(rest[0], later=True), *rest[1:]]
    paired: Sequence[ToolRequest] = [*first, *rest]
    for pair in ordered.pairs:
        paired = _paired(paired, pair, text)
    return (*paired, *(ToolRequest(tool, text, later=True) for tool in ordered.always if tool.name in ending))


def _own(asked: Sequence[ToolRequest], tool: Tool, text: str) -> list[ToolRequest]:
    """The requests for a tool that is called in any case, or else a request with the whole text."""
    own = [request for request in asked if request.tool.name == tool.name] or [ToolRequest(tool, text)]
    return [replace(own[0], later=True), *own[1:]]


def _paired(asked: Sequence[ToolRequest], pair: Pair, text: str) -> Sequence[ToolRequest]:
    """The requests with the two tools of a pair in their order, where one of them requires the other."""
    if all(request.tool.name != pair.cause for request in asked):
        return asked
    both = (pair.first.name, pair.second.name)
    at = next(at for at, request in enumerate(asked) if request.tool.name in both)
    own = [*_own(asked, pair.first, text), *_own(asked, pair.second, text)]
    rest = [(request, place) for place, request in enumerate(asked) if request.tool.name not in both]
    before = [request for request, place in rest if place < at]
    after = [request for request, place in rest if place >= at]
    return [*before, *own, *after]


def _staged(asked: Iterable[ToolRequest]) -> Iterator[tuple[ToolRequest, int]]:
    stage = 0
    for at, request in enumerate(asked):
        stage += bool(at) and request.later
        yield request, stage


def _each(call: Call, request: ToolRequest, stage: int) -> Iterator[PendingCall]:
    """One call for each set of values that the words of a request mention."""
    said, needed = mentions(request.text), required_of(request.tool)
    whole = _stated(request.tool, said).keys()
    sets = said.sets(properties_of(request.tool))[:_MOST_SETS]
    if len(sets) > 1 and all(whole & needed <= _stated(request.tool, each).keys() for each in sets):
        yield from (PendingCall(request.tool, each, stage) for each in sets)
    else:
        yield PendingCall(request.tool, said if needed <= whole else _wide(call, request), stage)


def _wide(call: Call, request: ToolRequest) -> Mentions:
    """The values in the words of a request, then those of results, then those of earlier messages of the user."""
    earlier = [message.text for message in reversed(call.messages) if message.role == "user"][:_MOST_EARLIER]
    content = _content(call, request.tool) if refers_back(request.text) else ""
    return mentions(*dict.fromkeys((request.text + content, *_results(call), *earlier)))


def _content(call: Call, tool: Tool) -> str:
    """The results in words, as the value of the required parameter that takes a text for people, if there is one."""
    name = next((name for name in sorted(required_of(tool)) if _FOR_PEOPLE.intersection(words(name))), None)
    said = None if name is None else results_text(call)
    return "" if said is None else f'\n{name}: "{said[:_LONGEST_RESULT].translate(_UNQUOTED)}"'


def _results(call: Call) -> list[str]:
    """The results of this turn, the last first."""
    return [result["text"][:_LONGEST_RESULT] for result in reversed(since_last_user(call)[-_MOST_EARLIER:])]


def _left(every: Sequence[PendingCall], call: Call) -> Iterator[PendingCall]:
    """The calls that this turn does not have yet: each call made of a tool counts for one of it.

    `hosted` decides how often the provider's own tools are used.
    """
    done = Counter(made.name for made in calls_since_last_user(call))
    for pending in every:
        if pending.tool.kind in CLIENT_KINDS and done[pending.tool.name] > 0:
            done[pending.tool.name] -= 1
        else:
            yield pending


def earlier_call(call: Call, pending: PendingCall, made: ToolCall) -> ToolCall | None:
    """Return an earlier call with the same arguments, or one of an earlier turn with all arguments that were said."""
    earlier = [old for old in calls(call) if old.name == made.name]
    if alike := next((old for old in reversed(earlier) if same_arguments(old.arguments, made.arguments)), None):
        return alike
    given = _given(pending, made)
    turns_before = earlier[: len(earlier) - sum(old.name == made.name for old in calls_since_last_user(call))]
    telling = (old for old in reversed(turns_before) if given and _holds(parsed(old.arguments), given))
    return next(telling, None)


def _given(pending: PendingCall, made: ToolCall) -> dict[str, Json]:
    """The arguments of a call that a text has."""
    arguments = parsed(made.arguments)
    names = _stated(pending.tool, pending.said)
    return {name: arguments[name] for name in names if name in arguments} if isinstance(arguments, dict) else {}


def _stated(tool: Tool, said: Mentions) -> Mapping[str, Json]:
    given, _ = said.assigned(properties_of(tool), lambda name, value: True)
    return given


def _holds(arguments: Json, given: Mapping[str, Json]) -> bool:
    return isinstance(arguments, dict) and all(
        name in arguments and _canonical(arguments[name]) == _canonical(value) for name, value in given.items()
    )


def same_arguments(one: str, other: str) -> bool:
    """Whether the arguments of two calls mean the same as JSON."""
    return one == other or _canonical(parsed(one, one)) == _canonical(parsed(other, other))


def _canonical(value: Json) -> str:
    """JSON that is equal for equal values: `1.0` is `1`, keys have no order."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Json) -> Json:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
    return value


CLIENT_KINDS = ("function", "custom")  # of tools that the client runs
# Words in names of parameters whose values people read.
_FOR_PEOPLE = frozenset(
    {"body", "text", "message", "content", "note", "summary", "answer", "response", "output", "result"}
)
_UNQUOTED = {ord('"'): "'", ord("\n"): " "}
_MOST_SETS = 16
_MOST_EARLIER = 4
_LONGEST_RESULT = 8_000
