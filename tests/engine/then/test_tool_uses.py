from dataclasses import replace

import pytest

from mockserver.core.call import Tool, ToolCall
from mockserver.core.plan import ToolUse
from tests.kit.calls import call
from tests.kit.rules import parts, scope, then_mistakes

MADE = {
    "{name: f, arguments: {a: 1}}": ToolCall("", "f", '{"a":1}'),
    "{name: f, arguments: '{', id: c}": ToolCall("c", "f", "{"),
    "{name: f, input: free}": ToolCall("", "f", "free", "custom"),
    "{name: f}": ToolCall("", "f", "{}"),
}


@pytest.mark.parametrize(("call", "made"), MADE.items())
def test_calls(call, made):
    assert parts(f"{{tool_calls: [{call}]}}") == (ToolUse(made),)


def test_further_calls_of_one_tool_take_what_else_is_listed():
    schema = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    asked = scope(replace(call("weather in Oslo and Rome"), tools=(Tool("f", parameters=schema), Tool("g"))))
    made = parts("{tool_calls: [{name: f}, {name: g}, {name: f}, {name: f, id: c}]}", asked)
    assert [part.call.arguments for part in made] == ['{"city":"Oslo"}', "{}", '{"city":"Rome"}', '{"city":"Oslo"}']
    assert made[3].call.id == "c"


def test_names_are_no_templates():
    assert then_mistakes("{tool_calls: [{name: f, id: '{{ last_user }}'}]}") == [
        "28: templates are not supported here: this is sent unchanged"
    ]
