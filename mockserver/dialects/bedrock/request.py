"""From a Converse request to a Call: the conversation, the tools, and the requirements for the answer.

A `system` prompt is the first message, and each tool result is a separate message, as in chats. Reasoning is not part
of the text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic_core import to_json

from mockserver.core.call import Call, IdShape, Message, Options, PlainMessages, Tool, ToolCall, ToolChoice
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact, find_in, find_table, try_parse
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._meaning import BOOKKEEPING, find_meaning
from mockserver.dialects._openai_api.chat import write_schema
from mockserver.dialects._parse import Body, read_request
from mockserver.dialects.bedrock.checks import check_converse
from mockserver.dialects.bedrock.errors import refuse
from mockserver.dialects.bedrock.model_checks import find_model_refusals
from mockserver.dialects.bedrock.models import CONVERSE, NAME, is_claude
from mockserver.wire.bedrock import ConverseOptions, Guardrail

MESSAGE_IDS = IdShape("msg_bdrk_01", 22, "base58")
TOOL_CALL_IDS = IdShape("tooluse_", 22)
FINISHES = frozenset(
    (
        "end_turn", "tool_use", "max_tokens", "stop_sequence", "guardrail_intervened", "content_filtered",
        "malformed_model_output", "malformed_tool_use", "model_context_window_exceeded",
    )
)  # fmt: skip


def parse_converse(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a request to Converse. Raises Failure."""
    body, _ = read_request(CONVERSE, http, refuse=refuse, validation=validation)
    return make_converse_call(http, body, validation)


def read_model(http: HttpRequest) -> str:
    """Return the model's id or ARN in the path."""
    return http.path_params.get("model", "")


def make_converse_call(http: HttpRequest, body: Body, validation: Validation) -> Call:
    """Return the Call of a body that has the right types. Raises Failure as Bedrock refuses it."""
    model = read_model(http)
    plain = _read_plain_messages(body)
    is_plain = plain is not None
    if validation is not Validation.OFF:
        check_converse(body, model=model, validation=validation, is_plain=is_plain)
    if validation is Validation.LIVE:
        for why in find_model_refusals(body, model=model, stream=http.path.endswith("-stream")):
            raise Failure("bad_parameter", why)
    messages = tuple(_list_messages(body)) if plain is None else plain
    config: Body = body.get("toolConfig") or {}
    tools = tuple(_list_tools(config["tools"])) if config.get("tools") else ()
    return Call(
        dialect=NAME,
        operation="chat",
        model=model,
        http=http,
        meaning={"model": model, **_find_meaning(body, is_plain=is_plain)},
        raw=body,
        messages=messages,
        tools=tools,
        tool_choice=_read_choice(config.get("toolChoice") or {}) if tools else _NONE,
        stream=http.path.endswith("-stream"),
        ids=MESSAGE_IDS,
        tool_call_ids=TOOL_CALL_IDS,
        finishes=FINISHES,
        options=_read_options(body, messages, model),
        is_sound=len(body.get("messages") or ()) < 2,
    )


def make_converse_options(call: Call) -> ConverseOptions:
    """Return the fields of a request that its answer depends on."""
    raw = call.raw
    if type(call.messages) is PlainMessages and _SHOWN.isdisjoint(raw):
        return _SIGNED if is_claude(call.model) else _UNSIGNED
    guardrail: Body = raw.get("guardrailConfig") or {}
    named = guardrail.get("guardrailIdentifier")
    paths = raw.get("additionalModelResponseFieldPaths") or ()
    return ConverseOptions(
        thoughts=_find_thinking(raw).get("display") != "omitted",
        is_claude=is_claude(call.model),
        tells_stop=any(path in ("/delta/stop_sequence", "/stop_sequence") for path in paths),
        caches=_marks_cache(raw),
        echoed={key: raw[key] for key in ("performanceConfig", "serviceTier") if raw.get(key)},
        guardrail=Guardrail(named, str(guardrail.get("trace", "")).startswith("enabled")) if named else None,
    )


# Fields that an answer depends on, and the options without them.
_SHOWN = frozenset(
    (
        "additionalModelRequestFields",
        "additionalModelResponseFieldPaths",
        "guardrailConfig",
        "performanceConfig",
        "serviceTier",
    )
)
_SIGNED = ConverseOptions()
_UNSIGNED = ConverseOptions(is_claude=False)


def _marks_cache(body: Body) -> bool:
    """Return whether a request marks what to cache."""
    blocks: list[Body] = [*(body.get("system") or ()), *((body.get("toolConfig") or {}).get("tools") or ())]
    return any("cachePoint" in block for block in blocks) or any(
        "cachePoint" in block for message in body.get("messages") or () for block in message.get("content") or ()
    )


