"""Proto JSON as Google's APIs read it: messages are tables of fields, and all mistakes in a body are collected.

A field can be written in camelCase or in snake_case; the result has camelCase keys, no nulls, numbers as numbers, and
standard base64. Keys of free maps stay unchanged.

`message`, `each` and `enum` are read as parts of a schema, as in a .proto file.
"""

import math
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.dialects._fields import (
    Object,
    Schema,
    TypedModel,
    closed_shape,
    integer,
    label_member,
    list_of,
    literal,
    mapping,
    not_null,
    number,
    schema_of,
    text,
    union,
)
from mockserver.dialects._parse import clip

T = TypeVar("T")

Type = Any  # Scalar, Enum, Repeated, Message, or a function that returns one, where a message holds itself
TYPE_URL = "type.googleapis.com/google.ai.generativelanguage.v1beta."


class Violation(NamedTuple):
    """A mistake at a place in the body."""

    where: str
    text: str


class Scalar(Struct, frozen=True):
    """A scalar type; `read` returns the value, or raises ValueError, whose text gives a reason other than the type."""

    name: str
    read: Callable[[Json], Json]


class Enum(Struct, frozen=True):
    """Names in the order of their numbers; they are accepted in any case."""

    name: str
    values: tuple[str, ...]

    def find(self, value: str) -> str | None:
        """Return the name as it is declared; None if there is no such name."""
        if value in self.values:
            return value
        return next((name for name in self.values if name.lower() == value.lower()), None)


class Repeated(Struct, frozen=True):
    """A list of values of a type."""

    of: Type


class MapOf(Struct, frozen=True):
    """A table of values of a type, under any names."""

    of: Type


class MessageType(Struct, frozen=True, dict=True):
    """A message; only Vertex AI knows the fields in `vertex`, and at most one field of each `oneof` can be set."""

    name: str
    fields: Mapping[str, Type]
    vertex: Mapping[str, Type] = {}
    oneof: Collection[str] = ()

    @cached_property
    def known(self) -> "tuple[Mapping[str, _Field], Mapping[str, _Field]]":
        """The fields by both names, for the Developer API and for Vertex AI."""
        return _index_by_names(self.fields), _index_by_names({**self.fields, **self.vertex})

    @cached_property
    def typed(self) -> tuple[TypedModel, TypedModel]:
        """Models that read usual bodies: with fields in camelCase, and values in their canonical form."""
        return TypedModel(_make_schema(self, vertex=False)), TypedModel(_make_schema(self, vertex=True))


class _Field(NamedTuple):
    """A field: its name in camelCase and in snake_case, and its type."""

    camel: str
    snake: str
    kind: Type


def _index_by_names(fields: Mapping[str, Type]) -> Mapping[str, _Field]:
    known = dict[str, _Field]()
    for name, kind in fields.items():
        camel = name.lstrip("_")  # of _responseJsonSchema
        field = _Field(camel, write_snake_case(camel), kind() if callable(kind) else kind)
        known |= dict.fromkeys((name, write_snake_case(name)), field)
    return known


def write_snake_case(name: str) -> str:
    """Return a name in camelCase as snake_case."""
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name)


_CAPITAL = re.compile("[A-Z]")


def read_message(
    message: MessageType, body: Mapping[str, Json], *, vertex: bool
) -> tuple[dict[str, Json], list[Violation]]:
    """Return the readable parts of a body, and its mistakes, at most as many as Google shows."""
    reader = _Reader(vertex)
    return reader.read_message(message, body), reader.found


def rename_fields(message: MessageType, body: Mapping[str, Json], *, vertex: bool) -> dict[str, Json]:
    """Return a body as sent, but with camelCase names; unknown fields stay."""
    return _Reader(vertex, keeps_wrong=True).read_message(message, body)


def _make_schema(message: MessageType, *, vertex: bool, level: int = 0) -> Schema:
    """Return the table of what `_Reader` accepts unchanged; it may accept several fields of a `oneof`."""
    known = _SCHEMAS.get((id(message), vertex, level))
    if known is None:
        kinds = {**message.fields, **(message.vertex if vertex else {})}
        found = {
            name: _find_usual_schema(kind, vertex=vertex, level=level) for name, kind in kinds.items() if name[0] != "_"
        }
        known = closed_shape(**{name: not_null(kind) for name, kind in found.items() if kind is not None})
        _SCHEMAS[id(message), vertex, level] = known
    return known


_SCHEMAS: dict[tuple[int, bool, int], Schema] = {}


