"""Scalars as Fireworks' schema has them: of their own type alone, refused in pydantic's words for each value.

`5.0` is the integer 5. A text is no number and no truth, even where it reads like one; `true` is not 1.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, Tag
from pydantic_core import PydanticKnownError


def whole(value: Any) -> Any:
    """An integer, however it is written; anything else is refused here or by the type."""
    if isinstance(value, str):
        raise PydanticKnownError("int_type" if _reads_as(int, value) else "int_parsing")
    if isinstance(value, float):
        if not value.is_integer():
            raise PydanticKnownError("int_from_float")
        return int(value)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, str):
        raise PydanticKnownError("float_type" if _reads_as(float, value) else "float_parsing")
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


def _truth(value: Any) -> Any:
    if isinstance(value, str):
        raise PydanticKnownError("bool_type" if value.lower() in _TRUTHS else "bool_parsing")
    if isinstance(value, int) and not isinstance(value, bool):
        raise PydanticKnownError("bool_type" if value in (0, 1) else "bool_parsing")
    return value


def _reads_as(kind: type[int] | type[float], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def _one_refused(value: Any) -> Any:
    """Of a great many entries only the first that will be refused, so that not each of them is told."""
    if not isinstance(value, Mapping) or len(value) <= _MANY:
        return value
    return next(({key: entry} for key, entry in value.items() if type(entry) not in _FITTING), value)


_TRUTHS = frozenset(("0", "1", "f", "t", "n", "y", "no", "yes", "off", "on", "false", "true"))
_FITTING = (int, float, str)
_MANY = 64

Int = Annotated[int, BeforeValidator(whole), Tag("int")]
Number = Annotated[float, BeforeValidator(_number), Tag("float")]
Bool = Annotated[bool, BeforeValidator(_truth), Tag("bool")]
Text = Annotated[str, Tag("str")]
Texts = Annotated[list[str], Field(fail_fast=True), Tag("list[str]")]
Ints = Annotated[list[Int], Field(fail_fast=True), Tag("list[int]")]
Pairs = Annotated[dict[str, str], BeforeValidator(_one_refused)]
Bias = Annotated[float, BeforeValidator(_number), Field(ge=-100.0, le=100.0)]
Biases = Annotated[dict[str, Bias], BeforeValidator(_one_refused)]
Share = Annotated[float, BeforeValidator(_number), Field(ge=0.0, le=1.0)]
FromZeroToTwo = Annotated[float, BeforeValidator(_number), Field(ge=0.0, le=2.0)]
Penalty = Annotated[float, BeforeValidator(_number), Field(ge=-2.0, le=2.0)]
FewInt = Annotated[int, BeforeValidator(whole), Field(ge=0, le=5), Tag("int")]
