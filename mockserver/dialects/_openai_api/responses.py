"""The Responses API: from the body to a Call, and from an answer to the reply.

A ResponsesRequest has the differences between providers' requests, a ResponseLayout those between their objects. All
consecutive items of the model become one assistant message. Input items may have any contents: values of an unexpected
type are ignored.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import (
    CLIENT_RUN_TOOLS,
    Call,
    IdShape,
    McpConnector,
    Message,
    Options,
    ServerTool,
    Tool,
    ToolCall,
    ToolChoice,
)
from mockserver.core.frames import Frame
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.plan import Answer
from mockserver.core.validation import Validation
from mockserver.dialects import read_event
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel
from mockserver.dialects._meaning import BOOKKEEPING, find_meaning
from mockserver.dialects._openai_api.chat import (
    find_missing_word_json,
    find_unmet_stream_options,
    make_tool,
    replace_ids,
    write_schema,
)
from mockserver.dialects._openai_api.input_items import (
    find_duplicates,
    find_incomplete_items,
    find_item_type,
    find_lonely_reasoning,
    find_misshapen_parts,
    find_unpaired_calls,
    write_text,
)
from mockserver.dialects._openai_api.strict_schemas import find_refused_format, find_refused_function
from mockserver.dialects._parse import (
    Body,
    Complaint,
    Refuse,
    clip,
    complain,
    find_unknown_fields,
    find_usual,
    list_complaints,
    read_request,
    refuse_first,
)
from mockserver.dialects._reply import make_answer_reply
from mockserver.wire.response_events import ResponseRenderer
from mockserver.wire.responses import ResponseLayout, ResponseOptions


def read_input(given: Json) -> tuple[Message, ...]:
    """Return the messages of an `input`: a text, a list of items or null."""
    if given is None:
        return ()
    return (Message("user", given),) if isinstance(given, str) else tuple(_read_turns(given))


def _read_turns(items: Iterable[Body]) -> Iterator[Message]:
    turn = _Turn()
    for item in items:
        if _is_of_model(item):
            turn.add(item)
            continue
        yield from turn.list_messages()
        turn = _Turn()
        yield from _read_other_item(item)
    yield from turn.list_messages()


def _is_of_model(item: Body) -> bool:
    """Return whether an item is the model's: not a message of others, a result, or a request to the provider."""
    kind = find_item_type(item)
    if kind == "message":
        role: str = item["role"]
        return role == "assistant"
    return kind not in _REQUESTS and not _is_tool_result(kind)


def _is_tool_result(kind: str) -> bool:
    return kind.endswith(("_output", "_response"))


def _read_other_item(item: Body) -> Iterator[Message]:
    kind = find_item_type(item)
    if kind == "message":
        yield make_message(item["role"], item["content"])
    elif _is_tool_result(kind):
        yield _RESULTS.get(kind, _read_result)(item)


def make_message(role: str, content: Json) -> Message:
    """Return a message with the texts of its parts as one; parts that are not text have the form of a chat's."""
    if isinstance(content, str):
        return Message(role, content)
    given = content if isinstance(content, list) else ()
    parts: Sequence[Body] = [part for part in given if isinstance(part, Mapping)]
    others = tuple(_neutralize_part(part) for part in parts if _find_text_key(part) is None)
    return Message(role, "".join(map(_read_text, parts)), parts=others)


def _read_text(part: Body) -> str:
    key = _find_text_key(part)
    return write_text(part.get(key)) if key else ""


def _find_text_key(part: Body) -> str | None:
    kind = part.get("type")
    return _TEXTS.get(kind) if isinstance(kind, str) else None


def _neutralize_part(part: Body) -> Body:
    match part.get("type"):
        case "input_image" | "computer_screenshot":
            image = {"url": part.get("image_url"), "file_id": part.get("file_id"), "detail": part.get("detail")}
            return {"type": "image_url", "image_url": {key: value for key, value in image.items() if value is not None}}
        case "input_file":
            return {"type": "file", "file": {key: value for key, value in part.items() if key != "type"}}
    return part


