"""The least that clients need of an answer, as types: recorded JSON is held against them.

Providers add keys and leave out what they like; a key that is absent or of another kind here breaks a client.
"""

from collections.abc import Mapping
from typing import Any, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

Texts = dict[str, Any]


class Usage(TypedDict):
    """Tokens counted."""

    prompt_tokens: int
    total_tokens: int


class Function(TypedDict):
    """What is called, and with what."""

    name: str
    arguments: str


class ToolCall(TypedDict):
    """A call of a tool."""

    id: str
    function: NotRequired[Function]
    custom: NotRequired[Texts]


class Message(TypedDict):
    """What the model says."""

    content: NotRequired[str | None]
    tool_calls: NotRequired[list[ToolCall] | None]


class Choice(TypedDict):
    """One alternative."""

    index: int
    message: Message
    finish_reason: str


class Chat(TypedDict):
    """A plain answer of chat."""

    id: str
    created: int
    model: str
    choices: list[Choice]
    usage: NotRequired[Usage | None]


class FunctionPiece(TypedDict):
    """A piece of what is called."""

    name: NotRequired[str | None]
    arguments: NotRequired[str | None]


class ToolCallPiece(TypedDict):
    """A piece of a call."""

    index: int
    id: NotRequired[str | None]
    function: NotRequired[FunctionPiece | None]


class Delta(TypedDict):
    """What a chunk adds to the message."""

    content: NotRequired[str | None]
    tool_calls: NotRequired[list[ToolCallPiece] | None]


class ChunkChoice(TypedDict):
    """What a chunk adds to one alternative."""

    index: int
    delta: Delta
    finish_reason: NotRequired[str | None]


class Chunk(TypedDict):
    """An event of a streamed answer of chat."""

    id: str
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: NotRequired[Usage | None]


class FilteredChoice(Choice):
    """The same with what a content filter saw."""

    content_filter_results: Texts


class FilteredChat(Chat):
    """A plain answer of a provider that tells with every one what its filters saw."""

    choices: list[FilteredChoice]  # type: ignore[misc]
    prompt_filter_results: list[Texts]


class TextChoice(TypedDict):
    """One alternative of a text completion, or what a chunk adds to it."""

    index: int
    text: str
    finish_reason: NotRequired[str | None]


class Text(TypedDict):
    """A text completion, and an event of a streamed one."""

    id: str
    created: int
    model: str
    choices: list[TextChoice]
    usage: NotRequired[Usage | None]


class Item(TypedDict):
    """An item of a response."""

    type: str
    content: NotRequired[list[Texts] | None]
    arguments: NotRequired[str]
    name: NotRequired[str]


class ResponseUsage(TypedDict):
    """Tokens counted."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class ResponseError(TypedDict):
    """Why there is no answer."""

    code: str | None
    message: str


class Response(TypedDict):
    """A response."""

    id: str
    created_at: float
    model: str
    status: str
    output: list[Item]
    usage: NotRequired[ResponseUsage | None]
    error: NotRequired[ResponseError | None]


class Step(TypedDict):
    """An event of a streamed response."""

    type: str
    sequence_number: int
    output_index: NotRequired[int]
    response: NotRequired[Response]
    item: NotRequired[Item]


class Vector(TypedDict):
    """One embedding: numbers, or these in base64."""

    index: int
    embedding: list[float] | str


class Embeddings(TypedDict):
    """Vectors for texts."""

    model: str
    data: list[Vector]


class Judgement(TypedDict):
    """What was found in a text."""

    flagged: bool
    categories: dict[str, bool | None]
    category_scores: dict[str, float | None]


class Moderations(TypedDict):
    """What was found in texts."""

    id: str
    model: str
    results: list[Judgement]


class Model(TypedDict):
    """A model."""

    id: str


class Models(TypedDict):
    """A list of models."""

    data: list[Model]


class Fault(TypedDict):
    """What an error says."""

    message: str


class Failed(TypedDict):
    """The envelope of an error."""

    error: Fault


# What a plain answer, an event of a stream and an error are held against; with a dialect in front where it differs.
PLAIN: Mapping[str, Any] = {
    "chat": Chat,
    "skytells chat": FilteredChat,
    "completions": Text,
    "responses": Response,
    "response": Response,
    "embeddings": Embeddings,
    "moderations": Moderations,
    "models": Models,
    "model": Model,
}
EVENTS: Mapping[str, Any] = {"chat": Chunk, "completions": Text, "responses": Step, "response": Step}
ERRORS: Mapping[str, Any] = {
    **dict.fromkeys(("openai", "azure_openai", "crazyrouter", "skytells"), Failed),
    **dict.fromkeys(("azure", "fireworks", "tzafon"), Texts),  # whose errors are of many kinds
}


def adapter(shapes: Mapping[str, Any], dialect: str, operation: str) -> TypeAdapter[Any] | None:
    """What an answer is held against; None: nobody says how it must be."""
    shape = shapes.get(f"{dialect} {operation}", shapes.get(operation))
    return None if shape is None else TypeAdapter(shape)
