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
    by_key,
    by_tag,
    integer,
    label,
    mapping,
    maybe,
    one_of,
    several,
    shape,
    strict_shape,
    text_or,
    unset,
    words,
)


def _tool_tag(tool: Any) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else None
    return kind if kind in ("function", "custom", "computer_use_preview") else "<a tool>"


ComputerTool = shape(
    type=words("computer_use_preview"),
    display_height=int,
    display_width=int,
    environment=words("windows", "mac", "linux", "ubuntu", "browser", "desktop"),
)
VllmTool = by_tag(
    _tool_tag,
    label("function", function_tool(str)),
    label("custom", ResponseCustomTool),
    label("computer_use_preview", ComputerTool),
    label("<a tool>", HostedTool),
)
ComputerChoice = shape(type=words("computer_use_preview", "computer_use"))
ChosenTool = by_key("type", ResponseNamedTool, ResponseAllowedTools, ComputerChoice)
Efforts = words("none", "minimal", "low", "medium", "high", "xhigh")
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
    strict_shape(
        input=Input,
        model=maybe(str),
        instructions=maybe(str),
        user=maybe(str),
        metadata=maybe(mapping(str)),
        background=maybe(bool),
        store=maybe(bool),
        stream=maybe(bool),
        include=maybe(several(words(*INCLUDABLE))),
        max_output_tokens=maybe(int),
        max_tool_calls=maybe(int),
        top_k=maybe(int),
        top_logprobs=maybe(int),
        temperature=maybe(float),
        top_p=maybe(float),
        logit_bias=maybe(mapping(float)),
        parallel_tool_calls=maybe(bool),
        previous_response_id=maybe(str),
        previous_input_messages=maybe(several(Object)),
        prompt=maybe(PromptTemplate),
        prompt_cache_key=maybe(str),
        reasoning=maybe(shape(effort=maybe(Efforts), summary=maybe(Summary), generate_summary=maybe(Summary))),
        service_tier=unset(words("auto", "default", "flex", "scale", "priority")),
        text=maybe(text_options(str)),
        tool_choice=unset(one_of(ToolMode, label("<an object>", ChosenTool))),
        tools=unset(several(VllmTool)),
        truncation=maybe(words("auto", "disabled")),
        request_id=unset(str),
        priority=unset(int),
        cache_salt=maybe(str),
        enable_response_messages=unset(bool),
        mm_processor_kwargs=maybe(Object),
        skip_special_tokens=unset(bool),
        include_stop_str_in_output=unset(bool),
    )
)


def _part_tag(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if kind in ("text", "refusal") else "<a string>" if isinstance(part, str) else "<an object>"


# A message with a role, or one of Harmony's with an author; its parts may be texts or any object.
ChatPart = by_tag(
    _part_tag, STRING, label("text", TextPart), label("refusal", RefusalPart), label("<an object>", Object)
)
Message = shape(
    role=unset(str),
    author=unset(Object),
    content=maybe(text_or("<an array of objects>", several(ChatPart))),
    refusal=maybe(str),
    tool_calls=maybe(several(ChatToolCall)),
    function_call=maybe(FunctionCall),
    tool_call_id=maybe(str),
    name=maybe(str),
)
# A function with or without its type; custom tools are let through.
ChatTool = shape(
    type=unset(words("function", "custom")),
    function=unset(shape(name=str, description=maybe(str), parameters=maybe(Object))),
    custom=unset(Object),
)
ToolName = shape(name=str)
ChatChosen = shape(
    type=unset(words("function", "custom", "allowed_tools")),
    function=unset(ToolName),
    custom=unset(ToolName),
    allowed_tools=unset(Object),
)
ChatFormat = shape(
    type=words("text", "json_object", "json_schema", "structural_tag"),
    json_schema=maybe(shape(name=str, schema=maybe(Object))),
)

# `POST /chat/completions`: the fields that mean something here; the others may be anything.
CHAT = TypeAdapter(
    strict_shape(
        messages=several(Message, 1),
        model=maybe(str),
        max_tokens=maybe(int),
        max_completion_tokens=maybe(int),
        n=maybe(integer(1, MAX_CHOICES)),
        stop=maybe(text_or("<an array of strings>", list[str])),
        stream=maybe(bool),
        stream_options=maybe(shape(include_usage=maybe(bool), continuous_usage_stats=maybe(bool))),
        logprobs=maybe(bool),
        top_logprobs=maybe(integer(0)),
        temperature=maybe(float),
        top_p=maybe(float),
        frequency_penalty=maybe(float),
        presence_penalty=maybe(float),
        seed=maybe(int),
        ignore_eos=unset(bool),
        response_format=maybe(ChatFormat),
        tools=maybe(several(ChatTool)),
        tool_choice=maybe(one_of(ToolMode, label("<an object>", ChatChosen))),
        parallel_tool_calls=maybe(bool),
        reasoning_effort=maybe(Efforts),
        logit_bias=maybe(mapping(float)),
        user=maybe(str),
        request_id=unset(str),
        priority=unset(int),
        cache_salt=maybe(str),
    )
)
