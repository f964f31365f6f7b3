"""The chat request as OpenAI publishes it, field by field with types and bounds; its look-alikes share it.

Only validates. `_chat/request.py` checks what no type can say, such as fields that exclude each other.
"""

from typing import Annotated, Any, Literal, Required

from pydantic import BeforeValidator, ConfigDict, Field, Tag, TypeAdapter
from pydantic_core import PydanticKnownError
from typing_extensions import TypedDict

String = Annotated[str, Tag("<a string>")]


class TextPart(TypedDict):
    type: Literal["text"]
    text: str


class RefusalPart(TypedDict):
    type: Literal["refusal"]
    refusal: str


class ImageUrl(TypedDict, total=False):
    url: Required[str]
    detail: Literal["auto", "low", "high", "original"] | None


class ImagePart(TypedDict):
    type: Literal["image_url"]
    image_url: ImageUrl


class InputAudio(TypedDict):
    """Sound, base64."""

    data: str
    format: Literal["wav", "mp3"]


class AudioPart(TypedDict):
    type: Literal["input_audio"]
    input_audio: InputAudio


class FileContent(TypedDict, total=False):
    file_data: str | None
    file_id: str | None
    filename: str | None


class FilePart(TypedDict):
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
    name: str
    input: str


class FunctionToolCall(TypedDict):
    type: Literal["function"]
    id: str
    function: FunctionCall


class CustomToolCall(TypedDict):
    type: Literal["custom"]
    id: str
    custom: CustomCall


ChatToolCall = Annotated[FunctionToolCall | CustomToolCall, Field(discriminator="type")]


class AudioId(TypedDict):
    id: str


class SystemMessage(TypedDict, total=False):
    role: Required[Literal["system"]]
    content: Required[TextContent]
    name: str | None


class DeveloperMessage(TypedDict, total=False):
    role: Required[Literal["developer"]]
    content: Required[TextContent]
    name: str | None


class UserMessage(TypedDict, total=False):
    role: Required[Literal["user"]]
    content: Required[UserContent]
    name: str | None


class AssistantMessage(TypedDict, total=False):
    role: Required[Literal["assistant"]]
    content: AssistantContent | None
    refusal: str | None
    name: str | None
    audio: AudioId | None
    tool_calls: Annotated[list[ChatToolCall], Field(fail_fast=True)] | None
    function_call: FunctionCall | None


class ToolMessage(TypedDict):
    role: Literal["tool"]
    content: TextContent
    tool_call_id: str


class FunctionMessage(TypedDict):
    """What a function gave back, in the deprecated form."""

    role: Literal["function"]
    content: str | None
    name: str


RequestMessage = Annotated[
    SystemMessage | AssistantMessage | UserMessage | FunctionMessage | ToolMessage | DeveloperMessage,
    Field(discriminator="role"),
]


Name = Annotated[str, Field(max_length=64, pattern=r"^[a-zA-Z0-9_-]+$")]
Penalty = Annotated[float, Field(ge=-2, le=2)]
Bias = Annotated[float, Field(ge=-100, le=100, multiple_of=1)]  # a JSON integer may be written 5.0
Object = dict[str, Any]


class FunctionDefinition(TypedDict, total=False):
    name: Required[Name]
    description: str | None
    parameters: Object | None
    strict: bool | None


class FunctionTool(TypedDict):
    type: Literal["function"]
    function: FunctionDefinition


class Grammar(TypedDict):
    definition: str
    syntax: Literal["lark", "regex"]


class GrammarFormat(TypedDict):
    type: Literal["grammar"]
    grammar: Grammar


class TextFormat(TypedDict):
    type: Literal["text"]


class CustomDefinition(TypedDict, total=False):
    name: Required[str]
    description: str | None
    format: Annotated[TextFormat | GrammarFormat, Field(discriminator="type")] | None


class CustomTool(TypedDict):
    type: Literal["custom"]
    custom: CustomDefinition


ChatTool = Annotated[FunctionTool | CustomTool, Field(discriminator="type")]


class ToolName(TypedDict):
    name: str


class NamedFunction(TypedDict):
    type: Literal["function"]
    function: ToolName


class NamedCustom(TypedDict):
    type: Literal["custom"]
    custom: ToolName


class AllowedToolNames(TypedDict):
    mode: Literal["auto", "required"]
    tools: Annotated[list[Object], Field(fail_fast=True)]


