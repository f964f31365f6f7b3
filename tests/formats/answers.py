"""Answers for the tests of Responses: two providers' styles, what a request may want, and parts of every kind."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from mockserver.core.call import ToolCall
from mockserver.core.plan import Answer, Broken, Choice, Item, Logprob, Part, Reasoning, Refusal, Text, ToolUse, Usage
from mockserver.core.tokens import split
from mockserver.formats.responses import Asked, ResponseStyle
from mockserver.formats.responses_stream import events

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
PLAIN = Asked(_ECHO)
EVERYTHING = Asked(
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
BEHIND = replace(PLAIN, echo={**_ECHO, "background": True})

OPENAI = ResponseStyle(
    response=(
        *("id", "object", "created_at", "status", "completed_at", "background", "error", "incomplete_details"),
        *("instructions", "model", "output", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p"),
        *("truncation", "usage", "metadata"),
    )
)
TZAFON = ResponseStyle(
    response=(
        *("id", "created_at", "model", "object", "output", "status", "error", "tools", "usage", "incomplete_details"),
        *("parallel_tool_calls", "tool_choice", "background"),
    ),
    queued=False,
    incomplete_event=False,
    raw_reasoning=True,
)


def answer(*parts: Part, finish: str = "stop", **fields: Any) -> Answer:
    """An answer of these parts."""
    return Answer("resp_" + "ab" * 16, 1_700_000_000, "m", (Choice(parts, finish),), Usage(9, 5, 2, 1), **fields)


def weighed(*parts: Part) -> Answer:
    """The same with log probabilities of its texts' tokens."""
    tokens = [token for part in parts if isinstance(part, Text) for token in split(part.text)]
    logprobs = tuple(Logprob(token, -0.5, ((token, -0.5), ("é", -1.5))) for token in tokens)
    whole = answer(*parts)
    return replace(whole, choices=(replace(whole.choices[0], logprobs=logprobs),))


def told(whole: Answer, style: ResponseStyle = OPENAI, asked: Asked = PLAIN) -> list[Event]:
    """The events of an answer, parsed."""
    return [json.loads(frame.data) for frame in events(whole, style, asked)]


def names(found: list[Event]) -> list[str]:
    """The types of events, without the word that all begin with."""
    return [event["type"].removeprefix("response.") for event in found]


NOTE = {"type": "url_citation", "start_index": 0, "end_index": 2, "title": "T", "url": "https://example.com/"}
CALL = ToolUse(ToolCall("call_1", "f", '{"a":1}'), chunks=4)
CUSTOM = ToolUse(ToolCall("call_2", "sql", "SELECT 1", kind="custom"), chunks=6)

# Every kind of item in a form that a rule may state, the least and a full one.
ITEMS: tuple[Item, ...] = (
    Item("web_search_call", {}),
    Item("web_search_call", {"action": {"query": "q", "sources": [{"type": "url", "url": "https://example.com"}]}}),
    Item("web_search_call", {"action": {"type": "open_page", "url": "https://example.com"}}),
    Item("web_search_call", {"status": "failed"}),
    Item("file_search_call", {"queries": ["q"], "results": [{"file_id": "f", "filename": "a.txt", "score": 0.5}]}),
    Item("code_interpreter_call", {"code": "print(1)", "outputs": [{"type": "logs", "logs": "1\n"}]}, chunks=3),
    Item("image_generation_call", {"revised_prompt": "A cat", "size": "1024x1024"}),
    Item("image_generation_call", {"result": None, "status": "failed"}),
    Item("mcp_call", {"name": "roll", "server_label": "dice", "arguments": '{"sides":6}', "output": "4"}),
    Item("mcp_call", {"error": {"type": "http_error", "code": 500, "message": "no"}}),
    Item("mcp_list_tools", {"server_label": "dice", "tools": [{"name": "roll", "input_schema": {}}]}),
    Item("mcp_list_tools", {"error": "unreachable"}),
    Item("mcp_approval_request", {"name": "roll", "arguments": "{}"}),
    Item("computer_call", {}),
    Item("computer_call", {"action": {"type": "click", "button": "left", "x": 1, "y": 2}}),
    Item("computer_call", {"actions": [{"type": "wait"}], "call_id": "call_9"}),
    Item("local_shell_call", {"action": {"command": ["ls"]}}),
    Item("shell_call", {"action": {"commands": ["ls -la", "pwd"]}}),
    Item("shell_call_output", {"output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}),
    Item("apply_patch_call", {"operation": {"type": "delete_file", "path": "a"}}),
    Item("apply_patch_call_output", {"output": "ok"}),
    Item("compaction", {"encrypted_content": "x"}),
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
