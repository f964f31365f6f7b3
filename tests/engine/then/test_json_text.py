import pytest

from mockserver.rules.answer.context import json_bytes, json_text
from tests.kit.calls import call
from tests.kit.rules import context, said, scope, text


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ({"b": 1, "a": [True, None, 1.5, "é"]}, '{"b":1,"a":[true,null,1.5,"é"]}'),
        ("x", '"x"'),
        (None, "null"),
        ([], "[]"),
        ((1, 2), "[1,2]"),
        (10**30, str(10**30)),
        ({1: {}}, '{"1":{}}'),
    ],
)
def test_what_holds_no_template_is_known(value, made):
    here = context(value)
    assert json_text(value, here).known == (made,)
    assert said(here) == []


def test_texts_inside_are_templates_and_stay_texts():
    made = scope(call('say "hi"'))
    assert text('{json: {a: "{{ last_user }}", b: ["{{ call.turn }}"], "{{ x }}": 1}}', made) == (
        '{"a":"say \\"hi\\"","b":["0"],"{{ x }}":1}'
    )


def test_what_json_cannot_say():
    here = context({"a": float("nan")})
    json_text({"a": [float("nan"), float("-inf"), 1.5]}, here)
    assert said(here) == ["JSON has no such number; write null or a text"] * 2
    here = context()
    assert json_bytes({"a": object()}, here) == b"null"
    assert said(here)[0].startswith("this cannot be JSON: Unable to serialize unknown type")
    here = context()
    assert json_bytes("\ud800", here) == b"null"
    assert said(here)[0].startswith("this cannot be JSON: ")
