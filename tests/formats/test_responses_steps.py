"""The events of one item: known sequences for every kind, and what each event says."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mockserver.core.plan import Broken, Item, Part, Reasoning, Refusal, Text
from mockserver.wire.responses import ResponseLayout, ResponseOptions, output_items
from mockserver.wire.responses_stream import ItemStream, item_events, item_in_progress
from tests.formats.answers import CALL, CUSTOM, EVERYTHING, NOTE, OPENAI, PLAIN, TZAFON, Event, answer, used, weighed

ADDED, DONE = ("output_item.added",), ("output_item.done",)
PART = ("content_part.added",), ("content_part.done",)


def steps(
    part: Part, *more: Part, style: ResponseLayout = OPENAI, asked: ResponseOptions = PLAIN, **fields: Any
) -> list[Event]:
    """The events of the one item that the parts make, parsed."""
    (output,) = output_items(answer(part, *more, **fields), style, asked)
    previews = 2 if asked is EVERYTHING else 0
    return [
        {"type": step.type, **json.loads(b"{" + step.rest)}
        for step in item_events(ItemStream(0, output, previews=previews))
    ]


def named(found: list[Event]) -> tuple[str, ...]:
    return tuple(event["type"].removeprefix("response.") for event in found)


def phases(stem: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{stem}.{name}" for name in names)


SUMMARY = (
    "reasoning_summary_part.added",
    "reasoning_summary_text.delta",
    "reasoning_summary_text.done",
    "reasoning_summary_part.done",
)
RAW = ("content_part.added", "reasoning_text.delta", "reasoning_text.done", "content_part.done")
TEXT = ("output_text.delta", "output_text.done")

# A part (or several), what stands between the item's first event and its last.
SEQUENCES: dict[str, tuple[Part, tuple[str, ...]]] = {
    "text": (Text("Hi"), ("content_part.added", *TEXT, "content_part.done")),
    "empty text": (Text(""), ("content_part.added", "output_text.done", "content_part.done")),
    "pieces": (
        Text("abc", ("a", "", "bc")),
        ("content_part.added", "output_text.delta", *TEXT, "content_part.done"),
    ),
    "annotations": (
        Text("Hi", annotations=(NOTE, NOTE)),
        (
            "content_part.added",
            "output_text.delta",
            *["output_text.annotation.added"] * 2,
            "output_text.done",
            "content_part.done",
        ),
    ),
    "refusal": (Refusal("No"), ("content_part.added", "refusal.delta", "refusal.done", "content_part.done")),
    "function": (CALL, ("function_call_arguments.delta",) * 2 + ("function_call_arguments.done",)),
    "custom": (CUSTOM, ("custom_tool_call_input.delta",) * 2 + ("custom_tool_call_input.done",)),
    "thoughts": (Reasoning("Hm"), ()),
    "summary": (Reasoning("Hm", summary="Hm"), SUMMARY),
    "web search": (used("web_search_call"), phases("web_search_call", "in_progress", "searching", "completed")),
    "failed search": (
        used("web_search_call", status="failed"),
        phases("web_search_call", "in_progress", "searching"),
    ),
    "file search": (used("file_search_call"), phases("file_search_call", "in_progress", "searching", "completed")),
    "code": (
        replace(used("code_interpreter_call", code="abcd"), chunks=2),
        (
            "code_interpreter_call.in_progress",
            *phases("code_interpreter_call_code", "delta", "delta", "done"),
            *phases("code_interpreter_call", "interpreting", "completed"),
        ),
    ),
    "image": (
        used("image_generation_call"),
        phases("image_generation_call", "in_progress", "generating", "completed"),
    ),
    "mcp": (
        used("mcp_call"),
        ("mcp_call.in_progress", *phases("mcp_call_arguments", "delta", "done"), "mcp_call.completed"),
    ),
    "failed mcp": (
        used("mcp_call", arguments="", error={"type": "x"}),
        ("mcp_call.in_progress", "mcp_call_arguments.done", "mcp_call.failed"),
    ),
    "mcp tools": (used("mcp_list_tools"), phases("mcp_list_tools", "in_progress", "completed")),
    "no mcp tools": (used("mcp_list_tools", error="no"), phases("mcp_list_tools", "in_progress", "failed")),
    "approval": (used("mcp_approval_request"), ()),
    "computer": (used("computer_call"), ()),
    "local shell": (used("local_shell_call"), ()),
    "shell": (
        used("shell_call", action={"commands": ["ls", "pwd"]}),
        phases("shell_call_command", "added", "delta", "done") * 2,
    ),
    "printed": (
        used("shell_call_output", output=[{"stdout": "a", "stderr": "", "outcome": {"type": "timeout"}}]),
        phases("shell_call_output_content", "delta", "done"),
    ),
    "patch": (used("apply_patch_call"), ()),
    "compaction": (used("compaction"), ("compaction.compacting",)),
    "something new": (Item("something_new", {}), ()),
}


@pytest.mark.parametrize("kind", SEQUENCES)
def test_sequences(kind: str) -> None:
    part, between = SEQUENCES[kind]
    assert named(steps(part)) == (*ADDED, *between, *DONE)


def test_several_contents_of_a_message() -> None:
    found = steps(Text("a"), Refusal("b"))
    assert named(found)[1:-1] == (
        *(*PART[0], *TEXT, *PART[1]),
        *(*PART[0], "refusal.delta", "refusal.done", *PART[1]),
    )
    assert [event["content_index"] for event in found[1:-1]] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_raw_thoughts_follow_their_summary() -> None:
    assert named(steps(Reasoning("Hm"), style=TZAFON)) == (*ADDED, *RAW, *DONE)
    both = steps(Reasoning("Hm", ("H", "m"), summary="So"), style=TZAFON)
    assert named(both) == (*ADDED, *SUMMARY, "content_part.added", "reasoning_text.delta", *RAW[1:], *DONE)


def test_what_the_events_of_a_text_say() -> None:
    added, part_added, delta, note, done, part_done, closed = steps(Text("Hi", annotations=(NOTE,)))
    place = {"item_id": added["item"]["id"], "output_index": 0, "content_index": 0}
    empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    full = {"type": "output_text", "text": "Hi", "annotations": [NOTE], "logprobs": []}
    assert added["item"] == {**closed["item"], "status": "in_progress", "content": []}
    assert part_added == {"type": "response.content_part.added", **place, "part": empty}
    assert delta == {"type": "response.output_text.delta", **place, "delta": "Hi", "logprobs": []}
    assert note == {
        "type": "response.output_text.annotation.added",
        **place,
        "annotation_index": 0,
        "annotation": NOTE,
    }
    assert done == {"type": "response.output_text.done", **place, "text": "Hi", "logprobs": []}
    assert part_done == {"type": "response.content_part.done", **place, "part": full}
    assert closed["item"]["content"] == [full]


def test_what_the_events_of_a_call_say() -> None:
    added, first, second, done, closed = steps(CALL)
    assert added["item"] == {**closed["item"], "status": "in_progress", "arguments": ""}
    place = {"item_id": added["item"]["id"], "output_index": 0}
    assert first == {"type": "response.function_call_arguments.delta", **place, "delta": '{"a"'}
    assert second["delta"] == ":1}"
    assert done == {"type": "response.function_call_arguments.done", **place, "name": "f", "arguments": '{"a":1}'}


def test_logprobs_come_with_their_pieces() -> None:
    (output,) = output_items(weighed(Text("Hello there", 7)), OPENAI, PLAIN)
    found = [json.loads(b"{" + step.rest) for step in item_events(ItemStream(0, output))]
    pieces = [event for event in found if "delta" in event]
    assert [[logprob["token"] for logprob in event["logprobs"]] for event in pieces] == [["Hello"], [" there"]]
    assert pieces[0]["logprobs"] == [
        {
            "token": "Hello",
            "logprob": -0.5,
            "top_logprobs": [{"token": "Hello", "logprob": -0.5}, {"token": "é", "logprob": -1.5}],
        }
    ]
    (done,) = (event for event in found if "text" in event)
    assert done["logprobs"] == [logprob for event in pieces for logprob in event["logprobs"]]


def test_previews_of_an_image() -> None:
    found = steps(used("image_generation_call"), asked=EVERYTHING)
    shown = [event for event in found if event["type"].endswith("partial_image")]
    assert [(event["partial_image_index"], event["partial_image_b64"]) for event in shown] == [(0, "aGk="), (1, "aGk=")]
    failed = steps(used("image_generation_call", result=None, status="failed"), asked=EVERYTHING)
    assert named(failed)[1:-1] == phases("image_generation_call", "in_progress", "generating")


def test_what_a_shell_is_told() -> None:
    found = steps(used("shell_call"))
    assert found[0]["item"]["action"]["commands"] == []
    assert found[1] == {
        "type": "response.shell_call_command.added",
        "output_index": 0,
        "command_index": 0,
        "command": "",
    }
    assert found[-1]["item"]["action"]["commands"] == ["ls"]


BREAKS: tuple[tuple[tuple[Part, ...], str], ...] = (
    ((Text("Hi there"),), "output_text.delta"),
    ((Text("a"), Refusal("No")), "refusal.delta"),
    ((CALL,), "function_call_arguments.delta"),
    ((Reasoning("Hm", summary="So"),), "reasoning_summary_text.delta"),
    ((Reasoning("Hm"),), "output_item.added"),
)


@pytest.mark.parametrize(("parts", "last"), BREAKS)
def test_what_breaks_off_stays_open(parts: tuple[Part, ...], last: str) -> None:
    assert named(steps(*parts, broken=Broken()))[-1] == last


def test_what_is_in_progress_has_nothing_yet() -> None:
    assert item_in_progress({"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "x"}) == {
        "id": "ig_1",
        "type": "image_generation_call",
        "status": "in_progress",
        "result": None,
    }
    assert item_in_progress({"id": "mcpl_1", "type": "mcp_list_tools", "tools": [1]})["tools"] == []
    assert item_in_progress({"type": "apply_patch_call_output", "status": "failed"})["status"] == "completed"
    assert item_in_progress({"type": "reasoning", "summary": [1], "encrypted_content": "x"}) == {
        "type": "reasoning",
        "summary": [],
        "encrypted_content": "x",
    }
