"""The events of a Response: how a stream begins and ends, those of each kind of item, and laws for every answer."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.frames import Frame, write_event
from mockserver.core.plan import Answer, Broken, Choice, Item, Part, Reasoning, Refusal, Text, Usage
from mockserver.wire.response_events import ItemStream, ResponseRenderer, make_item_in_progress
from mockserver.wire.responses import ResponseLayout, ResponseOptions, list_output_items, make_response
from mockserver.wire.template import HOLE
from tests.dialects.invariants import RESPONSE_STREAM, Events
from tests.kit.strict_responses import accumulate_response, check_event
from tests.wire.answers import (
    BEHIND,
    CALL,
    CUSTOM,
    EVERYTHING,
    ITEMS,
    NOTE,
    OPENAI,
    PLAIN,
    TZAFON,
    Event,
    answer,
    answers,
    names,
    told,
    used,
    weighed,
)

HI = Text("Hello there")
SAID = ("output_item.added", "content_part.added", "output_text.delta", "output_text.delta")
CLOSED = ("output_text.done", "content_part.done", "output_item.done")

ENDINGS: dict[str, tuple[Answer, tuple[str, ...]]] = {
    "completed": (answer(HI), (*SAID, *CLOSED, "completed")),
    "nothing said": (answer(), ("completed",)),
    "too long": (answer(HI, finish="length"), (*SAID, *CLOSED, "incomplete")),
    "filtered": (answer(HI, finish="content_filter"), (*SAID, *CLOSED, "incomplete")),
    "filtered at once": (answer(finish="content_filter"), ("incomplete",)),
    "failed": (answer(HI, broken=Broken()), (*SAID, "failed")),
    "failed at once": (answer(broken=Broken()), ("failed",)),
    "failed after a tool": (
        answer(ITEMS[0], broken=Broken()),
        (
            "output_item.added",
            *(f"web_search_call.{phase}" for phase in ("in_progress", "searching", "completed")),
            "output_item.done",
            "failed",
        ),
    ),
    "broken off": (answer(HI, broken=Broken(event=True)), (*SAID, "error")),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_how_a_stream_ends(ending: str) -> None:
    whole, expected = ENDINGS[ending]
    assert names(told(whole)) == ["created", "in_progress", *expected]


def test_an_error_event_stands_for_itself() -> None:
    *_, last = told(answer(HI, broken=Broken("rate_limit_exceeded", "Slow down.", event=True)))
    assert last == {
        "type": "error",
        "sequence_number": 6,
        "error": {
            "type": "rate_limit_exceeded",
            "code": "rate_limit_exceeded",
            "message": "Slow down.",
            "param": None,
        },
    }


OPENINGS: dict[str, tuple[Answer, ResponseLayout, ResponseOptions, list[tuple[str, str]]]] = {
    "in the foreground": (answer(), OPENAI, PLAIN, [("created", "in_progress"), ("in_progress", "in_progress")]),
    "in the background": (
        answer(),
        OPENAI,
        BEHIND,
        [("created", "queued"), ("queued", "queued"), ("in_progress", "in_progress")],
    ),
    "without a queue": (answer(), TZAFON, BEHIND, [("created", "in_progress"), ("in_progress", "in_progress")]),
    "still in the queue": (answer(phase="queued"), OPENAI, BEHIND, [("created", "queued"), ("queued", "queued")]),
    "no queue to wait in": (
        answer(phase="queued"),
        TZAFON,
        BEHIND,
        [("created", "in_progress"), ("in_progress", "in_progress")],
    ),
    "cancelled": (
        answer(phase="cancelled"),
        OPENAI,
        PLAIN,
        [("created", "in_progress"), ("in_progress", "in_progress")],
    ),
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_how_a_stream_begins(opening: str) -> None:
    whole, layout, asked, expected = OPENINGS[opening]
    found = [event for event in told(whole, layout, asked) if event["type"] != "response.completed"]
    assert [(event["type"].removeprefix("response."), event["response"]["status"]) for event in found] == expected
    assert all(event["response"]["output"] == [] and event["response"]["usage"] is None for event in found)
    assert len({event["response"]["id"] for event in found}) == 1


def test_what_frames_weigh_and_carry() -> None:
    found = list(ResponseRenderer(OPENAI).stream(answer(Reasoning("Hm so"), HI, CALL), PLAIN))
    assert [frame.event for frame in found] == [json.loads(frame.data)["type"] for frame in found]
    assert [(frame.part, frame.tokens) for frame in found] == [
        *[("open", 0)] * 2,
        ("text", 0),
        ("text", 2),  # the thoughts that nobody reads take their time, too
        *[("text", 0)] * 2,
        *[("text", 1)] * 2,
        *[("text", 0)] * 3,
        ("arguments", 0),
        ("arguments", 2),
        ("arguments", 3),
        *[("arguments", 0)] * 2,
        ("finish", 0),
    ]


ADDED, DONE = ("output_item.added",), ("output_item.done",)
PART = ("content_part.added",), ("content_part.done",)


def item_steps(
    part: Part, *more: Part, layout: ResponseLayout = OPENAI, asked: ResponseOptions = PLAIN, **fields: Any
) -> list[Event]:
    """The events of the one item that the parts make, parsed."""
    (output,) = list_output_items(answer(part, *more, **fields), layout, asked)
    partial_images = 2 if asked is EVERYTHING else 0
    return [unnumbered(each) for each in ItemStream(index=0, item=output, partial_images=partial_images).list_events()]


def unnumbered(event: Frame) -> Event:
    """An event, parsed, without its number, which it does not have yet."""
    parsed: Event = json.loads(event.data.replace(HOLE, b"0"))
    del parsed["sequence_number"]
    return parsed


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
        ("content_part.added", *["output_text.delta"] * 2, *TEXT, "content_part.done"),
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
    "mcp under way": (
        used("mcp_call", status="calling"),
        ("mcp_call.in_progress", *phases("mcp_call_arguments", "delta", "done")),
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
    assert named(item_steps(part)) == (*ADDED, *between, *DONE)


def test_several_contents_of_a_message() -> None:
    found = item_steps(Text("a"), Refusal("b"))
    assert named(found)[1:-1] == (
        *PART[0],
        *TEXT,
        *PART[1],
        *PART[0],
        "refusal.delta",
        "refusal.done",
        *PART[1],
    )
    assert [event["content_index"] for event in found[1:-1]] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_raw_thoughts_follow_their_summary() -> None:
    assert named(item_steps(Reasoning("Hm"), layout=TZAFON)) == (*ADDED, *RAW, *DONE)
    both = item_steps(Reasoning("Hm", ("H", "m"), summary="So"), layout=TZAFON)
    assert named(both) == (*ADDED, *SUMMARY, "content_part.added", "reasoning_text.delta", *RAW[1:], *DONE)


def test_logprobs_come_with_their_pieces() -> None:
    (output,) = list_output_items(weighed(Text("Hello there", 7)), OPENAI, PLAIN)
    found = [unnumbered(each) for each in ItemStream(index=0, item=output).list_events()]
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
    found = item_steps(used("image_generation_call"), asked=EVERYTHING)
    shown = [event for event in found if event["type"].endswith("partial_image")]
    assert [(event["partial_image_index"], event["partial_image_b64"]) for event in shown] == [(0, "aGk="), (1, "aGk=")]
    failed = item_steps(used("image_generation_call", result=None, status="failed"), asked=EVERYTHING)
    assert named(failed)[1:-1] == phases("image_generation_call", "in_progress", "generating")


def test_what_a_shell_is_told() -> None:
    found = item_steps(used("shell_call"))
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
    assert named(item_steps(*parts, broken=Broken()))[-1] == last


def test_what_is_in_progress_has_nothing_yet() -> None:
    assert make_item_in_progress(
        {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "x"}
    ) == {
        "id": "ig_1",
        "type": "image_generation_call",
        "status": "in_progress",
        "result": None,
    }
    assert make_item_in_progress({"id": "mcpl_1", "type": "mcp_list_tools", "tools": [1]})["tools"] == []
    assert make_item_in_progress({"type": "apply_patch_call_output", "status": "failed"})["status"] == "completed"
    assert make_item_in_progress({"type": "reasoning", "summary": [1], "encrypted_content": "x"}) == {
        "type": "reasoning",
        "summary": [],
        "encrypted_content": "x",
    }


# --- laws


@settings(max_examples=150, deadline=None)
@given(answers())
def test_laws_of_every_stream(whole: Answer) -> None:
    for layout in (OPENAI, TZAFON):
        for asked in (PLAIN, EVERYTHING):
            _keeps_the_laws(whole, layout, asked)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.kind)
def test_laws_for_each_kind(item: Any) -> None:
    for layout in (OPENAI, TZAFON):
        _keeps_the_laws(answer(HI, item, Text("a")), layout, EVERYTHING)
        _keeps_the_laws(answer(item), layout, PLAIN)


def test_laws_with_logprobs() -> None:
    _keeps_the_laws(weighed(Text("Hello there, é", "char"), CALL, Text("again and again", 4)), OPENAI, EVERYTHING)


def _keeps_the_laws(whole: Answer, layout: ResponseLayout, asked: ResponseOptions) -> None:
    frames, body = list(ResponseRenderer(layout).stream(whole, asked)), to_json(make_response(whole, layout, asked))
    for holds in RESPONSE_STREAM:
        holds(Events(b"".join(map(write_event, frames))))
    accumulate_response([check_event(frame.data) for frame in frames])
    if frames[-1].event != "error":
        assert frames[-1].data.endswith(b',"response":' + body + b"}")


@pytest.mark.parametrize(
    ("wanted", "shown"), [(2, 2), (3, 3), (10**9, 3), (0, 0), (-1, 0), (None, 0), ("2", 0), ([], 0)]
)
def test_as_many_previews_as_there_can_be(wanted: Any, shown: int) -> None:
    tool = {"type": "image_generation", "partial_images": wanted}
    asked = replace(PLAIN, request_fields={**PLAIN.request_fields, "tools": [tool]})
    image = answer(Item("image_generation_call", {"result": "aGk="}))
    assert names(told(image, asked=asked)).count("image_generation_call.partial_image") == shown


def test_only_the_first_choice_is_told() -> None:
    several = Answer("resp_1", 7, "m", (Choice((Text("a"),)), Choice((Text("b"),))), Usage())
    assert [event["text"] for event in told(several) if event["type"].endswith("text.done")] == ["a"]
    assert names(told(replace(several, choices=()))) == ["created", "in_progress", "completed"]