class _Turn(Struct):
    """The model's items since the last message of others."""

    taken: bool = False
    texts: list[str] = []
    parts: list[Body] = []
    calls: list[ToolCall] = []

    def add(self, item: Body) -> None:
        self.taken = True
        kind = find_item_type(item)
        if kind == "message":
            message = make_message("assistant", item["content"])
            self.texts.append(message.text)
            self.parts += message.parts
        elif kind in _CALLS:
            self.calls.append(_read_client_tool_call(kind, item))
        elif kind not in _SILENT:
            self.parts.append(item)

    def list_messages(self) -> Iterator[Message]:
        if self.taken:
            yield Message("assistant", "\n".join(self.texts), parts=tuple(self.parts), tool_calls=tuple(self.calls))


def _read_client_tool_call(kind: str, item: Body) -> ToolCall:
    name, argument = _CALLS[kind]
    tool = write_text(item.get("name")) if name is None else name
    return ToolCall(
        _find_call_id(item),
        tool,
        arguments=write_text(item.get(argument)),
        kind={"function_call": "function", "custom_tool_call": "custom"}.get(kind, kind),
        namespace=write_text(item.get("namespace")),
    )


def _read_result(item: Body) -> Message:
    output = item.get("output")
    if isinstance(output, list):
        message = make_message("tool", output)
        return Message("tool", message.text, parts=message.parts, tool_call_id=_find_call_id(item))
    return Message("tool", write_text(output), tool_call_id=_find_call_id(item))


def _read_screenshot(item: Body) -> Message:
    output = item.get("output")
    parts = (_neutralize_part({**output, "type": "computer_screenshot"}),) if isinstance(output, Mapping) else ()
    return Message("tool", parts=parts, tool_call_id=_find_call_id(item))


def _read_shell_result(item: Body) -> Message:
    output = item.get("output")
    if not isinstance(output, list):
        return _read_result(item)
    written = (write_text(step.get(stream)) for step in output if isinstance(step, Mapping) for stream in _STREAMS)
    return Message("tool", "".join(written), tool_call_id=_find_call_id(item))


def _read_patch_result(item: Body) -> Message:
    return Message("tool", write_text(item.get("output") or item.get("status")), tool_call_id=_find_call_id(item))


def _read_approval(item: Body) -> Message:
    answered = {key: item[key] for key in ("approve", "reason") if item.get(key) is not None}
    return Message("tool", write_text(answered), tool_call_id=write_text(item.get("approval_request_id")))


def _find_call_id(item: Body) -> str:
    return write_text(item.get("call_id") or item.get("id"))


_STREAMS = ("stdout", "stderr")
# The key that holds the text of a part.
_TEXTS: Mapping[str, str] = {
    **dict.fromkeys(("input_text", "output_text", "text", "summary_text", "reasoning_text"), "text"),
    "refusal": "refusal",
}
# Calls that the client answers: the tool's name (None: the item has it) and the key of its input.
_CALLS: Mapping[str, tuple[str | None, str]] = {
    "function_call": (None, "arguments"),
    "custom_tool_call": (None, "input"),
    **CLIENT_RUN_TOOLS,
    "mcp_approval_request": (None, "arguments"),
    "tool_search_call": ("tool_search", "arguments"),
}
# Results that are more than an `output` of text or parts.
_RESULTS: Mapping[str, Callable[[Body], Message]] = {
    "computer_call_output": _read_screenshot,
    "shell_call_output": _read_shell_result,
    "apply_patch_call_output": _read_patch_result,
    "mcp_approval_response": _read_approval,
}
# Items that bring tools with them.
_WITH_TOOLS = frozenset({"additional_tools", "tool_search_output"})
# Requests to the provider, which the model does not see.
_REQUESTS = frozenset({"compaction_trigger", "additional_tools", "configuration_update"})
# Items of the model that are not part of its text.
_SILENT = frozenset({"reasoning"})


