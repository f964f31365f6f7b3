"""The parts of an answer as the formats of several providers need them."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import zip_longest
from typing import TypeVar

from msgspec.structs import replace
from pydantic_core import from_json, to_json

from mockserver.core.json import Json
from mockserver.core.plan import Choice, Part, Refusal, Text, ToolUse, find_tokens
from mockserver.core.tokens import Chunks, Tokenizer, weigh_pieces

Step = TypeVar("Step")


def list_pieces(part: Part, tokenizer: Tokenizer) -> Iterable[tuple[str, int]]:
    """Return the pieces of a part in a stream, each with its weight in tokens."""
    return weigh_pieces(find_tokens(part, tokenizer), part.chunks)


def take_turns(choices: Iterable[Iterable[Step]]) -> Iterator[tuple[int, Step]]:
    """Yield the steps of a stream, each with the place of its choice: the choices take turns until all have ended."""
    for turn in zip_longest(*choices):
        for index, step in enumerate(turn):
            if step is not None:
                yield index, step


def join_spoken(choice: Choice) -> str:
    """Return the texts and refusals of a choice as one text."""
    return "".join([part.text for part in choice.parts if isinstance(part, Text | Refusal)])


def list_spoken_pieces(choice: Choice, tokenizer: Tokenizer) -> Iterator[tuple[str, int]]:
    """Yield the pieces in which a stream sends what `join_spoken` returns, each with its weight in tokens."""
    for part in choice.parts:
        if isinstance(part, Text | Refusal):
            yield from list_pieces(part, tokenizer)


def read_arguments(arguments: str) -> dict[str, Json]:
    """Return the object of a JSON text, which may be cut off; an empty one for other texts."""
    try:
        value = from_json(arguments or "{}", allow_partial=True)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def has_object(part: ToolUse) -> bool:
    """Return whether the arguments of a call begin a JSON object, or are empty; some providers take nothing else."""
    return part.call.kind != "custom" and part.call.arguments.lstrip()[:1] in ("{", "")


def wrap_arguments(part: ToolUse) -> ToolUse:
    """Return a call whose text is in an object, for providers whose tools take nothing else."""
    arguments = to_json({"input": part.call.arguments}).decode()
    chunks: Chunks = "token"
    if isinstance(part.chunks, tuple):
        chunks = ('{"input":"', *(to_json(piece).decode()[1:-1] for piece in part.chunks), '"}')
    return replace(part, call=replace(part.call, arguments=arguments), chunks=chunks, tokens=None)


@lru_cache(maxsize=64)
def write_moment(seconds: float) -> str:
    """Return a Unix time as `2026-01-31T12:00:00Z`, at most the end of the year 9999."""
    return datetime.fromtimestamp(min(seconds, 253_402_300_799), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
