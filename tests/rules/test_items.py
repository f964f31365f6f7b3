"""Items of a response: what a rule writes, and the keys of the wire that it comes to."""

import pytest
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter

from mockserver.core.call import ToolCall
from mockserver.core.plan import Item, Reasoning, Refusal, Text, ToolUse
from tests.kit.rules import find_then_mistakes, parts

OFFICIAL = TypeAdapter(ResponseOutputItem)
# What Tzafon's computer and search can do beyond OpenAI's.
BEYOND_OPENAI = ("type: find,", "point_and_type", "mouse_down", "mouse_up", "key_down", "key_up")

SEARCHED = {"type": "search", "queries": ["fjords"], "query": "fjords"}
NO_RESULT = {"file_id": None, "filename": None, "score": None, "text": None, "attributes": {}}
NO_LIMITS = {"max_output_length": None, "timeout_ms": None}
HOSTED = {
    "{type: web_search_call, query: fjords}": {"action": SEARCHED},
    "{type: web_search_call, query: fjords, sources: ['https://a.org']}": {
        "action": {**SEARCHED, "sources": [{"type": "url", "url": "https://a.org"}]}
    },
    "{type: web_search_call, action: {type: search, queries: [a, b], sources: []}, status: failed}": {
        "action": {"type": "search", "queries": ["a", "b"], "query": "a", "sources": []},
        "status": "failed",
    },
    "{type: web_search_call, action: {type: find_in_page, url: u, pattern: p}}": {
        "action": {"type": "find_in_page", "url": "u", "pattern": "p"}
    },
    "{type: web_search_call, action: {type: find, url: u, pattern: p}, status: searching}": {
        "action": {"type": "find", "url": "u", "pattern": "p"},
        "status": "searching",
    },
    "{type: file_search_call, query: a}": {"queries": ["a"], "results": None},
    "{type: file_search_call, queries: [a, b], results: [{text: c, score: 0.5}]}": {
        "queries": ["a", "b"],
        "results": [{**NO_RESULT, "text": "c", "score": 0.5}],
    },
    "{type: code_interpreter_call, code: a, container_id: c, outputs: [{type: logs, logs: b}]}": {
        "code": "a",
        "container_id": "c",
        "outputs": [{"type": "logs", "logs": "b"}],
    },
    "{type: image_generation_call, result: aGk=, revised_prompt: a cat, size: 1024x1024, quality: low}": {
        "result": "aGk=",
        "revised_prompt": "a cat",
        "size": "1024x1024",
        "quality": "low",
    },
    "{type: computer_call, actions: [{type: move, x: 1, y: 2}, {type: wait}], call_id: call_1}": {
        "call_id": "call_1",
        "actions": [{"type": "move", "x": 1, "y": 2}, {"type": "wait"}],
        "pending_safety_checks": [],
    },
    "{type: computer_call, action: {type: screenshot}, pending_safety_checks: [{id: a}]}": {
        "call_id": "",
        "action": {"type": "screenshot"},
        "pending_safety_checks": [{"id": "a", "code": None, "message": None}],
    },
    "{type: mcp_call, server_label: s, name: n, arguments: {q: '{{ last_user }}'}, output: o}": {
        "approval_request_id": None,
        "arguments": '{"q":"hello"}',
        "error": None,
        "name": "n",
        "output": "o",
        "server_label": "s",
    },
    "{type: mcp_call, server_label: s, name: n, arguments: '{\"q\": 1', error: broken, approval_request_id: a}": {
        "approval_request_id": "a",
        "arguments": '{"q": 1',
        "error": {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "broken"}]},
        "name": "n",
        "output": None,
        "server_label": "s",
    },
    "{type: mcp_call, server_label: s, name: n, status: calling}": {
        "approval_request_id": None,
        "arguments": "{}",
        "error": None,
        "name": "n",
        "output": None,
        "server_label": "s",
        "status": "calling",
    },
    "{type: mcp_list_tools, server_label: s, tools: [{name: a}]}": {
        "server_label": "s",
        "tools": [{"name": "a", "description": None, "input_schema": {"type": "object"}, "annotations": None}],
    },
    "{type: mcp_approval_request, server_label: s, name: n}": {"arguments": "{}", "name": "n", "server_label": "s"},
    "{type: local_shell_call, command: [ls, -l]}": {
        "call_id": "",
        "action": {"type": "exec", "env": {}, "command": ["ls", "-l"]},
    },
    "{type: shell_call, commands: [ls]}": {
        "call_id": "",
        "action": {**NO_LIMITS, "commands": ["ls"]},
        "environment": {"type": "local"},
    },
    "{type: shell_call_output, call_id: c, output: [{stdout: a}, {stderr: b, exit_code: 1}, {timed_out: true}]}": {
        "call_id": "c",
        "output": [
            {"outcome": {"type": "exit", "exit_code": 0}, "stderr": "", "stdout": "a"},
            {"outcome": {"type": "exit", "exit_code": 1}, "stderr": "b", "stdout": ""},
            {"outcome": {"type": "timeout"}, "stderr": "", "stdout": ""},
        ],
        "max_output_length": None,
    },
    "{type: apply_patch_call, operation: {type: update_file, path: a, diff: '-b'}}": {
        "call_id": "",
        "operation": {"type": "update_file", "path": "a", "diff": "-b"},
    },
    "{type: apply_patch_call_output, output: done, status: failed}": {
        "call_id": "",
        "output": "done",
        "status": "failed",
    },
}  # fmt: skip


