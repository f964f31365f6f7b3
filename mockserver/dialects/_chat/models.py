"""The chat request as OpenAI publishes it, field by field with types and bounds; its look-alikes share it.

Only validates. `_chat/request.py` checks what no type can say, such as fields that exclude each other.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter
from pydantic_core import PydanticKnownError

from mockserver.dialects._shared.fields import (
    Object,
    body_shape,
    integer,
    labelled,
    list_of,
    literal,
    mapping,
    number,
    optional,
    shape,
    tagged_by,
    text_or,
    union,
    with_checks,
)

TextPart = shape(type=literal("text"), text=str)
RefusalPart = shape(type=literal("refusal"), refusal=str)
ImageUrl = shape(url=str, detail=optional(literal("auto", "low", "high", "original")))
ImagePart = shape(type=literal("image_url"), image_url=ImageUrl)
AudioPart = shape(type=literal("input_audio"), input_audio=shape(data=str, format=literal("wav", "mp3")))
FilePart = shape(
    type=literal("file"), file=shape(file_data=optional(str), file_id=optional(str), filename=optional(str))
)
TextContent = text_or("<an array of objects>", list_of(TextPart, 1))
UserContent = text_or("<an array of objects>", list_of(tagged_by("type", TextPart, ImagePart, AudioPart, FilePart), 1))
AssistantContent = text_or("<an array of objects>", list_of(tagged_by("type", TextPart, RefusalPart), 1))

FunctionCall = shape(name=str, arguments=str)  # arguments are a JSON string
FunctionToolCall = shape(type=literal("function"), id=str, function=FunctionCall)
CustomToolCall = shape(type=literal("custom"), id=str, custom=shape(name=str, input=str))
ChatToolCall = tagged_by("type", FunctionToolCall, CustomToolCall)
AudioId = shape(id=str)
RequestMessage = tagged_by(
    "role",
    shape(role=literal("system"), content=TextContent, name=optional(str)),
    shape(
        role=literal("assistant"),
        content=optional(AssistantContent),
        refusal=optional(str),
        name=optional(str),
        audio=optional(AudioId),
        tool_calls=optional(list_of(ChatToolCall)),
        function_call=optional(FunctionCall),
    ),
    shape(role=literal("user"), content=UserContent, name=optional(str)),
    shape(role=literal("function"), content=str | None, name=str),  # what a function returned, in the deprecated form
    shape(role=literal("tool"), content=TextContent, tool_call_id=str),
    shape(role=literal("developer"), content=TextContent, name=optional(str)),
)

Name = Annotated[str, Field(max_length=64, pattern=r"^[a-zA-Z0-9_-]+$")]
FunctionDefinition = shape(name=Name, description=optional(str), parameters=optional(Object), strict=optional(bool))
FunctionTool = shape(type=literal("function"), function=FunctionDefinition)
TextFormat = shape(type=literal("text"))
Grammar = shape(definition=str, syntax=literal("lark", "regex"))
CustomTool = shape(
    type=literal("custom"),
    custom=shape(
        name=str,
        description=optional(str),
        format=optional(tagged_by("type", TextFormat, shape(type=literal("grammar"), grammar=Grammar))),
    ),
)
ChatTool = tagged_by("type", FunctionTool, CustomTool)
ToolName = shape(name=str)
NamedFunction = shape(type=literal("function"), function=ToolName)
NamedCustom = shape(type=literal("custom"), custom=ToolName)
AllowedTools = shape(
    type=literal("allowed_tools"), allowed_tools=shape(mode=literal("auto", "required"), tools=list_of(Object))
)
ToolMode = labelled("<a string>", literal("none", "auto", "required"))
ChatToolChoice = union(ToolMode, labelled("<an object>", tagged_by("type", NamedFunction, NamedCustom, AllowedTools)))
FunctionChoice = union(labelled("<a string>", literal("none", "auto")), labelled("<an object>", ToolName))

JsonObjectFormat = shape(type=literal("json_object"))
JsonSchema = shape(name=Name, description=optional(str), schema=optional(Object), strict=optional(bool))
ResponseFormat = tagged_by(
    "type", TextFormat, JsonObjectFormat, shape(type=literal("json_schema"), json_schema=JsonSchema)
)
StreamOptions = shape(include_usage=optional(bool), include_obfuscation=optional(bool))
Audio = shape(voice=text_or("<an object>", AudioId), format=literal("wav", "aac", "mp3", "flac", "opus", "pcm16"))


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
Biases = with_checks(mapping(number(-100, 100, multiple_of=1)), BeforeValidator(_first_refused_bias))
Stops = text_or("<an array of strings>", list_of(str, 1, 4))
MetadataPairs = dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]]
Metadata = with_checks(MetadataPairs, BeforeValidator(_few_pairs))
Seed = integer(-(2**63), 2**63 - 1)
Efforts = literal("none", "minimal", "low", "medium", "high", "xhigh", "max")
Verbosity = literal("low", "medium", "high")

# `POST /chat/completions` (`wire/openai.md` section 2).
ChatBody = body_shape(
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
    prediction=optional(shape(type=literal("content"), content=TextContent)),
    web_search_options=optional(Object),
    user=optional(str),
    safety_identifier=optional(str),
    prompt_cache_key=optional(str),
    prompt_cache_options=optional(Object),
    prompt_cache_retention=optional(str),
    moderation=optional(Object),
)
CHAT = TypeAdapter(ChatBody)
CHAT_FIELDS = frozenset(ChatBody.__annotations__)
