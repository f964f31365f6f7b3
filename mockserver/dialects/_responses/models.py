"""The Responses request as OpenAI publishes it, field by field with types and bounds; nothing in it is required.

Only validates. `_responses/request.py` checks what no type can say.
"""

from typing import Annotated, Any, Literal, Required

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter
from typing_extensions import TypedDict

from mockserver.dialects._chat.models import JsonObjectFormat, Metadata, Name, Object, String, TextFormat


class ResponseTextPart(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: Literal["input_text", "output_text", "text", "summary_text", "reasoning_text"]
    text: str


class ResponseRefusalPart(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: Literal["refusal"]
    refusal: str


class OtherPart(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: str


def _part_tag(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return _PART_TAGS.get(kind, "<a part>") if isinstance(kind, str) else "<a part>"


_TEXTUAL = ResponseTextPart.__annotations__["type"].__args__
_PART_TAGS = {**dict.fromkeys(_TEXTUAL, "<a text>"), "refusal": "<a refusal>"}
Part = Annotated[
    Annotated[ResponseTextPart, Tag("<a text>")]
    | Annotated[ResponseRefusalPart, Tag("<a refusal>")]
    | Annotated[OtherPart, Tag("<a part>")],
    Discriminator(_part_tag),
]
Parts = Annotated[list[Part], Field(fail_fast=True)]
Content = String | Annotated[Parts, Tag("<an array of objects>")]


class MessageItem(TypedDict):
    """A message, with or without its type."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    role: Literal["user", "assistant", "system", "developer"]
    content: Content


class OtherItem(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: str


class Reference(TypedDict):
    """An item that the provider keeps; it needs no type."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    id: str


def _item_tag(item: Any) -> str:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind not in (None, "message"):
        return "<an item>"
    bare = kind is None and isinstance(item, dict) and "id" in item and "role" not in item and "content" not in item
    return "<a reference>" if bare else "<a message>"


Item = Annotated[
    Annotated[MessageItem, Tag("<a message>")]
    | Annotated[OtherItem, Tag("<an item>")]
    | Annotated[Reference, Tag("<a reference>")],
    Discriminator(_item_tag),
]
Items = Annotated[list[Item], Field(fail_fast=True)]
Input = String | Annotated[Items, Tag("<an array of objects>")]


class ResponseFunctionTool(TypedDict, total=False):
    """A function that the model may call; flat, unlike chat's."""

    type: Required[Literal["function"]]
    name: Required[Name]
    description: str | None
    parameters: Object | None
    strict: bool | None


class ResponseGrammarFormat(TypedDict):
    """Input that follows a grammar; flat, unlike chat's."""

    type: Literal["grammar"]
    definition: str
    syntax: Literal["lark", "regex"]


class ResponseCustomTool(TypedDict, total=False):
    type: Required[Literal["custom"]]
    name: Required[str]
    description: str | None
    format: Annotated[TextFormat | ResponseGrammarFormat, Field(discriminator="type")] | None


class ImageTool(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: Required[Literal["image_generation"]]
    partial_images: Annotated[int, Field(ge=0, le=3)] | None


class HostedTool(TypedDict):
    """A tool of the provider's own, or one that it reaches (`mcp`), with all its options."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    type: str


def _tool_tag(tool: Any) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else None
    return kind if kind in ("function", "custom", "image_generation") else "<a tool>"


ResponseTool = Annotated[
    Annotated[ResponseFunctionTool, Tag("function")]
    | Annotated[ResponseCustomTool, Tag("custom")]
    | Annotated[ImageTool, Tag("image_generation")]
    | Annotated[HostedTool, Tag("<a tool>")],
    Discriminator(_tool_tag),
]


class ResponseNamedTool(TypedDict):
    type: Literal["function", "custom"]
    name: str


class McpChoice(TypedDict, total=False):
    type: Required[Literal["mcp"]]
    server_label: Required[str]
    name: str | None


class ResponseAllowedTools(TypedDict):
    """Call some of the tools; flat, unlike chat's."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[list[Object], Field(fail_fast=True)]


class HostedChoice(TypedDict):
    type: Literal[
        "file_search",
        "web_search",
        "web_search_2025_08_26",
        "web_search_preview",
        "web_search_preview_2025_03_11",
        "computer",
        "computer_use",
        "computer_use_preview",
        "code_interpreter",
        "image_generation",
        "local_shell",
        "shell",
        "apply_patch",
        "programmatic_tool_calling",
    ]


ToolMode = Annotated[Literal["none", "auto", "required"], Tag("<a string>")]
ChosenTool = Annotated[ResponseNamedTool | McpChoice | ResponseAllowedTools | HostedChoice, Field(discriminator="type")]
ResponseToolChoice = ToolMode | Annotated[ChosenTool, Tag("<an object>")]


class ResponseJsonSchemaFormat(TypedDict, total=False):
    """The answer satisfies a JSON Schema; flat, unlike chat's."""

    type: Required[Literal["json_schema"]]
    name: Required[Name]
    schema: Required[Object]
    description: str | None
    strict: bool | None


Format = Annotated[TextFormat | JsonObjectFormat | ResponseJsonSchemaFormat, Field(discriminator="type")]


class TextOptions(TypedDict, total=False):
    format: Format | None
    verbosity: Literal["low", "medium", "high"] | None


Summary = Literal["auto", "concise", "detailed"]


class ReasoningOptions(TypedDict, total=False):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None
    summary: Summary | None
    generate_summary: Summary | None
    context: Literal["auto", "current_turn", "all_turns"] | None
    mode: str | None


class PromptTemplate(TypedDict, total=False):
    id: Required[str]
    version: str | None
    variables: Object | None


class ConversationId(TypedDict):
    id: str


class Compaction(TypedDict, total=False):
    type: Required[str]
    compact_threshold: int | None


class ResponseStreamOptions(TypedDict, total=False):
    include_obfuscation: bool | None


Includable = Literal[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
]
Temperature = Annotated[float, Field(ge=0, le=2)]
TopP = Annotated[float, Field(ge=0, le=1)]
Conversation = String | Annotated[ConversationId, Tag("<an object>")]


class ResponseBody(TypedDict, total=False):
    """`POST /responses` (`wire/openai.md` section 6)."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    model: str
    input: Input
    instructions: str | None
    max_output_tokens: Annotated[int, Field(ge=16)] | None
    max_tool_calls: int | None
    parallel_tool_calls: bool | None
    temperature: Temperature | None
    top_p: TopP | None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None
    text: TextOptions | None
    tools: Annotated[list[ResponseTool], Field(fail_fast=True)] | None
    tool_choice: ResponseToolChoice | None
    reasoning: ReasoningOptions | None
    include: Annotated[list[Includable], Field(fail_fast=True)] | None
    store: bool | None
    background: bool | None
    previous_response_id: str | None
    conversation: Conversation | None
    prompt: PromptTemplate | None
    truncation: Literal["auto", "disabled"] | None
    stream: bool | None
    stream_options: ResponseStreamOptions | None
    service_tier: Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"] | None
    metadata: Metadata | None
    user: str | None
    safety_identifier: str | None
    prompt_cache_key: str | None
    prompt_cache_options: Object | None
    prompt_cache_retention: Literal["in_memory", "in-memory", "24h"] | None
    context_management: Annotated[list[Compaction], Field(fail_fast=True)] | None
    moderation: Object | None
    background_options: Object | None
    access_programs: Object | None
    image: Object | None


RESPONSE = TypeAdapter(ResponseBody)
RESPONSE_FIELDS = frozenset(ResponseBody.__annotations__)
