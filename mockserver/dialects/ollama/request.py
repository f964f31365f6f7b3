"""Chat and generate: from the body to the Call (https://docs.ollama.com/api/chat, https://docs.ollama.com/api/generate).

Ollama reads any content type, ignores unknown fields and streams unless `stream` is false.
"""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json

from mockserver.core.call import Call, IdShape, Message, Options, Prompt, Tool, ToolCall, ToolChoice
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    label_member,
    list_of,
    open_shape,
    optional,
    union,
)
from mockserver.dialects._meaning import BOOKKEEPING, find_meaning
from mockserver.dialects._openai_api.chat import make_tool, read_stop_sequences, replace_ids
from mockserver.dialects._openai_api.lenient import read_list, read_messages, read_tools
from mockserver.dialects._parse import (
    Body,
    Complaint,
    complain,
    read_body,
    read_plain_messages,
    read_table,
    read_usual,
    refuse_first,
)
from mockserver.dialects._pending_calls import PendingCalls
from mockserver.dialects.ollama.errors import LEVELS, make_refuse

NAME = "ollama"
TOOL_CALL_IDS = IdShape("call_", 8, "hex")
MAX_ALTERNATIVES = 20  # of a token, in log probabilities

_Function = open_shape(name=optional(str), description=optional(str), parameters=optional(Object))
_CalledFunction = open_shape(name=optional(str), arguments=optional(Object))
_Images = optional(list_of(str))
_Message = open_shape(
    role=optional(str),
    content=optional(str),
    thinking=optional(str),
    images=_Images,
    tool_calls=optional(list_of(open_shape(id=optional(str), function=optional(_CalledFunction)))),
    tool_name=optional(str),
    tool_call_id=optional(str),
)
_SHARED = {
    "model": optional(str),
    "stream": optional(bool),
    "format": optional(Any),
    "keep_alive": optional(Any),
    "options": optional(Object),
    "think": optional(union(label_member("<a boolean>", bool), label_member("<a string>", str))),
    "truncate": optional(bool),
    "shift": optional(bool),
    "logprobs": optional(bool),
    "top_logprobs": optional(int),
}


def _read_conversation(given: Json) -> list[dict[str, Json]]:
    """Return messages in the form of chats or of Ollama's, with what both have."""
    found = [
        dict(each) for each in read_list(given) if isinstance(each, Mapping) and isinstance(each.get("content"), str)
    ]
    return found if len(found) == len(read_list(given)) else read_messages(given)


CHAT = BodyModel(
    open_shape(
        messages=optional(list_of(_Message)),
        tools=optional(list_of(open_shape(type=optional(str), function=optional(_Function)))),
        **_SHARED,
    ),
    needed=("model",),
    conversation={"messages": _read_conversation},
    lenient={"tools": read_tools},
)
GENERATE = BodyModel(
    open_shape(
        prompt=optional(str),
        suffix=optional(str),
        system=optional(str),
        template=optional(str),
        context=optional(list_of(int)),
        raw=optional(bool),
        images=_Images,
        **_SHARED,
    ),
    needed=("model",),
)
refuse_chat = make_refuse("ChatRequest")
refuse_generate = make_refuse("GenerateRequest")