def find_responses_meaning(body: Body, dialect: str) -> dict[str, Json]:
    """Return the fields that could change the answer, like `find_chat_meaning`."""
    kept = find_meaning(body, dialect, operation="responses", bookkeeping=_BOOKKEEPING)
    if isinstance(items := kept.get("input"), list):
        ordinals: dict[str, str] = {}
        kept["input"] = [replace_ids(item, ordinals, _IDS) for item in items]
    if tools := kept.get("tools"):
        kept["tools"] = [_write_schemas_of_tool(tool) for tool in tools]
    text = kept.get("text")
    if text and text.get("format"):
        kept["text"] = {**text, "format": write_schema(text["format"], "schema")}
    return kept


def _write_schemas_of_tool(tool: Body) -> Body:
    if tool.get("type") == "namespace" and isinstance(inner := tool.get("tools"), list):
        return {**tool, "tools": [_write_schemas_of_tool(each) for each in inner if isinstance(each, dict)]}
    return write_schema(tool, "parameters")


_IDS = ("id", "call_id", "approval_request_id")
_BOOKKEEPING = BOOKKEEPING | {
    "background",
    "background_options",
    "previous_response_id",
    "request_id",
    "priority",
    "cache_salt",
    "enable_response_messages",
}


class ResponsesRequest(Struct, frozen=True, dict=True):
    """How a dialect reads a Responses request: its model, its conflicts, and its ids."""

    dialect: str
    body: BodyModel
    conflicts: Callable[[Body], Iterator[Complaint]]
    refuse: Refuse
    ids: IdShape

    @lazy_property
    def conflicting(self) -> frozenset[str]:
        """The fields to which a conflict is possible: a body that has none of them is not checked for any."""
        return find_usual(lambda body: [*self.conflicts(body)]).fields


def parse_responses(http: HttpRequest, spec: ResponsesRequest, validation: Validation) -> Call:
    """Return the Call of a body, read as `spec` says. Raises the Failure of its first mistake."""
    body, parsed = read_request(spec.body, http, refuse=spec.refuse, validation=validation)
    if validation is not Validation.OFF and not spec.conflicting.isdisjoint(parsed):
        refuse_first(spec.conflicts(parsed), spec.refuse)
    return _make_responses_call(http, spec, body=body, parsed=parsed)


def parse_openai_responses(
    http: HttpRequest, validation: Validation, *, dialect: str, only_input: bool = False
) -> Call:
    """Return the Call of a body. With `only_input`, it asks about its input and not for a response."""
    spec = _make_openai_request(dialect, only_input=only_input)
    call = parse_responses(http, spec, validation)
    if validation is Validation.LIVE:
        refuse_first(find_live_responses_mistakes(call.raw, spec.body.fields), refuse)
    return call


@cache
def _make_openai_request(dialect: str, *, only_input: bool) -> ResponsesRequest:
    # Slow: a hundred types, which chats do not need.
    from mockserver.dialects._openai_api.responses_bodies import RESPONSE, RESPONSE_INPUT

    model = RESPONSE_INPUT if only_input else RESPONSE
    return ResponsesRequest(dialect, model, conflicts=find_responses_conflicts, refuse=refuse, ids=OPENAI_RESPONSE_IDS)


def _make_responses_call(http: HttpRequest, spec: ResponsesRequest, *, body: Body, parsed: Body) -> Call:
    given = parsed.get("input")
    instructions = parsed.get("instructions")
    choice = parsed.get("tool_choice")
    messages = read_input(given)
    tools = tuple(_read_tools(parsed)) if type(given) is list or "tools" in parsed else ()
    return Call(
        dialect=spec.dialect,
        operation="responses",
        model=parsed.get("model") or "",
        http=http,
        meaning=find_responses_meaning(body, spec.dialect),
        raw=body,
        messages=(Message("system", instructions), *messages) if instructions else messages,
        has_instructions=bool(instructions),
        tools=tools,
        connectors=list_connectors(tools) if tools else (),
        tool_choice=_NO_CHOICE if choice is None and not tools else read_tool_choice(choice, tools),
        stream=parsed.get("stream") is True,
        ids=spec.ids,
        previous_response_id=parsed.get("previous_response_id"),
        options=_USUAL if _ASKING.isdisjoint(parsed) else _read_options(parsed),
        is_sound=type(given) is str,
    )


