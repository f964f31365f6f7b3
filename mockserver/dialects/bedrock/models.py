"""The request bodies of Bedrock's own operations, as the service's model describes them.

A union is an object with exactly one of its members; that is checked afterwards. Unknown members are ignored.
"""

import re
from collections.abc import Mapping
from typing import Any

from mockserver.core.json import Json
from mockserver.core.lazy import remember
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    Type,
    integer,
    list_of,
    literal,
    mapping,
    number,
    optional,
    shape,
    text,
)
from mockserver.dialects._openai_api.lenient import read_list, read_role

NAME = "bedrock"


def union_of(**members: Type) -> dict[str, Any]:
    """Return an object that has exactly one of these members; that it has one is checked later."""
    return shape(**{name: optional(kind) for name, kind in members.items()})


_PLACES: dict[str, Type] = {"bytes": str, "s3Location": shape(uri=text(1, 1024), bucketOwner=optional(str))}
_Media = union_of(**_PLACES)
_CachePoint = shape(type=literal("default"), ttl=optional(literal("5m", "1h")))
_Image = shape(format=literal("png", "jpeg", "gif", "webp"), source=_Media)
_Document = shape(
    format=optional(literal("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")),
    name=text(1, 200),
    source=union_of(**_PLACES, text=text(1), content=list_of(union_of(text=text(1)), 1)),
    context=optional(str),
    citations=optional(shape(enabled=bool)),
)
_VIDEOS = literal("mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp")
_AUDIOS = literal(
    "mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg", "mpga", "pcm", "webm"
)
_Video = shape(format=_VIDEOS, source=_Media)
_Audio = shape(format=_AUDIOS, source=_Media)
_ToolName = text(1, 64, pattern="^[a-zA-Z0-9_-]+$")
_ToolUseId = text(1, 64, pattern="^[a-zA-Z0-9_.:-]+$")
_ToolResult = shape(
    toolUseId=_ToolUseId,
    content=list_of(union_of(json=Any, text=str, image=_Image, document=_Document, video=_Video, searchResult=Object)),
    status=optional(literal("success", "error")),
    type=optional(str),
)
_Reasoning = union_of(reasoningText=shape(text=str, signature=optional(str)), redactedContent=str)
_Qualifiers = optional(list_of(literal("grounding_source", "query", "guard_content")))
_GuardText = shape(text=str, qualifiers=_Qualifiers)
_GuardContent = union_of(text=_GuardText, image=Object)
ContentBlock = union_of(
    text=str,
    image=_Image,
    document=_Document,
    video=_Video,
    audio=_Audio,
    toolUse=shape(toolUseId=_ToolUseId, name=_ToolName, input=Any, type=optional(str)),
    toolResult=_ToolResult,
    guardContent=_GuardContent,
    cachePoint=_CachePoint,
    reasoningContent=_Reasoning,
    citationsContent=shape(content=optional(list_of(union_of(text=str))), citations=optional(list_of(Object))),
    searchResult=Object,
    toolAddition=Object,
    toolRemoval=Object,
)
SystemBlock = union_of(text=text(1), guardContent=_GuardContent, cachePoint=_CachePoint)
ToolEntry = union_of(
    toolSpec=shape(
        name=_ToolName,
        description=optional(text(1)),
        inputSchema=union_of(json=Any),
        strict=optional(bool),
    ),
    systemTool=shape(name=str),
    cachePoint=_CachePoint,
)
ToolConfig = shape(
    tools=list_of(ToolEntry, 1),
    toolChoice=optional(union_of(auto=Object, any=Object, tool=shape(name=_ToolName))),
)
_MESSAGES: dict[str, Type] = {
    "messages": optional(list_of(shape(role=literal("user", "assistant", "system"), content=list_of(ContentBlock)))),
    "system": optional(list_of(SystemBlock)),
}
INFERENCE: dict[str, Type] = {
    "maxTokens": optional(integer(1)),
    "temperature": optional(number(0, 1)),
    "topP": optional(number(0, 1)),
    "stopSequences": optional(list_of(text(1), 0, 2500)),
}
_TextFormat = shape(
    type=literal("json_schema"),
    structure=union_of(jsonSchema=shape(schema=str, name=optional(str), description=optional(str))),
)
_ASKED: dict[str, Type] = {
    **_MESSAGES,
    "toolConfig": optional(ToolConfig),
    "additionalModelRequestFields": optional(Any),
}
COUNTED = tuple(_ASKED)  # what counting tokens takes
ConverseBody = shape(
    **_ASKED,
    inferenceConfig=optional(shape(**INFERENCE)),
    outputConfig=optional(shape(textFormat=optional(_TextFormat), effort=optional(text(1, 16)))),
    additionalModelResponseFieldPaths=optional(list_of(text(1, 256), 0, 10)),
    guardrailConfig=optional(
        shape(
            guardrailIdentifier=optional(text(1, 2048)),
            guardrailVersion=optional(str),
            trace=optional(literal("enabled", "disabled", "enabled_full")),
            streamProcessingMode=optional(literal("sync", "async")),
        )
    ),
    performanceConfig=optional(shape(latency=optional(literal("standard", "optimized")))),
    serviceTier=optional(shape(type=literal("priority", "default", "flex", "reserved"))),
    requestMetadata=optional(mapping(str)),
    promptVariables=optional(mapping(Any)),
    projectIdentifier=optional(str),
)
CountBody = shape(
    input=union_of(
        converse=shape(**_ASKED),
        invokeModel=shape(body=str),
    )
)
GuardrailBody = shape(
    source=literal("INPUT", "OUTPUT"),
    content=list_of(union_of(text=_GuardText, image=Object)),
    outputScope=optional(literal("INTERVENTIONS", "FULL")),
)


