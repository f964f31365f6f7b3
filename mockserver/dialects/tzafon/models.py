"""The requests of Tzafon, which are vLLM's: all fields open to more, few bounds, `model` never required.

Only validates. `tzafon/request.py` checks what no type can say.
"""

from typing import Annotated, Any, Literal, Required

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter
from typing_extensions import TypedDict

from mockserver.dialects._chat.models import (
    ChatToolCall,
    FunctionCall,
    JsonObjectFormat,
    Object,
    RefusalPart,
    String,
    TextFormat,
    TextPart,
)
from mockserver.dialects._responses.models import (
    HostedTool,
    Input,
    PromptTemplate,
    ResponseAllowedTools,
    ResponseCustomTool,
    ResponseNamedTool,
    Summary,
)


class VllmFunctionTool(TypedDict, total=False):
    type: Required[Literal["function"]]
    name: Required[str]
    description: str | None
    parameters: Object | None
    strict: bool | None


class ComputerTool(TypedDict):
    type: Literal["computer_use_preview"]
    display_height: int
    display_width: int
    environment: Literal["windows", "mac", "linux", "ubuntu", "browser", "desktop"]


def _tool_tag(tool: Any) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else None
    return kind if kind in ("function", "custom", "computer_use_preview") else "<a tool>"


VllmTool = Annotated[
    Annotated[VllmFunctionTool, Tag("function")]
    | Annotated[ResponseCustomTool, Tag("custom")]
    | Annotated[ComputerTool, Tag("computer_use_preview")]
    | Annotated[HostedTool, Tag("<a tool>")],
    Discriminator(_tool_tag),
]


class ComputerChoice(TypedDict):
    type: Literal["computer_use_preview", "computer_use"]


ToolMode = Annotated[Literal["none", "auto", "required"], Tag("<a string>")]
ChosenTool = Annotated[ResponseNamedTool | ResponseAllowedTools | ComputerChoice, Field(discriminator="type")]
VllmToolChoice = ToolMode | Annotated[ChosenTool, Tag("<an object>")]


class VllmJsonSchemaFormat(TypedDict, total=False):
    type: Required[Literal["json_schema"]]
    name: Required[str]
    schema: Required[Object]
    description: str | None
    strict: bool | None


class VllmTextOptions(TypedDict, total=False):
    format: Annotated[TextFormat | JsonObjectFormat | VllmJsonSchemaFormat, Field(discriminator="type")] | None
    verbosity: Literal["low", "medium", "high"] | None


class VllmReasoningOptions(TypedDict, total=False):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None
    summary: Summary | None
    generate_summary: Summary | None


Includable = Literal[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
]
MAX_CHOICES = 128  # vLLM knows no bound; a server of many must
Objects = Annotated[list[Object], Field(fail_fast=True)]


class VllmResponseBody(TypedDict, total=False):
    """`POST /responses` (`wire/tzafon-responses.md`, Request)."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    input: Required[Input]
    model: str | None
    instructions: str | None
    user: str | None
    metadata: dict[str, str] | None
    background: bool | None
    store: bool | None
    stream: bool | None
    include: Annotated[list[Includable], Field(fail_fast=True)] | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    top_k: int | None
    top_logprobs: int | None
    temperature: float | None
    top_p: float | None
    logit_bias: dict[str, float] | None
    parallel_tool_calls: bool | None
    previous_response_id: str | None
    previous_input_messages: Objects | None
    prompt: PromptTemplate | None
    prompt_cache_key: str | None
    reasoning: VllmReasoningOptions | None
    service_tier: Literal["auto", "default", "flex", "scale", "priority"]
    text: VllmTextOptions | None
    tool_choice: VllmToolChoice
    tools: Annotated[list[VllmTool], Field(fail_fast=True)]
    truncation: Literal["auto", "disabled"] | None
    request_id: str
    priority: int
    cache_salt: str | None
    enable_response_messages: bool
    mm_processor_kwargs: Object | None
    skip_special_tokens: bool
    include_stop_str_in_output: bool


def _part_tag(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if kind in ("text", "refusal") else "<a string>" if isinstance(part, str) else "<an object>"


ChatPart = Annotated[
    String
    | Annotated[TextPart, Tag("text")]
    | Annotated[RefusalPart, Tag("refusal")]
    | Annotated[Object, Tag("<an object>")],
    Discriminator(_part_tag),
]
ChatParts = Annotated[list[ChatPart], Field(fail_fast=True)]


class VllmMessage(TypedDict, total=False):
    """A message with a role, or one of Harmony's with an author; its parts may be texts or any object."""

    role: str
    author: Object
    content: String | Annotated[ChatParts, Tag("<an array of objects>")] | None
    refusal: str | None
    tool_calls: Annotated[list[ChatToolCall], Field(fail_fast=True)] | None
    function_call: FunctionCall | None
    tool_call_id: str | None
    name: str | None


class ChatFunction(TypedDict, total=False):
    name: Required[str]
    description: str | None
    parameters: Object | None


class VllmChatTool(TypedDict, total=False):
    """A function as a tool, with or without its type; custom tools are let through."""

    type: Literal["function", "custom"]
    function: ChatFunction
    custom: Object


class VllmToolName(TypedDict):
    name: str


class ChatChosen(TypedDict, total=False):
    type: Literal["function", "custom", "allowed_tools"]
    function: VllmToolName
    custom: VllmToolName
    allowed_tools: Object


class ChatSchema(TypedDict, total=False):
    name: Required[str]
    schema: Object | None


class ChatFormat(TypedDict, total=False):
    type: Required[Literal["text", "json_object", "json_schema", "structural_tag"]]
    json_schema: ChatSchema | None


class VllmStreamOptions(TypedDict, total=False):
    include_usage: bool | None
    continuous_usage_stats: bool | None


ChatMode = Annotated[Literal["none", "auto", "required"], Tag("<a string>")]
Stop = String | Annotated[list[str], Tag("<an array of strings>")]


class VllmChatBody(TypedDict, total=False):
    """`POST /chat/completions`: the fields that mean something here; the others may be anything."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    messages: Required[Annotated[list[VllmMessage], Field(min_length=1, fail_fast=True)]]
    model: str | None
    max_tokens: int | None
    max_completion_tokens: int | None
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None
    stop: Stop | None
    stream: bool | None
    stream_options: VllmStreamOptions | None
    logprobs: bool | None
    top_logprobs: Annotated[int, Field(ge=0)] | None
    temperature: float | None
    top_p: float | None
    frequency_penalty: float | None
    presence_penalty: float | None
    seed: int | None
    ignore_eos: bool
    response_format: ChatFormat | None
    tools: Annotated[list[VllmChatTool], Field(fail_fast=True)] | None
    tool_choice: ChatMode | Annotated[ChatChosen, Tag("<an object>")] | None
    parallel_tool_calls: bool | None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None
    logit_bias: dict[str, float] | None
    user: str | None
    request_id: str
    priority: int
    cache_salt: str | None


RESPONSE = TypeAdapter(VllmResponseBody)
CHAT = TypeAdapter(VllmChatBody)