def _find_usual_schema(kind: Type, *, vertex: bool, level: int) -> Schema | None:
    """Return the schema of the usual form of a type's values; None if messages in themselves go too deep."""
    if callable(kind):  # a message in itself
        if level == _LEVELS:
            return None
        kind = kind()
        level += 1
    match kind:
        case Scalar():
            return _USUAL.get(kind.name)
        case Enum():
            return literal(*kind.values)
        case Repeated() | MapOf():
            inner = _find_usual_schema(kind.of, vertex=vertex, level=level)
            if inner is None:
                return None
            return mapping(inner) if isinstance(kind, MapOf) else list_of(inner)
    return _make_schema(kind, vertex=vertex, level=level)


_LEVELS = 4  # of messages in themselves


_MAX_VIOLATIONS = 100
_Path = tuple[str | int, ...]
_WRONG = object()  # in place of a value that is left out
_NESTED = (list, dict)


class _Reader:
    """Reads messages and collects mistakes; wrong values are left out unless it `keeps_wrong` ones."""

    def __init__(self, vertex: bool, *, keeps_wrong: bool = False) -> None:
        self._vertex = vertex
        self._keeps_wrong = keeps_wrong
        self.found: list[Violation] = []

    def read_message(self, message: MessageType, body: Mapping[str, Json], path: _Path = ()) -> dict[str, Json]:
        """Return the readable fields of a message at a path of the body, under their names in camelCase."""
        known = message.known[self._vertex]
        made: dict[str, Json] = {}
        for key, value in body.items():
            name = key
            if (field := known.get(key)) is None:
                self._refuse_name(key, "Cannot find field.", path)
                read = self._keep_remainder(value)
            elif value is None:
                continue
            else:
                name, step, kind = field
                if isinstance(value, _NESTED) and (misplaced := _find_misplaced(kind, value)):
                    self._refuse_name(key, misplaced, path)
                    read = self._keep_remainder(value)
                else:
                    read = self.read_value(kind, value, (*path, step))
            if read is not _WRONG:
                made[name] = read
        several = [name for name in made if name in message.oneof] if message.oneof else []
        for name in several[1:]:
            group = "expiration" if "ttl" in message.oneof else "data"
            why = f"oneof field '{group}' is already set. Cannot set '{name}'"
            if self._refuse_value("oneof", why, value=made[name], path=path) is _WRONG:
                del made[name]
        return made

    def read_value(self, kind: Type, value: Json, path: _Path) -> Any:
        """Return the value as its type reads it."""
        match kind:
            case Scalar():
                try:
                    return kind.read(value)
                except (ValueError, OverflowError) as error:
                    why = str(error) if error.args and kind.name == "TYPE_BYTES" else ""
                    return self._refuse_value(kind.name, why or _show_value(value), value=value, path=path)
            case MessageType() if isinstance(value, dict):
                return self.read_message(kind, value, path)
            case Repeated():
                inner = kind.of() if callable(kind.of) else kind.of
                values = value if isinstance(value, list) else [value]  # one message in place of a list
                read = [self.read_value(inner, each, (*path, at)) for at, each in enumerate(values)]
                return [each for each in read if each is not _WRONG] if self.found else read
            case MapOf() if isinstance(value, dict):
                inner = kind.of() if callable(kind.of) else kind.of
                entries = enumerate(value.items())
                found = {key: self.read_value(inner, each, (*path, at, "value")) for at, (key, each) in entries}
                return {key: each for key, each in found.items() if each is not _WRONG} if self.found else found
            case Enum():
                if isinstance(value, str) and (name := kind.find(value)) is not None:
                    return name
                if type(value) is int and 0 <= value < len(kind.values):
                    return kind.values[value]
        return self._refuse_value(TYPE_URL + getattr(kind, "name", "Map"), _show_value(value), value=value, path=path)

    def _keep_remainder(self, value: Json) -> Any:
        """Return what remains of a wrong value."""
        return value if self._keeps_wrong else _WRONG

    def _refuse_value(self, kind: str, why: str, value: Json, path: _Path) -> Any:
        """Note the mistake in a value, and return what remains of it."""
        self._note(path, lambda at: f"Invalid value{at} ({kind}), {why}")
        return self._keep_remainder(value)

    def _refuse_name(self, key: str, why: str, path: _Path) -> None:
        self._note(path, lambda at: f'Invalid JSON payload received. Unknown name "{clip(key)}"{at}: {why}')

    def _note(self, path: _Path, text: Callable[[str], str]) -> None:
        if len(self.found) < _MAX_VIOLATIONS:
            where = _show_path(path)
            self.found.append(Violation(where, text(where and f" at '{where}'")))


