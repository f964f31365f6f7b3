"""The variables of templates: each shows a part of the request. All are plain, read-only values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from functools import cache
from types import NoneType

from pydantic_core import PydanticSerializationError, to_json

from mockserver.core.call import Call, Message, find_last_tool_result, list_tool_results
from mockserver.core.draft import RenderContext
from mockserver.core.json import Json
from mockserver.rules.made_up import drawing, get_generator


class JsonObject(Mapping[str, Json]):
    """A read-only view of a table and its values; renders as JSON."""

    __slots__ = ("_table",)

    def __init__(self, table: Mapping[str, Json]) -> None:
        self._table = table

    def __getitem__(self, key: str) -> Json:
        return make_plain(self._table[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __str__(self) -> str:
        return to_json(self._table).decode()


def make_plain(value: Json) -> Json:
    match value:
        case str() | None | bool() | int() | float() | JsonObject():
            return value
        case Mapping():
            return JsonObject(value)
        case Sequence():
            return tuple(map(make_plain, value))
    return str(value)


def render_value(value: Json) -> str:
    """Return a value as it is rendered: text unchanged, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return to_json(value, fallback=_unwrap).decode()
    except PydanticSerializationError:
        raise TypeError("not a value; did you forget the () of a method call?") from None


def _unwrap(value: object) -> Json:
    if isinstance(value, JsonObject):
        return dict(value)
    raise TypeError


def _describe_message(message: Message) -> Json:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    return {"role": message.role, "text": message.text, "name": message.name or "", "tool_calls": calls}


def _describe_tools(call: Call) -> Json:
    return [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in call.tools]


CALL: Mapping[str, Callable[[Call], Json]] = {
    "model": lambda call: call.model,
    "operation": lambda call: call.operation,
    "dialect": lambda call: call.dialect,
    "namespace": lambda call: call.http.namespace,
    "method": lambda call: call.http.method,
    "path": lambda call: call.http.path,
    "query": lambda call: call.http.query,
    "turn": lambda call: call.turn,
    "attempt": lambda call: call.attempt,
    "stream": lambda call: call.stream,
    "n": lambda call: call.options.n,
    "seed": lambda call: call.options.seed,
    "max_tokens": lambda call: call.options.max_tokens,
    "response_format": lambda call: call.options.response_format,
    "tool_choice": lambda call: call.tool_choice.mode,
    "prompt_tokens": lambda call: call.prompt_tokens,
}


class CallView(JsonObject):
    """The variable `call`: each value is read when a template asks for it, as some take long to compute."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def __getitem__(self, name: str) -> Json:
        return make_plain(CALL[name](self._call))

    def __iter__(self) -> Iterator[str]:
        return iter(CALL)

    def __len__(self) -> int:
        return len(CALL)

    def __str__(self) -> str:
        return render_value(self)


# The variables of a template; a variable that is None for a call is undefined.
CONTEXT: Mapping[str, Callable[[RenderContext], Json]] = {
    "match": lambda scope: scope.match,
    "call": lambda scope: CallView(scope.call),
    "last_user": lambda scope: scope.call.last_user_text or "",
    "last_message": lambda scope: "" if scope.call.last_turn is None else scope.call.last_turn.text,
    "system": lambda scope: scope.call.system,
    "messages": lambda scope: [_describe_message(message) for message in scope.call.messages],
    "tool_result": lambda scope: find_last_tool_result(scope.call),
    "tool_results": lambda scope: list_tool_results(scope.call),
    "tools": lambda scope: _describe_tools(scope.call),
    "arguments": lambda scope: None if scope.call.mcp is None else scope.call.mcp.arguments,
    "client_answer": lambda scope: None if scope.call.mcp is None else scope.call.mcp.client_answer,
    "body": lambda scope: scope.call.body,
}

# The keys of these variables, so that a typo is found when the rules are loaded.
MEMBERS: Mapping[str, tuple[str, ...]] = {"call": tuple(CALL), "tool_result": ("name", "text", "json")}


# The types of variables whose types are the same in every call.
KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("last_user", "last_message", "system", "tool_result.name", "tool_result.text"), (str,)),
    **{f"call.{name}": (str,) for name in ("model", "operation", "dialect", "namespace", "method", "path")},
    **{f"call.{name}": (int,) for name in ("turn", "attempt", "n", "prompt_tokens")},
    **{f"call.{name}": (int, NoneType) for name in ("seed", "max_tokens")},
    "call.stream": (bool,),
    "call.tool_choice": (str,),
    **dict.fromkeys(("messages", "tool_results", "tools"), (tuple,)),
}


class Fake:
    """The variable `fake` of a template: the same values for the same call, rule and position."""

    __slots__ = ("_drawn", "_labels", "_moment")

    def __init__(self, scope: RenderContext, labels: tuple[str, ...]) -> None:
        self._moment = scope
        self._labels = labels
        self._drawn: dict[str, int] = {}

    def __getitem__(self, name: str) -> Json:
        provider = list_providers()[name]
        occurrence = self._drawn[name] = self._drawn.get(name, 0) + 1
        scope = self._moment
        with drawing(scope.seed.stream("fake", scope.call.fingerprint, *self._labels, name, str(occurrence))):
            return _make_plain_fake(provider())


@cache
def list_providers() -> Mapping[str, Callable[[], Json]]:
    """Return every Faker provider that needs no arguments, by name."""
    source = get_generator()
    found = {}
    for provider in reversed(source.providers):
        for name in dir(type(provider)):
            if not name.startswith(_HIDDEN_PREFIXES) and name not in _HIDDEN and callable(getattr(provider, name)):
                found[name] = getattr(source, name)
    return found


def _make_plain_fake(value: object) -> Json:
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case Iterable():
            return tuple(map(_make_plain_fake, value))
    return str(value)


_HIDDEN_PREFIXES = ("_", "py", "get_", "random_", "randomize_", "add_", "seed")
_HIDDEN = frozenset((
    "generator", "enum", "bothify", "hexify", "lexify", "numerify", "locale", "language_code", "current_country",
    "binary", "csv", "dsv", "fixed_width", "image", "json", "json_bytes", "psv", "tar", "tsv", "xml", "zip",
    "passport_dates", "passport_full", "passport_gender", "profile", "simple_profile", "time_series", "time_delta",
    "color", "color_hsl", "color_hsv", "color_rgb", "color_rgb_float",  # draw from their own random generator
    "uuid1", "uuid7", "timezone_object",
))  # fmt: skip


VARIABLES = (*CONTEXT, "fake")
