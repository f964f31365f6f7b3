"""The messages of a chat request as OpenAI publishes them: roles, content parts and earlier tool calls.

Labels such as `<a string>` name the members of plain unions for complaints. Only validates: knows no Call, no words.
"""

from typing import Annotated, Literal, Required

from pydantic import Field, Tag
from typing_extensions import TypedDict

String = Annotated[str, Tag("<a string>")]


class TextPart(TypedDict):
    """Text of a message."""

    type: Literal["text"]
    text: str


class RefusalPart(TypedDict):
    """A refusal that the assistant gave."""

    type: Literal["refusal"]
    refusal: str


class ImageUrl(TypedDict, total=False):
    """Where an image is, or the image itself as a data URL."""

    url: Required[str]
    detail: Literal["auto", "low", "high", "original"] | None


class ImagePart(TypedDict):
    """An image of a message."""

    type: Literal["image_url"]
    image_url: ImageUrl


class InputAudio(TypedDict):
    """Sound, base64."""

    data: str
    format: Literal["wav", "mp3"]


class AudioPart(TypedDict):
    """Sound of a message."""

    type: Literal["input_audio"]
    input_audio: InputAudio


class FileContent(TypedDict, total=False):
    """A file by id or by content."""

    file_data: str | None
    file_id: str | None
    filename: str | None


class FilePart(TypedDict):
    """A file of a message."""

    type: Literal["file"]
    file: FileContent


TextParts = Annotated[list[TextPart], Field(min_length=1, fail_fast=True)]
UserPart = Annotated[TextPart | ImagePart | AudioPart | FilePart, Field(discriminator="type")]
AssistantPart = Annotated[TextPart | RefusalPart, Field(discriminator="type")]
UserParts = Annotated[list[UserPart], Field(min_length=1, fail_fast=True)]
AssistantParts = Annotated[list[AssistantPart], Field(min_length=1, fail_fast=True)]
TextContent = String | Annotated[TextParts, Tag("<an array of objects>")]
UserContent = String | Annotated[UserParts, Tag("<an array of objects>")]
AssistantContent = String | Annotated[AssistantParts, Tag("<an array of objects>")]


class FunctionCall(TypedDict):
    """The function that the assistant called; arguments are a JSON string."""

    name: str
    arguments: str


class CustomCall(TypedDict):
    """The custom tool that the assistant called."""

    name: str
    input: str


class FunctionToolCall(TypedDict):
    """A function call of the assistant."""

    type: Literal["function"]
    id: str
    function: FunctionCall


class CustomToolCall(TypedDict):
    """A custom tool's call of the assistant."""

    type: Literal["custom"]
    id: str
    custom: CustomCall


ToolCall = Annotated[FunctionToolCall | CustomToolCall, Field(discriminator="type")]


class AudioId(TypedDict):
    """An earlier answer in sound."""

    id: str


class SystemMessage(TypedDict, total=False):
    """Instructions."""

    role: Required[Literal["system"]]
    content: Required[TextContent]
    name: str | None


class DeveloperMessage(TypedDict, total=False):
    """Instructions under their newer name."""

    role: Required[Literal["developer"]]
    content: Required[TextContent]
    name: str | None


class UserMessage(TypedDict, total=False):
    """What the user says."""

    role: Required[Literal["user"]]
    content: Required[UserContent]
    name: str | None


class AssistantMessage(TypedDict, total=False):
    """What the model said."""

    role: Required[Literal["assistant"]]
    content: AssistantContent | None
    refusal: str | None
    name: str | None
    audio: AudioId | None
    tool_calls: Annotated[list[ToolCall], Field(fail_fast=True)] | None
    function_call: FunctionCall | None


class ToolMessage(TypedDict):
    """What a tool gave back."""

    role: Literal["tool"]
    content: TextContent
    tool_call_id: str


class FunctionMessage(TypedDict):
    """What a function gave back, in the deprecated form."""

    role: Literal["function"]
    content: str | None
    name: str


Message = Annotated[
    SystemMessage | AssistantMessage | UserMessage | FunctionMessage | ToolMessage | DeveloperMessage,
    Field(discriminator="role"),
]
