"""Holds what came over the wire against types: ours and the official client's, both to the letter.

The clients themselves construct without validating, so a wrong key or a missing one goes unseen by them.
"""

import re
from collections.abc import Iterator
from typing import Any

from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel, TypeAdapter

from mockserver.formats import chat_objects

# Keys that a dialect documents and OpenAI's types do not know; our own types check what stands in them.
DOCUMENTED: dict[str, frozenset[str]] = {
    "openai": frozenset({"choices[].delta.annotations"}),  # streamed by the live API
    "skytells": frozenset({"choices[].content_filter_results", "prompt_filter_results"}),
    "crazyrouter": frozenset(
        {
            "choices[].message.reasoning_content",
            "choices[].delta.reasoning_content",
            "choices[].delta.annotations",
        }
    ),
    "azure": frozenset({"choices[].message.reasoning_content", "choices[].delta.reasoning_content"}),
    "tzafon": frozenset(
        {
            "choices[].message.reasoning_content",
            "choices[].delta.reasoning_content",
            "choices[].delta.annotations",
        }
    ),
}

_COMPLETION = TypeAdapter(ChatCompletion), TypeAdapter(chat_objects.ChatCompletion)
_CHUNK = TypeAdapter(ChatCompletionChunk), TypeAdapter(chat_objects.ChatCompletionChunk)


def check_completion(body: bytes, dialect: str) -> None:
    """Raises unless this is a completion by the types of the client and by ours."""
    _check(body, dialect, *_COMPLETION)


def check_chunk(frame: bytes, dialect: str) -> None:
    """The same for one chunk of a stream."""
    _check(frame, dialect, *_CHUNK)


def frames(stream: bytes) -> list[bytes]:
    """What stands after `data: ` in each whole frame, the terminator too. Raises unless the framing is exact."""
    assert b"\r" not in stream, "a carriage return, at which some clients stop"
    *pieces, _ = stream.split(b"\n\n")
    for piece in pieces:
        assert re.fullmatch(rb"data: \S[^\n]*", piece), f"not a frame: {piece!r}"
    return [piece.removeprefix(b"data: ") for piece in pieces]


def _check(text: bytes, dialect: str, theirs: TypeAdapter[Any], ours: TypeAdapter[Any]) -> None:
    ours.validate_json(text, strict=True, extra="forbid")
    unknown = set(unknown_keys(theirs.validate_json(text, strict=True))) - DOCUMENTED.get(dialect, frozenset())
    assert not unknown, f"{dialect} shows keys that nobody documents: {sorted(unknown)} in {text!r}"


def unknown_keys(value: object, path: str = "") -> Iterator[str]:
    """The paths of the keys that the client's models do not declare."""
    if isinstance(value, list):
        for item in value:
            yield from unknown_keys(item, f"{path}[]")
    elif isinstance(value, BaseModel):
        front = f"{path}." if path else ""
        yield from (front + key for key in value.model_extra or ())
        for name in type(value).model_fields:
            yield from unknown_keys(getattr(value, name), front + name)
