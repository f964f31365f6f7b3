"""The general laws of a response, plain and as typed events: what every dialect keeps, and what its clients rely on.

A law is a function that asserts. It knows no dialect.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from tests.dialects.laws import a_body_is_one_line
from tests.kit.local import Answered

Json = Any
_EVENTS = re.compile(rb"(?:event: [a-z_.]+\ndata: \{[^\r\n]+\n\n)+")
ENDINGS = ("response.completed", "response.incomplete", "response.failed")


@dataclass(frozen=True)
class Events:
    """The bytes of a streamed response, and what they say."""

    body: bytes

    @cached_property
    def told(self) -> list[Json]:
        """The data of every event, parsed."""
        return [json.loads(frame.partition(b"\ndata: ")[2]) for frame in self.body.removesuffix(b"\n\n").split(b"\n\n")]

    @property
    def final(self) -> Json:
        """The response that the last event carries."""
        return self.told[-1]["response"]

    @property
    def broke_off(self) -> bool:
        """Whether it ends before what it was about to say is whole."""
        return self.told[-1]["type"] in ("response.failed", "error")

    def of(self, *kinds: str) -> list[Json]:
        """The events of some kinds, in order."""
        return [event for event in self.told if event["type"] in kinds]


# --- laws of a stream


def frames_name_their_events(events: Events) -> None:
    assert _EVENTS.fullmatch(events.body), "each event is `event: `, its kind, `data: `, one line and an empty line"
    for frame, event in zip(events.body.split(b"\n\n"), events.told, strict=False):
        assert frame.startswith(f"event: {event['type']}\n".encode())


def numbers_have_no_gap(events: Events) -> None:
    assert [event["sequence_number"] for event in events.told] == list(range(len(events.told)))


def it_is_created_and_ends_once(events: Events) -> None:
    kinds = [event["type"] for event in events.told]
    assert kinds[0] == "response.created"
    assert kinds[-1] in (*ENDINGS, "error")
    assert sum(kind in (*ENDINGS, "error") for kind in kinds) == 1
    assert kinds.count("response.created") == kinds.count("response.in_progress") == 1


def the_beginning_holds_nothing_yet(events: Events) -> None:
    for event in events.of("response.created", "response.in_progress"):
        response = event["response"]
        assert (response["status"], response["output"], response["usage"]) == ("in_progress", [], None)
        assert response["error"] is None


def one_item_is_open_at_a_time(events: Events) -> None:
    at, open_id = -1, None
    for event in events.told:
        if event["type"] == "response.output_item.added":
            assert open_id is None, "an item opens only after the one before is done"
            assert event["output_index"] == at + 1
            at, open_id = event["output_index"], event["item"].get("id")
        elif event["type"] == "response.output_item.done":
            assert (event["output_index"], event["item"].get("id")) == (at, open_id)
            open_id = None
        elif "output_index" in event:
            assert event["output_index"] == at
            assert event.get("item_id", open_id) == open_id, "what a shell does is told by its place alone"
    assert open_id is None or events.broke_off


def one_part_is_open_at_a_time(events: Events) -> None:
    open_part = None
    for event in events.told:
        place = (event.get("output_index"), event.get("content_index"))
        match event["type"]:
            case "response.content_part.added":
                assert open_part is None
                open_part = place
            case "response.content_part.done":
                assert open_part == place
                open_part = None
            case "response.output_text.delta" | "response.output_text.done" | "response.refusal.delta":
                assert open_part == place
    assert open_part is None or events.broke_off


def deltas_join_to_what_is_done(events: Events) -> None:
    said: dict[tuple[Json, ...], str] = {}
    for event in events.told:
        kind, _, last = event["type"].rpartition(".")
        place = (kind, *(event.get(key) for key in ("output_index", "content_index", "summary_index", "command_index")))
        if last == "delta" and kind in _WHOLE:
            assert event["delta"], "a delta says something"
            said[place] = said.get(place, "") + event["delta"]
        elif last == "done" and kind in _WHOLE:
            assert said.pop(place, "") == event[_WHOLE[kind]]
    assert said == {} or events.broke_off


def done_items_are_the_output(events: Events) -> None:
    if not events.broke_off:
        assert [event["item"] for event in events.of("response.output_item.done")] == events.final["output"]


def weighed_deltas_are_the_texts(events: Events) -> None:
    if events.told[-1]["type"] == "error":
        return
    deltas: dict[tuple[int, int], list[Json]] = {}
    for event in events.of("response.output_text.delta"):
        deltas.setdefault((event["output_index"], event["content_index"]), []).extend(event.get("logprobs") or ())
    for (index, part), weighed in deltas.items():
        whole = events.final["output"][index]["content"][part].get("logprobs") or []
        assert [(one["token"], one["logprob"]) for one in weighed] == [(one["token"], one["logprob"]) for one in whole]


RESPONSE_STREAM_LAWS: tuple[Callable[[Events], None], ...] = (
    frames_name_their_events,
    numbers_have_no_gap,
    it_is_created_and_ends_once,
    the_beginning_holds_nothing_yet,
    one_item_is_open_at_a_time,
    one_part_is_open_at_a_time,
    deltas_join_to_what_is_done,
    done_items_are_the_output,
    weighed_deltas_are_the_texts,
)


# --- laws of a plain answer


def ids_are_its_own(answered: Answered) -> None:
    found = [item["id"] for item in answered.json["output"] if "id" in item]
    assert len(set(found)) == len(found)
    calls = [item["call_id"] for item in answered.json["output"] if "call_id" in item and "output" not in item]
    assert len(set(calls)) == len(calls)
    assert answered.json["id"] not in found


def the_status_is_explained(answered: Answered) -> None:
    told = answered.json
    assert told["status"] in ("completed", "incomplete", "failed")
    assert (told["incomplete_details"] is not None) == (told["status"] == "incomplete")
    assert (told["error"] is not None) == (told["status"] == "failed")


def tokens_add_up(answered: Answered) -> None:
    usage = answered.json["usage"]
    if usage is not None:
        assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"]
        assert usage["output_tokens_details"]["reasoning_tokens"] <= usage["output_tokens"]


def texts_are_weighed_token_by_token(answered: Answered) -> None:
    for part in _texts(answered.json):
        for one in part.get("logprobs") or ():
            assert list(one["token"].encode()) == one["bytes"]
            tops = [top["logprob"] for top in one["top_logprobs"]]
            assert tops == sorted(tops, reverse=True)
            assert sum(map(math.exp, tops)) <= 1.000001
            assert not tops or one["token"] in [top["token"] for top in one["top_logprobs"]]
        if part.get("logprobs"):
            assert "".join(one["token"] for one in part["logprobs"]) == part["text"]


RESPONSE_PLAIN_LAWS: tuple[Callable[[Answered], None], ...] = (
    a_body_is_one_line,
    ids_are_its_own,
    the_status_is_explained,
    tokens_add_up,
    texts_are_weighed_token_by_token,
)


def _texts(response: Json) -> Iterator[Json]:
    contents = chain.from_iterable(item.get("content") or () for item in response["output"])
    return (part for part in contents if part["type"] == "output_text")


# What the whole of some deltas stands under in the event that ends them.
_WHOLE: Mapping[str, str] = {
    "response.output_text": "text",
    "response.refusal": "refusal",
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.reasoning_text": "text",
    "response.reasoning_summary_text": "text",
    "response.mcp_call_arguments": "arguments",
    "response.code_interpreter_call_code": "code",
    "response.shell_call_command": "command",
}
