"""Holds Anthropic's answers against the provider's schema and the official client's types, both to the letter."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from anthropic.types import DeletedFile, FileMetadata, Message, MessageTokensCount, RawMessageStreamEvent
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from pydantic import TypeAdapter
from pydantic_core import from_json

from tests.dialects.invariants import has_shape

Json = Any
_MESSAGE = TypeAdapter(Message)
_COUNT, _BATCH = TypeAdapter(MessageTokensCount), TypeAdapter(MessageBatch)
_FILE, _FILES, _DELETED_FILE = TypeAdapter(FileMetadata), TypeAdapter(list[FileMetadata]), TypeAdapter(DeletedFile)
_RESULT = TypeAdapter(MessageBatchIndividualResponse)
_DELTAS = {"text": ("text_delta", "citations_delta"), "thinking": ("thinking_delta", "signature_delta")}


def check_message(body: bytes) -> Json:
    """Return the message; raises unless it is one by the schema and the client's types, or a whole stream of one."""
    if body.startswith(b"event: "):
        return accumulate_message(body)
    found = json.loads(body)
    has_shape(found, "anthropic", "message")
    _MESSAGE.validate_json(body)
    return found


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def events(stream: bytes, kind: Any = RawMessageStreamEvent) -> Iterator[Json]:
    """The JSON of each event. Raises unless the framing is exact and each event is one by the client's types."""
    assert stream.endswith(b"\n\n"), "the last event has no end"
    assert b"\r" not in stream
    for frame in stream[:-2].split(b"\n\n"):
        first, second = frame.split(b"\n")
        name, data = first.removeprefix(b"event: "), second.removeprefix(b"data: ")
        found = json.loads(data)
        assert name.decode() == found["type"], frame
        if found["type"] == "ping":
            assert data == b'{"type": "ping"}'
        else:
            _adapter(kind).validate_json(data)
        yield found


def accumulate_message(stream: bytes) -> Json:
    """The message that a whole stream adds up to, by what the provider documents of the order of its events."""
    started, *rest = (event for event in events(stream) if event["type"] != "ping")
    assert started["type"] == "message_start"
    message, blocks = started["message"], []
    assert (message["content"], message["stop_reason"]) == ([], None)
    *inner, delta, stop = rest
    assert (delta["type"], stop) == ("message_delta", {"type": "message_stop"})
    opened = False
    for event in inner:
        assert event["index"] == len(blocks) - opened
        match event["type"]:
            case "content_block_start":
                assert not opened
                blocks.append(event["content_block"])
                opened, text = True, ""
            case "content_block_stop":
                assert opened
                opened = False
                if text:
                    assert blocks[-1]["input"] == {}
                    blocks[-1]["input"] = _parse_input(text)
            case "content_block_delta":
                text += _add(blocks[-1], event["delta"])
    assert not opened
    assert message["usage"]["output_tokens"] in (0, 1)
    usage = {**message["usage"], **delta["usage"]}
    message |= {**delta["delta"], "content": blocks, "usage": usage}
    return message


def _add(block: Json, delta: Json) -> str:
    kind = delta["type"]
    if kind == "input_json_delta":
        assert block["type"].endswith("tool_use")
        return delta["partial_json"]
    assert kind in _DELTAS[block["type"]], (kind, block)
    if kind == "citations_delta":
        block["citations"].append(delta["citation"])
    else:
        key = kind.removesuffix("_delta")
        assert delta[key] or kind != "text_delta", "an empty piece of text"
        block[key] += delta[key]
    return ""


def _parse_input(text: str) -> Json:
    return from_json(text, allow_partial=True)  # as the client reads what was cut


def _page(body: bytes) -> None:
    assert set(json.loads(body)) == {"data", "has_more", "first_id", "last_id"}


def check_results(body: bytes) -> list[Json]:
    for line in body.splitlines():
        _RESULT.validate_json(line)
    return [json.loads(line) for line in body.splitlines()]


def check_completion(body: bytes) -> Json:
    """Return the text completion, or what a stream of it adds up to."""
    lines = [line.removeprefix(b"data: ") for line in body.splitlines() if line[:1] == b"{" or line[:6] == b"data: "]
    pieces = [json.loads(line) for line in lines]
    assert {piece["type"] for piece in pieces} == {"completion"}
    assert [piece["stop_reason"] for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert pieces[-1]["stop_reason"] in ("stop_sequence", "max_tokens")
    return {**pieces[-1], "completion": "".join(piece["completion"] for piece in pieces)}


CHECKS: Mapping[str, Callable[[bytes], object]] = {
    "chat": check_message,
    **dict.fromkeys(("create_file", "file"), lambda body: _FILE.validate_json(body)),
    "files": lambda body: _FILES.validate_json(json.dumps(json.loads(body)["data"])),
    "delete_file": lambda body: _DELETED_FILE.validate_json(body),
    "file_content": lambda body: None,
    "input_tokens": lambda body: _COUNT.validate_json(body, strict=True),
    "completions": check_completion,
    "create_batch": _BATCH.validate_json,
    "batch": _BATCH.validate_json,
    "cancel_batch": _BATCH.validate_json,
    "batches": _page,
    "delete_batch": lambda body: json.loads(body)["type"],
    "batch_results": check_results,
}
