"""Tzafon's requests become Calls: vLLM's checks and messages, and the fields that only it has."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mockserver.core.call import Call, IdShape, Message
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.dialects._chat.request import chat_call
from mockserver.dialects._responses.input import message_of
from mockserver.dialects._responses.request import ResponsesRequest, parse_responses
from mockserver.dialects._shared.error_messages import refuse_without_code
from mockserver.dialects._shared.parse import Complaint, clip, custom_complaint, validated
from mockserver.dialects.tzafon.models import CHAT, RESPONSE

NAME = "tzafon"
CONTEXT = 32_768  # tokens of prompt and answer together: what an answer may have is the rest
Body = Mapping[str, Json]


def parse_response(http: HttpRequest, body: Body) -> Call:
    """The Call of a Responses body, with its limit resolved as vLLM does."""
    call = parse_responses(http, body, RESPONSES_REQUEST)
    earlier = tuple(_earlier(body.get("previous_input_messages") or ()))
    own = int(call.has_instructions)
    call = replace(
        call, messages=(*call.messages[:own], *earlier, *call.messages[own:]), id=body.get("request_id") or ""
    )
    left = max(CONTEXT - call.prompt_tokens, 1)
    if call.options.max_tokens is None:
        return replace(call, options=replace(call.options, max_tokens=left, usual_tokens=left))
    return call.limited(max(call.options.max_tokens, 0))


def _earlier(given: Iterable[Body]) -> Iterator[Message]:
    for message in map(_with_role, given):
        if isinstance(message.get("role"), str):
            yield message_of(message["role"], message.get("content"))


def _with_role(message: Body) -> Body:
    author = message.get("author")
    if "role" in message or not isinstance(author, Mapping):
        return message
    rest = {key: value for key, value in message.items() if key != "author"}
    return {"role": author.get("role"), **({"name": author["name"]} if author.get("name") else {}), **rest}


def parse_chat(http: HttpRequest, body: Body) -> Call:
    """The Call of a chat body."""
    chat = validated(CHAT, body, refuse)
    for found in _lonely(chat):
        raise refuse(found)
    plain = {key: value for key, value in body.items() if key not in _UNREAD}
    plain["messages"] = [_plain_message(message, index) for index, message in enumerate(body["messages"])]
    if body.get("tools"):
        plain["tools"] = [_typed(tool, index) for index, tool in enumerate(body["tools"])]
    if isinstance(choice := body.get("tool_choice"), dict):
        plain["tool_choice"] = {"type": "function", **choice}
    call = chat_call(http, plain, plain, dialect=NAME)
    named = f"chatcmpl-{body['request_id']}" if body.get("request_id") else ""
    return replace(
        call,
        raw=body,
        ids=_CHAT_IDS,
        id=named,
        options=replace(call.options, ignore_eos=body.get("ignore_eos") is True),
    )


def _plain_message(message: Body, index: int) -> Body:
    message = _with_role(message)
    if not isinstance(message.get("role"), str):
        raise refuse(Complaint("missing", ("messages", index, "role")))
    if not isinstance(message.get("content"), list):
        return message
    return {**message, "content": [_plain_part(part) for part in message["content"]]}


def _plain_part(part: str | Body) -> Body:
    """A part in OpenAI's form: texts and images may come without an object."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part.get("type"), str):
        return part
    if isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return {**part, "type": "unknown"}


def _typed(tool: Body, index: int) -> Body:
    typed = {"type": "function", **tool}
    inner = typed.get(typed["type"])
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        raise refuse(Complaint("missing", ("tools", index, typed["type"])))
    return typed


def refuse(complaint: Complaint) -> Failure:
    """The 400 of a complaint: its type depends on whether the body's model or the server refused it."""
    failure = refuse_without_code(complaint)
    return replace(failure, kind=None if complaint.kind == "conflict" else "Bad Request")


def _conflicts(body: Body) -> Iterator[Complaint]:
    if body.get("background") and body.get("store") is False:
        yield custom_complaint("background can only be used when `store` is true", "background")
    if body.get("previous_response_id") is not None and body.get("previous_input_messages") is not None:
        message = "Only one of `previous_input_messages` and `previous_response_id` can be set."
        yield custom_complaint(message, "previous_input_messages")
    if body.get("cache_salt") == "":
        yield _no_salt()


def _lonely(body: Body) -> Iterator[Complaint]:
    if body.get("stream_options") is not None and not body.get("stream"):
        yield custom_complaint("Stream options can only be defined when `stream=True`.", "stream_options")
    if body.get("top_logprobs") and not body.get("logprobs"):
        yield custom_complaint("when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs")
    if body.get("cache_salt") == "":
        yield _no_salt()
    choice, tools = body.get("tool_choice"), body.get("tools")
    if choice not in (None, "none", "auto") and not tools:
        yield custom_complaint("When using `tool_choice`, `tools` must be set.", "tool_choice")


def vllm_live_only(body: Body) -> Iterator[Complaint]:
    """What the engine refuses, though the schema allows it."""
    if (heat := body.get("temperature")) is not None and heat < 0:
        yield custom_complaint(f"temperature must be non-negative, got {clip(str(heat))}.", "temperature")
    if (share := body.get("top_p")) is not None and not 0 < share <= 1:
        yield custom_complaint(f"top_p must be in (0, 1], got {clip(str(share))}.", "top_p")
    for field in ("max_output_tokens", "max_tokens", "max_completion_tokens"):
        if (most := body.get(field)) is not None and most < 1:
            yield custom_complaint(f"max_tokens must be at least 1, got {most}.", field)
    if body.get("priority"):
        yield custom_complaint("Got priority but priority scheduling is not enabled.", "priority")


def _no_salt() -> Complaint:
    return custom_complaint("Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt")


RESPONSES_REQUEST = ResponsesRequest(NAME, RESPONSE, _conflicts, refuse, IdShape("resp_", 32, "hex"))
_CHAT_IDS = IdShape("chatcmpl-", 32, "hex")
# What is for the server alone, and what OpenAI had once and vLLM never read.
_UNREAD = frozenset({"request_id", "priority", "cache_salt", "functions", "function_call"})
