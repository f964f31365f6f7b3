"""Input items as messages: known answers for every kind of the seed, and how the assistant's turns are counted."""

from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import Message, ToolCall
from mockserver.dialects._responses.input import as_text, messages, said

USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a":1}'}
ANSWER = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
}
SCREEN = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA==", "file_id": None}
SHELL = [{"stdout": "a\n", "stderr": "b\n", "outcome": {"type": "exit", "exit_code": 0}}, {"stdout": "c", "stderr": ""}]


def called(name: str, arguments: str, kind: str, call_id: str = "c") -> Message:
    return Message("assistant", tool_calls=(ToolCall(call_id, name, arguments, kind=kind),))


def result(text: str, *parts: dict[str, Any], call_id: str = "c") -> Message:
    return Message("tool", text, parts=parts, tool_call_id=call_id)


ITEMS: dict[str, tuple[dict[str, Any], tuple[Message, ...]]] = {
    "message of the user": (USER, (Message("user", "hi"),)),
    "message with its type": ({"type": "message", **USER}, (Message("user", "hi"),)),
    "message of parts": (
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look: "},
                {"type": "input_image", "image_url": "u", "detail": "low"},
                {"type": "input_image", "file_id": "file-1"},
                {"type": "input_file", "filename": "a.txt", "file_data": "AA=="},
                {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
                {"type": "input_text", "text": "there."},
            ],
        },
        (
            Message(
                "user",
                "Look: there.",
                parts=(
                    {"type": "image_url", "image_url": {"url": "u", "detail": "low"}},
                    {"type": "image_url", "image_url": {"file_id": "file-1"}},
                    {"type": "file", "file": {"filename": "a.txt", "file_data": "AA=="}},
                    {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
                ),
            ),
        ),
    ),
    "developer": ({"role": "developer", "content": "Be brief."}, (Message("developer", "Be brief."),)),
    "message of the assistant": (ANSWER, (Message("assistant", "Hello."),)),
    "refusal": (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        (Message("assistant", "No."),),
    ),
    "reference": (
        {"type": "item_reference", "id": "msg_1"},
        (Message("assistant", parts=({"type": "item_reference", "id": "msg_1"},)),),
    ),
    "reference without its type": ({"id": "msg_1"}, (Message("assistant", parts=({"id": "msg_1"},)),)),
    "reasoning": ({"type": "reasoning", "id": "rs_1", "summary": []}, (Message("assistant"),)),
    "function_call": (CALL, (called("f", '{"a":1}', "function", "call_1"),)),
    "function_call_output": ({"type": "function_call_output", "call_id": "c", "output": "done"}, (result("done"),)),
    "function_call_output of parts": (
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [{"type": "input_text", "text": "done"}, {"type": "input_image", "image_url": "u"}],
        },
        (result("done", {"type": "image_url", "image_url": {"url": "u"}}),),
    ),
    "custom_tool_call": (
        {"type": "custom_tool_call", "call_id": "c", "name": "note", "input": "sea"},
        (called("note", "sea", "custom"),),
    ),
    "custom_tool_call_output": (
        {"type": "custom_tool_call_output", "call_id": "c", "output": "noted"},
        (result("noted"),),
    ),
    "computer_call": (
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "c",
            "action": {"type": "screenshot"},
            "status": "completed",
        },
        (called("computer_use_preview", '{"type":"screenshot"}', "computer_call"),),
    ),
    "computer_call_output": (
        {"type": "computer_call_output", "call_id": "c", "output": SCREEN},
        (result("", {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}),),
    ),
    "local_shell_call": (
        {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"type": "exec"}, "status": "completed"},
        (called("local_shell", '{"type":"exec"}', "local_shell_call"),),
    ),
    "local_shell_call_output": ({"type": "local_shell_call_output", "id": "c", "output": "x"}, (result("x"),)),
    "shell_call": (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        (called("shell", '{"commands":["ls"]}', "shell_call"),),
    ),
    "shell_call_output": ({"type": "shell_call_output", "call_id": "c", "output": SHELL}, (result("a\nb\nc"),)),
    "shell_call_output as text": ({"type": "shell_call_output", "call_id": "c", "output": "x"}, (result("x"),)),
    "apply_patch_call": (
        {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}, "status": ""},
        (called("apply_patch", '{"type":"delete_file","path":"a"}', "apply_patch_call"),),
    ),
    "apply_patch_call_output": (
        {"type": "apply_patch_call_output", "call_id": "c", "status": "completed"},
        (result("completed"),),
    ),
    "apply_patch_call_output with a log": (
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no such file"},
        (result("no such file"),),
    ),
    "mcp_approval_request": (
        {"type": "mcp_approval_request", "id": "c", "name": "read", "arguments": "{}", "server_label": "s"},
        (called("read", "{}", "mcp_approval_request"),),
    ),
    "mcp_approval_response": (
        {"type": "mcp_approval_response", "approval_request_id": "c", "approve": False, "reason": "no"},
        (result('{"approve":false,"reason":"no"}'),),
    ),
    "compaction_trigger": ({"type": "compaction_trigger"}, ()),
    "additional_tools": ({"type": "additional_tools", "role": "developer", "tools": []}, ()),
    "output of 2030": ({"type": "levitation_call_output", "call_id": "c", "output": {"up": 1}}, (result('{"up":1}'),)),
    **{
        kind: ({"type": kind, "id": "x"}, (Message("assistant", parts=({"type": kind, "id": "x"},)),))
        for kind in (
            "file_search_call",
            "web_search_call",
            "code_interpreter_call",
            "image_generation_call",
            "mcp_list_tools",
            "mcp_call",
            "compaction",
            "call of 2030",
            "",
        )
    },
}


