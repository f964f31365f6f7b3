"""Holds what came over the wire against the provider's schema and the official client's types, both to the letter.

The clients themselves construct without validating, so a wrong key or a missing one goes unseen by them.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from fireworks.types import CompletionChunk, CompletionCreateResponse
from openai.types import Completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel, TypeAdapter

from tests.dialects.invariants import has_shape

_COMPLETION, _CHUNK = TypeAdapter(ChatCompletion), TypeAdapter(ChatCompletionChunk)
_TEXTS: dict[str, TypeAdapter[Any]] = {
    "openai": TypeAdapter(Completion),
    "azure_openai": TypeAdapter(Completion),
    "compatible": TypeAdapter(Completion),
    "fireworks": TypeAdapter(CompletionCreateResponse),
}
_FIREWORKS_CHUNK = TypeAdapter(CompletionChunk)
WITH_PREAMBLE = {"azure_openai"}


def check_completion(body: bytes, dialect: str) -> None:
    """Raises unless this is a completion by the dialect's schema and by the types of the client."""
    _check(body, dialect, "completion", _COMPLETION)


def check_chunk(frame: bytes, dialect: str) -> None:
    """The same for one chunk of a stream, or for what stands before the first."""
    if not _is_preamble(frame, dialect):
        _check(frame, dialect, "chunk", _CHUNK)


def check_text(body: bytes, dialect: str) -> None:
    """Raises unless this is a text completion by the dialect's schema and by the types of its own client."""
    has_shape(json.loads(body), dialect, "text_completion")
    if dialect != "fireworks":  # OpenAI says null of an echo's first token, which the types of its client forget
        body = body.replace(b'"token_logprobs":[null', b'"token_logprobs":[0').replace(
            b'"top_logprobs":[null', b'"top_logprobs":[{}'
        )
    _TEXTS[dialect].validate_json(body, strict=True)


def check_text_chunk(frame: bytes, dialect: str) -> None:
    """The same for one chunk of a stream. OpenAI's types do not know what the API streams: a finish reason of null."""
    if _is_preamble(frame, dialect):
        return
    has_shape(json.loads(frame), dialect, "text_chunk")
    if dialect == "fireworks":
        _FIREWORKS_CHUNK.validate_json(frame, strict=True)


def frames(stream: bytes) -> list[bytes]:
    """What stands after `data: ` in each whole frame, the terminator too. Raises unless the framing is exact."""
    assert b"\r" not in stream, "a carriage return, at which some clients stop"
    *pieces, _ = stream.split(b"\n\n")
    for piece in pieces:
        assert re.fullmatch(rb"data: \S[^\n]*", piece), f"not a frame: {piece!r}"
    return [piece.removeprefix(b"data: ") for piece in pieces]


def _is_preamble(frame: bytes, dialect: str) -> bool:
    """Whether a frame is what stands before the first chunk. Raises if it looks like that and has another shape."""
    found = dialect in WITH_PREAMBLE and b'"object":""' in frame
    if found:
        has_shape(json.loads(frame), dialect, "preamble")
    return found


def _check(text: bytes, dialect: str, shape: str, client: TypeAdapter[Any]) -> None:
    has_shape(json.loads(text), dialect, shape)
    client.validate_json(text, strict=True)


def find_undeclared_keys(value: object, path: str = "") -> Iterator[str]:
    """The paths of the keys that the client's models do not declare."""
    if isinstance(value, list):
        for item in value:
            yield from find_undeclared_keys(item, f"{path}[]")
    elif isinstance(value, BaseModel):
        front = f"{path}." if path else ""
        yield from (front + key for key in value.model_extra or ())
        for name in type(value).model_fields:
            yield from find_undeclared_keys(getattr(value, name), front + name)
