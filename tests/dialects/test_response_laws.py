"""The laws of responses notice when they are broken: each planted violation is found by the law that it breaks."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.dialects import response_laws
from tests.dialects.response_laws import Events
from tests.kit.local import Answered

Json = Any
PART = {"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}
ITEM = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [PART]}
USAGE = {"input_tokens": 1, "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 3}
DONE = {
    "id": "resp_1",
    "status": "completed",
    "output": [ITEM],
    "usage": USAGE,
    "error": None,
    "incomplete_details": None,
}
BEGUN = {**DONE, "status": "in_progress", "output": [], "usage": None}
PLACE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}


def event(kind: str, **more: Json) -> Json:
    return {"type": f"response.{kind}", **more}


CREATED, RUNS = event("created", response=BEGUN), event("in_progress", response=BEGUN)
ADDED = event("output_item.added", output_index=0, item={**ITEM, "status": "in_progress", "content": []})
OPENS = event("content_part.added", **PLACE)
SAYS = event("output_text.delta", **PLACE, delta="Hi", logprobs=[])
SAID = event("output_text.done", **PLACE, text="Hi", logprobs=[])
CLOSES = event("content_part.done", **PLACE)
CLOSED = event("output_item.done", output_index=0, item=ITEM)
ENDS = event("completed", response=DONE)
FAILS = event("failed", response={**DONE, "status": "failed", "error": {"code": "x", "message": "y"}})
GOOD = (CREATED, RUNS, ADDED, OPENS, SAYS, SAID, CLOSES, CLOSED, ENDS)


def stream(*told: Json, names: str | None = None) -> Events:
    numbered = [{**one, "sequence_number": number} for number, one in enumerate(told)]
    frames = [f"event: {names or one['type']}\ndata: {json.dumps(one)}\n\n" for one in numbered]
    return Events("".join(frames).encode())


def without(*left_out: Json) -> Events:
    return stream(*(one for one in GOOD if one not in left_out))


def instead(old: Json, *new: Json) -> Events:
    at = GOOD.index(old)
    return stream(*GOOD[:at], *new, *GOOD[at + 1 :])


@pytest.mark.parametrize("law", response_laws.RESPONSE_STREAM_LAWS)
def test_good_streams_keep_every_law(law: Callable[[Events], None]) -> None:
    law(stream(*GOOD))
    law(stream(*GOOD[:5], FAILS))
    law(stream(*GOOD[:5], {"type": "error", "code": "x", "message": "y", "param": None}))


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        (response_laws.frames_name_their_events, stream(*GOOD, names="response.created")),
        (response_laws.frames_name_their_events, Events(stream(*GOOD).body.replace(b"\n\n", b"\r\n\r\n"))),
        (response_laws.frames_name_their_events, Events(stream(*GOOD).body + b"data: [DONE]\n\n")),
        (response_laws.numbers_have_no_gap, Events(stream(*GOOD).body.replace(b'_number": 4', b'_number": 5'))),
        (response_laws.it_is_created_and_ends_once, without(CREATED)),
        (response_laws.it_is_created_and_ends_once, without(RUNS)),
        (response_laws.it_is_created_and_ends_once, without(ENDS)),
        (response_laws.it_is_created_and_ends_once, stream(*GOOD, ENDS)),
        (response_laws.the_beginning_holds_nothing_yet, instead(RUNS, event("in_progress", response=DONE))),
        (response_laws.one_item_is_open_at_a_time, without(CLOSED)),
        (response_laws.one_item_is_open_at_a_time, without(ADDED)),
        (response_laws.one_item_is_open_at_a_time, instead(CLOSED, {**CLOSED, "item": {**ITEM, "id": "msg_2"}})),
        (response_laws.one_item_is_open_at_a_time, instead(SAYS, {**SAYS, "item_id": "msg_2"})),
        (response_laws.one_part_is_open_at_a_time, without(OPENS)),
        (response_laws.one_part_is_open_at_a_time, without(CLOSES)),
        (response_laws.one_part_is_open_at_a_time, instead(CLOSES, CLOSES, SAYS)),
        (response_laws.deltas_join_to_what_is_done, instead(SAYS, {**SAYS, "delta": "Ho"})),
        (response_laws.deltas_join_to_what_is_done, instead(SAYS, SAYS, {**SAYS, "delta": ""})),
        (response_laws.deltas_join_to_what_is_done, without(SAID)),
        (response_laws.done_items_are_the_output, instead(CLOSED, {**CLOSED, "item": {**ITEM, "status": "x"}})),
        (
            response_laws.weighed_deltas_are_the_texts,
            instead(SAYS, {**SAYS, "logprobs": [{"token": "Hi", "logprob": -1.0}]}),
        ),
    ],
)
def test_a_broken_stream_is_found(law: Callable[[Events], None], broken: Events) -> None:
    with pytest.raises((AssertionError, KeyError)):
        law(broken)


def plain(**changed: Json) -> Answered:
    body = json.dumps({**DONE, **changed}, separators=(",", ":")).encode()
    return Answered(200, {"content-type": "application/json", "content-length": str(len(body))}, body, "")


def weighed(token: str, *tops: tuple[str, float]) -> Json:
    top = [{"token": text, "logprob": value, "bytes": list(text.encode())} for text, value in tops]
    part = {"token": token, "logprob": -0.1, "bytes": list(token.encode()), "top_logprobs": top}
    return [{**ITEM, "content": [{**PART, "logprobs": [part]}]}]


@pytest.mark.parametrize("law", response_laws.RESPONSE_PLAIN_LAWS)
def test_good_answers_keep_every_law(law: Callable[[Answered], None]) -> None:
    law(plain())
    law(plain(output=weighed("Hi", ("Hi", -0.1), ("Ho", -3.0))))


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        (response_laws.ids_are_its_own, plain(output=[ITEM, ITEM])),
        (response_laws.ids_are_its_own, plain(output=[{"call_id": "call_1"}, {"call_id": "call_1"}])),
        (response_laws.the_status_is_explained, plain(status="incomplete")),
        (response_laws.the_status_is_explained, plain(status="failed")),
        (response_laws.the_status_is_explained, plain(status="queued")),
        (response_laws.tokens_add_up, plain(usage={**USAGE, "total_tokens": 4})),
        (response_laws.texts_are_weighed_token_by_token, plain(output=weighed("Ho"))),
        (response_laws.texts_are_weighed_token_by_token, plain(output=weighed("Hi", ("Ho", -3.0)))),
        (response_laws.texts_are_weighed_token_by_token, plain(output=weighed("Hi", ("Ho", -3.0), ("Hi", -0.1)))),
        (response_laws.texts_are_weighed_token_by_token, plain(output=weighed("Hi", ("Hi", -0.1), ("Ho", -0.1)))),
    ],
)
def test_a_broken_answer_is_found(law: Callable[[Answered], None], broken: Answered) -> None:
    with pytest.raises(AssertionError):
        law(broken)
