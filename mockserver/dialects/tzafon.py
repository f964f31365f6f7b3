"""Tzafon (Lightcone): Responses with computer use, and chat, as vLLM serves them (https://docs.vllm.ai).

vLLM's schemas are open, have few bounds, and never require `model`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Message
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure
from mockserver.core.validation import Validation
from mockserver.dialects import OWN_FEATURES, Dialect, Operation
from mockserver.dialects._errors import (
    INVALID_REQUEST,
    PLAIN_UNSUPPORTED_MESSAGES,
    ErrorRow,
    find_reason_phrase,
    make_error_rows,
    make_plain_errors,
    refuse_without_code,
    write_retry_lines,
)
from mockserver.dialects._fields import (
    STRING,
    Object,
    fields_of,
    integer,
    label_member,
    list_of,
    literal,
    mapping,
    not_null,
    open_shape,
    optional,
    shape,
    tag_union,
    text_or,
    union,
    union_by,
    usually,
)
from mockserver.dialects._openai_api.chat import make_chat_call, make_chat_operation
from mockserver.dialects._openai_api.chat_bodies import (
    AllowedNames,
    ChatBody,
    ChatToolCall,
    FunctionCall,
    RefusalPart,
    TextPart,
    ToolMode,
    ToolName,
    make_chat_model,
)
from mockserver.dialects._openai_api.responses import RESPONSE_LAYOUT as OPENAI_LAYOUT
from mockserver.dialects._openai_api.responses import (
    ResponsesRequest,
    make_error_event,
    make_message,
    make_responses_reply,
    parse_responses,
)
from mockserver.dialects._openai_api.responses_bodies import (
    ResponseAllowedTools,
    ResponseBody,
    ResponseNamedTool,
    Summary,
    make_input_type,
    make_responses_model,
    make_text_options_type,
    make_tools_type,
)
from mockserver.dialects._openai_api.stored import StoredResponses
from mockserver.dialects._parse import (
    Body,
    Complaint,
    clip,
    complain,
    read_bearer,
    read_request,
    refuse_first,
)
from mockserver.dialects._reply import (
    make_json_reply,
    make_model_operations,
    show_model,
    write_request_id,
)
from mockserver.wire.chat import ChatLayout
from mockserver.wire.response_events import ResponseRenderer
from mockserver.wire.responses import ResponseLayout

ComputerTool = shape(
    type=literal("computer_use_preview"),
    display_height=int,
    display_width=int,
    environment=literal("windows", "mac", "linux", "ubuntu", "browser", "desktop"),
)
VllmTool = make_tools_type(str, computer_use_preview=ComputerTool)
ComputerChoice = shape(type=literal("computer_use_preview", "computer_use"))
ChosenTool = tag_union("type", ResponseNamedTool, ResponseAllowedTools, ComputerChoice)
Efforts = literal("none", "minimal", "low", "medium", "high", "xhigh")
INCLUDABLE = (
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
)
_FOR_THE_SERVER = {"request_id": not_null(str), "priority": not_null(int), "cache_salt": optional(str)}
MAX_CHOICES = 128  # vLLM has no limit, but a server for many clients needs one


def _make_item_type(kind: str, **fields: Any) -> Any:
    return open_shape(type=literal(kind), **fields)


_FILE_FIELDS = {"file_id": str}
_RANGE = {"start_index": int, "end_index": int}
Annotation = tag_union(
    "type",
    _make_item_type("file_citation", **_FILE_FIELDS, filename=str, index=int),
    _make_item_type("url_citation", **_RANGE, title=str, url=str),
    _make_item_type("container_file_citation", **_FILE_FIELDS, **_RANGE, container_id=str, filename=str),
    _make_item_type("file_path", **_FILE_FIELDS, index=int),
)
ItemStatus = optional(literal("in_progress", "completed", "incomplete"))
ImageDetail = optional(literal("low", "high", "auto"))
InputPart = tag_union(
    "type",
    _make_item_type("input_text", text=str),
    _make_item_type("input_image", detail=ImageDetail, file_id=optional(str), image_url=optional(str)),
    _make_item_type("input_file", **dict.fromkeys(("file_data", "file_id", "file_url", "filename"), optional(str))),
    _make_item_type(
        "output_text", text=str, annotations=optional(list_of(Annotation)), logprobs=optional(list_of(Object))
    ),
    _make_item_type("refusal", refusal=str),
)

_OPENAI_FIELDS = (
    "instructions", "user", "background", "store", "stream", "max_tool_calls", "parallel_tool_calls",
    "previous_response_id", "prompt", "prompt_cache_key", "truncation",
)  # fmt: skip
# `POST /responses`.
RESPONSE = make_responses_model(
    shape(
        input=make_input_type(InputPart, status=ItemStatus),
        **fields_of(ResponseBody, *_OPENAI_FIELDS),
        model=optional(str),
        metadata=optional(mapping(str)),
        include=optional(list_of(literal(*INCLUDABLE))),
        max_output_tokens=optional(int),
        top_k=optional(int),
        top_logprobs=optional(int),
        temperature=optional(float),
        top_p=optional(float),
        logit_bias=optional(mapping(float)),
        previous_input_messages=optional(list_of(Object)),
        reasoning=optional(
            shape(effort=optional(Efforts), summary=optional(Summary), generate_summary=optional(Summary))
        ),
        service_tier=not_null(literal("auto", "default", "flex", "scale", "priority")),
        text=optional(make_text_options_type(str)),
        tool_choice=not_null(union(ToolMode, label_member("<an object>", ChosenTool))),
        tools=not_null(list_of(VllmTool)),
        **_FOR_THE_SERVER,
        enable_response_messages=not_null(bool),
        mm_processor_kwargs=optional(Object),
        skip_special_tokens=not_null(bool),
        include_stop_str_in_output=not_null(bool),
    )
)


def _tag_part(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if kind in ("text", "refusal") else "<a string>" if isinstance(part, str) else "<an object>"


# A message with a role, or one of Harmony's with an author; its parts may be texts or any object.
ChatPart = usually(
    tag_union("type", TextPart, RefusalPart, open_shape(type=literal("image_url", "input_audio", "file"))),
    union_by(
        _tag_part,
        STRING,
        label_member("text", TextPart),
        label_member("refusal", RefusalPart),
        label_member("<an object>", Object),
    ),
)
VllmMessage = shape(
    role=not_null(str),
    author=not_null(Object),
    content=optional(text_or("<an array of objects>", list_of(ChatPart))),
    refusal=optional(str),
    tool_calls=optional(list_of(ChatToolCall)),
    function_call=optional(FunctionCall),
    tool_call_id=optional(str),
    name=optional(str),
)
# A function with or without its type; custom tools are let through.
ChatTool = shape(
    type=not_null(literal("function", "custom")),
    function=not_null(shape(name=str, description=optional(str), parameters=optional(Object))),
    custom=not_null(Object),
)
ChatChosen = shape(
    type=not_null(literal("function", "custom", "allowed_tools")),
    function=not_null(ToolName),
    custom=not_null(ToolName),
    allowed_tools=not_null(AllowedNames),
)
ChatFormat = shape(
    type=literal("text", "json_object", "json_schema", "structural_tag"),
    json_schema=optional(shape(name=str, schema=optional(Object))),
)

# `POST /chat/completions`: the fields with a meaning here; others may have any value.
CHAT = make_chat_model(
    shape(
        messages=list_of(VllmMessage, 1),
        **fields_of(ChatBody, "max_tokens", "max_completion_tokens", "stream", "logprobs", "parallel_tool_calls"),
        user=optional(str),
        model=optional(str),
        n=optional(integer(1, MAX_CHOICES)),
        stop=optional(text_or("<an array of strings>", list_of(str))),
        stream_options=optional(shape(include_usage=optional(bool), continuous_usage_stats=optional(bool))),
        top_logprobs=optional(integer(0)),
        temperature=optional(float),
        top_p=optional(float),
        frequency_penalty=optional(float),
        presence_penalty=optional(float),
        seed=optional(int),
        ignore_eos=not_null(bool),
        response_format=optional(ChatFormat),
        tools=optional(list_of(ChatTool)),
        tool_choice=optional(union(ToolMode, label_member("<an object>", ChatChosen))),
        reasoning_effort=optional(Efforts),
        logit_bias=optional(mapping(float)),
        **_FOR_THE_SERVER,
    )
)

NAME = "tzafon"
CONTEXT = 32_768  # tokens of prompt and answer together


def _parse_responses(http: HttpRequest, validation: Validation) -> Call:
    call = parse_responses(http, RESPONSES_REQUEST, validation)
    earlier = tuple(_read_earlier(call.raw.get("previous_input_messages") or ()))
    own = int(call.has_instructions)
    call = replace(
        call, messages=(*call.messages[:own], *earlier, *call.messages[own:]), id=call.raw.get("request_id") or ""
    )
    left = max(CONTEXT - call.prompt_tokens, 1)
    if call.options.max_tokens is None:
        call = replace(call, options=replace(call.options, max_tokens=left, usual_tokens=left))
    else:
        call = call.limit_tokens(max(call.options.max_tokens, 0))
    return _check_live(call, validation)


def _read_earlier(given: Iterable[Body]) -> Iterator[Message]:
    for message in map(_flatten_author, given):
        if isinstance(message.get("role"), str):
            yield make_message(message["role"], message.get("content"))


def _flatten_author(message: Body) -> Body:
    author = message.get("author")
    if "role" in message or not isinstance(author, Mapping):
        return message
    rest = {key: value for key, value in message.items() if key != "author"}
    return {"role": author.get("role"), **({"name": author["name"]} if author.get("name") else {}), **rest}


def _parse_chat(http: HttpRequest, validation: Validation) -> Call:
    body, chat = read_request(CHAT, http, refuse=refuse, validation=validation)
    if validation is not Validation.OFF:
        refuse_first(_find_lonely(chat), refuse)
    plain = {key: value for key, value in body.items() if key not in _UNREAD}
    plain["messages"] = [_simplify_message(message, index) for index, message in enumerate(body["messages"])]
    if body.get("tools"):
        typed = ({"type": "function", **tool} for tool in body["tools"])
        plain["tools"] = [tool for at, tool in enumerate(typed) if _has_name(tool, at, validation)]
    if isinstance(choice := plain.pop("tool_choice", None), dict):
        choice = {"type": "function", **choice}
    if isinstance(choice, str) or (choice and (choice["type"] in choice or validation is not Validation.OFF)):
        plain["tool_choice"] = choice
    call = make_chat_call(http, plain, plain, dialect=NAME)
    named = f"chatcmpl-{body['request_id']}" if body.get("request_id") else ""
    return _check_live(replace(call, raw=body, ids=_CHAT_IDS, id=named), validation)


def _simplify_message(message: Body, index: int) -> Body:
    message = _flatten_author(message)
    if not isinstance(message.get("role"), str):
        raise refuse(Complaint("missing", ("messages", index, "role")))
    if not isinstance(message.get("content"), list):
        return message
    return {**message, "content": [_simplify_part(part) for part in message["content"]]}


def _simplify_part(part: str | Body) -> Body:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    if isinstance(part.get("type"), str):
        return part
    return {**part, "type": "unknown"}


def _has_name(tool: Body, index: int, validation: Validation) -> bool:
    """Return whether a tool has a name. Raises Failure for one without, unless nothing is checked."""
    kind = tool["type"]
    inner = tool.get(kind)
    if isinstance(inner, dict) and isinstance(inner.get("name"), str):
        return True
    if validation is Validation.OFF:
        return False
    raise refuse(Complaint("missing", ("tools", index, kind)))


def refuse(complaint: Complaint) -> Failure:
    """Return the 400 for a complaint, whose type tells whether the model of the body or the server refused it."""
    failure = refuse_without_code(complaint)
    return failure.replace(kind=None if complaint.kind == "conflict" else "Bad Request")


def _find_conflicts(body: Body) -> Iterator[Complaint]:
    if body.get("background") and body.get("store") is False:
        yield complain("background can only be used when `store` is true", "background")
    if body.get("previous_response_id") is not None and body.get("previous_input_messages") is not None:
        message = "Only one of `previous_input_messages` and `previous_response_id` can be set."
        yield complain(message, "previous_input_messages")
    if body.get("cache_salt") == "":
        yield _make_salt_complaint()


def _find_lonely(body: Body) -> Iterator[Complaint]:
    if body.get("stream_options") is not None and not body.get("stream"):
        yield complain("Stream options can only be defined when `stream=True`.", "stream_options")
    if body.get("top_logprobs") and not body.get("logprobs"):
        yield complain("when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs")
    if body.get("cache_salt") == "":
        yield _make_salt_complaint()
    choice = body.get("tool_choice")
    tools = body.get("tools")
    if choice not in (None, "none", "auto") and not tools:
        yield complain("When using `tool_choice`, `tools` must be set.", "tool_choice")


def _check_live(call: Call, validation: Validation) -> Call:
    if validation is Validation.LIVE:
        refuse_first(find_live_mistakes(call.raw), refuse)
    return call


def find_live_mistakes(body: Body) -> Iterator[Complaint]:
    """Yield values that only the live API refuses."""
    if isinstance(heat := body.get("temperature"), int | float) and heat < 0:
        yield complain(f"temperature must be non-negative, got {clip(str(heat))}.", "temperature")
    if isinstance(share := body.get("top_p"), int | float) and not 0 < share <= 1:
        yield complain(f"top_p must be in (0, 1], got {clip(str(share))}.", "top_p")
    for field in ("max_output_tokens", "max_tokens", "max_completion_tokens"):
        if isinstance(most := body.get(field), int | float) and most < 1:  # Responses have fields of any type
            yield complain(f"max_tokens must be at least 1, got {most}.", field)
    if body.get("priority"):
        yield complain("Got priority but priority scheduling is not enabled.", "priority")


def _make_salt_complaint() -> Complaint:
    return complain("Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt")


RESPONSES_REQUEST = ResponsesRequest(
    NAME, RESPONSE, conflicts=_find_conflicts, refuse=refuse, ids=IdShape("resp_", 32, "hex")
)
_CHAT_IDS = IdShape("chatcmpl-", 32, "hex")
# Fields for the server only, and former fields of OpenAI that vLLM never read.
_UNREAD = frozenset({"request_id", "priority", "cache_salt", "functions", "function_call"})

MODELS = ("tzafon.northstar-cua-fast", "tzafon.sm-1")


def _render_responses(call: Call, outcome: Answer) -> Reply:
    return make_responses_reply(call, outcome, renderer=RESPONSES, lines=write_request_id(call.http, call))


def _show_model(name: str, created: int) -> dict[str, Json]:
    return {**show_model(name, created), "root": name, "parent": None, "max_model_len": CONTEXT, "permission": []}


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    resolved = ERRORS.resolve(failure, http, call)
    code = resolved.status if resolved.code is None else resolved.code
    error: Json = {"message": resolved.message, "type": resolved.kind, "param": resolved.param, "code": code}
    if resolved.status == 401 and failure.message is None:
        error = "Unauthorized"  # errors of the server in front of the model have another body
    lines = write_request_id(http, call) + write_retry_lines(failure)
    return make_json_reply(resolved.status, {"error": error}, lines=lines, headers=failure.headers)


_RESPONSE_FIELDS = (
    "id", "created_at", "model", "object", "output", "status", "error", "tools", "usage",
    "incomplete_details", "instructions", "metadata", "parallel_tool_calls", "temperature", "tool_choice",
    "top_p", "background", "max_output_tokens", "max_tool_calls", "previous_response_id", "prompt",
    "reasoning", "service_tier", "text", "top_logprobs", "truncation", "user",
)  # fmt: skip
RESPONSE_LAYOUT = ResponseLayout(
    response=_RESPONSE_FIELDS,
    queued=False,
    raw_reasoning=True,
    unset={
        **OPENAI_LAYOUT.unset,
        **dict.fromkeys(("metadata", "prompt", "reasoning", "text", "top_logprobs")),
        "model": MODELS[0],
        "max_output_tokens": CONTEXT,
        "service_tier": "auto",
    },
)
RESPONSES = ResponseRenderer(RESPONSE_LAYOUT)
CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "system_fingerprint", "usage"),
    message=("role", "content", "reasoning_content", "refusal", "annotations", "tool_calls"),
    optional=frozenset({"annotations", "reasoning_content"}),
)

_BAD_REQUEST = ErrorRow(status=400, kind="BadRequestError")
ROWS = make_error_rows(
    lambda status: _BAD_REQUEST if status == 400 else ErrorRow(status=status, kind=find_reason_phrase(status)),
    bad_json=ErrorRow(status=400, kind="Bad Request"),
    context_length=replace(_BAD_REQUEST, param="input_tokens"),
    not_cancellable=ErrorRow(status=400, kind=INVALID_REQUEST, param="response_id"),
    unsupported=replace(_BAD_REQUEST, code=400),
    unsupported_media_type=ErrorRow(status=400, kind="Bad Request"),
    model_not_found=ErrorRow(status=404, kind="NotFoundError", param="model"),
    not_found=ErrorRow(status=404, kind=INVALID_REQUEST, param="response_id"),
    previous_not_found=ErrorRow(status=404, kind=INVALID_REQUEST, param="response_id"),
    unmatched=ErrorRow(status=404, kind="NotFoundError"),
    server_error=ErrorRow(status=500, kind="InternalServerError"),
)
MESSAGES: Mapping[str, str] = {
    "model_not_found": "The model `{model}` does not exist.",
    "not_found": "Response with id '{id}' not found.",
    "previous_not_found": "Response with id '{id}' not found.",
    "not_cancellable": "Cannot cancel a synchronous response.",
}
UNSUPPORTED: Mapping[str, str] = {**PLAIN_UNSUPPORTED_MESSAGES, "vision": "{model} is not a multimodal model"}
ERRORS = make_plain_errors(ROWS, MESSAGES, read_credential=read_bearer, unsupported=UNSUPPORTED)

STORED = StoredResponses(
    NAME,
    refuse,
    renderer=RESPONSES,
    lines=write_request_id,
    parse_input=_parse_responses,
    is_final=True,
)
DIALECT = Dialect(
    name=NAME,
    operations=(
        Operation(
            "responses",
            "POST",
            "/responses",
            parse=_parse_responses,
            render=_render_responses,
            error=make_error_event,
            shows_reasoning=True,
        ),
        make_chat_operation(_parse_chat, CHAT_LAYOUT, lines=write_request_id, model=MODELS[0]),
        *STORED.make_operations(),
        *make_model_operations(NAME, write_request_id, show=_show_model),
    ),
    read_credential=read_bearer,
    fail=_fail,
    models=MODELS,
    own_features=frozenset(OWN_FEATURES) - {"filter_annotations", "finish_error", "status"},
)
