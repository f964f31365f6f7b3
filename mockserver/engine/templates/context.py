"""What a template can read of a call: plain data, wrapped so that a template can look at it and never change it."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from pydantic_core import PydanticSerializationError, to_json

from mockserver.core.call import Call, Json, Message
from mockserver.engine import tool_results
from mockserver.engine.draft import Moment


class Table(Mapping[str, Json]):
    """A read-only view of a table, and of what it holds; as text it is JSON."""

    __slots__ = ("_table",)

    def __init__(self, table: Mapping[str, Json]) -> None:
        self._table = table

    def __getitem__(self, key: str) -> Json:
        return plain(self._table[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __str__(self) -> str:
        return to_json(self._table).decode()


def plain(value: Json) -> Json:
    """The value as a template sees it."""
    match value:
        case str() | None | bool() | int() | float() | Table():
            return value
        case Mapping():
            return Table(value)
        case Sequence():
            return tuple(map(plain, value))
    return str(value)


def shown(value: Json) -> str:
    """A value as it stands in the text: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return to_json(value, fallback=_bare).decode()
    except PydanticSerializationError:
        raise TypeError("this is no value; a method wants its parentheses") from None


def _bare(value: object) -> Json:
    if isinstance(value, Table):
        return dict(value)
    raise TypeError


def _call(call: Call) -> Json:
    return {name: read(call) for name, read in CALL.items()}


def _message(message: Message) -> Json:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    return {"role": message.role, "text": message.text, "name": message.name or "", "tool_calls": calls}


def _system(call: Call) -> str:
    return "\n".join(message.text for message in call.messages if message.role in ("system", "developer"))


def _tools(call: Call) -> Json:
    return [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in call.tools]


CALL: Mapping[str, Callable[[Call], Json]] = {
    "model": lambda call: call.model,
    "operation": lambda call: call.operation,
    "dialect": lambda call: call.dialect,
    "namespace": lambda call: call.http.namespace,
    "turn": lambda call: call.turn,
    "attempt": lambda call: call.attempt,
    "stream": lambda call: call.stream,
    "n": lambda call: call.n,
    "seed": lambda call: call.seed,
    "max_tokens": lambda call: call.max_tokens,
    "response_format": lambda call: call.response_format,
    "tool_choice": lambda call: call.tool_choice.mode,
    "prompt_tokens": lambda call: call.prompt_tokens,
}

# The variables of a template; one that is None for a call is not defined there.
CONTEXT: Mapping[str, Callable[[Moment], Json]] = {
    "match": lambda moment: moment.match,
    "call": lambda moment: _call(moment.call),
    "last_user": lambda moment: moment.call.last_user,
    "last_message": lambda moment: moment.call.messages[-1].text if moment.call.messages else "",
    "system": lambda moment: _system(moment.call),
    "messages": lambda moment: [_message(message) for message in moment.call.messages],
    "tool_result": lambda moment: tool_results.last(moment.call),
    "tool_results": lambda moment: tool_results.since_last_user(moment.call),
    "tools": lambda moment: _tools(moment.call),
    "body": lambda moment: moment.call.raw,
}

# What stands inside these variables, so that a slip is found when the rules are loaded.
MEMBERS: Mapping[str, tuple[str, ...]] = {"call": tuple(CALL), "tool_result": ("name", "text", "json")}
