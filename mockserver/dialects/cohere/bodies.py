"""The request bodies of Cohere's API, v2 and v1 (https://docs.cohere.com/reference/about).

A field that is null is absent, as clients send all that they know.
"""

from typing import Any

from mockserver.core.json import Json
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    Type,
    closed_shape,
    integer,
    list_of,
    literal,
    mapping,
    number,
    optional,
    shape,
    tag_union,
    text_or,
    text_or_object,
    usually,
)
from mockserver.dialects._openai_api.lenient import read_messages, read_tools

NAME = "cohere"
MAX_TEXTS = 96
MAX_DIMENSIONS = 4096

_TextPart = shape(type=literal("text"), text=str)


_Data = text_or_object(Object)
Document = text_or_object(shape(id=optional(str), data=_Data))


def _make_content_type(*parts: Type) -> Type:
    return text_or("<an array>", list_of(tag_union("type", _TextPart, *parts)))


_Image = shape(type=literal("image_url"), image_url=shape(url=str, detail=optional(literal("low", "high", "auto"))))
_DocumentPart = shape(type=literal("document"), document=shape(id=optional(str), data=_Data))
_Thought = shape(type=literal("thinking"), thinking=str)
_Call = shape(
    id=str,
    type=literal("function"),
    function=optional(shape(name=optional(str), arguments=optional(str))),
)
Message = tag_union(
    "role",
    shape(role=literal("system"), content=text_or("<an array>", list_of(_TextPart))),
    shape(role=literal("user"), content=_make_content_type(_Image)),
    shape(
        role=literal("assistant"),
        content=optional(_make_content_type(_Thought)),
        tool_calls=optional(list_of(_Call)),
        tool_plan=optional(str),
        citations=optional(list_of(Object)),
    ),
    shape(role=literal("tool"), tool_call_id=str, content=_make_content_type(_DocumentPart)),
)
Tool = shape(type=literal("function"), function=shape(name=str, description=optional(str), parameters=optional(Object)))
_FORMAT = shape(type=literal("text", "json_object"), json_schema=optional(Object), schema=optional(Object))
_SAMPLING: dict[str, Type] = {
    "max_tokens": optional(integer(0)),
    "stop_sequences": optional(list_of(str, None, 5)),
    "temperature": optional(number(0)),
    "seed": optional(integer(0)),
    "frequency_penalty": optional(number(0, 1)),
    "presence_penalty": optional(number(0, 1)),
    "k": optional(integer(0, 500)),
    "p": optional(number(0, 1)),
    "priority": optional(integer()),
    "raw_prompting": optional(bool),
}
_CHATS: dict[str, Type] = {**_SAMPLING, "stream": optional(bool), "response_format": optional(_FORMAT)}
# `POST /v2/chat`.
CHAT = BodyModel(
    shape(
        model=str,
        messages=list_of(Message),
        tools=optional(list_of(Tool)),
        strict_tools=optional(bool),
        tool_choice=optional(literal("REQUIRED", "NONE")),
        documents=optional(list_of(Document)),
        citation_options=optional(shape(mode=optional(literal("ENABLED", "DISABLED", "FAST", "ACCURATE", "OFF")))),
        safety_mode=optional(literal("CONTEXTUAL", "STRICT", "OFF")),
        logprobs=optional(bool),
        thinking=optional(shape(type=literal("enabled", "disabled"), token_budget=optional(integer(0)))),
        **_CHATS,
    ),
    conversation={"messages": read_messages},
    lenient={"tools": read_tools},
)

_ANY = optional(Any)


def _name_fields(*names: str, **others: Type) -> Type:
    """Return the type of an object that has no other fields; those named by themselves are checked elsewhere."""
    return closed_shape(**dict.fromkeys(names, _ANY), **others)


_LIVE_CALL = _name_fields("id", "type", function=optional(_name_fields("name", "arguments")))
# The fields of messages and tools: the service refuses others.
LIVE_CHAT = BodyModel(
    shape(
        messages=list_of(
            tag_union(
                "role",
                _name_fields("content", role=literal("system", "user")),
                _name_fields(
                    "content",
                    "tool_plan",
                    "citations",
                    role=literal("assistant"),
                    tool_calls=optional(list_of(_LIVE_CALL)),
                ),
                _name_fields("content", "tool_call_id", role=literal("tool")),
            )
        ),
        tools=optional(list_of(_name_fields("type", function=_name_fields("name", "description", "parameters")))),
    )
)

