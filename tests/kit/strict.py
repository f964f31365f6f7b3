"""Holds what came over the wire against types: ours and the official client's, both to the letter.

The clients themselves construct without validating, so a wrong key or a missing one goes unseen by them.
"""

import re
from collections.abc import Iterator
from typing import Any

from fireworks.types import CompletionChunk, CompletionCreateResponse
from openai.types import Completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel, TypeAdapter

from mockserver.wire import chat, content_filter, text

# Keys that a dialect documents and OpenAI's types do not know; our own types check what stands in them.
DOCUMENTED: dict[str, frozenset[str]] = {
    "openai": frozenset({"choices[].delta.annotations"}),  # streamed by the live API
    "skytells": frozenset({"choices[].content_filter_results", "prompt_filter_results"}),
    "azure_openai": frozenset(
        {"choices[].content_filter_results", "choices[].delta.annotations", "prompt_filter_results"}
    ),
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
    "fireworks": frozenset(
        {
            *("choices[].message.reasoning_content", "choices[].delta.reasoning_content"),
            *(f"choices[].logprobs.content[].{key}" for key in ("sampling_logprob", "token_id", "text_offset")),
            "choices[].logprobs.content[].top_logprobs[].token_id",
        }
    ),
}

_COMPLETION = TypeAdapter(ChatCompletion), TypeAdapter(chat.ChatCompletion)
_CHUNK = TypeAdapter(ChatCompletionChunk), TypeAdapter(chat.ChatCompletionChunk)
_TEXT = TypeAdapter(text.TextCompletion)
_TEXTS: dict[str, TypeAdapter[Any]] = {
    "openai": TypeAdapter(Completion),
    "azure_openai": TypeAdapter(Completion),
    "fireworks": TypeAdapter(CompletionCreateResponse),
}
# OpenAI's client has one type for both, whose finish reason is never null: not what the API streams.
_TEXT_CHUNKS: dict[str, TypeAdapter[Any]] = {"fireworks": TypeAdapter(CompletionChunk)}
# What the client lets pass without a type for it.
_PREAMBLE = TypeAdapter(content_filter.PromptFilterChunk)
WITH_PREAMBLE = {"azure_openai"}


def check_completion(body: bytes, dialect: str) -> None:
    """Raises unless this is a completion by the types of the client and by ours."""
    _check(body, dialect, *_COMPLETION)


def check_chunk(frame: bytes, dialect: str) -> None:
    """The same for one chunk of a stream, or for what stands before the first."""
    if not _is_preamble(frame, dialect):
        _check(frame, dialect, *_CHUNK)


def check_text(body: bytes, dialect: str) -> None:
    """Raises unless this is a text completion by the types of the dialect's own client and by ours."""
    _TEXT.validate_json(body, strict=True, extra="forbid")
    if dialect != "fireworks":  # OpenAI says null of an echo's first token, which the types of its client forget
        body = body.replace(b'"token_logprobs":[null', b'"token_logprobs":[0').replace(
            b'"top_logprobs":[null', b'"top_logprobs":[{}'
        )
    _check(body, dialect, _TEXTS[dialect], _TEXT)


def check_text_chunk(frame: bytes, dialect: str) -> None:
    """The same for one chunk of a stream; by ours alone where the client's types do not know streams."""
    if not _is_preamble(frame, dialect):
        _check(frame, dialect, _TEXT_CHUNKS.get(dialect, _TEXT), _TEXT)


def frames(stream: bytes) -> list[bytes]:
    """What stands after `data: ` in each whole frame, the terminator too. Raises unless the framing is exact."""
    assert b"\r" not in stream, "a carriage return, at which some clients stop"
    *pieces, _ = stream.split(b"\n\n")
    for piece in pieces:
        assert re.fullmatch(rb"data: \S[^\n]*", piece), f"not a frame: {piece!r}"
    return [piece.removeprefix(b"data: ") for piece in pieces]


def _is_preamble(frame: bytes, dialect: str) -> bool:
    """Whether a frame is what stands before the first chunk. Raises if it looks like that and is not by our types."""
    found = dialect in WITH_PREAMBLE and b'"object":""' in frame
    if found:
        _PREAMBLE.validate_json(frame, strict=True, extra="forbid")
    return found


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
