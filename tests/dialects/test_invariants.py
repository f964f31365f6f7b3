"""The invariants notice when they are broken: each planted fault is found by the invariant that it breaks."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.dialects import invariants
from tests.dialects.invariants import Events, Stream
from tests.kit.local import Answered

Json = Any


def streamed(*chunks: Json) -> Stream:
    frames = [json.dumps(one).encode() for one in chunks] + [b"[DONE]"]
    return Stream(b"".join(b"data: " + frame + b"\n\n" for frame in frames))


def answered(value: Json, *, compact: bool = True) -> Answered:
    body = json.dumps(value, separators=(",", ":") if compact else None).encode()
    return Answered(200, {"content-type": "application/json", "content-length": str(len(body))}, body, "")


# --- chats


CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
MORE = {"index": 0, "function": {"arguments": "{}"}}


def chunk(delta: Json, *, index: int = 0, finish: str | None = None, **more: Json) -> Json:
    choices = [{"index": index, "delta": delta, "finish_reason": finish}]
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


OPENS, SAYS, ENDS = chunk({"role": "assistant", "content": ""}), chunk({"content": "Hi"}), chunk({}, finish="stop")
CALLS = chunk({"role": "assistant", "content": None, "tool_calls": [CALL]})
ARGUES = chunk({"tool_calls": [MORE]})
USAGE = {**ENDS, "choices": [], "usage": {"total_tokens": 1}}
GOOD = streamed(OPENS, SAYS, ENDS, USAGE)
BEFORE = {"id": "", "object": "", "created": 0, "model": "", "choices": []}


def bytes_of(old: bytes, new: bytes) -> Stream:
    return Stream(GOOD.body.replace(old, new))


def choice(index: int = 0, finish: str = "stop", **message: Json) -> Json:
    return {"index": index, "message": {"role": "assistant", "content": "Hi", **message}, "finish_reason": finish}


def whole(choices: Json, *, usage: tuple[int, int, int] = (1, 2, 3), compact: bool = True) -> Answered:
    counts = dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), usage, strict=True))
    return answered({"choices": choices, "usage": counts}, compact=compact)


# --- texts


def block(*tokens: str, logprob: float = -0.1, at: int = 0) -> Json:
    places = [at + sum(map(len, tokens[:index])) for index in range(len(tokens))]
    return {
        "tokens": list(tokens),
        "token_logprobs": [logprob] * len(tokens),
        "top_logprobs": [{token: logprob, "?": -9.0} for token in tokens],
        "text_offset": places,
    }


def text(text: str, *, finish: str | None = None, logprobs: Json = None, index: int = 0) -> Json:
    return {"text": text, "index": index, "logprobs": logprobs, "finish_reason": finish}


def texts(*choices: Json) -> Stream:
    head = {"id": "c", "object": "text_completion", "created": 1, "model": "m"}
    return streamed(*({**head, "choices": [one]} for one in choices))


TEXT, END = text("Hi"), text("", finish="stop")
UNSORTED = {**block("Hi"), "top_logprobs": [{"?": -9.0, "Hi": -0.1}]}
# --- responses


PART = {"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}
ITEM = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [PART]}
TOKENS = {"input_tokens": 1, "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 3}
DONE = {
    "id": "resp_1",
    "status": "completed",
    "output": [ITEM],
    "usage": TOKENS,
    "error": None,
    "incomplete_details": None,
}
BEGUN = {**DONE, "status": "in_progress", "output": [], "usage": None}
PLACE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}


def event(kind: str, **more: Json) -> Json:
    return {"type": f"response.{kind}", **more}


CREATED, RUNS = event("created", response=BEGUN), event("in_progress", response=BEGUN)
ADDED = event("output_item.added", output_index=0, item={**ITEM, "status": "in_progress", "content": []})
PART_OPENS = event("content_part.added", **PLACE)
PART_SAYS = event("output_text.delta", **PLACE, delta="Hi", logprobs=[])
SAID = event("output_text.done", **PLACE, text="Hi", logprobs=[])
CLOSES = event("content_part.done", **PLACE)
CLOSED = event("output_item.done", output_index=0, item=ITEM)
COMPLETED = event("completed", response=DONE)
RESPONSE = (CREATED, RUNS, ADDED, PART_OPENS, PART_SAYS, SAID, CLOSES, CLOSED, COMPLETED)


def events(*told: Json, names: str | None = None) -> Events:
    numbered = [{**one, "sequence_number": number} for number, one in enumerate(told)]
    frames = [f"event: {names or one['type']}\ndata: {json.dumps(one)}\n\n" for one in numbered]
    return Events("".join(frames).encode())


def without(*left_out: Json) -> Events:
    return events(*(one for one in RESPONSE if one not in left_out))


def instead(old: Json, *new: Json) -> Events:
    at = RESPONSE.index(old)
    return events(*RESPONSE[:at], *new, *RESPONSE[at + 1 :])


def weighed(token: str, *tops: tuple[str, float]) -> Json:
    top = [{"token": text, "logprob": value, "bytes": list(text.encode())} for text, value in tops]
    part = {"token": token, "logprob": -0.1, "bytes": list(token.encode()), "top_logprobs": top}
    return [{**ITEM, "content": [{**PART, "logprobs": [part]}]}]


def response(**changed: Json) -> Answered:
    return answered({**DONE, **changed})


# --- tests


@pytest.mark.parametrize(
    ("invariant", "broken"),
    [
        (invariants.frames_are_strict, bytes_of(b"\n\n", b"\r\n\r\n")),
        (invariants.frames_are_strict, bytes_of(b"data: {", b"data:{")),
        (invariants.done_comes_last_and_once, bytes_of(b"data: [DONE]\n\n", b"")),
        (invariants.done_comes_last_and_once, bytes_of(b"data: [DONE]\n\n", b"data: [DONE]\n\n" * 2)),
        (invariants.the_head_never_changes, streamed(OPENS, {**SAYS, "id": "d"}, ENDS)),
        (invariants.a_chunk_has_one_choice, streamed(OPENS, {**SAYS, "choices": []}, ENDS)),
        (invariants.a_chunk_has_one_choice, streamed(OPENS, {**USAGE, "usage": None})),
        (invariants.the_head_never_changes, streamed(BEFORE, BEFORE, OPENS, ENDS)),
        (invariants.choices_appear_in_order, streamed(chunk({"role": "assistant"}, index=1), OPENS)),
        (invariants.the_role_comes_once, streamed(OPENS, OPENS, ENDS)),
        (invariants.the_role_comes_once, streamed(SAYS, ENDS)),
        (invariants.nothing_empty_is_said, streamed(OPENS, chunk({"content": ""}), ENDS)),
        (invariants.nothing_empty_is_said, streamed(OPENS, chunk({"content": None}), ENDS)),
        (invariants.calls_are_named_once, streamed(CALLS, CALLS, ENDS)),
        (invariants.calls_are_named_once, streamed(ARGUES, ENDS)),
        (invariants.every_choice_ends_once, streamed(OPENS, SAYS)),
        (invariants.every_choice_ends_once, streamed(OPENS, ENDS, SAYS)),
        (invariants.only_the_end_says_nothing, texts(text(""), TEXT, END)),
        (invariants.every_choice_ends_once, texts(TEXT)),
        (invariants.every_choice_ends_once, texts(END, TEXT)),
        (invariants.frames_name_their_events, events(*RESPONSE, names="response.created")),
        (invariants.frames_name_their_events, Events(events(*RESPONSE).body.replace(b"\n\n", b"\r\n\r\n"))),
        (invariants.numbers_have_no_gap, Events(events(*RESPONSE).body.replace(b'_number": 4', b'_number": 5'))),
        (invariants.it_is_created_and_ends_once, without(CREATED)),
        (invariants.it_is_created_and_ends_once, without(RUNS)),
        (invariants.the_beginning_holds_nothing_yet, instead(RUNS, event("in_progress", response=DONE))),
        (invariants.one_item_is_open_at_a_time, without(CLOSED)),
        (invariants.one_item_is_open_at_a_time, without(ADDED)),
        (invariants.one_part_is_open_at_a_time, without(PART_OPENS)),
        (invariants.one_part_is_open_at_a_time, without(CLOSES)),
        (invariants.deltas_join_to_what_is_done, instead(PART_SAYS, {**PART_SAYS, "delta": "Ho"})),
        (invariants.deltas_join_to_what_is_done, instead(PART_SAYS, PART_SAYS, {**PART_SAYS, "delta": ""})),
        (invariants.done_items_are_the_output, instead(CLOSED, {**CLOSED, "item": {**ITEM, "status": "x"}})),
        (
            invariants.weighed_deltas_are_the_texts,
            instead(PART_SAYS, {**PART_SAYS, "logprobs": [{"token": "Hi", "logprob": -1.0}]}),
        ),
        (invariants.a_body_is_one_line, whole([choice()], compact=False)),
        (invariants.choices_stand_in_order, whole([choice(1), choice(0)])),
        (
            invariants.calls_have_ids_of_their_own,
            whole([choice(0, "tool_calls", tool_calls=[{"id": "a"}, {"id": "a"}])]),
        ),
        (invariants.a_call_is_why_it_ended, whole([choice(0, "tool_calls")])),
        (invariants.a_call_is_why_it_ended, whole([choice(0, "stop", tool_calls=[{"id": "a"}])])),
        (invariants.usage_adds_up, whole([choice()], usage=(1, 2, 4))),
        (invariants.log_probabilities_agree_with_the_text, whole([text("Hi", finish="stop", logprobs=block("Ho"))])),
        (
            invariants.log_probabilities_agree_with_the_text,
            whole([text("Hi", finish="stop", logprobs=block("Hi", at=1))]),
        ),
        (
            invariants.log_probabilities_are_probabilities,
            whole([text("Hi", finish="stop", logprobs=block("Hi", logprob=0.5))]),
        ),
        (invariants.log_probabilities_are_probabilities, whole([text("Hi", finish="stop", logprobs=UNSORTED)])),
        (invariants.ids_are_its_own, response(output=[ITEM, ITEM])),
        (invariants.ids_are_its_own, response(output=[{"call_id": "call_1"}, {"call_id": "call_1"}])),
        (invariants.the_status_is_explained, response(status="incomplete")),
        (invariants.the_status_is_explained, response(status="failed")),
        (invariants.tokens_add_up, response(usage={**TOKENS, "total_tokens": 4})),
        (invariants.texts_are_weighed_token_by_token, response(output=weighed("Ho"))),
        (invariants.texts_are_weighed_token_by_token, response(output=weighed("Hi", ("Ho", -3.0)))),
    ],
)
def test_what_is_broken_is_found(invariant: Callable[[Any], None], broken: Any) -> None:
    with pytest.raises((AssertionError, KeyError)):
        invariant(broken)


def test_a_stream_adds_up_to_a_plain_answer() -> None:
    parts = (text("Hi", logprobs=block("Hi")), text(" you", logprobs=block(" you", at=2)), END)
    answer = whole([text("Hi you", finish="stop", logprobs=block("Hi", " you"))])
    assert invariants.joined_texts(texts(*parts)) == invariants.plain_texts(answer)
    assert invariants.joined_texts(texts(parts[0], END)) != invariants.plain_texts(answer)


def test_keys_out_of_order_are_found() -> None:
    model = {"id": "m", "object": "model", "created": 1, "owned_by": "me"}
    invariants.has_shape({"object": "list", "data": [model]}, "openai", "models")
    with pytest.raises(AssertionError, match="out of order"):
        invariants.has_shape({"object": "list", "data": [dict(reversed(model.items()))]}, "openai", "models")
