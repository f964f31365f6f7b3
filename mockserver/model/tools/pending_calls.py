"""What is still to be done in a turn: the calls that instructions and the user ask for, less those that were made.

Knows the conversation and the tools that it offers; which arguments are made up for a call is not its concern.
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
from mockserver.model.prose.results import told
from mockserver.model.tools.choosing import Wish, follow_up, refers, wishes
from mockserver.model.tools.clauses import answers, reopened, unquoted
from mockserver.model.tools.offers import properties_of, required_of
from mockserver.model.vocabulary import ends, keys, stem, weight, words


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tools of which one is called before the other, whenever `cause` (one of the two) is called."""

    first: Tool
    second: Tool
    cause: str


@dataclass(frozen=True, slots=True)
class Orders:
    """`always` are called in every turn, in this order; `never` may not be; `hints` say when a tool is to be called."""

    always: tuple[Tool, ...] = ()
    pairs: tuple[Pair, ...] = ()
    never: frozenset[str] = frozenset()
    hints: Mapping[str, str] = field(default_factory=dict)


def orders(call: Call, tools: Sequence[Tool]) -> Orders:
    """What the instructions of a call order of these tools."""
    found = [_Order(sentence, named) for sentence in _sentences(call) if (named := tuple(_named(sentence, tools)))]
    pairs = tuple(pair for order in found if order.kind == "pair" for pair in _pairs(order))
    return Orders(
        always=_once(tool for order in found if order.kind == "always" for tool in order.tools),
        pairs=pairs,
        never=frozenset(tool.name for order in found if order.kind == "never" for tool in order.tools)
        | _all(call, tools),
        hints=_hints(order for order in found if order.kind == "hint"),
    )


def _all(call: Call, tools: Sequence[Tool]) -> frozenset[str]:
    """The names of all tools, where none may be called at all."""
    forbidden = any(_NO_TOOLS.search(sentence) and not _CONDITION.search(sentence) for sentence in _sentences(call))
    return frozenset(tool.name for tool in tools) if forbidden else frozenset()


@dataclass(frozen=True, slots=True)
class _Order:
    """A sentence, and the tools that it names."""

    sentence: str
    tools: tuple[Tool, ...]

    @property
    def kind(self) -> Literal["never", "pair", "always", "hint"]:
        """What the sentence means for its tools."""
        if _FORBIDDEN.search(self.sentence):
            return "hint" if _CONDITION.search(self.sentence) else "never"
        if len(self.tools) == 2 and _JOINT.search(self.sentence):
            return "pair"
        obliged = _OBLIGATION.search(self.sentence) and not _CONDITION.search(self.sentence)
        return "always" if obliged else "hint"


def _pairs(order: _Order) -> Iterator[Pair]:
    joint = _JOINT.search(order.sentence)
    one, other = order.tools
    if joint is None:
        return
    leading = not words(order.sentence[: joint.start()])
    before = joint[0].lower() == "before"
    first, second = (one, other) if before != leading else (other, one)
    yield Pair(first, second, cause=(second if before else first).name)


def _hints(found: Iterable[_Order]) -> dict[str, str]:
    hints: dict[str, str] = {}
    for order in found:
        for tool in order.tools:
            hints[tool.name] = f"{hints.get(tool.name, '')} {order.sentence}"
    return hints


def _sentences(call: Call) -> Iterator[str]:
    """The sentences of all instructions, of long ones those at the beginning and at the end."""
    for message in call.messages:
        if message.role in ("system", "developer"):
            text = ends(message.text, _LONGEST_END, _LONGEST_END)
            yield from (sentence for sentence in _END.split(unquoted(text)) if sentence.strip())


def _named(sentence: str, tools: Sequence[Tool]) -> Iterator[Tool]:
    """The tools that a sentence names, in its order: as written, or by all the words of their names."""
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