def parse_chat(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a chat; one without messages only loads its model. Raises Failure."""
    body, parsed = read(CHAT, http, refuse=refuse_chat, validation=validation)
    given = parsed.get("messages")
    if not given:
        return make_load_call(http, body)
    messages: tuple[Message, ...] | None = read_plain_messages(given)
    if messages is None:
        _check_images(given, validation)
        messages = tuple(_read_messages(given))
    tools = tuple(_read_tools(parsed["tools"])) if parsed.get("tools") else ()
    return _make_call(http, "chat", body=body, parsed=parsed, messages=messages, tools=tools)


def parse_generate(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a prompt; one without a prompt only loads its model. Raises Failure.

    A prompt is answered like the message of a chat, unless it is `raw`, or has a text to end with: these are continued.
    """
    body, parsed = read(GENERATE, http, refuse=refuse_generate, validation=validation)
    prompt = parsed.get("prompt") or ""
    images = parsed.get("images") or ()
    if not prompt and not images:
        return make_load_call(http, body)
    if parsed.get("raw") and any(parsed.get(key) for key in _NOT_RAW) and validation is not Validation.OFF:
        raise Failure("bad_parameter", "raw mode does not support template, system, or context")
    _check_images((parsed,), validation)
    message = Message("user", prompt, tuple(map(_read_image, images)))
    if parsed.get("raw") or parsed.get("suffix"):
        continued = Prompt(prompt, suffix=parsed.get("suffix"))
        return _make_call(http, "completions", body=body, parsed=parsed, messages=(message,), prompts=(continued,))
    system = parsed.get("system")
    messages = (Message("system", system), message) if system else (message,)
    return _make_call(http, "completions", body=body, parsed=parsed, messages=messages)


def make_load_call(http: HttpRequest, body: Body) -> Call:
    """Return the Call that only loads a model, or unloads it."""
    model = body.get("model") or ""
    return Call(NAME, "load_model", model=model, http=http, meaning={"model": model}, raw=body)


class ReadRequest(NamedTuple):
    """The body of a request, as it was sent and as its model reads it."""

    body: Body
    parsed: Any


def read(
    model: BodyModel,
    http: HttpRequest,
    refuse: Callable[[Complaint], Failure],
    validation: Validation,
    *,
    named: bool = True,
) -> ReadRequest:
    """Return the body of a request; `named`: it must name a model. Raises Failure."""
    usual = read_usual(model.typed, http) if validation is Validation.PUBLISHED else None
    if usual is None:
        body, parsed = read_body(model, read_table(http.body), refuse=refuse, validation=validation)
    else:
        body = usual
        parsed = usual
    if named and validation is not Validation.OFF:
        refuse_first(_find_conflicts(parsed), refuse)
    return ReadRequest(body, parsed)


def _find_conflicts(parsed: Body) -> Iterator[Complaint]:
    if not parsed.get("model"):
        yield complain("model is required", "model")
    if _CHECKED.isdisjoint(parsed):
        return
    if not MAX_ALTERNATIVES >= (parsed.get("top_logprobs") or 0) >= 0:
        yield complain(f"top_logprobs must be between 0 and {MAX_ALTERNATIVES}", "top_logprobs")
    if isinstance(think := parsed.get("think"), str) and think not in _EFFORTS:
        words = f"invalid think value: {compact(think)} (must be {LEVELS})"
        yield complain(words, "think")
    form = parsed.get("format")
    if not (form is None or isinstance(form, dict) or form in ("", "json")):
        words = f'invalid format: {compact(form)}; expected "json" or a valid JSON Schema object'
        yield complain(words, "format")
    for name, value in (parsed.get("options") or {}).items():
        if value is not None and name in _OPTION_TYPES and not _is_option(value, _OPTION_TYPES[name]):
            yield complain(f'option "{name}" must be of type {_OPTION_TYPES[name]}', "options", name)


def _is_option(value: Json, kind: str) -> bool:
    if kind == "array":
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_images(holders: Iterable[Body], validation: Validation) -> None:
    """Raise a Failure if an image is not base64."""
    if validation is Validation.OFF:
        return
    for image in [image for holder in holders for image in holder.get("images") or ()]:
        try:
            b64decode(image, validate=True)
        except ValueError as error:
            raise Failure("bad_parameter", f"illegal base64 data: {error}") from None


def _make_call(http: HttpRequest, operation: str, *, body: Body, parsed: Body, **conversation: Any) -> Call:
    """Return the Call of a body; `conversation` has its messages, tools and prompts."""
    tools = conversation.get("tools", ())
    return Call(
        dialect=NAME,
        operation=operation,
        model=parsed.get("model") or "",
        http=http,
        meaning=_find_meaning(body, operation),
        raw=body,
        tool_choice=_AUTO if tools else _NONE,
        stream=parsed.get("stream") is not False,
        tool_call_ids=TOOL_CALL_IDS,
        options=_USUAL if _ASKING.isdisjoint(parsed) else _read_options(parsed),
        **conversation,
    )


def _read_options(parsed: Body) -> Options:
    asked = parsed.get("options") or {}
    form = parsed.get("format")
    think = parsed.get("think")
    most = asked.get("num_predict")
    seed = asked.get("seed")
    is_schema = isinstance(form, dict)
    return Options(
        max_tokens=int(most) if isinstance(most, int | float) and most > 0 else None,
        stop=tuple(stop for stop in read_stop_sequences(asked.get("stop")) if stop),
        logprobs=(parsed.get("top_logprobs") or 0) if parsed.get("logprobs") else None,
        seed=int(seed) if isinstance(seed, int | float) and seed >= 0 else None,
        effort=think if think is None or isinstance(think, str) else _EFFORT if think else "none",
        response_format="json_schema" if is_schema else "json_object" if form == "json" else "text",
        schema=form if is_schema else None,
        lenient_schema=True,
        overflow=_OVERFLOW,
    )


def _read_messages(given: Iterable[Body]) -> Iterator[Message]:
    """Yield the messages; a result belongs to the call of its id, else of its name, else to the first without one."""
    pending = PendingCalls()
    made = 0
    for message in given:
        role = (message.get("role") or "user").lower()
        content = _read_text(message.get("content"))
        images = tuple(map(_read_image, message.get("images") or ()))
        if role == "tool":
            name = message.get("tool_name")
            called = pending.take(name, message.get("tool_call_id"))
            identity = (message.get("tool_call_id") or "") if called is None else called.id
            yield Message(
                role,
                content,
                parts=images,
                tool_call_id=identity,
                name=called.name if name is None and called else name,
            )
        elif message.get("tool_calls"):
            calls = tuple(_read_call(each, made + at) for at, each in enumerate(message["tool_calls"]))
            made += len(calls)
            pending.add(calls)
            yield Message(role, content, parts=images, tool_calls=calls)
        else:
            yield Message(role, content, images)


def _read_text(content: Json) -> str:
    """Return a text, or the texts of a list of parts, which only unchecked requests have."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return content or ""


def _read_call(call: Body, at: int) -> ToolCall:
    function: Body = call.get("function") or {}
    arguments = function.get("arguments")
    written = arguments if isinstance(arguments, str) else compact(arguments or {})
    return ToolCall(call.get("id") or f"call_{at}", function.get("name") or "", written)


def _read_image(image: str) -> Body:
    kind = next((kind for start, kind in _IMAGES.items() if image.startswith(start)), "png")
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{image}"}}


_IMAGES = {"/9j/": "jpeg", "R0lG": "gif", "UklG": "webp"}  # by how their base64 begins


def _read_tools(given: Sequence[Body]) -> Iterator[Tool]:
    for tool in given:
        function = tool.get("function") or {}
        if function.get("name"):
            yield make_tool("function", function)


def _find_meaning(body: Body, operation: str) -> dict[str, Json]:
    """Return what could change the answer: no transport, no ids, and schemas as text, as the order of keys counts."""
    kept = find_meaning(body, NAME, operation, _BOOKKEEPING)
    if operation == "chat":
        ordinals: dict[str, str] = {}
        kept["messages"] = [_find_message_meaning(message, ordinals) for message in kept["messages"]]
        if "tools" in kept:
            kept["tools"] = [to_json(tool).decode() for tool in kept["tools"]]
    if "format" in kept:
        kept["response_format"] = to_json(kept.pop("format")).decode()
    if "options" in kept:
        kept["options"] = {key: value for key, value in kept["options"].items() if key not in _MACHINE_OPTIONS}
        if not kept["options"]:
            del kept["options"]
    return kept


def _find_message_meaning(message: Body, ordinals: dict[str, str]) -> Body:
    if _PLAIN.issuperset(message):
        return message
    kept = {key: value for key, value in replace_ids(message, ordinals).items() if value not in (None, [])}
    if "tool_calls" in kept:
        kept["tool_calls"] = [_find_call_meaning(call, ordinals) for call in kept["tool_calls"]]
    return kept


def _find_call_meaning(call: Body, ordinals: dict[str, str]) -> Body:
    function = {key: value for key, value in (call.get("function") or {}).items() if key != "index"}
    return {**replace_ids(call, ordinals), "function": function}


_BOOKKEEPING = BOOKKEEPING | {"keep_alive", "truncate", "shift"}
_MACHINE_OPTIONS = frozenset(  # options about the machine, which do not change an answer
    (
        "num_ctx",
        "num_batch",
        "num_gpu",
        "main_gpu",
        "use_mmap",
        "use_mlock",
        "num_thread",
        "num_keep",
        "numa",
        "low_vram",
    )
)
_PLAIN = frozenset(("role", "content"))
_NOT_RAW = ("template", "system", "context")
_AUTO = ToolChoice("auto")
_NONE = ToolChoice("none")
_OVERFLOW = "shorten"  # num_predict may be more than the context has room for
_USUAL = Options(lenient_schema=True, overflow=_OVERFLOW)
_ASKING = frozenset(("options", "logprobs", "think", "format"))  # fields that make options unusual
_CHECKED = _ASKING | {"top_logprobs"}
_EFFORT = "medium"  # of a request that wants thinking, but states no level
_EFFORTS = ("low", "medium", "high", "max")
_OPTION_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("seed", "num_ctx", "num_keep", "num_predict", "top_k", "repeat_last_n"), "integer"),
    **dict.fromkeys(("num_batch", "num_gpu", "main_gpu", "num_thread"), "integer"),
    **dict.fromkeys(("temperature", "top_p", "min_p", "typical_p", "repeat_penalty"), "float32"),
    **dict.fromkeys(("presence_penalty", "frequency_penalty"), "float32"),
    "stop": "array",
}