def list_connectors(tools: Iterable[Tool]) -> tuple[McpConnector, ...]:
    """Return the MCP servers among the tools of a request."""
    found = [tool.options for tool in tools if tool.kind == "mcp" and isinstance(tool.options.get("server_label"), str)]
    return tuple(
        [
            McpConnector(
                label=options["server_label"],
                url=write_text(options.get("server_url")),
                allowed=options.get("allowed_tools"),
                approval=options.get("require_approval") or "always",
                headers=tuple(_list_headers(options)),
            )
            for options in found
        ]
    )


def _list_headers(options: Body) -> Iterator[tuple[bytes, bytes]]:
    """Yield the headers that the provider sends to an MCP server."""
    headers = options.get("headers")
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        yield name.lower().encode("latin-1", "replace"), write_text(value).encode("latin-1", "replace")
    if isinstance(token := options.get("authorization"), str):
        yield b"authorization", b"Bearer " + token.encode("latin-1", "replace")


def _read_options(parsed: Body) -> Options:
    text = parsed.get("text") or {}
    form = text.get("format") or {"type": "text"}
    return Options(
        parallel_tool_calls=parsed.get("parallel_tool_calls") is not False,
        max_tokens=parsed.get("max_output_tokens"),
        max_tool_calls=parsed.get("max_tool_calls"),
        overflow="truncate" if parsed.get("truncation") == "auto" else "error",
        logprobs=(parsed.get("top_logprobs") or 0) if INCLUDE_LOGPROBS in (parsed.get("include") or ()) else None,
        effort=_read_effort(parsed.get("reasoning") or {}),
        verbosity=text.get("verbosity"),
        response_format=form["type"],
        schema=form.get("schema"),
        strict_schema=form.get("strict") is True,
        store=parsed.get("store") is not False,
        background=parsed.get("background") is True,
    )


_NO_CHOICE = ToolChoice("none")


def _read_effort(reasoning: Body) -> str | None:
    summary = reasoning.get("summary") or reasoning.get("generate_summary")
    return reasoning.get("effort") or ("medium" if summary else None)


def _read_tools(parsed: Body) -> Iterator[Tool]:
    """Yield the offered tools, including those in namespaces, each once, even if a search has found it again."""
    seen = set()
    for namespace, tool in _list_offered_tools(parsed):
        made = replace(read_tool(tool), namespace=namespace)
        if not namespace or made.full_name not in seen:
            yield made
        seen.add(made.full_name)


def _list_offered_tools(body: Body) -> Iterator[tuple[str, Body]]:
    """Yield the tools of a request with their namespaces, from its list and from input items with tools."""
    yield from _unpack_tools(body.get("tools"))
    items = body.get("input")
    for item in items if isinstance(items, list) else ():
        if item.get("type") in _WITH_TOOLS:
            yield from _unpack_tools(item.get("tools"))


def _unpack_tools(tools: Json, namespace: str = "") -> Iterator[tuple[str, Body]]:
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict) or not isinstance(kind := tool.get("type"), str):
            continue
        if kind == "namespace" and isinstance(tool.get("name"), str) and not namespace:
            yield from _unpack_tools(tool.get("tools"), tool["name"])
        elif kind not in ("function", "custom") or isinstance(tool.get("name"), str):
            yield namespace, tool


def read_tool(tool: Body) -> Tool:
    """Return a tool of a request: a function of the client, or one that the provider uses itself."""
    kind = tool["type"]
    if kind not in ("function", "custom"):
        return Tool(kind, kind=kind, options=tool)
    return make_tool(kind, tool)


def read_tool_choice(choice: Json, tools: tuple[Tool, ...]) -> ToolChoice:
    """Return which of the offered tools the model may or must use."""
    match choice:
        case None:
            return ToolChoice("auto" if tools else "none")
        case str():
            return ToolChoice(choice)
        case {"type": "allowed_tools", "mode": mode, "tools": allowed}:
            return ToolChoice(mode, tuple(_find_names(allowed, tools)), tuple(_list_servers(allowed)))
    return ToolChoice("named", tuple(_find_names((choice,), tools)), tuple(_list_servers((choice,))))


