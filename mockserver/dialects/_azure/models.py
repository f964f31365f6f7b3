"""Azure's chat request: the parameters of its own API, and those that callers pass through to the model.

Only validates. Content parts may have the form of the API's reference or that of its clients.
"""

from typing import Annotated, Literal, Required

from pydantic import ConfigDict, Field, Tag, TypeAdapter
from typing_extensions import TypedDict

from mockserver.dialects._chat.messages import AudioPart, FunctionCall, FunctionToolCall, ImageUrl, String
from mockserver.dialects._chat.models import (
    Function,
    FunctionTool,
    NamedFunction,
    OldChoice,
    Penalty,
    ResponseFormat,
    StreamOptions,
    ToolMode,
)


class TextPart(TypedDict, total=False):
    """Text, under `text` or `content`."""

    type: Required[Literal["text"]]
    text: str
    content: str


class ImagePart(TypedDict, total=False):
    """An image: a URL or base64 under `content`, or OpenAI's form."""

    type: Required[Literal["image", "image_url"]]
    content: str
    detail: Literal["auto", "low", "high"] | None
    image_url: ImageUrl


Part = Annotated[TextPart | ImagePart | AudioPart, Field(discriminator="type")]
Parts = Annotated[list[Part], Field(min_length=1, fail_fast=True)]


class Message(TypedDict, total=False):
    """A message of any role; which role needs what is checked in `_azure/request.py`."""

    role: Required[Literal["system", "user", "assistant", "tool", "developer"]]
    content: String | Annotated[Parts, Tag("<an array of objects>")] | None
    tool_calls: Annotated[list[FunctionToolCall], Field(fail_fast=True)] | None
    tool_call_id: str | None
    name: str | None
    refusal: str | None
    function_call: FunctionCall | None


class AzureChatBody(TypedDict, total=False):
    """`POST /chat/completions` (`wire/azure-inference.md`)."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    messages: Required[Annotated[list[Message], Field(min_length=1, fail_fast=True)]]
    model: str | None
    frequency_penalty: Penalty | None
    presence_penalty: Penalty | None
    max_tokens: Annotated[int, Field(ge=0)] | None
    response_format: ResponseFormat | None
    seed: int | None
    stop: String | Annotated[list[str], Field(fail_fast=True), Tag("<an array of strings>")] | None
    stream: bool | None
    temperature: Annotated[float, Field(ge=0)] | None
    top_p: Annotated[float, Field(ge=0, le=1)] | None
    tools: Annotated[list[FunctionTool], Field(fail_fast=True)] | None
    tool_choice: ToolMode | Annotated[NamedFunction, Tag("<an object>")] | None


class PassedThrough(TypedDict, total=False):
    """Parameters of the models behind that have their usual effect when they are passed through."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    n: Annotated[int, Field(ge=1, le=128)] | None
    stream_options: StreamOptions | None
    logprobs: bool | None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None
    max_completion_tokens: Annotated[int, Field(ge=0)] | None
    parallel_tool_calls: bool | None
    functions: Annotated[list[Function], Field(min_length=1, max_length=128, fail_fast=True)] | None
    function_call: OldChoice | None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None
    verbosity: Literal["low", "medium", "high"] | None


AZURE_CHAT, PASSED = TypeAdapter(AzureChatBody), TypeAdapter(PassedThrough)
AZURE_FIELDS = frozenset(AzureChatBody.__annotations__)
EFFECTIVE = frozenset(PassedThrough.__annotations__)
