"""What Ollama serves below `/v1`, in the shapes of OpenAI and Anthropic.

It refuses little of what OpenAI does: it ignores unknown fields, has no bounds, and takes any history.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, find_in, try_parse
from mockserver.core.plan import Answer
from mockserver.core.validation import Validation
from mockserver.dialects import Operation, accept_any_history
from mockserver.dialects._errors import refuse
from mockserver.dialects._messages import make_messages_operation
from mockserver.dialects._openai_api.api import OpenAIApi
from mockserver.dialects._openai_api.completions import TEXT_LAYOUT
from mockserver.dialects._parse import Body, Complaint, clip, complain, read_table, refuse_first
from mockserver.dialects._reply import make_model_operations
from mockserver.dialects.ollama.request import NAME, TOOL_CALL_IDS
from mockserver.wire.chat import ChatLayout, ChatRenderer
from mockserver.wire.text import TextRenderer

CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "system_fingerprint", "choices", "usage"),
    message=("role", "content", "reasoning", "tool_calls"),
    choice=("index", "message", "finish_reason", "logprobs"),
    chunk=("id", "object", "created", "model", "system_fingerprint", "choices", "usage"),
    chunk_choice=("index", "delta", "finish_reason", "logprobs"),
    optional=frozenset({"logprobs"}),
    opening_of_call={"content": ""},
    finishes={"error": "stop", "content_filter": "stop"},
    reasoning="reasoning",
    whole_calls="apart",
    empty_content="",
)
_FINGERPRINT = "fp_ollama"
_CHAT_IDS = IdShape("chatcmpl-", 3, "digits")
_TEXT_IDS = IdShape("cmpl-", 3, "digits")


def make_compatible_operations() -> tuple[Operation, ...]:
    """Return the operations below `/v1`."""
    api = OpenAIApi(
        dialect=NAME,
        chat=ChatRenderer(CHAT_LAYOUT),
        text=TextRenderer(TEXT_LAYOUT),
        lines=_write_no_lines,
    )
    asked = (
        *(_name_ids(_read_leniently(operation)) for operation in api.make_inference_operations()),
        _read_leniently(replace(api.make_responses_operation(), over_socket="")),
        *make_model_operations(NAME, _write_no_lines, _describe_model),
    )
    return (
        *(replace(operation, path=f"/v1{operation.path}") for operation in asked),
        make_messages_operation(NAME, "/v1/messages"),
    )


def _read_leniently(operation: Operation) -> Operation:
    """Return an operation that refuses only what Ollama does, and takes any history."""

    def parse(http: HttpRequest, validation: Validation) -> Call:
        if (
            http.body and http.header_values.get(b"content-type") != b"application/json"
        ):  # Ollama reads a body whatever its type
            others = [field for field in http.headers if field[0] != b"content-type"]
            http = replace(http, headers=(*others, (b"content-type", b"application/json")))
        if operation.name == "chat" and validation is not Validation.OFF:
            refuse_first(_find_mistakes(read_table(http.body)), refuse)
        return operation.read_call(http, Validation.OFF)

    return replace(operation, parse=parse, history=accept_any_history)


def _find_mistakes(chat: Body) -> Iterator[Complaint]:
    """Yield what Ollama's source refuses in a chat (`openai/openai.go`)."""
    messages = chat.get("messages")
    if messages is None or messages == []:
        yield complain("[] is too short - 'messages'", "messages")
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict):
            yield from (complain(words, "messages", at) for words in _find_mistakes_of_message(message))
    effort = find_in(chat, "reasoning", "effort") or chat.get("reasoning_effort")
    if isinstance(effort, str) and effort not in ("", *_EFFORTS):
        words = f'invalid reasoning value: \'{clip(effort)}\' (must be "high", "medium", "low", or "none")'
        yield complain(words, "reasoning_effort")


def _find_mistakes_of_message(message: Body) -> Iterator[str]:
    content = message.get("content")
    calls = message.get("tool_calls")
    if isinstance(content, list):
        yield from filter(None, map(_find_mistake_of_part, content))
    elif not isinstance(content, str) and not calls:
        yield f"invalid message content type: {_GO_TYPES.get(type(content), '<nil>')}"
    for call in calls if isinstance(calls, list) else ():
        arguments = find_in(call, "function", "arguments")
        if isinstance(arguments, str) and not isinstance(try_parse(arguments), dict):
            yield "invalid tool call arguments"


def _find_mistake_of_part(part: Json) -> str | None:
    match part:
        case {"type": "text", "text": str()}:
            return None
        case {"type": "image_url", "image_url": str(url) | {"url": str(url)}}:
            if url.startswith(("http://", "https://")):
                return "image URLs are not currently supported, please use base64 encoded data instead"
            return None if _IMAGE.match(url) else "invalid image input"
    return "invalid message format"


_EFFORTS = ("high", "medium", "low", "none", "max")
_IMAGE = re.compile(r"data:(?:image/(?:jpe?g|png|webp))?;base64,")
_GO_TYPES: Mapping[type, str] = {
    bool: "bool",
    int: "float64",
    float: "float64",
    dict: "map[string]interface {}",
}


def _name_ids(operation: Operation) -> Operation:
    """Return an operation whose answers have the ids and the fingerprint of Ollama's."""

    def parse(http: HttpRequest, validation: Validation) -> Call:
        call = operation.parse(http, validation)
        ids = _TEXT_IDS if operation.name == "completions" else _CHAT_IDS
        made = replace(call, ids=ids, tool_call_ids=TOOL_CALL_IDS)
        vars(made).update(vars(call))  # values that were computed for the call
        return made

    def render(call: Call, outcome: Answer) -> Reply:
        if type(outcome) is Answer and outcome.stated_fingerprint == "":
            outcome = replace(outcome, stated_fingerprint=_FINGERPRINT)
        return operation.render(call, outcome)

    return replace(operation, parse=parse, render=render)


def _describe_model(name: str, created: int) -> dict[str, Json]:
    return {"id": name, "object": "model", "created": created, "owned_by": "library"}


def _write_no_lines(http: HttpRequest, call: Call | None) -> str:
    return ""
