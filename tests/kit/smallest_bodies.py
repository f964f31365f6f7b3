"""The bodies that a request type of a client allows: one for each field, member of a union and literal in it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typing_extensions

Json = Any
SCALARS: Mapping[Any, Json] = {str: "x", int: 1, float: 1.0, bool: True, NoneType: None, object: {}, Any: {}}


def bodies(kind: Any, values: Mapping[str, Json]) -> Iterator[Json]:
    """The smallest value of a type, and each that has one field, member or literal more, at any depth."""
    seen = set()
    for body in _each(kind, values, within=()):
        if (shown := repr(body)) not in seen:
            seen.add(shown)
            yield body


def _each(kind: Any, values: Mapping[str, Json], *, within: tuple[Any, ...]) -> Iterator[Json]:
    """All values, the smallest first. A type within itself has only that one."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in SCALARS:
        yield SCALARS[kind]
    elif typing_extensions.is_typeddict(kind):
        yield from _objects(kind, values, within=within)
    elif origin in _LITERALS:
        yield from inner
    elif origin in (Union, UnionType):
        yield from _members(inner, values, within=within)
    elif origin in _WRAPPERS:
        yield from _each(inner[0], values, within=within)
    elif origin is not None and issubclass(origin, Mapping):
        yield from ({"key": value} for value in _each(inner[1], values, within=within))
    elif getattr(origin, "__name__", "") == "SequenceNotStr" or (origin is not None and issubclass(origin, Iterable)):
        yield from ([value] for value in _each(inner[0], values, within=within))
    else:
        raise TypeError(f"no values are known for {kind!r}")


def _members(kinds: Sequence[Any], values: Mapping[str, Json], *, within: tuple[Any, ...]) -> Iterator[Json]:
    for kind in kinds:
        yield from _each(kind, values, within=within)


def _objects(kind: Any, values: Mapping[str, Json], *, within: tuple[Any, ...]) -> Iterator[Json]:
    fields = get_type_hints(kind, include_extras=True)
    required = [name for name, field in fields.items() if get_origin(field) in _REQUIRED]
    inner = (*within, kind)
    few = {
        name: values[name] if name in values else next(_each(fields[name], values, within=inner)) for name in required
    }
    yield few
    if kind in within:
        return
    for name, field in fields.items():
        for value in (values[name],) if name in values else _each(field, values, within=inner):
            yield {**few, name: value}


_LITERALS = (Literal, typing_extensions.Literal)
_REQUIRED = (typing_extensions.Required,)
_WRAPPERS = (typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.Annotated)
