"""The types of which request models are made: a model is a table of fields, which pydantic validates.

Members of unions carry labels such as `<a string>`, by which complaints name them.
"""

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypedDict

Type = Any  # what pydantic takes for a type
Object = dict[str, Any]


def shape(**fields: Type) -> Type:
    return TypedDict("Shape", fields)  # type: ignore[operator]


def open_shape(**fields: Type) -> Type:
    return _configured(shape(**fields), extra="allow")


def closed_shape(**fields: Type) -> Type:
    return _configured(shape(**fields), extra="forbid", defer_build=True)


def body_shape(**fields: Type) -> Type:
    """A whole body; its model is built when it is first used."""
    return _configured(shape(**fields), defer_build=True)


def fields_of(body: Type, *names: str) -> dict[str, Type]:
    """Return some fields of a body, for another that shares them."""
    return {name: body.__annotations__[name] for name in names}


def _configured(made: Type, **config: Any) -> Type:
    made.__pydantic_config__ = {"strict": True, **config}
    return made


def not_null(kind: Type) -> Type:
    return NotRequired[kind]


def optional(kind: Type) -> Type:
    return NotRequired[kind | None]


def literal(*allowed: str) -> Type:
    # The metadata keeps literals apart that allow the same words in another order, which errors list: `typing` would
    # take the one that is imported first for both.
    return Annotated[Literal[allowed], allowed]


def number(least: float, most: float, **more: Any) -> Type:
    return Annotated[float, Field(ge=least, le=most, **more)]


def integer(least: int | None = None, most: int | None = None) -> Type:
    return Annotated[int, Field(ge=least, le=most)]


def with_checks(kind: Type, *checks: Any) -> Type:
    return Annotated[kind, *checks]


def mapping(kind: Type) -> Type:
    return dict[str, kind]


def list_of(kind: Type, least: int | None = None, most: int | None = None) -> Type:
    """A list; only its first wrong element is reported."""
    return Annotated[list[kind], Field(min_length=least, max_length=most, fail_fast=True)]


def labelled(name: str, kind: Type) -> Type:
    """A member of a union under a name, such as `<a string>`."""
    return Annotated[kind, Tag(name)]


def union(*members: Type) -> Type:
    return reduce(or_, members)


def tagged_by(key: str, *members: Type) -> Type:
    return Annotated[union(*members), Field(discriminator=key)]


def union_by(tag: Callable[[Any], str], *members: Type) -> Type:
    return Annotated[union(*members), Discriminator(tag)]


def text_or(name: str, kind: Type) -> Type:
    return union(STRING, labelled(name, kind))


STRING = labelled("<a string>", str)
