import pytest

from mockserver.core.call import ToolCall
from mockserver.core.plan import ToolUse
from tests.kit.rules import parts, then_mistakes

MADE = {
    "{name: f, arguments: {a: 1}}": ToolCall("", "f", '{"a":1}'),
    "{name: f, arguments: '{', id: c}": ToolCall("c", "f", "{"),
    "{name: f, input: free}": ToolCall("", "f", "free", "custom"),
    "{name: f}": ToolCall("", "f", "{}"),
}


@pytest.mark.parametrize(("call", "made"), MADE.items())
def test_calls(call, made):
    assert parts(f"{{tool_calls: [{call}]}}") == (ToolUse(made),)


def test_names_are_no_templates():
    assert then_mistakes("{tool_calls: [{name: f, id: '{{ last_user }}'}]}") == [
        "28: no template can stand here: this is sent as it is"
    ]
