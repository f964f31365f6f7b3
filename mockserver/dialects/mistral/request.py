"""Mistral's chats and code completions: from the body to the Call (https://docs.mistral.ai/api).

A chat is OpenAI's with other names (`random_seed`, `any`), parts of its own, and arguments that may be objects.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Message, Options, Prompt
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact
from mockserver.core.validation import Validation
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    Schema,
    closed_shape,
    integer,
    label_member,
    list_of,
    literal,
    number,
    open_shape,
    optional,
    shape,
    tag_union,
    text_or,
    union,
)
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._openai_api.chat import make_chat_call, read_max_tokens, read_stop_sequences
from mockserver.dialects._openai_api.lenient import read_messages, read_tools
from mockserver.dialects._parse import Body, find_unknown_fields, list_unknown_fields, read_body, read_request
from mockserver.dialects._replay import refuse_history
from mockserver.dialects.mistral.errors import refuse, refuse_unknown_fields
from mockserver.dialects.mistral.replay import HISTORY

NAME = "mistral"
CHAT_IDS = IdShape("", 32, "hex")
TOOL_CALL_IDS = IdShape("", 9)
_ROLE_AND_CONTENT = 2  # fields
_OF_OPENAI = frozenset(("refusal", "function_call", "audio"))  # fields of OpenAI's messages that Mistral ignores

URL = text_or("<an object>", open_shape(url=str))
_Parts = tag_union(
    "type",
    open_shape(type=literal("text"), text=str),
    open_shape(type=literal("image_url"), image_url=URL),
    open_shape(type=literal("document_url"), document_url=str),
    open_shape(type=literal("reference"), reference_ids=list_of(Any)),
    open_shape(type=literal("input_audio"), input_audio=Any),
    open_shape(type=literal("file"), file_id=optional(str)),
    open_shape(type=literal("thinking"), thinking=list_of(Object)),
)
_Content = optional(text_or("<an array of objects>", list_of(_Parts)))
_ToolCall = open_shape(
    id=optional(str), type=optional(str), function=open_shape(name=str, arguments=text_or("<an object>", Object))
)
_MessageFields: Mapping[str, Any] = {
    "content": _Content,
    "name": optional(str),
    "tool_calls": optional(list_of(_ToolCall)),
    "tool_call_id": optional(str),
    "prefix": optional(bool),
}
MESSAGE = tag_union(
    "role", *[open_shape(role=literal(role), **_MessageFields) for role in ("system", "user", "assistant", "tool")]
)
_Function = open_shape(name=str, description=optional(str), parameters=optional(Object), strict=optional(bool))
_Tool = open_shape(type=optional(str), function=optional(_Function))
_Choice = union(
    label_member("<a string>", literal("auto", "none", "any", "required")),
    label_member("<an object>", open_shape(function=open_shape(name=str))),
)
_Format = open_shape(
    type=literal("text", "json_object", "json_schema"),
    json_schema=optional(open_shape(name=str, schema=optional(Object), strict=optional(bool))),
)
_SAMPLING: Mapping[str, Any] = {
    "temperature": optional(number(0, 1.5)),
    "top_p": optional(number(0, 1)),
    "max_tokens": optional(integer(0)),
    "min_tokens": optional(integer(0)),
    "stream": optional(bool),
    "stop": optional(text_or("<an array>", list_of(str))),
    "random_seed": optional(integer(0)),
    "metadata": optional(Object),
}
_ChatBody: Mapping[str, Any] = {
    "messages": list_of(MESSAGE, 1),
    "n": optional(integer(1, 128)),
    "presence_penalty": optional(number(-2, 2)),
    "frequency_penalty": optional(number(-2, 2)),
    "repetition_penalty": optional(float),
    "top_k": optional(int),
    "tools": optional(list_of(_Tool)),
    "tool_choice": optional(_Choice),
    "parallel_tool_calls": optional(bool),
    "response_format": optional(_Format),
    "prediction": optional(Object),
    "prompt_mode": optional(str),
    "reasoning_effort": optional(str),
    "safe_prompt": optional(bool),
    "guardrails": optional(Any),
    "logprobs": optional(bool),
    "prompt_logprobs": optional(Any),
    "top_logprobs": optional(integer(0, 20)),
    "stream_options": optional(Object),
    "prompt_cache_key": optional(str),
    "service_tier": optional(str),
    **_SAMPLING,
}


def _make_chat_model(schema: Schema) -> BodyModel:
    return BodyModel(schema, conversation={"messages": read_messages}, lenient={"tools": read_tools})


_ANY = optional(Any)
_LIVE_CALL = closed_shape(id=_ANY, type=_ANY, index=_ANY, function=closed_shape(name=_ANY, arguments=_ANY))
# The fields of messages: the service refuses others, though a client may have got them in an answer.
LIVE_MESSAGES = BodyModel(
    shape(
        messages=list_of(
            tag_union(
                "role",
                closed_shape(role=literal("system", "user"), content=_ANY),
                closed_shape(
                    role=literal("assistant"),
                    content=_ANY,
                    tool_calls=optional(list_of(_LIVE_CALL, fail_fast=False)),
                    prefix=_ANY,
                ),
                closed_shape(role=literal("tool"), content=_ANY, tool_call_id=_ANY, name=_ANY),
            ),
            fail_fast=False,
        )
    )
)
CHAT = _make_chat_model(shape(model=str, **_ChatBody))
AGENT = _make_chat_model(shape(agent_id=str, **_ChatBody))
FIM = BodyModel(shape(model=str, prompt=str, suffix=optional(str), **_SAMPLING))


def parse_chat(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a chat. Raises Failure."""
    return _parse(http, validation, CHAT)


