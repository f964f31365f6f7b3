"""Tzafon's requests as vLLM's schemas have them: all objects open to more, few bounds, `model` never required.

Only validates. `tzafon/request.py` checks what no type can say.
"""

from typing import Any

from pydantic import TypeAdapter

from mockserver.dialects._chat.models import ChatToolCall, FunctionCall, RefusalPart, TextPart, ToolMode
from mockserver.dialects._responses.models import (
    HostedTool,
    Input,
    PromptTemplate,
    ResponseAllowedTools,
    ResponseCustomTool,
    ResponseNamedTool,
    Summary,
    function_tool,
    text_options,
)
from mockserver.dialects._shared.fields import (
    STRING,
    Object,
    body_shape,
    integer,
    labelled,
    list_of,
    literal,
    mapping,
    not_null,
    optional,
    shape,
    tagged_by,
    text_or,
    union,
    union_by,
)


def _tool_tag(tool: Any) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else None
    return kind if kind in ("function", "custom", "computer_use_preview") else "<a tool>"


ComputerTool = shape(
    type=literal("computer_use_preview"),
    display_height=int,
    display_width=int,
    environment=literal("windows", "mac", "linux", "ubuntu", "browser", "desktop"),
)
VllmTool = union_by(
    _tool_tag,
    labelled("function", function_tool(str)),
    labelled("custom", ResponseCustomTool),
    labelled("computer_use_preview", ComputerTool),
    labelled("<a tool>", HostedTool),
)
ComputerChoice = shape(type=literal("computer_use_preview", "computer_use"))
ChosenTool = tagged_by("type", ResponseNamedTool, ResponseAllowedTools, ComputerChoice)
Efforts = literal("none", "minimal", "low", "medium", "high", "xhigh")
INCLUDABLE = (
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
)
MAX_CHOICES = 128  # vLLM knows no bound; a server of many must

# `POST /responses` (`wire/tzafon-responses.md`, Request).
RESPONSE = TypeAdapter(
    body_shape(
        input=Input,
        model=optional(str),
        instructions=optional(str),
        user=optional(str),
        metadata=optional(mapping(str)),
        background=optional(bool),
        store=optional(bool),
        stream=optional(bool),
        include=optional(list_of(literal(*INCLUDABLE))),
        max_output_tokens=optional(int),
        max_tool_calls=optional(int),
        top_k=optional(int),
        top_logprobs=optional(int),
        temperature=optional(float),
        top_p=optional(float),
        logit_bias=optional(mapping(float)),
        parallel_tool_calls=optional(bool),
        previous_response_id=optional(str),
        previous_input_messages=optional(list_of(Object)),
        prompt=optional(PromptTemplate),
        prompt_cache_key=optional(str),
        reasoning=optional(
            shape(effort=optional(Efforts), summary=optional(Summary), generate_summary=optional(Summary))
        ),
        service_tier=not_null(literal("auto", "default", "flex", "scale", "priority")),
        text=optional(text_options(str)),
        tool_choice=not_null(union(ToolMode, labelled("<an object>", ChosenTool))),
        tools=not_null(list_of(VllmTool)),
        truncation=optional(literal("auto", "disabled")),
        request_id=not_null(str),
        priority=not_null(int),
        cache_salt=optional(str),
        enable_response_messages=not_null(bool),
        mm_processor_kwargs=optional(Object),
        skip_special_tokens=not_null(bool),
        include_stop_str_in_output=not_null(bool),
    )
)


def _part_tag(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if kind in ("text", "refusal") else "<a string>" if isinstance(part, str) else "<an object>"


# A message with a role, or one of Harmony's with an author; its parts may be texts or any object.
ChatPart = union_by(
    _part_tag, STRING, labelled("text", TextPart), labelled("refusal", RefusalPart), labelled("<an object>", Object)
)
Message = shape(
    role=not_null(str),
    author=not_null(Object),
    content=optional(text_or("<an array of objects>", list_of(ChatPart))),
    refusal=optional(str),
    tool_calls=optional(list_of(ChatToolCall)),
    function_call=optional(FunctionCall),
    tool_call_id=optional(str),
    name=optional(str),
)
# A function with or without its type; custom tools are let through.
ChatTool = shape(
    type=not_null(literal("function", "custom")),
    function=not_null(shape(name=str, description=optional(str), parameters=optional(Object))),
    custom=not_null(Object),
)
ToolName = shape(name=str)
ChatChosen = shape(
    type=not_null(literal("function", "custom", "allowed_tools")),
    function=not_null(ToolName),
    custom=not_null(ToolName),
    allowed_tools=not_null(Object),
)
ChatFormat = shape(
    type=literal("text", "json_object", "json_schema", "structural_tag"),
    json_schema=optional(shape(name=str, schema=optional(Object))),
)

# `POST /chat/completions`: the fields that mean something here; the others may be anything.
CHAT = TypeAdapter(
    body_shape(
        messages=list_of(Message, 1),
        model=optional(str),
        max_tokens=optional(int),
        max_completion_tokens=optional(int),
        n=optional(integer(1, MAX_CHOICES)),
        stop=optional(text_or("<an array of strings>", list[str])),
        stream=optional(bool),
        stream_options=optional(shape(include_usage=optional(bool), continuous_usage_stats=optional(bool))),
        logprobs=optional(bool),
        top_logprobs=optional(integer(0)),
        temperature=optional(float),
        top_p=optional(float),
        frequency_penalty=optional(float),
        presence_penalty=optional(float),
        seed=optional(int),
        ignore_eos=not_null(bool),
        response_format=optional(ChatFormat),
        tools=optional(list_of(ChatTool)),
        tool_choice=optional(union(ToolMode, labelled("<an object>", ChatChosen))),
        parallel_tool_calls=optional(bool),
        reasoning_effort=optional(Efforts),
        logit_bias=optional(mapping(float)),
        user=optional(str),
        request_id=not_null(str),
        priority=not_null(int),
        cache_salt=optional(str),
    )
)