def _read_plain_messages(body: Body) -> PlainMessages | None:
    """Return the messages of a body without tools whose turns and instructions are single texts, none of them empty."""
    if body.get("toolConfig"):
        return None
    messages: list[Message] = []
    instructions: list[str] = []
    for block in body.get("system") or ():
        if not _is_only_text(block):
            return None
        instructions.append(block["text"])
    if instructions:
        messages.append(Message("system", "\n".join(instructions)))
    for turn in body.get("messages") or ():
        content = turn["content"]
        if len(content) != 1 or not _is_only_text(content[0]):
            return None
        messages.append(Message(turn["role"], content[0]["text"]))
    return PlainMessages(messages)


def _is_only_text(block: Body) -> bool:
    text = block.get("text")
    return type(text) is str and len(block) == 1 and bool(text)


def _list_messages(body: Body) -> Iterator[Message]:
    if system := [text for block in body.get("system") or () if (text := _find_text(block)) is not None]:
        yield Message("system", "\n".join(system))
    for message in body.get("messages") or ():
        yield from _split_turn(message["role"], message["content"])


def _split_turn(role: str, content: Sequence[Body]) -> Iterator[Message]:
    """Yield the results of a turn, each as a message, then its other content."""
    texts = list[str]()
    calls = list[ToolCall]()
    others = list[Body]()
    results = 0
    for block in content:
        match block:
            case {"toolUse": dict(made)}:
                calls.append(ToolCall(made["toolUseId"], made["name"], to_json(made["input"]).decode()))
            case {"toolResult": dict(result)}:
                results += 1
                yield _read_result(result)
            case {"reasoningContent": dict()} | {"cachePoint": dict()}:
                pass
            case _:
                if (text := _find_text(block)) is not None:
                    texts.append(text)
                else:
                    others += _list_parts(block)
    if texts or calls or others or not results:
        yield Message(role, "".join(texts), tuple(others), tool_calls=tuple(calls))


def _find_text(block: Body) -> str | None:
    """Return the text of a block; None for media and tools."""
    match block:
        case {"text": str(text)} | {"guardContent": {"text": {"text": str(text)}}}:
            return text
        case {"citationsContent": {"content": list(content)}}:
            return "".join(each.get("text") or "" for each in content)
    return None


def _read_result(result: Body) -> Message:
    texts = list[str]()
    parts = list[Body]()
    for block in result["content"]:
        if block.get("json") is not None:
            texts.append(compact(block["json"]))
        elif (text := _find_text(block)) is not None:
            texts.append(text)
        else:
            parts += _list_parts(block)
    return Message("tool", "".join(texts), tuple(parts), tool_call_id=result["toolUseId"])


def _list_parts(block: Body) -> Iterator[Body]:
    """Yield media as rules know them; other blocks with their key as type."""
    for kind, held in block.items():
        if not isinstance(held, Mapping):
            continue
        source: Body = held.get("source") or {} if isinstance(held.get("source"), Mapping) else {}
        form = held.get("format", "")
        data = source.get("bytes")
        place = (source.get("s3Location") or {}).get("uri")
        match kind:
            case "image":
                yield {"type": "image_url", "image_url": {"url": place or f"data:image/{form};base64,{data or ''}"}}
            case "audio" if data is not None:
                yield {"type": "input_audio", "input_audio": {"data": data, "format": form}}
            case "document" | "video" | "audio":
                named = {"filename": held["name"]} if held.get("name") else {}
                yield {"type": "file", "file": {**named, **_find_file(kind, form, source=source, place=place)}}
            case _:
                yield {"type": kind, **held}


def _find_file(kind: str, form: str, *, source: Body, place: str | None) -> Body:
    if place is not None:
        return {"file_url": place}
    if source.get("text") is not None or source.get("content") is not None:
        return {"text": source.get("text") or "".join(each.get("text") or "" for each in source.get("content") or ())}
    front = kind if kind != "document" else "application"
    return {"file_data": f"data:{front}/{form or 'octet-stream'};base64,{source.get('bytes') or ''}"}


def _list_tools(entries: Iterable[Body]) -> Iterator[Tool]:
    for entry in entries:
        if spec := entry.get("toolSpec"):
            schema = spec["inputSchema"].get("json") if isinstance(spec.get("inputSchema"), Mapping) else None
            parameters = schema if isinstance(schema, Mapping) and schema else {"type": "object"}
            yield Tool(spec["name"], spec.get("description") or "", parameters, strict=spec.get("strict") is True)


def _read_choice(choice: Body) -> ToolChoice:
    if (tool := choice.get("tool")) is not None:
        return ToolChoice("named", (tool["name"],))
    return _REQUIRED if choice.get("any") is not None else _AUTO


_AUTO = ToolChoice("auto")
_NONE = ToolChoice("none")
_REQUIRED = ToolChoice("required")