def _read_turns(given: Json) -> list[Json]:
    """Return the readable messages: of other formats their texts, and the roles of chats as those of Bedrock."""
    return [_read_turn(each) for each in ([given] if isinstance(given, str | Mapping) else read_list(given))]


def _read_turn(given: Json) -> Json:
    if isinstance(given, str):
        return {"role": "user", "content": [{"text": given}]}
    if not isinstance(given, Mapping):
        return given
    role = read_role(given)
    content = read_blocks(given.get("content"))
    return {**given, "role": role if role in ("assistant", "system") else "user", "content": content}


def read_blocks(given: Json) -> list[Json]:
    """Return blocks; a text becomes one, and so does the text of a block in another format."""
    if isinstance(given, str):
        return [{"text": given}]
    return [_read_block(block) for block in read_list(given)]


def _read_block(given: Json) -> Json:
    if isinstance(given, str):
        return {"text": given}
    if isinstance(given, Mapping) and isinstance(given.get("text"), str):
        return {"text": given["text"]}
    return given


CONVERSE = BodyModel(ConverseBody, lenient={"messages": _read_turns, "system": read_blocks})
COUNT = BodyModel(CountBody)
GUARDRAIL = BodyModel(GuardrailBody)


# Names of models.


@remember(256)
def find_base_model(name: str) -> str:
    """Return the id of the model without the ARN or geography before it, and without its version.

    `arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0` and
    `us.anthropic.claude-3-haiku-20240307-v1:0` are both `anthropic.claude-3-haiku-20240307`.
    """
    return _VERSION.sub("", _GEOGRAPHY.sub("", name.rpartition("/")[2] if name.startswith("arn:") else name))


def find_vendor(name: str) -> str:
    """Return the vendor of a model, such as `anthropic`, `amazon` or `meta`; an empty text if its id names none."""
    vendor, dot, _ = find_base_model(name).partition(".")
    return vendor if dot else ""


def is_claude(name: str) -> bool:
    """Return whether a model is one of Anthropic's; the profile of an application always stands for one."""
    return "claude" in name or find_vendor(name) == "anthropic" or is_profile(name)


def is_profile(name: str) -> bool:
    """Return whether a name is the ARN of an application's inference profile."""
    return ":application-inference-profile/" in name


_GEOGRAPHY = re.compile(r"^(?:us|eu|ap|apac|jp|au|ca|sa|me|af|us-gov|global)\.(?=[a-z0-9-]+\.)")
# A version without a second number counts only behind other numbers: `claude-v2` is the name of a model.
_VERSION = re.compile(r"(?:-v\d+:\d+|(?<=\d)-v\d+|(?<=\d):\d+|:\d+)(?::\d+k)?$")