def parse_agent_chat(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a chat with an agent, whose id stands for the model."""
    return _parse(http, validation, AGENT)


def _parse(http: HttpRequest, validation: Validation, model: BodyModel) -> Call:
    body, chat = read_request(model, http, refuse=refuse, validation=validation)
    if validation is Validation.LIVE:
        others = find_unknown_fields(body, model.fields)
        refuse_unknown_fields([*list_unknown_fields(LIVE_MESSAGES, body), *others])
    call = _make_call(http, body, chat)
    if validation is Validation.LIVE:
        refuse_history(HISTORY, call)
    return call


def make_chat(http: HttpRequest, asked: Body, validation: Validation) -> Call:
    """Return the Call of a chat whose body was made here, and not sent. Raises Failure."""
    body, chat = read_body(CHAT, asked, refuse=refuse, validation=validation)
    if validation is Validation.LIVE:
        refuse_unknown_fields(find_unknown_fields(body, CHAT.fields))
    return _make_call(http, body, chat)


def _make_call(http: HttpRequest, body: Body, chat: Body) -> Call:
    plain = _translate(chat)
    call = make_chat_call(http, {**body, **plain}, plain, dialect=NAME)
    return replace(call, raw=body, ids=CHAT_IDS, tool_call_ids=TOOL_CALL_IDS)


def _translate(chat: Body) -> dict[str, Json]:
    """Return a chat in OpenAI's words."""
    made = {key: value for key, value in chat.items() if value is not None}
    made["messages"] = [_translate_message(message) for message in chat["messages"]]
    if "agent_id" in made:
        made["model"] = made.pop("agent_id")
    if made.get("tool_choice") == "any":
        made["tool_choice"] = "required"
    elif isinstance(made.get("tool_choice"), dict):
        made["tool_choice"] = {"type": "function", **made["tool_choice"]}
    if "random_seed" in made:
        made["seed"] = made.pop("random_seed")
    if "tools" in made:
        made["tools"] = [{**tool, "type": "function"} for tool in made["tools"] if tool.get("function")]
    if made.get("prompt_mode") == "reasoning":
        made.setdefault("reasoning_effort", "high")
    return made


def _translate_message(message: Body) -> Body:
    if len(message) == _ROLE_AND_CONTENT and type(message.get("content")) is str:
        return message
    made = {key: value for key, value in message.items() if value is not None and key not in _OF_OPENAI}
    content = made.get("content")
    if isinstance(content, list):
        parts = [translate_part(part) for part in content if part["type"] != "thinking"]
        made["content"] = parts
    elif content is None:
        made["content"] = ""
    if "tool_calls" in made:
        made["tool_calls"] = [_translate_call(call) for call in made["tool_calls"]]
    return made


def translate_part(part: Body) -> Body:
    """Return a part of a message in OpenAI's form."""
    match part:
        case {"type": "image_url", "image_url": str(url)}:
            return {**part, "image_url": {"url": url}}
        case {"type": "document_url", "document_url": url}:
            return {"type": "file", "file": {"file_url": url}}
        case {"type": "file"}:
            return {"type": "file", "file": {"file_id": part.get("file_id")}}
    return part


def _translate_call(call: Body) -> Body:
    function: Body = call["function"]
    arguments = function["arguments"]
    written = arguments if isinstance(arguments, str) else compact(arguments)
    return {"id": call.get("id") or "", "type": "function", "function": {**function, "arguments": written}}


def parse_fim(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a code completion, which continues a prompt up to its suffix."""
    body, parsed = read_request(FIM, http, refuse=refuse, validation=validation)
    if validation is Validation.LIVE:
        refuse_unknown_fields(find_unknown_fields(body, FIM.fields))
    prompt = parsed["prompt"]
    return Call(
        dialect=NAME,
        operation="completions",
        model=parsed["model"],
        http=http,
        meaning=find_meaning(body, NAME, "completions"),
        raw=body,
        messages=(Message("user", prompt),),
        prompts=(Prompt(prompt, suffix=parsed.get("suffix") or ""),),
        stream=parsed.get("stream") is True,
        ids=CHAT_IDS,
        options=Options(
            max_tokens=read_max_tokens(parsed),
            stop=read_stop_sequences(parsed.get("stop")),
            seed=parsed.get("random_seed"),
        ),
    )


def list_texts(given: Json) -> Sequence[str]:
    """Return the texts of an input, even if it is a single one."""
    return [given] if isinstance(given, str) else given