def _find_names(chosen: Iterable[Body], offered: tuple[Tool, ...]) -> Iterator[str]:
    for tool in chosen:
        kind = tool.get("type", "function")
        if kind == "namespace":
            yield from (each.full_name for each in offered if each.namespace == tool.get("name"))
            continue
        name = tool.get("name") if kind in ("function", "custom") else kind
        if isinstance(name, str):
            yield name


def _list_servers(tools: Iterable[Body]) -> Iterator[ServerTool]:
    for tool in tools:
        if tool.get("type") == "mcp" and isinstance(label := tool.get("server_label"), str):
            name = tool.get("name")
            yield ServerTool(label, name if isinstance(name, str) else "")


def find_responses_conflicts(body: Body) -> Iterator[Complaint]:
    """Yield fields that exclude or need each other."""
    yield from find_unmet_stream_options(body)
    if body.get("previous_response_id") is not None and body.get("conversation") is not None:
        both = "'previous_response_id' or 'conversation'"
        yield complain(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. "
            f"Ensure you are only providing one of: {both}.",
            "previous_response_id",
        )
    if body.get("background") and body.get("store") is False:
        yield complain("Background mode requires 'store' to be true.", "background")


def find_live_responses_mistakes(body: Body, known: frozenset[str]) -> Iterator[Complaint]:
    """Yield what OpenAI's live API refuses although its published schema allows it."""
    from mockserver.dialects._openai_api.responses_bodies import LIVE_RESPONSE

    yield from _find_moved_fields(body)
    yield from find_unknown_fields(body, known)
    if not body.get("model") and not body.get("prompt"):
        yield Complaint("missing", ("model",))
    if not any(body.get(key) for key in _SUBJECTS):
        yield complain(_NO_SUBJECT, "input")
    yield from list_complaints(LIVE_RESPONSE, {key: value for key, value in body.items() if value is not None})
    yield from _find_unmet_tool_choice(body)
    if isinstance(body.get("input"), list):
        for index, item in enumerate(body["input"]):
            yield from find_misshapen_parts(index, item)
        yield from find_incomplete_items(body["input"])
        yield from (complaint for _, complaint in find_duplicates(body["input"]))
        if not body.get("previous_response_id") and not body.get("conversation"):
            yield from (complaint for _, complaint in find_unpaired_calls(body["input"]))
            yield from (complaint for _, complaint in find_lonely_reasoning(body["input"]))
    yield from _find_refused_tools(body)
    yield from _find_tools_of_deeper_reasoning(body)
    form = (body.get("text") or {}).get("format") or {}
    yield from find_refused_format(form, "text", "format", "schema")
    yield from find_missing_word_json(form, body, _WITHOUT_JSON, field="input")  # instructions do not count
    if "include_usage" in (body.get("stream_options") or {}):
        yield Complaint("unknown", ("stream_options", "include_usage"))


def _find_moved_fields(body: Body) -> Iterator[Complaint]:
    """Yield fields of chats that Responses have elsewhere."""
    for key, place in _MOVED_FIELDS.items():
        if key in body:
            yield Complaint("moved", (key,), message=_MOVED.format(key, place))


def _find_tools_of_deeper_reasoning(body: Body) -> Iterator[Complaint]:
    kinds = [str(tool.get("type")) for tool in body.get("tools") or ()]
    refused = dict.fromkeys(kind for kind in kinds if kind.startswith(_NEEDING_MORE_THAN_MINIMAL))
    if refused and (body.get("reasoning") or {}).get("effort") == "minimal":
        names = ", ".join(sorted(refused))
        yield complain(f"The following tools cannot be used with reasoning.effort 'minimal': {names}.", "tools")


def _find_refused_tools(body: Body) -> Iterator[Complaint]:
    for at, tool in enumerate(body.get("tools") or ()):
        kind = tool.get("type")
        if kind == "function":
            yield from find_refused_function(tool, "tools", at)
        elif kind == "code_interpreter" and tool.get("container") is None:
            yield Complaint("missing", ("tools", at, "container"))


