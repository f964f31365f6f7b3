from decimal import Decimal

import pytest

from mockserver.core.call import Message, Tool, ToolCall, ToolChoice
from mockserver.rules.templates import CALL, CONTEXT, MEMBERS, Table, plain, shown
from tests.kit.calls import call, told
from tests.kit.rules import rendered, scope

DEEP = {"a": [1, {"b": "c"}], "items": 2, "none": None}


def test_a_table_is_seen_but_never_changed():
    table = plain(DEEP)
    assert isinstance(table, Table)
    assert dict(table) == {"a": (1, {"b": "c"}), "items": 2, "none": None}
    assert len(table) == 3
    with pytest.raises(TypeError):
        table["a"] = 1
    with pytest.raises(AttributeError):
        table["a"].append(1)
    assert str(table) == '{"a":[1,{"b":"c"}],"items":2,"none":null}'


@pytest.mark.parametrize("value", ["", "x", 1, 1.5, True, None])
def test_simple_values_stay(value):
    assert plain(value) is value


def test_anything_else_becomes_text():
    assert plain(Decimal("1.5")) == "1.5"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a<b", "a<b"),
        (1, "1"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
        (plain([1, "é", {"a": []}]), '[1,"é",{"a":[]}]'),
        (plain({}), "{}"),
    ],
)
def test_how_a_value_stands_in_a_text(value, text):
    assert shown(value) == text


def test_a_method_is_no_value():
    with pytest.raises(TypeError, match="a method wants its parentheses"):
        shown(plain(DEEP).get)


FULL = call(
    Message("system", "Be kind."),
    Message("developer", "Be brief."),
    "weather?",
    Message("assistant", tool_calls=(ToolCall("1", "sky", '{"at":1}'),)),
    Message("tool", '{"sky": "grey"}', tool_call_id="1"),
    tools=(),
    raw={"model": "gpt-4o", "items": [1, 2]},
    n=2,
    tool_choice=ToolChoice("auto"),
)

SEEN = {
    "{{ match.city }}": "Rome",
    "{{ call.model }} {{ call.dialect }} {{ call.operation }}": "gpt-4o openai chat",
    "{{ call.turn }} {{ call.attempt }} {{ call.stream }} {{ call.n }}": "1 1 false 2",
    "{{ call.namespace }} {{ call.tool_choice }} {{ call.response_format }}": "default auto text",
    "{{ call.seed }} {{ call.max_tokens }}": "null null",
    "{{ last_user }}|{{ last_message }}": 'weather?|{"sky": "grey"}',
    "{{ system }}": "Be kind.\nBe brief.",
    "{{ messages|length }} {{ messages[0].role }}": "5 system",
    "{% for m in messages if m.tool_calls %}{{ m.tool_calls[0].arguments }}{% endfor %}": '{"at":1}',
    "{{ tool_result.name }} {{ tool_result.json.sky }} {{ tool_result.json }}": 'sky grey {"sky":"grey"}',
    "{{ tool_results|length }}": "1",
    "{{ body.items[1] }} {{ body['model'] }}": "2 gpt-4o",
    "{{ body }}": '{"model":"gpt-4o","items":[1,2]}',
    "{{ body|items|first }}": '["model","gpt-4o"]',
    "{{ body|tojson }}": '{"model": "gpt-4o", "items": [1, 2]}',
    "{{ tools }}": "[]",
}


@pytest.mark.parametrize(("template", "text"), SEEN.items())
def test_what_a_template_sees(template, text):
    assert rendered(template, scope(FULL, {"city": "Rome"}), "city") == text


def test_the_tools_that_are_offered():
    made = scope(call("hi", tools=["sky"]))
    assert CONTEXT["tools"](made) == [{"name": "sky", "description": "", "parameters": None}]
    made = scope(call("hi").__class__(**{**vars(call("hi")), "tools": (Tool("a", "b", {"type": "object"}),)}))
    assert rendered("{{ tools[0].parameters.type }}", made) == "object"


def test_an_empty_conversation():
    made = scope(call())
    assert [CONTEXT[name](made) for name in ("last_user", "last_message", "system", "messages")] == ["", "", "", []]
    assert CONTEXT["tool_result"](made) is None
    assert CONTEXT["tool_result"](scope(call(*told("x")))) is not None


def test_the_members_that_are_told_are_there():
    made = scope(FULL)
    for variable, members in MEMBERS.items():
        assert set(CONTEXT[variable](made)) == set(members)
    assert set(MEMBERS["call"]) == set(CALL)
