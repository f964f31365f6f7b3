"""What a client's types allow, as JSON: TypedDicts of requests, unions, literals, lists, and the models of answers."""

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from types import UnionType
from typing import IO, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import typing_extensions
from pydantic import BaseModel

Json = Any
Path = str


def smallest_bodies(kind: Any, values: Mapping[str, Json] | None = None) -> Iterator[tuple[Path, Json]]:
    """Yield a value for each part of a type: the smallest that holds this field, member of a union or literal.

    Each value comes once, with the path to that part, such as `messages[].<ToolUseBlockParam>.caller`. `values` states
    the fields, by name, for which the smallest value of their type will not do, such as a number with a lower bound. A
    type within itself is followed once.
    """
    seen = set[str]()
    for path, body in _Walk(values or {}).every(kind, path="", within=()):
        if (shown := repr(body)) not in seen:
            seen.add(shown)
            yield path, body


def fields_of(kind: Any) -> Mapping[str, tuple[Any, bool]]:
    """Return the fields of a table by their names on the wire, each with its type and whether it is required."""
    if issubclass(kind, BaseModel):
        return {
            field.alias or name: (field.annotation, field.is_required()) for name, field in kind.model_fields.items()
        }
    hints = get_type_hints(kind, include_extras=True)
    return {_name_on_wire(name, hint): (hint, _is_required(kind, name, hint)) for name, hint in hints.items()}


class _Walk:
    def __init__(self, values: Mapping[str, Json]) -> None:
        self._values = values

    def every(self, kind: Any, *, path: Path, within: tuple[Any, ...]) -> Iterator[tuple[Path, Json]]:
        kind = _bare(kind)
        if (members := _members(kind)) is not None:
            for member in members:
                yield from self.every(member, path=path, within=within)
        elif get_origin(kind) is Literal:
            yield from ((f"{path}={value}", value) for value in get_args(kind))
        elif _is_table(kind):
            yield from self._of_table(kind, path=f"{path}.<{kind.__name__}>", within=within)
        elif (item := _item(kind)) is not None:
            yield from ((place, [value]) for place, value in self.every(item, path=f"{path}[]", within=within))
        else:
            yield f"{path}=null" if kind is type(None) else path, self.smallest(kind)

    def _of_table(self, kind: Any, *, path: Path, within: tuple[Any, ...]) -> Iterator[tuple[Path, Json]]:
        base = self.smallest(kind)
        yield path, base
        for name, (field, _) in fields_of(kind).items() if kind not in within else ():
            if name in self._values:
                yield f"{path}.{name}", {**base, name: self._values[name]}
                continue
            for place, value in self.every(field, path=f"{path}.{name}", within=(*within, kind)):
                yield place, {**base, name: value}

    def smallest(self, kind: Any) -> Json:
        """Return the smallest value of a type: of a union, that of its first member."""
        kind = _bare(kind)
        if (members := _members(kind)) is not None:
            return self.smallest(members[0])
        if get_origin(kind) is Literal:
            return get_args(kind)[0]
        if _is_table(kind):
            fields = fields_of(kind)
            return {
                name: self._values.get(name, self.smallest(field) if name not in self._values else None)
                for name, (field, required) in fields.items()
                if required
            }
        if (item := _item(kind)) is not None:
            return [self.smallest(item)]
        return _SMALLEST[get_origin(kind) or kind]


_SMALLEST: Mapping[Any, Json] = {
    str: "a",
    int: 1,
    float: 0.5,
    bool: True,
    type(None): None,
    object: {},
    Any: {},
    dict: {},
    Mapping: {},
}
_ON_CLIENTS_SIDE = (PathLike, IO, bytes, tuple)  # files to read, which are texts on the wire
_MARKS = (Required, NotRequired, typing_extensions.Required, typing_extensions.NotRequired)


def _bare(kind: Any) -> Any:
    """A type without what is said around it: Required, Annotated, names."""
    while True:
        if get_origin(kind) in _MARKS or hasattr(kind, "__metadata__"):
            kind = get_args(kind)[0]
        elif hasattr(kind, "__value__"):
            kind = kind.__value__
        else:
            return kind


def _members(kind: Any) -> list[Any] | None:
    """The members of a union that can be sent, those of unions within it as well; None for other types."""
    if get_origin(kind) not in (Union, UnionType):
        return None
    found = list[Any]()
    for member in map(_bare, get_args(kind)):
        found += _members(member) or ([] if _is_clients(member) else [member])
    return found


def _is_clients(kind: Any) -> bool:
    return any(kind is one or get_origin(kind) is one for one in _ON_CLIENTS_SIDE)


def _is_table(kind: Any) -> bool:
    return typing_extensions.is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, BaseModel))


def _item(kind: Any) -> Any:
    """The type of a list's items; None for other types."""
    origin, args = get_origin(kind), get_args(kind)
    return args[0] if len(args) == 1 and isinstance(origin, type) and issubclass(origin, Iterable) else None


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    mark = get_origin(hint)
    if mark in _MARKS:
        return mark in (Required, typing_extensions.Required)
    return name in kind.__required_keys__


def _name_on_wire(name: str, hint: Any) -> str:
    """The name of a field as it is sent: clients annotate those that differ."""
    while get_origin(hint) in _MARKS:
        hint = get_args(hint)[0]
    aliases = [alias for mark in getattr(hint, "__metadata__", ()) if (alias := getattr(mark, "alias", None))]
    return aliases[0] if aliases else name