@pytest.mark.parametrize(("item", "body"), HOSTED.items())
def test_what_the_providers_tools_did(item, body):
    (part,) = parts(f"{{items: [{item}]}}")
    assert isinstance(part, Item)
    assert dict(part.body) == body
    assert list(part.body)[-1:] != ["status"] or "status" in item
    wire = {"id": "x", "type": part.kind, "status": "completed", **part.body}
    if "type: find," not in item:  # only Tzafon has it
        OFFICIAL.validate_python(wire, strict=True)
    assert parts(f"{{parts: [{{item: {item}}}]}}") == (part,)


ACTIONS = {
    "{type: click, x: 1, y: 2}": {"type": "click", "x": 1, "y": 2, "button": "left"},
    "{type: click, x: 1, y: 2, button: wheel, keys: [ctrl]}": {
        "type": "click",
        "x": 1,
        "y": 2,
        "button": "wheel",
        "keys": ["ctrl"],
    },
    "{type: drag, path: [{x: 1, y: 2}, {x: 3, y: 4}]}": {
        "type": "drag",
        "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}],
    },
    "{type: keypress, keys: [ctrl, c]}": {"type": "keypress", "keys": ["ctrl", "c"]},
    "{type: screenshot}": {"type": "screenshot"},
    "{type: scroll, x: 1, y: 2, scroll_y: 3}": {"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 3},
    "{type: type, text: '{{ last_user }}'}": {"type": "type", "text": "hello"},
    "{type: wait}": {"type": "wait"},
    "{type: point_and_type, x: 1, y: 2, text: a}": {"type": "point_and_type", "x": 1, "y": 2, "text": "a"},
    "{type: mouse_down, x: 1, y: 2}": {"type": "mouse_down", "x": 1, "y": 2},
    "{type: key_down, keys: [a]}": {"type": "key_down", "keys": ["a"]},
}


@pytest.mark.parametrize(("action", "wire"), ACTIONS.items())
def test_what_a_computer_is_asked_to_do(action, wire):
    (part,) = parts(f"{{items: [{{type: computer_call, action: {action}}}]}}")
    assert part == Item("computer_call", {"call_id": "", "action": wire, "pending_safety_checks": []})
    if wire["type"] not in BEYOND_OPENAI:
        OFFICIAL.validate_python({"id": "x", "type": part.kind, "status": "completed", **part.body}, strict=True)


NOTE = "{type: file_path, file_id: '{{ last_user }}', index: 0}"
NOTED = {"type": "file_path", "file_id": "hello", "index": 0}
SAID = {
    "{type: message, text: '{{ last_user }}!', annotations: [" + NOTE + "]}": (
        Text("hello!", annotations=(NOTED,), apart=True),
    ),
    "{type: message, content: [{type: output_text, text: a}, {type: refusal, refusal: b}]}": (
        Text("a", apart=True),
        Refusal("b"),
    ),
    "{type: message, content: [{type: output_text, text: a, annotations: ["
    + NOTE
    + "]}, {type: output_text, text: b}]}": (
        Text("a", annotations=(NOTED,), apart=True),
        Text("b"),
    ),
    "{type: reasoning, text: a}": (Reasoning("a"),),
    "{type: reasoning, text: a, summary: b}": (Reasoning("a", summary="b"),),
    "{type: reasoning, summary: '{{ last_user }}'}": (Reasoning("", summary="hello"),),
    "{type: function_call, name: f, arguments: {a: '{{ last_user }}'}, call_id: c}": (
        ToolUse(ToolCall("c", "f", '{"a":"hello"}'), is_json=True),
    ),
    "{type: function_call, name: f}": (ToolUse(ToolCall("", "f", "{}")),),
    "{type: custom_tool_call, name: f, input: a}": (ToolUse(ToolCall("", "f", "a", "custom")),),
}


@pytest.mark.parametrize(("item", "said"), SAID.items())
def test_what_every_answer_can_say(item, said):
    assert parts(f"{{items: [{item}]}}") == said


def test_items_stand_between_what_is_thought_and_what_is_said():
    made = parts("{tool_calls: [{name: f}], refusal: r, items: [{type: web_search_call, query: q}], reasoning: hm}")
    assert [type(part) for part in made] == [Reasoning, Item, Refusal, ToolUse]


def test_pieces_are_of_the_text_not_of_the_items():
    thens = "{text: ab, chunks: [a, b], items: [{type: web_search_call, query: q}]}"
    item, text = parts(thens)
    assert (item.chunks, text.chunks) == ("token", ("a", "b"))
    assert parts("{items: [{type: message, text: ab}], chunks: word}") == (Text("ab", "word", apart=True),)


BAD = {
    "{items: [3]}": '9: an item of "items" expects a table, not 3; write {type: message, text: Hello}',
    "{items: [{type: web_serch_call, query: a}]}": '16: unknown type "web_serch_call"; did you mean "web_search_call"?',
    "{items: [{type: web_search_call, qeury: a}]}": '33: unknown key "qeury"; did you mean "query"?',
    "{items: [{type: web_search_call}]}": "9: web_search_call needs one of query, action",
    "{items: [{type: web_search_call, query: a, action: {type: search}}]}": (
        '43: use "action" or "query", not both'
    ),
    "{items: [{type: web_search_call, action: {type: search}, sources: []}]}": (
        '57: "sources" belong to the action of a search; put them into "action"'
    ),
    "{items: [{type: web_search_call, action: {type: look, url: a}}]}": (
        '48: unknown type "look"; choose one of search, open_page, find_in_page, find'
    ),
    "{items: [{type: computer_call, action: {type: click, x: 1}}]}": (
        '39: "action" needs "y"; write {type: click, x: 10, y: 20}'
    ),
    "{items: [{type: computer_call, actions: [{x: 1, y: 2}]}]}": (
        '41: an item of "actions" needs "type": one of click, double_click, drag, keypress, move, screenshot, scroll, '
        "type, wait, point_and_type, mouse_down, mouse_up, key_down, key_up"
    ),
    "{items: [{type: mcp_call, server_label: a, name: b, error: {type: http, code: 3}}]}": (
        '66: unknown type "http"; choose one of mcp_protocol_error, http_error, mcp_tool_execution_error'
    ),
    "{items: [{type: message, content: [{type: refusal, refusal: b}], annotations: [{a: 1}]}]}": (
        '65: "annotations" belong to a text; put them into its part'
    ),
    "{items: [{type: reasoning}]}": "9: reasoning needs text, a summary, or both",
    "{parts: [{item: {type: drag}}]}": None,
}  # fmt: skip


@pytest.mark.parametrize(("then", "mistake"), BAD.items())
def test_items_that_cannot_be(then, mistake):
    if mistake is None:
        (told,) = find_then_mistakes(then)
        assert told.startswith('23: unknown type "drag"; choose one of message, reasoning, function_call, ')
    else:
        assert find_then_mistakes(then) == [mistake]
