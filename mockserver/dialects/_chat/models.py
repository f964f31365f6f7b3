"""The chat request as OpenAI publishes it, field by field with types and bounds; its look-alikes share it.

Only validates. `_chat/request.py` checks what no type can say, such as fields that exclude each other.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter
from pydantic_core import PydanticKnownError

from mockserver.dialects._shared.fields import (
    Object,
    by_key,
    checked,
    integer,
    label,
    mapping,
    maybe,
    number,
    one_of,
    several,
    shape,
    strict_shape,
    text_or,
    words,
)

TextPart = shape(type=words("text"), text=str)
RefusalPart = shape(type=words("refusal"), refusal=str)
ImageUrl = shape(url=str, detail=maybe(words("auto", "low", "high", "original")))
ImagePart = shape(type=words("image_url"), image_url=ImageUrl)
AudioPart = shape(type=words("input_audio"), input_audio=shape(data=str, format=words("wav", "mp3")))
FilePart = shape(type=words("file"), file=shape(file_data=maybe(str), file_id=maybe(str), filename=maybe(str)))
TextContent = text_or("<an array of objects>", several(TextPart, 1))
UserContent = text_or("<an array of objects>", several(by_key("type", TextPart, ImagePart, AudioPart, FilePart), 1))
AssistantContent = text_or("<an array of objects>", several(by_key("type", TextPart, RefusalPart), 1))

FunctionCall = shape(name=str, arguments=str)  # arguments are a JSON string
FunctionToolCall = shape(type=words("function"), id=str, function=FunctionCall)
CustomToolCall = shape(type=words("custom"), id=str, custom=shape(name=str, input=str))
ChatToolCall = by_key("type", FunctionToolCall, CustomToolCall)
AudioId = shape(id=str)
RequestMessage = by_key(
    "role",
    shape(role=words("system"), content=TextContent, name=maybe(str)),
    shape(
        role=words("assistant"),
        content=maybe(AssistantContent),
        refusal=maybe(str),
        name=maybe(str),
        audio=maybe(AudioId),
        tool_calls=maybe(several(ChatToolCall)),
        function_call=maybe(FunctionCall),
    ),
    shape(role=words("user"), content=UserContent, name=maybe(str)),
    shape(role=words("function"), content=str | None, name=str),  # what a function returned, in the deprecated form
    shape(role=words("tool"), content=TextContent, tool_call_id=str),
    shape(role=words("developer"), content=TextContent, name=maybe(str)),
)

Name = Annotated[str, Field(max_length=64, pattern=r"^[a-zA-Z0-9_-]+$")]
FunctionDefinition = shape(name=Name, description=maybe(str), parameters=maybe(Object), strict=maybe(bool))
FunctionTool = shape(type=words("function"), function=FunctionDefinition)
TextFormat = shape(type=words("text"))
Grammar = shape(definition=str, syntax=words("lark", "regex"))
CustomTool = shape(
    type=words("custom"),
    custom=shape(
        name=str,
        description=maybe(str),
        format=maybe(by_key("type", TextFormat, shape(type=words("grammar"), grammar=Grammar))),
    ),
)
ChatTool = by_key("type", FunctionTool, CustomTool)
ToolName = shape(name=str)
NamedFunction = shape(type=words("function"), function=ToolName)
NamedCustom = shape(type=words("custom"), custom=ToolName)
AllowedTools = shape(
    type=words("allowed_tools"), allowed_tools=shape(mode=words("auto", "required"), tools=several(Object))
)
ToolMode = label("<a string>", words("none", "auto", "required"))
ChatToolChoice = one_of(ToolMode, label("<an object>", by_key("type", NamedFunction, NamedCustom, AllowedTools)))
FunctionChoice = one_of(label("<a string>", words("none", "auto")), label("<an object>", ToolName))

JsonObjectFormat = shape(type=words("json_object"))
JsonSchema = shape(name=Name, description=maybe(str), schema=maybe(Object), strict=maybe(bool))
ResponseFormat = by_key("type", TextFormat, JsonObjectFormat, shape(type=words("json_schema"), json_schema=JsonSchema))
StreamOptions = shape(include_usage=maybe(bool), include_obfuscation=maybe(bool))
Audio = shape(voice=text_or("<an object>", AudioId), format=words("wav", "aac", "mp3", "flac", "opus", "pcm16"))


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
Penalty = number(-2, 2)
# A JSON integer may be written 5.0.
Biases = checked(mapping(number(-100, 100, multiple_of=1)), BeforeValidator(_first_refused_bias))
Stops = text_or("<an array of strings>", several(str, 1, 4))
MetadataPairs = dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]]
Metadata = checked(MetadataPairs, BeforeValidator(_few_pairs))
Seed = integer(-(2**63), 2**63 - 1)
Efforts = words("none", "minimal", "low", "medium", "high", "xhigh", "max")
Verbosity = words("low", "medium", "high")

# `POST /chat/completions` (`wire/openai.md` section 2).
ChatBody = strict_shape(
    model=str,
    messages=several(RequestMessage, 1),
    temperature=maybe(number(0, 2)),
    top_p=maybe(number(0, 1)),
    n=maybe(integer(1, 128)),
    max_completion_tokens=maybe(int),
    max_tokens=maybe(int),
    frequency_penalty=maybe(Penalty),
    presence_penalty=maybe(Penalty),
    logprobs=maybe(bool),
    top_logprobs=maybe(integer(0, 20)),
    logit_bias=maybe(Biases),
    seed=maybe(Seed),
    stop=maybe(Stops),
    stream=maybe(bool),
    stream_options=maybe(StreamOptions),
    response_format=maybe(ResponseFormat),
    tools=maybe(several(ChatTool)),
    tool_choice=maybe(ChatToolChoice),
    parallel_tool_calls=maybe(bool),
    functions=maybe(several(FunctionDefinition, 1, 128)),
    function_call=maybe(FunctionChoice),
    reasoning_effort=maybe(Efforts),
    verbosity=maybe(Verbosity),
    service_tier=maybe(words("auto", "default", "flex", "scale", "priority", "fast")),
    store=maybe(bool),
    metadata=maybe(Metadata),
    modalities=maybe(several(words("text", "audio"))),
    audio=maybe(Audio),
    prediction=maybe(shape(type=words("content"), content=TextContent)),
    web_search_options=maybe(Object),
    user=maybe(str),
    safety_identifier=maybe(str),
    prompt_cache_key=maybe(str),
    prompt_cache_options=maybe(Object),
    prompt_cache_retention=maybe(str),
    moderation=maybe(Object),
)
CHAT = TypeAdapter(ChatBody)
CHAT_FIELDS = frozenset(ChatBody.__annotations__)
