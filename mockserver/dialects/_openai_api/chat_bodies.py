"""The chat request as OpenAI publishes it, field by field with types and bounds; other dialects share its parts.

Source: https://platform.openai.com/docs/api-reference/chat.
"""

from typing import Any

from pydantic_core import PydanticKnownError

from mockserver.config.tables import BeforeValidator
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    Schema,
    integer,
    label_member,
    list_of,
    literal,
    mapping,
    not_null,
    nullable,
    number,
    optional,
    shape,
    tag_union,
    text,
    text_or,
    union,
    usually,
)
from mockserver.dialects._openai_api.lenient import read_format, read_messages, read_tools

TextPart = shape(type=literal("text"), text=str)
RefusalPart = shape(type=literal("refusal"), refusal=str)
ImageUrl = shape(url=str, detail=optional(literal("auto", "low", "high", "original")))
ImagePart = shape(type=literal("image_url"), image_url=ImageUrl)
AudioPart = shape(type=literal("input_audio"), input_audio=shape(data=str, format=literal("wav", "mp3")))
FilePart = shape(
    type=literal("file"), file=shape(file_data=optional(str), file_id=optional(str), filename=optional(str))
)
FunctionCall = shape(name=str, arguments=str)  # arguments are a JSON string
FunctionToolCall = shape(type=literal("function"), id=str, function=FunctionCall)
CustomToolCall = shape(type=literal("custom"), id=str, custom=shape(name=str, input=str))
ChatToolCall = tag_union("type", FunctionToolCall, CustomToolCall)
AudioId = shape(id=str)


def make_content_type(part: Schema, least: int | None) -> Schema:
    """Return the type of a content: a text, or a list of at least this many parts."""
    return text_or("<an array of objects>", list_of(part, least))


def make_message_type(least_parts: int | None) -> Schema:
    """Return the type of a message whose content is a text, or a list of at least this many parts."""
    text_content = make_content_type(TextPart, least_parts)
    return tag_union(
        "role",
        shape(role=literal("system"), content=text_content, name=optional(str)),
        shape(
            role=literal("assistant"),
            content=optional(make_content_type(tag_union("type", TextPart, RefusalPart), least_parts)),
            refusal=optional(str),
            name=optional(str),
            audio=optional(AudioId),
            tool_calls=optional(list_of(ChatToolCall)),
            function_call=optional(FunctionCall),
        ),
        shape(
            role=literal("user"),
            content=make_content_type(tag_union("type", TextPart, ImagePart, AudioPart, FilePart), least_parts),
            name=optional(str),
        ),
        # the result of a function, in the deprecated form
        shape(role=literal("function"), content=nullable(str), name=str),
        shape(role=literal("tool"), content=text_content, tool_call_id=str),
        shape(role=literal("developer"), content=text_content, name=optional(str)),
    )


RequestMessage = make_message_type(1)

NAME_PATTERN = r"^[a-zA-Z0-9_-]+$"
Name = text(1, 64, pattern=NAME_PATTERN)
FunctionDefinition = shape(name=Name, description=optional(str), parameters=optional(Object), strict=optional(bool))
FunctionTool = shape(type=literal("function"), function=FunctionDefinition)
TextFormat = shape(type=literal("text"))
Grammar = shape(definition=str, syntax=literal("lark", "regex"))
CustomTool = shape(
    type=literal("custom"),
    custom=shape(
        name=str,
        description=optional(str),
        format=optional(tag_union("type", TextFormat, shape(type=literal("grammar"), grammar=Grammar))),
    ),
)
ChatTool = tag_union("type", FunctionTool, CustomTool)
ToolName = shape(name=str)
NamedFunction = shape(type=literal("function"), function=ToolName)
NamedCustom = shape(type=literal("custom"), custom=ToolName)
AllowedNames = shape(mode=literal("auto", "required"), tools=list_of(Object))
AllowedTools = shape(type=literal("allowed_tools"), allowed_tools=AllowedNames)
ToolMode = label_member("<a string>", literal("none", "auto", "required"))
ChatToolChoice = union(
    ToolMode, label_member("<an object>", tag_union("type", NamedFunction, NamedCustom, AllowedTools))
)
FunctionChoice = union(label_member("<a string>", literal("none", "auto")), label_member("<an object>", ToolName))

JsonObjectFormat = shape(type=literal("json_object"))
JsonSchema = shape(name=Name, description=optional(str), schema=optional(Object), strict=optional(bool))
ResponseFormat = tag_union(
    "type", TextFormat, JsonObjectFormat, shape(type=literal("json_schema"), json_schema=JsonSchema)
)
StreamOptions = shape(include_usage=optional(bool), include_obfuscation=optional(bool))
Audio = shape(voice=text_or("<an object>", AudioId), format=literal("wav", "aac", "mp3", "flac", "opus", "pcm16"))


