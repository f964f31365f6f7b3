"""The Responses request as OpenAI publishes it, field by field with types and bounds; nothing in it is required.

Only validates. `_responses/request.py` checks what no type can say.
"""

from typing import Any

from pydantic import TypeAdapter

from mockserver.dialects._chat.models import (
    Efforts,
    JsonObjectFormat,
    Metadata,
    Name,
    TextFormat,
    ToolMode,
    Verbosity,
)
from mockserver.dialects._shared.fields import (
    Object,
    by_key,
    by_tag,
    integer,
    label,
    maybe,
    number,
    one_of,
    open_shape,
    several,
    shape,
    strict_shape,
    text_or,
    unset,
    words,
)


def _part_tag(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return _PART_TAGS.get(kind, "<a part>") if isinstance(kind, str) else "<a part>"


_TEXTUAL = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_PART_TAGS = {**dict.fromkeys(_TEXTUAL, "<a text>"), "refusal": "<a refusal>"}
Part = by_tag(
    _part_tag,
    label("<a text>", open_shape(type=words(*_TEXTUAL), text=str)),
    label("<a refusal>", open_shape(type=words("refusal"), refusal=str)),
    label("<a part>", open_shape(type=str)),
)
Content = text_or("<an array of objects>", several(Part))


def _item_tag(item: Any) -> str:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind not in (None, "message"):
        return "<an item>"
    bare = kind is None and isinstance(item, dict) and "id" in item and "role" not in item and "content" not in item
    return "<a reference>" if bare else "<a message>"


# A message may come without its type; so may a reference to an item that the provider keeps.
Item = by_tag(
    _item_tag,
    label("<a message>", open_shape(role=words("user", "assistant", "system", "developer"), content=Content)),
    label("<an item>", open_shape(type=str)),
    label("<a reference>", open_shape(id=str)),
)
Input = text_or("<an array of objects>", several(Item))


def _tool_tag(tool: Any) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else None
    return kind if kind in ("function", "custom", "image_generation") else "<a tool>"


# Tools, choices and formats are flat, unlike chat's.
def function_tool(name: Any) -> Any:
    """A function that the model may call."""
    return shape(
        type=words("function"), name=name, description=maybe(str), parameters=maybe(Object), strict=maybe(bool)
    )


Grammar = shape(type=words("grammar"), definition=str, syntax=words("lark", "regex"))
ResponseCustomTool = shape(
    type=words("custom"), name=str, description=maybe(str), format=maybe(by_key("type", TextFormat, Grammar))
)
HostedTool = open_shape(type=str)  # one of the provider's own, or one that it reaches (`mcp`)
ResponseTool = by_tag(
    _tool_tag,
    label("function", function_tool(Name)),
    label("custom", ResponseCustomTool),
    label("image_generation", open_shape(type=words("image_generation"), partial_images=maybe(integer(0, 3)))),
    label("<a tool>", HostedTool),
)

ResponseNamedTool = shape(type=words("function", "custom"), name=str)
McpChoice = shape(type=words("mcp"), server_label=str, name=maybe(str))
ResponseAllowedTools = shape(type=words("allowed_tools"), mode=words("auto", "required"), tools=several(Object))
HOSTED_CHOICES = (
    "file_search",
    *("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"),
    *("computer", "computer_use", "computer_use_preview"),
    *("code_interpreter", "image_generation", "local_shell", "shell", "apply_patch", "programmatic_tool_calling"),
)
ChosenTool = by_key("type", ResponseNamedTool, McpChoice, ResponseAllowedTools, shape(type=words(*HOSTED_CHOICES)))
ResponseToolChoice = one_of(ToolMode, label("<an object>", ChosenTool))


def text_options(schema_name: Any) -> Any:
    """The form of the answer: a text, an object, or what satisfies a JSON Schema."""
    schema = shape(
        type=words("json_schema"), name=schema_name, schema=Object, description=maybe(str), strict=maybe(bool)
    )
    form = by_key("type", TextFormat, JsonObjectFormat, schema)
    return shape(format=maybe(form), verbosity=maybe(Verbosity))


Summary = words("auto", "concise", "detailed")
ReasoningOptions = shape(
    effort=maybe(Efforts),
    summary=maybe(Summary),
    generate_summary=maybe(Summary),
    context=maybe(words("auto", "current_turn", "all_turns")),
    mode=maybe(str),
)
PromptTemplate = shape(id=str, version=maybe(str), variables=maybe(Object))
INCLUDABLE = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)

# `POST /responses` (`wire/openai.md` section 6).
ResponseBody = strict_shape(
    model=unset(str),
    input=unset(Input),
    instructions=maybe(str),
    max_output_tokens=maybe(integer(16)),
    max_tool_calls=maybe(int),
    parallel_tool_calls=maybe(bool),
    temperature=maybe(number(0, 2)),
    top_p=maybe(number(0, 1)),
    top_logprobs=maybe(integer(0, 20)),
    text=maybe(text_options(Name)),
    tools=maybe(several(ResponseTool)),
    tool_choice=maybe(ResponseToolChoice),
    reasoning=maybe(ReasoningOptions),
    include=maybe(several(words(*INCLUDABLE))),
    store=maybe(bool),
    background=maybe(bool),
    previous_response_id=maybe(str),
    conversation=maybe(text_or("<an object>", shape(id=str))),
    prompt=maybe(PromptTemplate),
    truncation=maybe(words("auto", "disabled")),
    stream=maybe(bool),
    stream_options=maybe(shape(include_obfuscation=maybe(bool))),
    service_tier=maybe(words("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")),
    metadata=maybe(Metadata),
    user=maybe(str),
    safety_identifier=maybe(str),
    prompt_cache_key=maybe(str),
    prompt_cache_options=maybe(Object),
    prompt_cache_retention=maybe(words("in_memory", "in-memory", "24h")),
    context_management=maybe(several(shape(type=str, compact_threshold=maybe(int)))),
    moderation=maybe(Object),
    background_options=maybe(Object),
    access_programs=maybe(Object),
    image=maybe(Object),
)
RESPONSE = TypeAdapter(ResponseBody)
RESPONSE_FIELDS = frozenset(ResponseBody.__annotations__)