_ASKING = frozenset(("outputConfig", "additionalModelRequestFields"))  # fields that ask for something of an answer


def _read_options(body: Body, messages: Sequence[Message], model: str) -> Options:
    limits: Body = body.get("inferenceConfig") or {}
    prefill = messages[-1].text if messages and messages[-1].role == "assistant" else ""
    if _ASKING.isdisjoint(body) and not prefill and not limits.get("stopSequences"):
        return Options(max_tokens=limits.get("maxTokens"), lenient_schema=True)
    schema = _find_schema(body)
    return Options(
        max_tokens=limits.get("maxTokens"),
        stop=tuple(limits.get("stopSequences") or ()),
        prefill=prefill if is_claude(model) else "",
        effort=_find_effort(body),
        response_format="json_schema" if schema is not None else "text",
        schema=schema,
        lenient_schema=True,
    )


def _find_thinking(body: Body) -> Body:
    stated = (find_table(body, _EXTRA, key) for key in ("thinking", "reasoning_config", "reasoningConfig"))
    return next(filter(None, stated), {})


_EXTRA = "additionalModelRequestFields"


def _find_effort(body: Body) -> str | None:
    thinking = _find_thinking(body)
    config = body.get("outputConfig") or {}
    if thinking.get("type") in ("enabled", "adaptive"):
        stated = (
            config.get("effort"),
            find_in(body, _EXTRA, "output_config", "effort"),
            thinking.get("maxReasoningEffort"),
        )
        return next((effort for effort in stated if isinstance(effort, str)), "medium")
    effort = find_in(body, _EXTRA, "reasoning_effort")
    return effort if isinstance(effort, str) else None


def _find_schema(body: Body) -> Json:
    """Return the JSON Schema of the answer: of the output's format, which is a text, or of the fields for Claude."""
    form = (body.get("outputConfig") or {}).get("textFormat") or {}
    held = (form.get("structure") or {}).get("jsonSchema") or {}
    if isinstance(held.get("schema"), str):
        schema = try_parse(held["schema"])
        return schema if isinstance(schema, Mapping) else {"type": "object"}
    schema = find_in(body, _EXTRA, "output_config", "format", "schema")
    return schema if isinstance(schema, Mapping) else None


def _find_meaning(body: Body, *, is_plain: bool) -> dict[str, Json]:
    """Return what could change the answer: no bookkeeping, ids, signatures or marks for caching."""
    kept = find_meaning(body, NAME, "chat", _BOOKKEEPING)
    if is_plain and "guardrailConfig" not in kept:
        return kept
    ordinals: dict[str, str] = {}
    if messages := kept.get("messages"):
        kept["messages"] = [
            {**message, "content": [*_simplify(message.get("content") or (), ordinals)]} for message in messages
        ]
    if system := kept.get("system"):
        kept["system"] = [*_simplify(system, ordinals)]
    config: Body = kept.get("toolConfig") or {}
    if tools := config.get("tools"):
        specs = [{"toolSpec": _write_schema(tool["toolSpec"])} if tool.get("toolSpec") else tool for tool in tools]
        kept["toolConfig"] = {**config, "tools": [*_simplify(specs, ordinals)]}
    if guardrail := kept.get("guardrailConfig"):
        kept["guardrailConfig"] = {key: value for key, value in guardrail.items() if key not in _TRACE_KEYS}
    return kept


def _write_schema(spec: Body) -> Body:
    return {**spec, "inputSchema": write_schema(spec["inputSchema"], "json")} if spec.get("inputSchema") else spec


def _simplify(blocks: Iterable[Body], ordinals: dict[str, str]) -> Iterator[Json]:
    for block in blocks:
        match block:
            case {"cachePoint": dict()}:
                continue
            case {"toolUse": dict(held), **rest} if not rest:
                yield {"toolUse": {**held, "toolUseId": _find_ordinal(held, ordinals)}}
            case {"toolResult": dict(held), **rest} if not rest:
                yield {"toolResult": {**held, "toolUseId": _find_ordinal(held, ordinals)}}
            case {"reasoningContent": {"reasoningText": dict(held)}}:
                yield {"reasoningContent": {"reasoningText": {"text": held.get("text")}}}
            case _:
                yield block


def _find_ordinal(held: Body, ordinals: dict[str, str]) -> str:
    """Return the ordinal of an id in place of it: clients repeat ids that an answer has drawn."""
    return ordinals.setdefault(str(held.get("toolUseId")), f"#{len(ordinals)}")


_BOOKKEEPING = BOOKKEEPING | {
    "requestMetadata",
    "serviceTier",
    "performanceConfig",
    "additionalModelResponseFieldPaths",
    "projectIdentifier",
}
_TRACE_KEYS = ("trace", "streamProcessingMode")