class AllowedTools(TypedDict):
    type: Literal["allowed_tools"]
    allowed_tools: AllowedToolNames


ToolMode = Annotated[Literal["none", "auto", "required"], Tag("<a string>")]
NamedTool = Annotated[NamedFunction | NamedCustom | AllowedTools, Field(discriminator="type")]
ChatToolChoice = ToolMode | Annotated[NamedTool, Tag("<an object>")]


class JsonSchema(TypedDict, total=False):
    name: Required[Name]
    description: str | None
    schema: Object | None
    strict: bool | None


class JsonObjectFormat(TypedDict):
    type: Literal["json_object"]


class JsonSchemaFormat(TypedDict):
    type: Literal["json_schema"]
    json_schema: JsonSchema


ResponseFormat = Annotated[TextFormat | JsonObjectFormat | JsonSchemaFormat, Field(discriminator="type")]


class StreamOptions(TypedDict, total=False):
    include_usage: bool | None
    include_obfuscation: bool | None


class Audio(TypedDict, total=False):
    voice: Required[String | Annotated[AudioId, Tag("<an object>")]]
    format: Required[Literal["wav", "aac", "mp3", "flac", "opus", "pcm16"]]


class Prediction(TypedDict):
    type: Literal["content"]
    content: TextContent


def _first_refused_bias(value: Any) -> Any:
    """Of a great many biases only the first that will be refused, so that not each of them becomes a complaint."""
    entries = value.items() if isinstance(value, dict) else ()
    return next(({key: bias} for key, bias in entries if not _is_bias(bias)), value)


def _is_bias(value: Any) -> bool:
    return type(value) in (int, float) and -100 <= value <= 100 and value == int(value)


def _few_pairs(value: Any) -> Any:
    """Metadata, unless it has more pairs than are worth looking at."""
    if isinstance(value, dict) and len(value) > MAX_METADATA_PAIRS:
        limits = {"field_type": "Dictionary", "max_length": MAX_METADATA_PAIRS, "actual_length": len(value)}
        raise PydanticKnownError("too_long", limits)
    return value


MAX_METADATA_PAIRS = 16
Biases = Annotated[dict[str, Bias], BeforeValidator(_first_refused_bias)]
Stops = Annotated[list[str], Field(min_length=1, max_length=4, fail_fast=True)]
MetadataPairs = dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]]
Metadata = Annotated[MetadataPairs, BeforeValidator(_few_pairs)]
FunctionChoice = Annotated[Literal["none", "auto"], Tag("<a string>")] | Annotated[ToolName, Tag("<an object>")]


class ChatBody(TypedDict, total=False):
    """`POST /chat/completions` (`wire/openai.md` section 2)."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    model: Required[str]
    messages: Required[Annotated[list[RequestMessage], Field(min_length=1, fail_fast=True)]]
    temperature: Annotated[float, Field(ge=0, le=2)] | None
    top_p: Annotated[float, Field(ge=0, le=1)] | None
    n: Annotated[int, Field(ge=1, le=128)] | None
    max_completion_tokens: int | None
    max_tokens: int | None
    frequency_penalty: Penalty | None
    presence_penalty: Penalty | None
    logprobs: bool | None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None
    logit_bias: Biases | None
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None
    stop: String | Annotated[Stops, Tag("<an array of strings>")] | None
    stream: bool | None
    stream_options: StreamOptions | None
    response_format: ResponseFormat | None
    tools: Annotated[list[ChatTool], Field(fail_fast=True)] | None
    tool_choice: ChatToolChoice | None
    parallel_tool_calls: bool | None
    functions: Annotated[list[FunctionDefinition], Field(min_length=1, max_length=128, fail_fast=True)] | None
    function_call: FunctionChoice | None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None
    verbosity: Literal["low", "medium", "high"] | None
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast"] | None
    store: bool | None
    metadata: Metadata | None
    modalities: Annotated[list[Literal["text", "audio"]], Field(fail_fast=True)] | None
    audio: Audio | None
    prediction: Prediction | None
    web_search_options: Object | None
    user: str | None
    safety_identifier: str | None
    prompt_cache_key: str | None
    prompt_cache_options: Object | None
    prompt_cache_retention: str | None
    moderation: Object | None


CHAT = TypeAdapter(ChatBody)
CHAT_FIELDS = frozenset(ChatBody.__annotations__)