def _select_refused_bias(value: Any) -> Any:
    """Return only the first bias that will be refused, so that a large table gives one complaint."""
    entries = value.items() if isinstance(value, dict) else ()
    return next(({key: bias} for key, bias in entries if not _is_bias(bias)), value)


def _is_bias(value: Any) -> bool:
    return type(value) in (int, float) and -100 <= value <= 100 and value == int(value)


def _limit_pairs(value: Any) -> Any:
    if isinstance(value, dict) and len(value) > MAX_METADATA_PAIRS:
        limits = {"field_type": "Dictionary", "max_length": MAX_METADATA_PAIRS, "actual_length": len(value)}
        raise PydanticKnownError("too_long", limits)
    return value


MAX_METADATA_PAIRS = 16
Penalty = number(-2, 2)
# A JSON integer may be written 5.0.
_Bias = mapping(number(-100, 100, multiple_of=1))
Biases = usually(_Bias, BeforeValidator(_select_refused_bias)(_Bias))
Stops = text_or("<an array of strings>", list_of(str, most=4))
_Pairs = mapping(text(most=512), keys=text(most=64))
Metadata = usually({**_Pairs, "max_length": MAX_METADATA_PAIRS}, BeforeValidator(_limit_pairs)(_Pairs))
# Fields that chats and responses share, besides the conversation.
ACCOUNT_FIELDS = {
    "user": optional(str),
    "safety_identifier": optional(text(most=128)),
    "prompt_cache_key": optional(str),
    "prompt_cache_options": optional(Object),
    "moderation": optional(Object),
}
PromptCacheKey = text(most=64)  # longer ones are only refused by the live API
Seed = integer(-(2**63), 2**63 - 1)
Efforts = literal("none", "minimal", "low", "medium", "high", "xhigh", "max")
Verbosity = literal("low", "medium", "high")

# `POST /chat/completions` (https://platform.openai.com/docs/api-reference/chat).
ChatBody = shape(
    model=str,
    messages=list_of(RequestMessage, 1),
    temperature=optional(number(0, 2)),
    top_p=optional(number(0, 1)),
    n=optional(integer(1, 128)),
    max_completion_tokens=optional(int),
    max_tokens=optional(int),
    frequency_penalty=optional(Penalty),
    presence_penalty=optional(Penalty),
    logprobs=optional(bool),
    top_logprobs=optional(integer(0, 20)),
    logit_bias=optional(Biases),
    seed=optional(Seed),
    stop=optional(Stops),
    stream=optional(bool),
    stream_options=optional(StreamOptions),
    response_format=optional(ResponseFormat),
    tools=optional(list_of(ChatTool)),
    tool_choice=optional(ChatToolChoice),
    parallel_tool_calls=optional(bool),
    functions=optional(list_of(FunctionDefinition, 1, 128)),
    function_call=optional(FunctionChoice),
    reasoning_effort=optional(Efforts),
    verbosity=optional(Verbosity),
    service_tier=optional(literal("auto", "default", "flex", "scale", "priority", "fast")),
    store=optional(bool),
    metadata=optional(Metadata),
    modalities=optional(list_of(literal("text", "audio"))),
    audio=optional(Audio),
    prediction=optional(shape(type=literal("content"), content=make_content_type(TextPart, 1))),
    web_search_options=optional(Object),
    prompt_cache_retention=optional(str),
    **ACCOUNT_FIELDS,
)


def make_chat_model(schema: Schema) -> BodyModel:
    """Return the model of a chat's body, which reads unusual messages, tools and formats if nothing is checked."""
    lenient = {"tools": read_tools, "response_format": read_format}
    return BodyModel(schema, conversation={"messages": read_messages}, lenient=lenient)


CHAT = make_chat_model(ChatBody)

# Bounds that only the live API has, as its published schema does not state them.
MAX_CALL_ID = 40  # characters
CallId = text(1, MAX_CALL_ID)
CalledName = text(1, 64, pattern=NAME_PATTERN)
LiveToolCall = shape(
    id=not_null(CallId), function=not_null(shape(name=CalledName)), custom=not_null(shape(name=text(1, 64)))
)
LiveMessage = shape(
    name=optional(text(1, 64, pattern=r"^[^\s<|\\/>]+$")),
    tool_calls=optional(list_of(LiveToolCall, 1, 128)),
    function_call=optional(shape(name=CalledName)),
    tool_call_id=not_null(CallId),
)
LIVE_CHAT = BodyModel(
    shape(
        messages=list_of(LiveMessage),
        max_tokens=optional(integer(1)),
        max_completion_tokens=optional(integer(1)),
        tools=optional(list_of(shape(custom=not_null(shape(name=text(1, 64)))), 1, 128)),
        prompt_cache_key=optional(PromptCacheKey),
    )
)
