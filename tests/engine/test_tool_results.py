import pytest

from mockserver.core.call import (
    Message,
    ToolCall,
    find_last_tool_result,
    list_recent_tool_calls,
    list_tool_calls,
    list_tool_results,
)
from tests.kit.calls import call, tool_result

ASKED = Message("assistant", tool_calls=(ToolCall("1", "sky", "{}"), ToolCall("2", "sea", "{}")))


def test_a_result_has_name_text_and_json():
    assert find_last_tool_result(call(*tool_result('{"sky": "grey"}'))) == {
        "name": "get_weather",
        "text": '{"sky": "grey"}',
        "json": {"sky": "grey"},
    }


@pytest.mark.parametrize("text", ["grey", "", "{", "[" * 10_000])
def test_a_text_that_is_no_json_has_none(text):
    assert find_last_tool_result(call(*tool_result(text)))["json"] is None


def test_a_result_counts_as_last_only_in_last_place():
    assert find_last_tool_result(call(*tool_result("grey"), Message("assistant", "It is grey."))) is None
    assert find_last_tool_result(call(*tool_result("grey"), "And now?")) is None
    assert find_last_tool_result(call()) is None


def test_the_results_since_the_user_spoke():
    results = (Message("tool", "1", tool_call_id="1"), Message("tool", "2", tool_call_id="2"))
    made = call(*tool_result("old"), "again", ASKED, *results)
    assert [(r["name"], r["json"]) for r in list_tool_results(made)] == [("sky", 1), ("sea", 2)]
    assert [r["name"] for r in list_tool_results(call(ASKED, *results))] == ["sky", "sea"]
    assert list_tool_results(call(*tool_result("old"), "again")) == ()


def test_a_result_of_an_unknown_call_keeps_the_name_it_carries():
    assert find_last_tool_result(call("hi", Message("function", "x", name="look")))["name"] == "look"
    assert find_last_tool_result(call("hi", Message("tool", "x", tool_call_id="9")))["name"] is None


def test_the_calls_of_a_conversation_and_of_its_last_turn():
    made = call(*tool_result("old"), "again", ASKED)
    assert [each.name for each in list_tool_calls(made)] == ["get_weather", "sky", "sea"]
    assert [each.name for each in list_recent_tool_calls(made)] == ["sky", "sea"]
    assert list_recent_tool_calls(call(*tool_result("old"), "again")) == ()
