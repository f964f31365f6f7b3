from pathlib import Path

import pytest

from app import ask

LOOK_UP = {"tool_calls": [{"name": "find_order", "arguments": {"number": 7}}]}


def test_the_tool_is_used_and_its_result_is_told(mockserver):
    mockserver.on(last_user="*order 7*").steps(LOOK_UP, "Your order is on its way.")

    assert ask("Where is order 7?") == "Your order is on its way."
    assert [tool.name for tool in mockserver.calls[0].tools] == ["find_order"]
    mockserver.assert_called_once(tool_result={"name": "find_order", "text": "on its way"})


def test_arguments_that_are_no_json_are_told_to_the_model(mockserver):
    mockserver.on(tool_result={"text": "error:*"}).reply("I am sorry, I cannot look it up.")
    mockserver.on().then(LOOK_UP | {"faults": ["bad_tool_arguments"]})

    assert ask("Where is order 7?") == "I am sorry, I cannot look it up."


def test_a_model_that_only_ever_uses_tools_is_stopped(mockserver):
    mockserver.on().then(LOOK_UP)

    with pytest.raises(RuntimeError, match="no answer after 5 rounds"):
        ask("Where is order 7?")

    mockserver.assert_called_times(5)


def test_what_was_asked_is_what_was_approved(mockserver):
    mockserver.on().steps(LOOK_UP, "Your order is on its way.")

    ask("Where is order 7?")

    assert mockserver.snapshot() == (Path(__file__).parent / "approved.txt").read_text()
