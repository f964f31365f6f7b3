"""JSONPath as scrub rules use it: what is read of it, and what is said of the rest."""

import re

import pytest

from mockserver.config.types import JsonPath, Step, parse_json_path

READ: dict[str, JsonPath] = {
    "$": (),
    "$.user": (Step("user"),),
    "$.a.b[0]": (Step("a"), Step("b"), Step(0)),
    "$.messages[*].name": (Step("messages"), Step(None), Step("name")),
    "$..user": (Step("user", deep=True),),
    "$..*": (Step(None, deep=True),),
    "$..['x y']": (Step("x y", deep=True),),
    "$['x y']": (Step("x y"),),
    "$['a\"b']": (Step('a"b'),),
    "$['it\\'s']": (Step("it's"),),
    "$['\\u00e9']": (Step("é"),),
    "$.größe-2": (Step("größe-2"),),
}


@pytest.mark.parametrize("text", READ)
def test_a_path(text: str) -> None:
    assert parse_json_path(text) == READ[text]


REFUSED = {
    "": "it must begin with $, as in $.user",
    "$user": "expected a name after a dot, or a number, a quoted name or * in brackets, at character 2",
    "$.": "expected a name after a dot, or a number, a quoted name or * in brackets, at character 2",
    "$['a','b']": "expected a name after a dot, or a number, a quoted name or * in brackets, at character 2",
    "$['\\q']": "the name '\\q' has an invalid escape",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(REFUSED[text])}$"):
        parse_json_path(text)