def closing(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """The tools that end a turn, by what they say of themselves; or else those named as things among deeds."""
    said = tuple(filter(_says_so, tools))
    if said or len(tools) < 2:
        return said
    shapes = tuple(tool for tool in tools if _SHAPE.fullmatch(tool.name) and not _is_deed(tool.name))
    deeds = tuple(tool for tool in tools if not _SHAPE.fullmatch(tool.name))
    return shapes if deeds else ()


def _says_so(tool: Tool) -> bool:
    named = words(tool.name)
    if tool.kind != "function" or not named:
        return False
    telling = _ENDING.intersection(named) or named in _WHOLE
    return bool(telling) or _ENDS.search(tool.description[:_LONGEST]) is not None


def _is_deed(name: str) -> bool:
    return stem(words(name)[0]) in _VERBS


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
_DEEDS = (
    "get fetch search find look check list show read write create make add delete remove update set send book cancel "
    "buy order pay run execute compute calculate convert translate open close start stop multiply divide sum subtract "
    "query ask call transfer move copy lookup schedule reserve submit generate draw play save load edit"
)
_VERBS = frozenset(map(stem, _DEEDS.split()))


@dataclass(frozen=True, slots=True)
class Errand:
    """One call to make and what was said of its arguments; errands of one `stage` need not wait for each other."""

    tool: Tool
    said: Mentions
    stage: int = 0


def errands(call: Call, tools: Sequence[Tool]) -> tuple[Errand, ...]:
    """What is still to be done with these tools before the user is answered, in order."""
    ordered = orders(call, tools)
    free = tuple(tool for tool in tools if tool.name not in ordered.never)
    asked = _wanted(call, free, ordered)
    staged = tuple(_staged(_with_orders(asked, ordered, closing(tools), call.last_user)))
    return tuple(_left([each for wish, stage in staged for each in _each(call, wish, stage)], call))


def whole(call: Call, tool: Tool) -> tuple[Errand, ...]:
    """The errands of one tool, where all that the user said is meant for it; those that were not done come first."""
    every = tuple(_each(call, Wish(tool, call.last_user), 0))
    return (*_left(every, call), *every)


def concluding(call: Call, tool: Tool) -> Errand:
    """A call that ends the turn: made of what the tools gave, then of what the user said."""
    return Errand(tool, mentions(*filter(None, (_content(call, tool), *_results(call), call.last_user))))


def _wanted(call: Call, tools: Sequence[Tool], ordered: Orders) -> tuple[Wish, ...]:
    """What the user asks for of tools that do work; a bare `and in Rome?` asks what was asked before."""
    ends = {tool.name for tool in closing(tools)}
    work = [tool for tool in tools if tool.name not in ends]
    found = wishes(call.last_user, work, ordered.hints)
    for text in () if found and not answers(call) else reopened(call):
        if asked := wishes(text, work, ordered.hints):
            return tuple(replace(wish, text=f"{wish.text}. {call.last_user}") for wish in asked)
    if found or not follow_up(call.last_user):
        return found
    before = [made.name for made in calls(call)][: len(calls(call)) - len(calls_since_last_user(call))]
    tool = next((tool for name in reversed(before) for tool in work if tool.name == name), None)
    spoken = tool is not None and mentions(call.last_user).evidence(properties_of(tool)) > 0
    return (Wish(tool, call.last_user),) if tool is not None and spoken else ()


def _with_orders(asked: Sequence[Wish], ordered: Orders, ends: Sequence[Tool], text: str) -> tuple[Wish, ...]:
    """The wishes with what instructions put before, between and after them. What ends a turn stands last."""
    ending = {tool.name for tool in ends}
    always = [tool for tool in ordered.always if tool.name not in ending]
    names = {tool.name for tool in always}
    first = [own for tool in always for own in _own(asked, tool, text)]
    rest = [wish for wish in asked if wish.tool.name not in names]
    if first and rest:
        rest = [replace(rest[0], later=True), *rest[1:]]
    paired: Sequence[Wish] = [*first, *rest]
    for pair in ordered.pairs:
        paired = _paired(paired, pair, text)
    return (*paired, *(Wish(tool, text, later=True) for tool in ordered.always if tool.name in ending))


def _own(asked: Sequence[Wish], tool: Tool, text: str) -> list[Wish]:
    """What the user asks of a tool that is called in any case, or else the call that is made in any case."""
    own = [wish for wish in asked if wish.tool.name == tool.name] or [Wish(tool, text)]
    return [replace(own[0], later=True), *own[1:]]


def _paired(asked: Sequence[Wish], pair: Pair, text: str) -> Sequence[Wish]:
    """The wishes with the two tools of a pair in their order, where one of them calls for the other."""
    if all(wish.tool.name != pair.cause for wish in asked):
        return asked
    both = (pair.first.name, pair.second.name)
    at = next(at for at, wish in enumerate(asked) if wish.tool.name in both)
    own = [*_own(asked, pair.first, text), *_own(asked, pair.second, text)]
    rest = [(wish, place) for place, wish in enumerate(asked) if wish.tool.name not in both]
    before = [wish for wish, place in rest if place < at]
    after = [wish for wish, place in rest if place >= at]
    return [*before, *own, *after]


def _staged(asked: Iterable[Wish]) -> Iterator[tuple[Wish, int]]:
    stage = 0
    for at, wish in enumerate(asked):
        stage += bool(at) and wish.later
        yield wish, stage


def _each(call: Call, wish: Wish, stage: int) -> Iterator[Errand]:
    """One errand for each set of values that the words of a wish mention."""
    said, needed = mentions(wish.text), required_of(wish.tool)
    whole = _stated(wish.tool, said).keys()
    sets = said.sets(properties_of(wish.tool))[:_MOST_SETS]
    if len(sets) > 1 and all(whole & needed <= _stated(wish.tool, each).keys() for each in sets):
        yield from (Errand(wish.tool, each, stage) for each in sets)
    else:
        yield Errand(wish.tool, said if needed <= whole else _wide(call, wish), stage)


def _wide(call: Call, wish: Wish) -> Mentions:
    """What the words of a wish mention, then what tools gave, then what the user said before."""
    earlier = [message.text for message in reversed(call.messages) if message.role == "user"][:_MOST_EARLIER]
    content = _content(call, wish.tool) if refers(wish.text) else ""
    return mentions(*dict.fromkeys((wish.text + content, *_results(call), *earlier)))


def _content(call: Call, tool: Tool) -> str:
    """What the tools gave, said of the required parameter that takes a text for people, if there is one."""
    name = next((name for name in sorted(required_of(tool)) if _FOR_PEOPLE.intersection(words(name))), None)
    said = None if name is None else told(call)
    return "" if said is None else f'\n{name}: "{said[:_LONGEST_RESULT].translate(_UNQUOTED)}"'


def _results(call: Call) -> list[str]:
    """What tools gave in this turn, the last first."""
    return [result["text"][:_LONGEST_RESULT] for result in reversed(since_last_user(call)[-_MOST_EARLIER:])]


def _left(every: Sequence[Errand], call: Call) -> Iterator[Errand]:
    """The errands that were not done in this turn: a call that was made is one errand of its tool, whoever made it.

    How often the provider's own tools are used is for those to say who know what they do.
    """
    done = Counter(made.name for made in calls_since_last_user(call))
    for errand in every:
        if errand.tool.kind in OF_CLIENT and done[errand.tool.name] > 0:
            done[errand.tool.name] -= 1
        else:
            yield errand


def known(call: Call, errand: Errand, made: ToolCall) -> ToolCall | None:
    """The call that was made before with the same arguments, or in an earlier turn with all that is said of them."""
    earlier = [old for old in calls(call) if old.name == made.name]
    if alike := next((old for old in reversed(earlier) if same(old.arguments, made.arguments)), None):
        return alike
    given = _given(errand, made)
    turns_before = earlier[: len(earlier) - sum(old.name == made.name for old in calls_since_last_user(call))]
    telling = (old for old in reversed(turns_before) if given and _holds(parsed(old.arguments), given))
    return next(telling, None)


def _given(errand: Errand, made: ToolCall) -> dict[str, Json]:
    """Those arguments of a call that were said."""
    arguments = parsed(made.arguments)
    names = _stated(errand.tool, errand.said)
    return {name: arguments[name] for name in names if name in arguments} if isinstance(arguments, dict) else {}


def _stated(tool: Tool, said: Mentions) -> Mapping[str, Json]:
    """The arguments of a tool that are mentioned."""
    given, _ = said.assigned(properties_of(tool), lambda name, value: True)
    return given


def _holds(arguments: Json, given: Mapping[str, Json]) -> bool:
    return isinstance(arguments, dict) and all(
        name in arguments and _canonical(arguments[name]) == _canonical(value) for name, value in given.items()
    )


def same(one: str, other: str) -> bool:
    """Whether two calls have the same arguments, by what their JSON means."""
    return one == other or _canonical(parsed(one, one)) == _canonical(parsed(other, other))


def _canonical(value: Json) -> str:
    """A JSON value as text that is equal for equal values: `1.0` is `1`, keys have no order."""
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


OF_CLIENT = ("function", "custom")  # kinds of tools that are the client's own
# Words of parameters that take what people read.
_FOR_PEOPLE = frozenset(
    {"body", "text", "message", "content", "note", "summary", "answer", "response", "output", "result"}
)
_UNQUOTED = {ord('"'): "'", ord("\n"): " "}
_MOST_SETS = 16
_MOST_EARLIER = 4
_LONGEST_RESULT = 8_000
