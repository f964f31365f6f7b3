"""The events of a Response: how a stream begins and ends, and what holds for every answer."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic_core import to_json

from mockserver.core.plan import Answer, Broken, Choice, Item, Reasoning, Text, Usage
from mockserver.wire.responses import ResponseLayout, ResponseOptions, response
from mockserver.wire.responses_stream import events
from tests.formats.answers import (
    BEHIND,
    CALL,
    EVERYTHING,
    ITEMS,
    OPENAI,
    PLAIN,
    TZAFON,
    Event,
    answer,
    answers,
    names,
    told,
    weighed,
)
from tests.kit.strict_responses import accumulated, check_event

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


def test_an_incomplete_answer_that_ends_as_completed() -> None:
    *_, last = told(answer(HI, finish="length"), TZAFON)
    assert last["type"] == "response.completed"
    assert last["response"]["status"] == "incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_an_error_event_stands_for_itself() -> None:
    *_, last = told(answer(HI, broken=Broken("rate_limit_exceeded", "Slow down.", event=True)))
    assert last == {
        "type": "error",
        "sequence_number": 6,
        "code": "rate_limit_exceeded",
        "message": "Slow down.",
        "param": None,
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
    whole, style, asked, expected = OPENINGS[opening]
    found = [event for event in told(whole, style, asked) if event["type"] != "response.completed"]
    assert [(event["type"].removeprefix("response."), event["response"]["status"]) for event in found] == expected
    assert all(event["response"]["output"] == [] and event["response"]["usage"] is None for event in found)
    assert len({event["response"]["id"] for event in found}) == 1


def test_what_frames_weigh_and_carry() -> None:
    found = list(events(answer(Reasoning("Hm so"), HI, CALL), OPENAI, PLAIN))
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


# --- laws


@settings(max_examples=150, deadline=None)
@given(answers())
def test_laws_of_every_stream(whole: Answer) -> None:
    for style in (OPENAI, TZAFON):
        for asked in (PLAIN, EVERYTHING, BEHIND):
            _keeps_the_laws(whole, style, asked)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.kind)
def test_laws_for_each_kind(item: Any) -> None:
    for style in (OPENAI, TZAFON):
        _keeps_the_laws(answer(HI, item, Text("a")), style, EVERYTHING)
        _keeps_the_laws(answer(item), style, PLAIN)


def test_laws_with_logprobs() -> None:
    _keeps_the_laws(weighed(Text("Hello there, é", "char"), CALL, Text("again and again", 4)), OPENAI, EVERYTHING)


def _keeps_the_laws(whole: Answer, style: ResponseLayout, asked: ResponseOptions) -> None:
    frames = list(events(whole, style, asked))
    found = [json.loads(frame.data) for frame in frames]
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    _one_item_at_a_time(found, whole)
    _deltas_join_to_what_is_done(found)
    _done_is_what_stands_in_the_end(found, response(whole, style, asked))
    typed = [check_event(frame.data) for frame in frames]
    final = accumulated(typed)
    if found[-1]["type"] != "error":
        assert frames[-1].data.endswith(b',"response":' + to_json(response(whole, style, asked)) + b"}")
    if final is not None:
        assert final.output_text == "".join(_texts(found[-1]["response"]))


def _one_item_at_a_time(found: list[Event], whole: Answer) -> None:
    at, opened = -1, False
    for event in found:
        match event["type"]:
            case "response.output_item.added":
                assert not opened
                assert event["output_index"] == at + 1
                at, opened = at + 1, True
            case "response.output_item.done":
                assert opened
                assert event["output_index"] == at
                opened = False
            case _ if "output_index" in event:
                assert opened
                assert event["output_index"] == at
    assert not opened or whole.broken is not None


def _deltas_join_to_what_is_done(found: list[Event]) -> None:
    pieces: dict[tuple[Any, ...], list[Any]] = {}
    for event in found:
        stem, _, step = event["type"].rpartition(".")
        where = (stem, *(event.get(f"{key}_index") for key in ("output", "content", "summary", "command")))
        if step == "delta":
            assert event["delta"]
            pieces.setdefault(where, []).append(event)
        elif step == "done" and isinstance(whole := _whole(event), str):
            assert "".join(each["delta"] for each in pieces.get(where, ())) == whole
            if logprobs := event.get("logprobs"):
                assert [logprob for each in pieces[where] for logprob in each["logprobs"]] == logprobs


def _whole(event: Event) -> Any:
    wholes = [event[key] for key in ("text", "refusal", "arguments", "input", "code", "command") if key in event]
    return wholes[0] if wholes else None


def _done_is_what_stands_in_the_end(found: list[Event], final: Any) -> None:
    added = [event["item"] for event in found if event["type"] == "response.output_item.added"]
    done = {e["output_index"]: e["item"] for e in found if e["type"] == "response.output_item.done"}
    assert len(added) == len(final["output"])
    for index, (first, last) in enumerate(zip(added, final["output"], strict=True)):
        assert done.get(index, last) == json.loads(to_json(last))
        assert list(first) == list(last)
        assert [first.get(key) for key in ("id", "type", "call_id")] == [
            last.get(key) for key in ("id", "type", "call_id")
        ]
    for event in found:
        if event["type"] == "response.content_part.done":
            assert event["part"] in done.get(event["output_index"], final["output"][event["output_index"]])["content"]


def _texts(final: Event) -> Iterator[str]:
    for item in final["output"]:
        if item["type"] == "message":
            yield from (part["text"] for part in item["content"] if part["type"] == "output_text")


@pytest.mark.parametrize(
    ("wanted", "shown"), [(2, 2), (3, 3), (10**9, 3), (0, 0), (-1, 0), (None, 0), ("2", 0), ([], 0)]
)
def test_as_many_previews_as_there_can_be(wanted: Any, shown: int) -> None:
    tool = {"type": "image_generation", "partial_images": wanted}
    asked = replace(PLAIN, echo={**PLAIN.echo, "tools": [tool]})
    image = answer(Item("image_generation_call", {"result": "aGk="}))
    assert names(told(image, asked=asked)).count("image_generation_call.partial_image") == shown


def test_only_the_first_choice_is_told() -> None:
    several = Answer("resp_1", 7, "m", (Choice((Text("a"),)), Choice((Text("b"),))), Usage())
    assert [event["text"] for event in told(several) if event["type"].endswith("text.done")] == ["a"]
    assert names(told(replace(several, choices=()))) == ["created", "in_progress", "completed"]