def _find_unmet_tool_choice(body: Body) -> Iterator[Complaint]:
    """Yield a complaint if a tool choice needs tools that are not offered, and no stored prompt may offer."""
    choice = body.get("tool_choice")
    if choice in (None, "none", "auto") or body.get("prompt"):
        return
    tools = [tool for _, tool in _list_offered_tools(body)]
    if not tools:
        mode = choice if isinstance(choice, str) else choice["type"]
        yield complain(f"Tool choice '{mode}' must be specified with 'tools' parameter.", "tool_choice")
    elif not isinstance(choice, str) and choice["type"] != "allowed_tools" and not _offers(tools, choice):
        yield complain(f"Tool choice '{clip(choice['type'])}' not found in 'tools' parameter.", "tool_choice")


def _offers(tools: Iterable[Body], choice: Body) -> bool:
    key = "server_label" if choice["type"] == "mcp" else "name"
    return any(tool["type"] == choice["type"] and tool.get(key) == choice.get(key) for tool in tools)


def make_responses_reply(
    call: Call, answer: Answer, renderer: ResponseRenderer, lines: str, *, after: int = -1
) -> Reply:
    """Return an answer as the call wants it: whole, or as the events after sequence number `after`."""
    if not answer.model:
        answer = replace(answer, model=renderer.layout.unset["model"])
    options = make_response_options(call, renderer.layout)
    reply = make_answer_reply(answer, renderer, options, lines, stream=call.stream)
    if reply.frames is None or after < 0:
        return reply
    return replace(reply, frames=islice(reply.frames, after + 1, None))


def make_response_options(call: Call, layout: ResponseLayout) -> ResponseOptions:
    """Return the fields of the request that the object repeats, and the optional values that it includes."""
    body = call.raw
    repeated = show_request(call, layout.keys)
    if _SHOWING.isdisjoint(body):
        return ResponseOptions(repeated)
    reasoning = body.get("reasoning") or {}
    return ResponseOptions(
        repeated,
        frozenset(body.get("include") or ()),
        summary=bool(reasoning.get("summary") or reasoning.get("generate_summary")),
        stored=body.get("store") is not False,
    )


_SHOWING = frozenset(("include", "reasoning", "store"))  # fields that decide what a reply includes


def show_request(call: Call, fields: Collection[str]) -> dict[str, Json]:
    """Return those of these fields of a response that repeat its request, if the request has them."""
    body = call.raw
    options = call.options
    shown = {
        key: value for key, value in body.items() if key in _UNCHANGED_FIELDS and key in fields and value is not None
    }
    if options.background:
        shown["background"] = True
    if options.max_tokens is not None:
        shown["max_output_tokens"] = options.max_tokens
    if not _RESHAPED_FIELDS.isdisjoint(body):
        shown |= _reshape_fields({key: value for key, value in body.items() if value is not None and key in fields})
    return shown


_RESHAPED_FIELDS = frozenset(("temperature", "top_p", "tools", "text", "reasoning", "conversation", "service_tier"))


def _reshape_fields(body: Body) -> Iterator[tuple[str, Json]]:
    for key in ("temperature", "top_p"):
        if key in body:
            yield key, float(body[key])
    if tools := body.get("tools"):
        yield "tools", [_show_tool(tool) for tool in tools]
    if (text := body.get("text")) is not None:
        form = text.get("format") or {"type": "text"}
        shown = {**_UNSET_OF_FORMATS.get(form["type"], {}), **_keep_known_keys(form, _FORMAT_KEYS[form["type"]])}
        yield "text", {"format": shown, "verbosity": text.get("verbosity") or "medium"}
    if (reasoning := body.get("reasoning")) is not None:
        yield "reasoning", {"effort": None, "summary": None, **_keep_known_keys(reasoning, _REASONING_KEYS)}
    if (conversation := body.get("conversation")) is not None:
        yield "conversation", {"id": conversation if isinstance(conversation, str) else conversation["id"]}
    if (tier := body.get("service_tier")) not in (None, "auto"):
        yield "service_tier", _SERVICE_TIERS.get(tier, tier)


def _keep_known_keys(given: Body, keys: Collection[str]) -> dict[str, Json]:
    """Return a table of the request with only the keys of its type, as clients' types have no others."""
    return {key: value for key, value in given.items() if key in keys}


