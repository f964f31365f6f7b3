"""Proto JSON as Google's APIs read it: messages are tables of fields, and what is wrong with a body is collected.

A field may be written in camelCase or in snake_case; what is read has camelCase keys, no nulls, numbers as numbers and
standard base64. Keys of free maps stay as they are.
"""

import math
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.dialects._parse import clip

Type = Any  # Scalar, Enum, Repeated, Message, or a function that returns one, where a message holds itself
TYPE_URL = "type.googleapis.com/google.ai.generativelanguage.v1beta."


class Violation(Struct):
    """What is wrong at a place; `path` grows outwards while the value around it is read."""

    words: str  # with {at} for where the value is
    path: list[str | int] = []

    @property
    def where(self) -> str:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in reversed(self.path))
        return "".join(steps).lstrip(".")

    @property
    def text(self) -> str:
        return self.words.replace("{at}", f" at '{self.where}'" if self.path else "", 1)


class Scalar(Struct, frozen=True):
    """`read` returns the value, or raises ValueError, whose text says why if it is not the type."""

    name: str
    read: Callable[[Json], Json]


class Enum(Struct, frozen=True):
    """Names in the order of their numbers; `any_case`: they may be written in lower case."""

    name: str
    values: tuple[str, ...]
    any_case: bool = False


class Repeated(Struct, frozen=True):
    of: Type


class MapOf(Struct, frozen=True):
    of: Type


class Message(Struct, frozen=True, dict=True):
    """`vertex` are fields that only Vertex AI knows; of those of `oneof`, one at most may be set."""

    name: str
    fields: Mapping[str, Type]
    vertex: Mapping[str, Type] = {}
    oneof: Collection[str] = ()

    @cached_property
    def known(self) -> tuple[Mapping[str, tuple[str, Type]], Mapping[str, tuple[str, Type]]]:
        """Fields by both their names: those of the Developer API, and those of Vertex AI."""
        return _by_names(self.fields), _by_names({**self.fields, **self.vertex})


def _by_names(fields: Mapping[str, Type]) -> Mapping[str, tuple[str, Type]]:
    known = {name: (camel, kind) for camel, kind in fields.items() for name in (camel, snake_case(camel))}
    return {  # without the underscore of _responseJsonSchema
        name: (camel.lstrip("_"), kind() if callable(kind) else kind) for name, (camel, kind) in known.items()
    }


def snake_case(name: str) -> str:
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name)


_CAPITAL = re.compile("[A-Z]")


def read_message(
    message: Message, body: Mapping[str, Json], *, vertex: bool
) -> tuple[dict[str, Json], list[Violation]]:
    """Return what was understood of a body, and all that was not."""
    reader = _Reader(vertex)
    return reader.message(message, body), reader.found


class _Reader:
    def __init__(self, vertex: bool) -> None:
        self._vertex, self.found = vertex, list[Violation]()

    def message(self, message: Message, body: Mapping[str, Json]) -> dict[str, Json]:
        known, found = message.known[self._vertex], self.found
        made: dict[str, Json] = {}
        for key, value in body.items():
            if (named := known.get(key)) is None:
                found.append(Violation(f'Invalid JSON payload received. Unknown name "{clip(key)}"{{at}}: {_UNKNOWN}'))
            elif value is not None:
                name, kind = named
                before = len(found)
                if isinstance(value, list | dict) and (misplaced := _misplaced(kind, value)):
                    words = f'Invalid JSON payload received. Unknown name "{clip(key)}"{{at}}: {misplaced}'
                    found.append(Violation(words))
                    continue
                made[name] = self.value(kind, value)
                if len(found) > before:
                    self._place(before, snake_case(name))
        if message.oneof:
            self._check_oneof(message.oneof, made)
        return made

    def value(self, kind: Type, value: Json) -> Json:
        match kind:
            case Scalar():
                try:
                    return kind.read(value)
                except (ValueError, OverflowError) as error:
                    why = str(error) if error.args and kind.name == "TYPE_BYTES" else ""
                    return self._refused(kind.name, why or _shown(value))
            case Message() if isinstance(value, dict):
                return self.message(kind, value)
            case Repeated():
                return self._repeated(kind.of() if callable(kind.of) else kind.of, value)
            case MapOf() if isinstance(value, dict):
                return self._map(kind.of() if callable(kind.of) else kind.of, value)
            case Enum():
                return self._enum(kind, value)
        return self._refused(TYPE_URL + getattr(kind, "name", "Map"), _shown(value))

    def _refused(self, kind: str, why: str) -> None:
        self.found.append(Violation(f"Invalid value{{at}} ({kind}), {why}"))

    def _enum(self, kind: Enum, value: Json) -> Json:
        if isinstance(value, str):
            name = value.upper() if kind.any_case else value
            if name in kind.values:
                return name
        elif type(value) is int and 0 <= value < len(kind.values):
            return kind.values[value]
        return self._refused(TYPE_URL + kind.name, _shown(value))

    def _repeated(self, kind: Type, value: Json) -> list[Json]:
        if not isinstance(value, list):
            value = [value]  # one message in place of a list
        made = list[Json]()
        for at, each in enumerate(value):
            before = len(self.found)
            made.append(self.value(kind, each))
            if len(self.found) > before:
                self._place(before, at)
        return made

    def _map(self, kind: Type, value: Mapping[str, Json]) -> dict[str, Json]:
        made = dict[str, Json]()
        for at, (key, each) in enumerate(value.items()):
            before = len(self.found)
            made[key] = self.value(kind, each)
            for step in ("value", at):
                self._place(before, step)
        return made

    def _place(self, before: int, step: str | int) -> None:
        for violation in self.found[before:]:
            violation.path.append(step)

    def _check_oneof(self, names: Collection[str], made: Mapping[str, Json]) -> None:
        several = [name for name in made if name in names]
        if len(several) > 1:
            field = "expiration" if "ttl" in names else "data"
            why = f"oneof field '{field}' is already set. Cannot set '{several[1]}'"
            self.found.append(Violation(f"Invalid value{{at}} (oneof), {why}"))


