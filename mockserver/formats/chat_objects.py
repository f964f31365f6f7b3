"""The objects of chat, as types: every key that any provider of the family shows.

Holds shapes only; `chat.py` fills them.
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from mockserver.formats.extras import CompletionFilterResults, Logprobs, PromptFilterResults
from mockserver.formats.text_objects import ContentLogprobs


class FunctionCall(TypedDict):
    """The function of a tool call; arguments are a JSON string."""

    name: str
    arguments: str


class CustomCall(TypedDict):
    """A custom tool's name and free-text input."""

    name: str
    input: str


class ToolCallObject(TypedDict):
    """One tool call of a message."""

    id: str
    type: Literal["function", "custom"]
    function: NotRequired[FunctionCall]
    custom: NotRequired[CustomCall]


class ChatMessage(TypedDict):
    """The assistant's message."""

    role: Literal["assistant"]
    content: str | None
    reasoning_content: NotRequired[str]
    refusal: NotRequired[str | None]
    annotations: NotRequired[list[dict[str, Any]]]
    tool_calls: NotRequired[list[ToolCallObject]]
    function_call: NotRequired[FunctionCall]


class PromptTokensDetails(TypedDict):
    """Parts of the prompt tokens."""

    cached_tokens: int
    audio_tokens: int


class CompletionTokensDetails(TypedDict):
    """Parts of the completion tokens."""

    reasoning_tokens: int
    audio_tokens: int
    accepted_prediction_tokens: int
    rejected_prediction_tokens: int


class ChatUsage(TypedDict):
    """Token counts."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    completion_tokens_details: NotRequired[CompletionTokensDetails]
    prompt_tokens_details: NotRequired[PromptTokensDetails]


Finish = Literal["stop", "length", "tool_calls", "content_filter", "function_call"]


class ChatChoice(TypedDict):
    """One alternative."""

    index: int
    message: ChatMessage
    finish_reason: Finish
    logprobs: NotRequired[Logprobs | ContentLogprobs | None]
    content_filter_results: NotRequired[CompletionFilterResults]


class ChatCompletion(TypedDict):
    """The body of a plain answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage
    service_tier: NotRequired[str | None]
    system_fingerprint: NotRequired[str | None]
    prompt_filter_results: NotRequired[list[PromptFilterResults]]


class FunctionDelta(TypedDict):
    """The name comes once, with the first fragment of the arguments."""

    name: NotRequired[str]
    arguments: str


class CustomDelta(TypedDict):
    """The same for a custom tool."""

    name: NotRequired[str]
    input: str


class ToolCallDelta(TypedDict):
    """A fragment of a tool call; `id`, `type` and the name stand in the first only."""

    index: int
    id: NotRequired[str]
    type: NotRequired[Literal["function", "custom"]]
    function: NotRequired[FunctionDelta]
    custom: NotRequired[CustomDelta]


class Delta(TypedDict, total=False):
    """What a chunk adds to the message."""

    role: Literal["assistant"]
    content: str | None
    reasoning_content: str
    refusal: str | None
    annotations: list[dict[str, Any]]
    tool_calls: list[ToolCallDelta]
    function_call: FunctionDelta


class ChunkChoice(TypedDict):
    """One alternative's increment."""

    index: int
    delta: Delta
    finish_reason: Finish | None
    logprobs: NotRequired[Logprobs | ContentLogprobs | None]
    content_filter_results: NotRequired[CompletionFilterResults]


class ChatCompletionChunk(TypedDict):
    """One frame of a streamed answer."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: NotRequired[ChatUsage | None]
    service_tier: NotRequired[str | None]
    system_fingerprint: NotRequired[str | None]
    prompt_filter_results: NotRequired[list[PromptFilterResults]]
