"""What is still to be done in a turn: the calls that instructions and the user ask for, less those that were made.

Knows the conversation and the tools that it offers; which arguments are made up for a call is not its concern.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mockserver.core.call import Call, Json, Tool, ToolCall
from mockserver.core.json_text import parsed
from mockserver.engine.generate.prompt import Mentions, mentions
from mockserver.engine.generate.results import told
from mockserver.engine.generate.tools.choosing import Wish, follow_up, wishes
from mockserver.engine.generate.tools.closing import closing
from mockserver.engine.generate.tools.dialogue import answers, reopened
from mockserver.engine.generate.tools.fitting import refers
from mockserver.engine.generate.tools.offers import properties_of, required_of
from mockserver.engine.generate.tools.orders import Orders, Pair, orders
from mockserver.engine.generate.tools.wording import words
from mockserver.engine.tool_results import calls, calls_since_last_user, since_last_user


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