def _show_path(path: _Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _find_misplaced(kind: Type, value: Json) -> str | None:
    if isinstance(value, list) and not isinstance(kind, Repeated) and kind is not VALUE:
        return "Proto field is not repeating, cannot start list."
    if isinstance(value, dict):
        kind = kind.of if isinstance(kind, Repeated) else kind
        if isinstance(kind, Enum) or (isinstance(kind, Scalar) and kind not in (VALUE, STRUCT)):
            return "Starting an object on a scalar field"
    return None


def _show_value(value: Json) -> str:
    return clip(to_json(value).decode(), 200)


def _read_type(kind: type[T]) -> Callable[[Json], T]:
    def read(value: Json) -> T:
        if not isinstance(value, kind):
            raise ValueError
        return value

    return read


_read_string = _read_type(str)


def _make_integer_reader(bits: int) -> Callable[[Json], int]:
    most = 1 << (bits - 1)

    def read(value: Json) -> int:
        whole = type(value) is int or (isinstance(value, float) and value.is_integer())
        if not (whole or (isinstance(value, str) and _INTEGER.fullmatch(value))):
            raise ValueError
        number = int(value)
        if not -most <= number < most:
            raise ValueError
        return number

    return read


def _read_float(value: Json) -> float | int:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return value


def _read_bytes(value: Json) -> str:
    text = _read_string(value)
    plain = text.translate(_URL_SAFE).rstrip("=")
    try:
        b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        raise ValueError(f'Base64 decoding failed for "{clip(text, 60)}"') from None
    return plain + "=" * (-len(plain) % 4)


def _make_pattern_reader(pattern: re.Pattern[str]) -> Callable[[Json], str]:
    def read(value: Json) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError
        return value

    return read


def _read_timestamp(value: Json) -> str:
    found = _TIMESTAMP.fullmatch(_read_string(value))
    if found is None:
        raise ValueError
    moment = datetime.fromisoformat(found["moment"] + found["offset"].replace("Z", "+00:00")).astimezone(UTC)
    return f"{moment.replace(tzinfo=None).isoformat()}{found['fraction'] or ''}Z"


_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")
_DURATION = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?s")
_TIMESTAMP = re.compile(
    r"(?P<moment>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?P<fraction>\.[0-9]{1,9})?"
    r"(?P<offset>Z|[+-][0-9]{2}:[0-9]{2})"
)
_URL_SAFE = str.maketrans("-_", "+/")

STRING = Scalar("TYPE_STRING", _read_string)
BOOL = Scalar("TYPE_BOOL", _read_type(bool))
INT32 = Scalar("TYPE_INT32", _make_integer_reader(32))
INT64 = Scalar("TYPE_INT64", _make_integer_reader(64))
FLOAT = Scalar("TYPE_FLOAT", _read_float)
DOUBLE = Scalar("TYPE_DOUBLE", _read_float)
BYTES = Scalar("TYPE_BYTES", _read_bytes)
DURATION = Scalar("type.googleapis.com/google.protobuf.Duration", _make_pattern_reader(_DURATION))
TIMESTAMP = Scalar("type.googleapis.com/google.protobuf.Timestamp", _read_timestamp)
STRUCT = Scalar("type.googleapis.com/google.protobuf.Struct", _read_type(dict))
VALUE = Scalar("type.googleapis.com/google.protobuf.Value", lambda value: value)
_BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_USUAL: Mapping[str, Schema] = {
    STRING.name: schema_of(str),
    BOOL.name: schema_of(bool),
    INT32.name: integer(-(2**31), 2**31 - 1),
    INT64.name: integer(-(2**63), 2**63 - 1),
    **dict.fromkeys((FLOAT.name, DOUBLE.name), number()),
    BYTES.name: text(pattern=_BASE64),
    STRUCT.name: Object,
    VALUE.name: union(
        *(label_member(each["type"], each) for each in (schema_of(str), schema_of(bool), number())),
        label_member("list", list_of(Any)),
        label_member("dict", Object),
    ),
}
STRINGS = Repeated(STRING)


def message(name: str, /, *oneof: str, vertex: Mapping[str, Type] | None = None, **fields: Type) -> MessageType:
    """Return a message of these fields, with those that only Vertex AI knows."""
    return MessageType(name, fields, vertex=vertex or {}, oneof=oneof)


def each(kind: Type, *names: str) -> Any:
    """Return fields of one type, for a message."""
    return dict.fromkeys(names, kind)


def enum(name: str, *values: str, prefix: str = "") -> Enum:
    """Return an enum, whose names may share a prefix."""
    return Enum(name, tuple(prefix + value for value in values))
