"""The laws notice when they are broken: each planted violation is found by the law that it breaks."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.dialects import laws
from tests.kit.local import Answered

Json = Any
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
MORE = {"index": 0, "function": {"arguments": "{}"}}


def chunk(delta: Json, *, index: int = 0, finish: str | None = None, **more: Json) -> Json:
    choices = [{"index": index, "delta": delta, "finish_reason": finish}]
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}


def stream(*chunks: Json) -> laws.Stream:
    frames = [json.dumps(one).encode() for one in chunks] + [b"[DONE]"]
    return laws.Stream(b"".join(b"data: " + frame + b"\n\n" for frame in frames))


OPENS, SAYS, ENDS = chunk({"role": "assistant", "content": ""}), chunk({"content": "Hi"}), chunk({}, finish="stop")
CALLS = chunk({"role": "assistant", "content": None, "tool_calls": [CALL]})
ARGUES = chunk({"tool_calls": [MORE]})
USAGE = {**ENDS, "choices": [], "usage": {"total_tokens": 1}}
GOOD = stream(OPENS, SAYS, ENDS, USAGE)
BEFORE = {"id": "", "object": "", "created": 0, "model": "", "choices": []}


def bytes_of(old: bytes, new: bytes) -> laws.Stream:
    return laws.Stream(GOOD.body.replace(old, new))


@pytest.mark.parametrize("law", laws.STREAM_LAWS)
def test_good_streams_keep_every_law(law: Callable[[laws.Stream], None]) -> None:
    law(GOOD)
    law(stream(CALLS, ARGUES, ENDS))
    law(stream(BEFORE, OPENS, SAYS, ENDS))
    law(stream(OPENS, chunk({"role": "assistant"}, index=1), SAYS, chunk({}, index=1, finish="stop"), ENDS))


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        (laws.frames_are_strict, bytes_of(b"\n\n", b"\r\n\r\n")),
        (laws.frames_are_strict, bytes_of(b"data: {", b"data:{")),
        (laws.frames_are_strict, bytes_of(b"data: [", b": ping\n\ndata: [")),
        (laws.frames_are_strict, bytes_of(b"data: {", b"event: chunk\ndata: {")),
        (laws.done_comes_last_and_once, bytes_of(b"data: [DONE]\n\n", b"")),
        (laws.done_comes_last_and_once, bytes_of(b"data: [DONE]\n\n", b"data: [DONE]\n\n" * 2)),
        (laws.the_head_never_changes, stream(OPENS, {**SAYS, "id": "d"}, ENDS)),
        (laws.a_chunk_has_one_choice, stream(OPENS, {**SAYS, "choices": []}, ENDS)),
        (laws.a_chunk_has_one_choice, stream(OPENS, {**USAGE, "usage": None})),
        (laws.a_chunk_has_one_choice, stream(OPENS, BEFORE, ENDS)),
        (laws.the_head_never_changes, stream(BEFORE, BEFORE, OPENS, ENDS)),
        (laws.choices_appear_in_order, stream(chunk({"role": "assistant"}, index=1), OPENS)),
        (laws.the_role_is_told_once, stream(OPENS, OPENS, ENDS)),
        (laws.the_role_is_told_once, stream(SAYS, ENDS)),
        (laws.the_role_is_told_once, stream(SAYS, OPENS, ENDS)),
        (laws.nothing_empty_is_said, stream(OPENS, chunk({"content": ""}), ENDS)),
        (laws.nothing_empty_is_said, stream(OPENS, chunk({"content": None}), ENDS)),
        (laws.calls_are_named_once, stream(CALLS, CALLS, ENDS)),
        (laws.calls_are_named_once, stream(ARGUES, ENDS)),
        (laws.calls_are_named_once, stream(CALLS, chunk({"tool_calls": [{**CALL, "index": 2}]}), ENDS)),
        (laws.calls_are_named_once, stream(CALLS, chunk({"tool_calls": [{**CALL, "index": 1}]}), ARGUES, ENDS)),
        (laws.every_choice_ends_once, stream(OPENS, SAYS)),
        (laws.every_choice_ends_once, stream(OPENS, ENDS, SAYS)),
        (laws.every_choice_ends_once, stream(OPENS, chunk({"content": "Hi"}, finish="stop"))),
    ],
)
def test_a_broken_stream_is_found(law: Callable[[laws.Stream], None], broken: laws.Stream) -> None:
    with pytest.raises((AssertionError, KeyError)):
        law(broken)


def plain(choices: Json, *, usage: tuple[int, int, int] = (1, 2, 3), compact: bool = True) -> Answered:
    counts = dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), usage, strict=True))
    value = {"choices": choices, "usage": counts}
    body = json.dumps(value, separators=(",", ":") if compact else None).encode()
    return Answered(200, {"content-type": "application/json", "content-length": str(len(body))}, body, "")


def choice(index: int = 0, finish: str = "stop", **message: Json) -> Json:
    return {"index": index, "message": {"role": "assistant", "content": "Hi", **message}, "finish_reason": finish}


@pytest.mark.parametrize("law", laws.PLAIN_LAWS)
def test_good_answers_keep_every_law(law: Callable[[Answered], None]) -> None:
    law(plain([choice(), choice(1, "tool_calls", tool_calls=[{"id": "a"}, {"id": "b"}])]))


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        (laws.a_body_is_one_line, plain([choice()], compact=False)),
        (laws.choices_stand_in_order, plain([choice(1), choice(0)])),
        (laws.calls_have_ids_of_their_own, plain([choice(0, "tool_calls", tool_calls=[{"id": "a"}, {"id": "a"}])])),
        (laws.a_call_is_why_it_ended, plain([choice(0, "tool_calls")])),
        (laws.a_call_is_why_it_ended, plain([choice(0, "stop", tool_calls=[{"id": "a"}])])),
        (laws.usage_adds_up, plain([choice()], usage=(1, 2, 4))),
    ],
)
def test_a_broken_answer_is_found(law: Callable[[Answered], None], broken: Answered) -> None:
    with pytest.raises(AssertionError):
        law(broken)


def test_keys_out_of_order_are_found() -> None:
    model = {"id": "m", "object": "model", "created": 1, "owned_by": "me"}
    laws.has_shape({"object": "list", "data": [model]}, "openai", "models")
    with pytest.raises(AssertionError, match="out of order"):
        laws.has_shape({"object": "list", "data": [dict(reversed(model.items()))]}, "openai", "models")


def test_keys_that_are_unknown_are_found() -> None:
    with pytest.raises(AssertionError, match="extra"):
        laws.has_shape({"object": "list", "data": [], "extra": 1}, "openai", "models")