def _show_tool(tool: Body) -> Body:
    """Return a tool as the response shows it: with the defaults of what the request left out."""
    kind = tool["type"]
    return {"type": kind, **_UNSET_OF_TOOLS[kind], **tool} if kind in _UNSET_OF_TOOLS else tool


def make_error_event(failed: Reply, last: bytes) -> Frame:
    """Return a failed reply as the last event of a stream, numbered after the others.

    The error is nested, as the live API sends it; its reference shows the fields beside the type.
    """
    sent = json.loads(failed.body)["error"]
    fields = sent if isinstance(sent, dict) else {"message": sent}
    error = {key: fields.get(key) for key in ("type", "code", "message", "param")}
    number = read_event(last).get("sequence_number", -1) + 1
    body = to_json({"type": "error", "sequence_number": number, "error": error})
    return Frame(body, event="error", part="finish")


OPENAI_RESPONSE_IDS = IdShape("resp_", 50, "hex")
INCLUDE_LOGPROBS = "message.output_text.logprobs"
_USUAL, _ASKING = find_usual(_read_options)
_SUBJECTS = ("input", "prompt", "previous_response_id", "conversation")
_WITHOUT_JSON = (
    "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
)
_MOVED_FIELDS: Mapping[str, str] = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}
_MOVED = (
    "Unsupported parameter: '{}'. In the Responses API, this parameter has moved to '{}'. Try again with the new "
    "parameter. See the API documentation for more information: "
    "https://platform.openai.com/docs/api-reference/responses/create."
)
_NEEDING_MORE_THAN_MINIMAL = ("image_generation", "web_search")
_NO_SUBJECT = "Missing required parameter: provide one of 'input', 'prompt', 'previous_response_id' or 'conversation'."
_REASONING_KEYS = ("effort", "summary", "generate_summary", "context", "mode")
_FORMAT_KEYS: Mapping[str, Collection[str]] = {
    "text": ("type",),
    "json_object": ("type",),
    "json_schema": ("type", "name", "schema", "description", "strict"),
}
_PLACE = {"type": "approximate", "city": None, "country": "US", "region": None, "timezone": None}
_UNSET_OF_SEARCH: Body = {"search_context_size": "medium", "user_location": _PLACE}
_UNSET_OF_TOOLS: Mapping[str, Body] = {
    "function": {"description": None, "name": None, "parameters": None, "strict": True},
    "custom": {"name": None, "format": {"type": "text"}},
    "file_search": {
        "filters": None,
        "max_num_results": 20,
        "ranking_options": {"ranker": "auto", "score_threshold": 0.0},
    },
    "web_search": _UNSET_OF_SEARCH,
    "web_search_preview": _UNSET_OF_SEARCH,
    "image_generation": {
        "background": "auto",
        "moderation": "auto",
        "n": 1,
        "output_compression": 100,
        "output_format": "png",
        "quality": "auto",
        "size": "auto",
    },
    "mcp": {"allowed_tools": None, "headers": None, "require_approval": "always"},
}
_UNSET_OF_FORMATS: Mapping[str, Body] = {"json_schema": {"description": None, "strict": False}}
_SERVICE_TIERS = {"fast": "priority"}  # the tier that serves a request is called by one of its two names
_UNCHANGED_FIELDS = frozenset(
    (
        "instructions", "max_tool_calls", "metadata", "parallel_tool_calls", "previous_response_id", "prompt",
        "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "store", "tool_choice", "top_logprobs",
        "truncation", "user",
    )
)  # fmt: skip
_RESPONSE_FIELDS = (
    "id", "object", "created_at", "status", "completed_at", "background", "conversation", "error",
    "frequency_penalty", "incomplete_details", "instructions", "max_output_tokens", "max_tool_calls", "model",
    "output", "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt", "prompt_cache_key",
    "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "temperature", "text",
    "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "usage", "user", "metadata",
)  # fmt: skip
RESPONSE_LAYOUT = ResponseLayout(
    response=_RESPONSE_FIELDS,
    unset={
        "model": "gpt-5",
        "background": False,
        "frequency_penalty": 0.0,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "parallel_tool_calls": True,
        "presence_penalty": 0.0,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "prompt_cache_retention": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
        "metadata": {},
    },
)