_OldCall = shape(name=str, parameters=Object)
_OldTurn = tag_union(  # clients write roles in capitals or not
    "role",
    *(
        shape(role=literal(role, role.title(), role.lower()), message=str, tool_calls=optional(list_of(_OldCall)))
        for role in ("USER", "SYSTEM", "CHATBOT")
    ),
    shape(
        role=literal("TOOL", "Tool", "tool"),
        tool_results=optional(list_of(shape(call=_OldCall, outputs=list_of(Object)))),
    ),
)
_OldParameter = shape(type=str, description=optional(str), required=optional(bool))
# `POST /v1/chat`.
OLD_CHAT = BodyModel(
    shape(
        message=optional(str),
        model=optional(str),
        preamble=optional(str),
        chat_history=optional(list_of(_OldTurn)),
        tools=optional(
            list_of(shape(name=str, description=str, parameter_definitions=optional(mapping(_OldParameter))))
        ),
        tool_results=optional(list_of(shape(call=_OldCall, outputs=list_of(Object)))),
        documents=optional(list_of(Object)),
        conversation_id=optional(str),
        prompt_truncation=optional(literal("OFF", "AUTO", "AUTO_PRESERVE_ORDER")),
        connectors=optional(list_of(Object)),
        search_queries_only=optional(bool),
        citation_quality=optional(literal("fast", "accurate", "off")),
        max_input_tokens=optional(integer(0)),
        return_prompt=optional(bool),
        force_single_step=optional(bool),
        safety_mode=optional(literal("CONTEXTUAL", "STRICT", "NONE")),
        num_generations=optional(integer(1, 5)),  # of /v1/generate: taken, without effect
        **_CHATS,
    ),
)
# `POST /v1/generate`.
GENERATE = BodyModel(
    shape(
        prompt=str,
        model=optional(str),
        num_generations=optional(integer(1, 5)),
        end_sequences=optional(list_of(str)),
        return_likelihoods=optional(literal("GENERATION", "ALL", "NONE")),
        truncate=optional(literal("NONE", "START", "END")),
        preset=optional(str),
        stream=optional(bool),
        **_SAMPLING,
    )
)

_TYPES = literal("float", "int8", "uint8", "binary", "ubinary", "base64")
_EMBEDDING: dict[str, Type] = {
    "texts": optional(list_of(str, None, MAX_TEXTS)),
    "images": optional(list_of(str)),
    "embedding_types": optional(list_of(_TYPES)),
    "truncate": optional(literal("NONE", "START", "END")),
    "priority": optional(integer()),
}
_INPUT_TYPE = literal("search_document", "search_query", "classification", "clustering", "image")
# `POST /v2/embed`, and the same of v1.
EMBED = BodyModel(
    shape(
        model=str,
        input_type=_INPUT_TYPE,
        inputs=optional(list_of(shape(content=list_of(tag_union("type", _TextPart, _Image))), None, MAX_TEXTS)),
        output_dimension=optional(integer(1, MAX_DIMENSIONS)),
        max_tokens=optional(integer(1)),
        **_EMBEDDING,
    ),
    needed=("model",),
)
OLD_EMBED = BodyModel(shape(model=optional(str), input_type=optional(_INPUT_TYPE), **_EMBEDDING))

_Documents = usually(list_of(str), list_of(text_or_object(Object)))
# `POST /v2/rerank`, and the same of v1.
RERANK = BodyModel(
    shape(
        model=str,
        query=str,
        documents=list_of(str),
        top_n=optional(integer(1)),
        max_tokens_per_doc=optional(integer(1)),
        max_chunks_per_doc=optional(integer(1)),  # of v1: taken, without effect
        priority=optional(integer()),
        return_documents=optional(bool),
    ),
    lenient={"documents": lambda given: [_read_text(each) for each in given] if isinstance(given, list) else given},
)
OLD_RERANK = BodyModel(
    shape(
        model=optional(str),
        query=str,
        documents=_Documents,
        top_n=optional(integer(1)),
        max_chunks_per_doc=optional(integer(1)),
        return_documents=optional(bool),
        rank_fields=optional(list_of(str)),
    )
)


def _read_text(document: Json) -> Json:
    return document["text"] if isinstance(document, dict) and isinstance(document.get("text"), str) else document


# `POST /v1/tokenize` and `POST /v1/detokenize`.
TOKENIZE = BodyModel(shape(text=str, model=str))
DETOKENIZE = BodyModel(shape(tokens=list_of(integer(0, (1 << 53) - 1), None, 65_536), model=str))