def _misplaced(kind: Type, value: Json) -> str | None:
    if isinstance(value, list) and not isinstance(kind, Repeated) and kind is not VALUE:
        return "Proto field is not repeating, cannot start list."
    if isinstance(value, dict):
        kind = kind.of if isinstance(kind, Repeated) else kind
        if isinstance(kind, Enum) or (isinstance(kind, Scalar) and kind not in (VALUE, STRUCT)):
            return "Starting an object on a scalar field"
    return None


def _shown(value: Json) -> str:
    return clip(to_json(value).decode(), 200)


def _string(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _bool(value: Json) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _integer(bits: int) -> Callable[[Json], int]:
    most = 1 << (bits - 1)

    def read(value: Json) -> int:
        if isinstance(value, bool) or (isinstance(value, str) and not _INTEGER.fullmatch(value)):
            raise ValueError
        number = int(value) if isinstance(value, str | int) else _whole(value)
        if not -most <= number < most:
            raise ValueError
        return number

    return read


def _whole(value: Json) -> int:
    if not isinstance(value, float) or not value.is_integer():
        raise ValueError
    return int(value)


def _float(value: Json) -> float | int:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return value


def _bytes(value: Json) -> str:
    text = _string(value)
    plain = text.translate(_URL_SAFE).rstrip("=")
    try:
        b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        raise ValueError(f'Base64 decoding failed for "{clip(text, 60)}"') from None
    return plain + "=" * (-len(plain) % 4)


def _like(pattern: re.Pattern[str]) -> Callable[[Json], str]:
    def read(value: Json) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError
        return value

    return read


def _timestamp(value: Json) -> str:
    found = _TIMESTAMP.fullmatch(_string(value))
    if found is None:
        raise ValueError
    moment = datetime.fromisoformat(found["moment"] + found["offset"].replace("Z", "+00:00")).astimezone(UTC)
    return f"{moment.replace(tzinfo=None).isoformat()}{found['fraction'] or ''}Z"


def _struct(value: Json) -> Json:
    if not isinstance(value, dict):
        raise ValueError
    return value


_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")
_DURATION = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?s")
_TIMESTAMP = re.compile(
    r"(?P<moment>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?P<fraction>\.[0-9]{1,9})?"
    r"(?P<offset>Z|[+-][0-9]{2}:[0-9]{2})"
)
_URL_SAFE = str.maketrans("-_", "+/")
_UNKNOWN = "Cannot find field."

STRING, BOOL = Scalar("TYPE_STRING", _string), Scalar("TYPE_BOOL", _bool)
INT32, INT64 = Scalar("TYPE_INT32", _integer(32)), Scalar("TYPE_INT64", _integer(64))
FLOAT, DOUBLE = Scalar("TYPE_FLOAT", _float), Scalar("TYPE_DOUBLE", _float)
BYTES = Scalar("TYPE_BYTES", _bytes)
DURATION = Scalar("type.googleapis.com/google.protobuf.Duration", _like(_DURATION))
TIMESTAMP = Scalar("type.googleapis.com/google.protobuf.Timestamp", _timestamp)
STRUCT = Scalar("type.googleapis.com/google.protobuf.Struct", _struct)
VALUE = Scalar("type.googleapis.com/google.protobuf.Value", lambda value: value)
STRINGS = Repeated(STRING)


def message(name: str, /, *oneof: str, vertex: Mapping[str, Type] | None = None, **fields: Type) -> Message:
    return Message(name, fields, vertex or {}, oneof)


def each(kind: Type, *names: str) -> Any:
    return dict.fromkeys(names, kind)


def enum(name: str, *values: str, prefix: str = "", any_case: bool = False) -> Enum:
    return Enum(name, tuple(prefix + value for value in values), any_case)
