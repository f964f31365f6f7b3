"""Whatever the types of the official clients allow, `verify` accepts: the least and the most of each answer."""

import json
import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from anthropic.types import Message, ModelInfo, RawMessageStreamEvent
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent
from google.genai.types import EmbedContentResponse, GenerateContentResponse
from google.genai.types import Model as GoogleModel
from openai.types import Completion, CreateEmbeddingResponse, Model, ModerationCreateResponse
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel

from mockserver.cassettes.verify import find_misshapen
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.json import Json

DEPTH = 4  # of tables within each other, below which each has its required fields only
SCALARS: Mapping[Any, Json] = {
    str: "a",
    int: 1,
    float: 0.5,
    bool: True,
    bytes: "YQ==",
    datetime: "2026-01-01T00:00:00Z",
    Any: {"a": [1]},
    object: "any text",
    type(None): None,
}


@cache
def values(kind: Any, depth: int = DEPTH) -> Sequence[Json]:
    """The values of a type: at least one for each member of every union in it."""
    return tuple(_values(kind, depth))


def _values(kind: Any, depth: int) -> Iterator[Json]:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in SCALARS:
        yield SCALARS[kind]
    elif origin is Literal:
        yield from arguments
    elif origin is Annotated:
        yield from values(arguments[0], depth)
    elif origin in (Union, types.UnionType):
        yield from (value for member in arguments for value in values(member, depth))
    elif origin is list:
        yield from ([], *([value] for value in values(arguments[0], depth)))
    elif origin is dict:
        yield from ({}, *({"a": value} for value in values(arguments[1], depth)))
    elif issubclass(kind, Enum):
        yield from (member.value for member in list(kind)[:1])
    elif issubclass(kind, BaseModel):
        yield from _tables(kind, depth)


def _tables(kind: type[BaseModel], depth: int) -> Iterator[dict[str, Json]]:
    """The table with required fields only, and one with all fields for each value of each field."""
    fields = {field.serialization_alias or field.alias or name: field for name, field in kind.model_fields.items()}
    required = {name: values(field.annotation, depth - 1) for name, field in fields.items() if field.is_required()}
    yield {name: found[0] for name, found in required.items()}
    if depth <= 0:
        return
    every = {name: found for name, field in fields.items() if (found := values(field.annotation, depth - 1))}
    whole = {name: found[-1] for name, found in every.items()}
    yield from ({**whole, name: value} for name, found in every.items() for value in found)


CHAT, RESPONSES, MESSAGES = ("openai", "chat"), ("openai", "responses"), ("anthropic", "chat")
ANSWERS: list[tuple[tuple[str, str], Any]] = [
    (CHAT, ChatCompletion),
    (("openai", "completions"), Completion),
    (RESPONSES, Response),
    (("openai", "embeddings"), CreateEmbeddingResponse),
    (("openai", "moderations"), ModerationCreateResponse),
    (("openai", "model"), Model),
    (MESSAGES, Message),
    (MESSAGES, BetaMessage),
    (("anthropic", "model"), ModelInfo),
    (("gemini", "chat"), GenerateContentResponse),
    (("gemini", "embeddings"), EmbedContentResponse),
]
STREAMS: list[tuple[tuple[str, str], Any]] = [
    (CHAT, ChatCompletionChunk),
    (("openai", "completions"), Completion),
    (RESPONSES, ResponseStreamEvent),
    (MESSAGES, RawMessageStreamEvent),
    (MESSAGES, BetaRawMessageStreamEvent),
    (("gemini", "chat"), GenerateContentResponse),
]


def blame(where: tuple[str, str], reply: Recorded) -> list[str]:
    return list(find_misshapen(Episode(*where, "m", Sent("POST", "/"), reply)))


def name(value: Any) -> str:
    return "-".join(value) if isinstance(value, tuple) else getattr(value, "__name__", "events")


@pytest.mark.parametrize(("where", "kind"), ANSWERS, ids=name)
def test_an_answer_of_the_clients_types_is_good(where: tuple[str, str], kind: Any) -> None:
    made = list(values(kind))
    assert made
    for value in made:
        assert blame(where, Recorded(200, (), json.dumps(value).encode())) == [], json.dumps(value)[:2000]


@pytest.mark.parametrize(("where", "kind"), STREAMS, ids=name)
def test_an_event_of_the_clients_types_is_good(where: tuple[str, str], kind: Any) -> None:
    made = list(values(kind))
    assert made
    for value in made:
        frame = b"data: " + json.dumps(value).encode() + b"\n\n"
        assert blame(where, Recorded(200, (), frames=((0.0, frame),))) == [], json.dumps(value)[:2000]


def test_a_list_of_models_is_good() -> None:
    assert [*values(GoogleModel)]
    for value in values(GoogleModel):
        body = {"models": [{**value, "name": "models/a"}], "nextPageToken": "a"}
        assert blame(("gemini", "models"), Recorded(200, (), json.dumps(body).encode())) == []
