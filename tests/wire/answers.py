"""Answers for the tests of Responses: two providers' layouts, what a request may want, and parts of every kind."""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from mockserver.core.call import ToolCall
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Broken, Choice, Item, Logprob, Part, Reasoning, Refusal, Text, ToolUse, Usage
from mockserver.core.tokens import split
from mockserver.wire.response_events import ResponseRenderer
from mockserver.wire.responses import ResponseLayout, ResponseOptions

Event = dict[str, Any]

_ECHO: Mapping[str, Any] = {
    "background": False,
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": 1.0,
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}
PLAIN = ResponseOptions(_ECHO)
EVERYTHING = ResponseOptions(
    {**_ECHO, "tools": [{"type": "image_generation", "partial_images": 2}]},
    frozenset(
        {
            "code_interpreter_call.outputs",
            "file_search_call.results",
            "message.output_text.logprobs",
            "reasoning.encrypted_content",
            "web_search_call.action.sources",
        }
    ),
    summary=True,
)
BEHIND = replace(PLAIN, request_fields={**_ECHO, "background": True})

OPENAI = ResponseLayout(
    response=(
        "id", "object", "created_at", "status", "completed_at", "background", "error", "incomplete_details",
        "instructions", "model", "output", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p",
        "truncation", "usage", "metadata",
    )
)  # fmt: skip
TZAFON = ResponseLayout(
    response=(
        "id", "created_at", "model", "object", "output", "status", "error", "tools", "usage", "incomplete_details",
        "parallel_tool_calls", "tool_choice", "background",
    ),
    queued=False,
    raw_reasoning=True,
)  # fmt: skip


def answer(*parts: Part, finish: str = "stop", **fields: Any) -> Answer:
    """An answer of these parts."""
    return Answer("resp_" + "ab" * 16, 1_700_000_000, "m", (Choice(parts, finish),), Usage(9, 5, 2, 1), **fields)


def weighed(*parts: Part) -> Answer:
    """The same with log probabilities of its texts' tokens."""
    tokens = [token for part in parts if isinstance(part, Text) for token in split(part.text)]
    logprobs = tuple(Logprob(token, -0.5, ((token, -0.5), ("é", -1.5))) for token in tokens)
    whole = answer(*parts)
    return replace(whole, choices=(replace(whole.choices[0], logprobs=logprobs),))


def told(whole: Answer, layout: ResponseLayout = OPENAI, asked: ResponseOptions = PLAIN) -> list[Event]:
    """The events of an answer, parsed."""
    return [json.loads(frame.data) for frame in ResponseRenderer(layout).stream(whole, asked)]


def names(found: list[Event]) -> list[str]:
    """The types of events, without the word that all begin with."""
    return [event["type"].removeprefix("response.") for event in found]


NOTE = {"type": "url_citation", "start_index": 0, "end_index": 2, "title": "T", "url": "https://example.com/"}
CALL = ToolUse(ToolCall("call_1", "f", '{"a":1}'), chunks=4)
CUSTOM = ToolUse(ToolCall("call_2", "sql", "SELECT 1", kind="custom"), chunks=6)

# The least that the API shows of each kind of item, besides its id, type and status.
_LEAST: Mapping[str, Mapping[str, Json]] = {
    "web_search_call": {"action": {"type": "search", "query": "", "queries": [""]}},
    "file_search_call": {"queries": ["q"], "results": None},
    "code_interpreter_call": {"code": "1", "container_id": "", "outputs": None},
    "image_generation_call": {"result": "aGk="},
    "mcp_call": {
        "approval_request_id": None,
        "arguments": "{}",
        "error": None,
        "name": "roll",
        "output": None,
        "server_label": "dice",
    },
    "mcp_list_tools": {"server_label": "dice", "tools": [], "error": None},
    "mcp_approval_request": {"arguments": "{}", "name": "roll", "server_label": "dice"},
    "computer_call": {"call_id": "", "action": {"type": "screenshot"}, "pending_safety_checks": []},
    "local_shell_call": {"call_id": "", "action": {"type": "exec", "command": ["ls"], "env": {}}},
    "shell_call": {
        "call_id": "",
        "action": {"commands": ["ls"], "max_output_length": None, "timeout_ms": None},
        "environment": {"type": "local"},
    },
    "shell_call_output": {"call_id": "", "output": [], "max_output_length": None},
    "apply_patch_call": {"call_id": "", "operation": {"type": "create_file", "path": "a", "diff": ""}},
    "apply_patch_call_output": {"call_id": "", "output": None},
    "compaction": {"encrypted_content": "x"},
}


def used(kind: str, /, **given: Json) -> Item:
    """A use of one of the provider's own tools: the least, but for what is given."""
    return Item(kind, {**_LEAST[kind], **given})


# Every kind of item, the least and a full one.
ITEMS: tuple[Item, ...] = (
    *map(used, _LEAST),
    used(
        "web_search_call", action={"type": "search", "query": "q", "sources": [{"type": "url", "url": "https://a.com"}]}
    ),
    used("web_search_call", action={"type": "open_page", "url": "https://example.com"}),
    used("web_search_call", status="failed"),
    used("file_search_call", results=[{"file_id": "f", "filename": "a.txt", "score": 0.5}]),
    replace(used("code_interpreter_call", code="print(1)", outputs=[{"type": "logs", "logs": "1\n"}]), chunks=3),
    used("image_generation_call", revised_prompt="A cat", size="1024x1024"),
    used("image_generation_call", result=None, status="failed"),
    used("mcp_call", arguments='{"sides":6}', output="4"),
    used("mcp_call", error={"type": "http_error", "code": 500, "message": "no"}),
    used("mcp_list_tools", tools=[{"name": "roll", "input_schema": {}}]),
    used("mcp_list_tools", error="unreachable"),
    used("computer_call", action={"type": "click", "button": "left", "x": 1, "y": 2}),
    Item("computer_call", {"call_id": "call_9", "actions": [{"type": "wait"}], "pending_safety_checks": []}),
    used("shell_call", action={"commands": ["ls -la", "pwd"], "max_output_length": None, "timeout_ms": None}),
    used("shell_call_output", output=[{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]),
    used("apply_patch_call", operation={"type": "delete_file", "path": "a"}),
    used("apply_patch_call_output", output="ok"),
)

_TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
_CHUNKS = st.sampled_from(["token", "word", "char", 3])
TEXTS = st.builds(Text, _TEXT, _CHUNKS, st.sampled_from([(), (NOTE,), (NOTE, NOTE)]), st.booleans())
PARTS = st.one_of(
    TEXTS,
    st.builds(Refusal, _TEXT, _CHUNKS),
    st.builds(Reasoning, _TEXT, _CHUNKS, st.none() | _TEXT),
    st.builds(
        ToolUse, st.builds(ToolCall, _TEXT, st.just("f"), _TEXT, st.sampled_from(["function", "custom"])), _CHUNKS
    ),
    st.sampled_from(ITEMS),
)
ENDS = st.sampled_from(["stop", "tool_calls", "length", "content_filter"])
BREAKS = st.sampled_from([None, None, Broken(), Broken("rate_limit_exceeded", "Slow down.", event=True)])


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Any answer that is there; no two of its calls share an id."""
    parts = tuple(draw(st.lists(PARTS, max_size=5)))
    return answer(*map(_renamed, range(5), parts), finish=draw(ENDS), broken=draw(BREAKS))


def _renamed(at: int, part: Part) -> Part:
    if isinstance(part, ToolUse):
        return replace(part, call=replace(part.call, id=f"call_{at}"))
    return part
