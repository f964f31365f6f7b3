"""The JSON of a Response, key by key (`wire/openai.md` section 6). No behaviour: `responses.py` fills it.

Of the provider's own tools only what all have in common stands here; `responses_hosted.py` has the rest as a table.
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from mockserver.formats.extras import TokenLogprob

Status = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class OutputText(TypedDict):
    """A text of a message; `logprobs` is empty where none were asked for."""

    type: Literal["output_text"]
    text: str
    annotations: list[dict[str, Any]]
    logprobs: list[TokenLogprob]


class OutputRefusal(TypedDict):
    """Why the model declines."""

    type: Literal["refusal"]
    refusal: str


class OutputMessage(TypedDict):
    """What the model says: texts and refusals in turn."""

    id: str
    type: Literal["message"]
    status: ItemStatus
    role: Literal["assistant"]
    content: list[OutputText | OutputRefusal]


class FunctionCall(TypedDict):
    """A call of the client's function; the next turn refers to `call_id`, never to `id`."""

    id: str
    type: Literal["function_call"]
    status: ItemStatus
    call_id: str
    name: str
    arguments: str


class CustomToolCall(TypedDict):
    """The same for a tool whose input is free text. It has no status."""

    id: str
    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str


class SummaryText(TypedDict):
    """What is told of the model's thoughts."""

    type: Literal["summary_text"]
    text: str


class ReasoningText(TypedDict):
    """The thoughts themselves."""

    type: Literal["reasoning_text"]
    text: str


class ReasoningItem(TypedDict):
    """What the model thought, as far as it is shown."""

    id: str
    type: Literal["reasoning"]
    status: ItemStatus
    summary: list[SummaryText]
    content: NotRequired[list[ReasoningText]]
    encrypted_content: NotRequired[str]


class InputTokensDetails(TypedDict):
    """Of the tokens read, those that a cache held or took."""

    cached_tokens: int
    cache_write_tokens: int


class OutputTokensDetails(TypedDict):
    """Of the tokens written, those that were thought."""

    reasoning_tokens: int


class ResponseUsage(TypedDict):
    """Tokens counted."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: NotRequired[InputTokensDetails]
    output_tokens_details: NotRequired[OutputTokensDetails]


class IncompleteDetails(TypedDict):
    """Why an answer ends before its end."""

    reason: Literal["max_output_tokens", "content_filter"]


class ResponseError(TypedDict):
    """Why there is no answer."""

    code: str
    message: str


class Response(TypedDict):
    """The keys that come from the answer; those that repeat the request stand among them, in the style's order."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Status
    completed_at: NotRequired[int | None]
    error: ResponseError | None
    incomplete_details: IncompleteDetails | None
    model: str
    output: list[dict[str, Any]]
    usage: ResponseUsage | None