@pytest.mark.parametrize(("item", "expected"), ITEMS.values(), ids=ITEMS.keys())
def test_each_kind(speak: Callable[[str], Any], item: dict[str, Any], expected: tuple[Message, ...]) -> None:
    assert messages([item]) == expected
    for name in ("openai", "tzafon"):
        assert speak(name).responses({"input": [item]}).messages == expected


@pytest.mark.parametrize(
    ("given", "expected"), [(None, ()), ("", (Message("user"),)), ("hi", (Message("user", "hi"),)), ([], ())]
)
def test_other_input(given: Any, expected: tuple[Message, ...]) -> None:
    assert messages(given) == expected


def test_what_the_model_does_in_a_row_is_one_turn() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
    found = messages([USER, {"type": "reasoning"}, search, ANSWER, CALL, output, {"type": "reasoning"}, ANSWER, USER])
    assert [message.role for message in found] == ["user", "assistant", "tool", "assistant", "user"]
    assert found[1] == Message(
        "assistant", "Hello.", parts=(search,), tool_calls=(ToolCall("call_1", "f", '{"a":1}', kind="function"),)
    )


def test_messages_of_one_turn_stand_on_lines_of_their_own() -> None:
    assert messages([ANSWER, ANSWER]) == (Message("assistant", "Hello.\nHello."),)


ODD: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": 7, "name": None, "arguments": {"a": 1}},
    {"type": "function_call_output", "output": None},
    {"type": "computer_call_output", "output": "x"},
    {"type": "shell_call_output", "output": [1, {"stdout": 2}]},
    {"type": "function_call_output", "output": [1, {"type": 5}, {"type": "input_text", "text": 5}]},
    {"type": "mcp_approval_response"},
]


@pytest.mark.parametrize("item", ODD)
def test_odd_values_are_read_as_text(item: dict[str, Any]) -> None:
    (message,) = messages([item])
    assert isinstance(message.text, str)
    assert all(isinstance(call.arguments, str) and isinstance(call.id, str) for call in message.tool_calls)


def test_said() -> None:
    assert said("user", None) == Message("user")
    assert said("user", "x") == Message("user", "x")
    assert said("user", 5) == said("user", [5]) == Message("user")


@pytest.mark.parametrize(("value", "text"), [("a", "a"), (None, ""), (5, "5"), ({"a": [1]}, '{"a":[1]}')])
def test_as_text(value: Any, text: str) -> None:
    assert as_text(value) == text
