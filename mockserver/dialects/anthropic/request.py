"""From a Messages request to a Call: the conversation, the tools, and the requirements for the answer.

A `system` prompt is the first message, and each tool result is a separate message, as in chats. Thinking is not part of
the text.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape, Message, Options, PlainMessages, ToolCall, ToolChoice
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.tokens import APPROX, read_image_size
from mockserver.core.validation import Validation
from mockserver.dialects._fields import BodyModel
from mockserver.dialects._meaning import BOOKKEEPING, find_meaning
from mockserver.dialects._openai_api.chat import write_schema
from mockserver.dialects._parse import Body, clip, read_object, read_plain_messages, read_usual
from mockserver.dialects.anthropic.bodies import MESSAGES, NAME, find_new_places, read_as_anthropic
from mockserver.dialects.anthropic.conflicts import (
    CONFLICTING,
    NO_MESSAGES,
    VERSIONS,
    find_conflicts,
    find_live_conflicts,
    find_output_format,
    find_prefill,
)
from mockserver.dialects.anthropic.errors import refuse
from mockserver.dialects.anthropic.tools import list_connectors, make_usable_schema, read_tool_choice, read_tools

Citable = Mapping[int, Mapping[str, Sequence[Body]]]  # by the identity of a block: its `citable` places
INTERLEAVED_THINKING_BETA = "interleaved-thinking-2025-05-14"
FILES_BETA = "files-api-2025-04-14"
FINISHES = frozenset(
    (
        "end_turn", "stop_sequence", "pause_turn", "compaction", "max_tokens", "model_context_window_exceeded",
        "tool_use", "refusal",
    )
)  # fmt: skip
MESSAGE_IDS = IdShape("msg_01", 22, "base58")
TOOL_CALL_IDS = IdShape("toolu_01", 22, "base58")


def parse_messages(http: HttpRequest, validation: Validation, model: BodyModel = MESSAGES) -> Call:
    """Return the Call of a request for a message, or for the count of its tokens. Raises Failure."""
    usual = read_usual(model.typed, http) if validation is Validation.PUBLISHED else None
    if usual is None:
        return make_call(http, read_object(http), validation=validation, model=model)
    return make_usual_call(http, usual)


def make_usual_call(http: HttpRequest, body: Body) -> Call:
    """Return the Call of a body whose fields are certainly valid. Raises Failure if they contradict each other."""
    plain = read_plain_messages(body["messages"])
    version = read_version(http, validation=Validation.PUBLISHED)
    if plain is None or version != VERSIONS[0] or not CONFLICTING.isdisjoint(body) or type(body.get("system")) is list:
        _refuse_conflicts(body, version, list_betas(http))
    return _make_call(http, body, plain, validation=Validation.PUBLISHED)


def make_call(http: HttpRequest, body: Body, *, validation: Validation, model: BodyModel = MESSAGES) -> Call:
    """Return the Call of a body that `model` accepts. Raises Failure as Anthropic refuses it."""
    version = read_version(http, validation=validation)
    betas = list_betas(http)
    unknown = [beta for beta in betas if beta not in KNOWN_BETAS]
    read = read_as_anthropic(model, body, validation=validation, tolerant=bool(unknown))
    if validation is Validation.OFF and not read["messages"]:
        raise refuse(NO_MESSAGES)
    if validation is not Validation.OFF:
        _refuse_conflicts(read, version, betas)
    for message in find_live_conflicts(read) if validation is Validation.LIVE else ():
        raise refuse(message)
    call = _make_call(http, read, read_plain_messages(read["messages"]), validation=validation)
    if not (places := find_new_places(model, body) if unknown and validation is not Validation.OFF else ()):
        return call
    remark = _UNKNOWN.format(names=clip(", ".join(unknown)), places=clip(", ".join(places), 400))
    return replace(call, remarks=(remark,))


def _refuse_conflicts(body: Body, version: str, betas: Sequence[str]) -> None:
    for message in find_conflicts(body, version, interleaved=INTERLEAVED_THINKING_BETA in betas):
        raise refuse(message)


def read_version(http: HttpRequest, *, validation: Validation) -> str:
    """Return the version of the API that a header names, else the first one.

    Raises Failure if the live service would refuse the header.
    """
    stated = http.header_values.get(b"anthropic-version")
    if stated is None:
        if validation is Validation.LIVE:
            raise refuse("anthropic-version: header is required")
        return VERSIONS[0]
    version = stated.decode("latin-1")
    if validation is Validation.LIVE and version not in VERSIONS:
        raise refuse(f'anthropic-version: "{clip(version)}" is not a valid version')
    return version


def _make_call(http: HttpRequest, body: Body, plain: PlainMessages | None, *, validation: Validation) -> Call:
    """Return the Call of a body; `plain` are its messages if they are only texts."""
    system = body.get("system")
    instructions = (_read_system(system),) if system else ()
    conversation = _read_conversation(body["messages"])
    messages = (*instructions, *conversation) if plain is None else PlainMessages((*instructions, *plain))
    choice = body.get("tool_choice")
    tools = tuple(read_tools(body["tools"])) if body.get("tools") else ()
    return Call(
        dialect=NAME,
        operation="chat",
        model=body["model"],
        http=http,
        meaning=_reduce_to_meaning(body, is_plain=plain is not None),
        raw=body,
        messages=messages,
        tools=tools,
        connectors=tuple(list_connectors(body)) if body.get("mcp_servers") else (),
        tool_choice=read_tool_choice(choice) if choice else _AUTO if tools or body.get("mcp_servers") else _NONE,
        stream=body.get("stream") is True,
        ids=MESSAGE_IDS,
        tool_call_ids=TOOL_CALL_IDS,
        finishes=FINISHES,
        part_tokens=count_part_tokens,
        previous_response_id=(body.get("thread") or {}).get("previous_message_id"),
        options=_read_options(body, validation),
        is_sound=plain is not None,
    )


def _read_options(body: Body, validation: Validation) -> Options:
    lenient = validation is not Validation.LIVE
    most = body.get("max_tokens")
    if _ASKING.isdisjoint(body) and body["messages"][-1]["role"] != "assistant":
        return Options(max_tokens=most, lenient_schema=lenient)
    form = find_output_format(body)
    stops = body.get("stop_sequences")
    return Options(
        parallel_tool_calls=not (body.get("tool_choice") or {}).get("disable_parallel_tool_use"),
        max_tokens=most,
        stop=tuple(stops or ()),
        prefill=find_prefill(body["messages"]),
        effort=_find_effort(body),
        response_format="json_schema" if form else "text",
        schema=make_usable_schema(form["schema"]) if form else None,
        lenient_schema=lenient,
        store=bool(body.get("thread")),
    )


def _find_effort(body: Body) -> str | None:
    """Return the latest effort: that of the request, or of the turns since a system message."""
    kind = (body.get("thinking") or {}).get("type", "disabled")
    asked = (each.get("output_config") or {} for each in (*reversed(body["messages"]), body))
    return None if kind == "disabled" else next((each["effort"] for each in asked if each.get("effort")), "medium")


def _read_system(system: str | list[Body]) -> Message:
    return Message("system", system if isinstance(system, str) else "\n".join(block["text"] for block in system))


def _read_conversation(messages: Sequence[Body]) -> Iterator[Message]:
    citable = _find_citable_places(messages)
    for message in messages:
        yield from _read_messages(message, citable)


def _read_messages(message: Body, citable: Citable) -> Iterator[Message]:
    """Yield the results of a turn, each as a message, then its other content; texts added in tags come first."""
    role = message["role"]
    content = message.get("content")
    if content is None:  # a system message that only configures
        return
    if isinstance(content, str):
        yield Message(role, content)
        return
    results: list[Message] = []
    texts: list[str] = []
    calls: list[ToolCall] = []
    others: list[Body] = []
    for block in content:
        match block["type"]:
            case "text":
                texts.append(block["text"])
            case "tool_use":
                calls.append(ToolCall(block["id"], block["name"], to_json(block["input"]).decode()))
            case "tool_result":
                text, parts = _read_content(block.get("content") or "", citable)
                results.append(Message("tool", text, parts, tool_call_id=block["tool_use_id"]))
            case "thinking" | "redacted_thinking":
                pass
            case _:
                others.append(_read_part(block, citable))
    for at, result in enumerate(results):
        if _LOADED in map(str.strip, texts) and any(part["type"] == "tool_reference" for part in result.parts):
            results[at] = replace(result, text=result.text + _LOADED)
            texts = [text for text in texts if text.strip() != _LOADED]
    speaks = texts or calls or others or not content
    own = [Message(role, "".join(texts), tuple(others), tool_calls=tuple(calls))] if speaks else []
    added = results and texts and not others and all(map(_is_added, texts))
    yield from (*own, *results) if added else (*results, *own)


def _is_added(text: str) -> bool:
    """Return whether a text was added by a client: `<system-reminder>…</system-reminder>`."""
    found = _ADDED.match(text)
    return found is not None and text.rstrip().endswith(f"</{found['tag']}>")


def _read_content(content: str | list[Body], citable: Citable) -> tuple[str, tuple[Body, ...]]:
    if isinstance(content, str):
        return content, ()
    texts = (block["text"] for block in content if block["type"] == "text")
    return "".join(texts), tuple(_read_part(block, citable) for block in content if block["type"] != "text")


def _read_part(block: Body, citable: Citable) -> Body:
    """Return an image or a document as chats have it; other blocks unchanged."""
    match block:
        case {"type": "image", "source": source}:
            place = {"url": _make_data_url(source)} if source["type"] == "base64" else source
            return {"type": "image_url", "image_url": {key: place[key] for key in ("url", "file_id") if key in place}}
        case {"type": "document", "source": source}:
            named = {"filename": block["title"]} if block.get("title") else {}
            return {"type": "file", "file": {**named, **_make_file(source), **citable.get(id(block), {})}}
        case {"type": "search_result", "content": content}:
            text = "".join(inner["text"] for inner in content)
            return {"type": "file", "file": {"filename": block["title"], "text": text, **citable.get(id(block), {})}}
    return block


def _make_data_url(source: Body) -> str:
    return f"data:{source['media_type']};base64,{source['data']}"


def _make_file(source: Body) -> Body:
    match source["type"]:
        case "base64":
            return {"file_data": _make_data_url(source)}
        case "url":
            return {"file_url": source["url"]}
        case "file":
            return {"file_id": source["file_id"]}
    return {"text": "".join(_read_source_texts(source))}


def count_part_tokens(part: Body) -> int:
    """Return about width times height / 750 for an image, a text's tokens, or those of a page for anything else."""
    image = part.get("image_url")
    file = part.get("file")
    if isinstance(image, Mapping):
        width, height = read_image_size(str(image.get("url"))) or _USUAL_IMAGE
        return max(1, min(width * height // 750, _LARGEST_IMAGE))
    if isinstance(file, Mapping):
        return APPROX.count(file["text"]) if "text" in file else _PDF
    return APPROX.count(json.dumps(part, ensure_ascii=False))


def _reduce_to_meaning(body: Body, *, is_plain: bool) -> dict[str, Json]:
    """Return what could change the answer: no transport, bookkeeping, ids or caching; schemas as text, in their order.

    `is_plain`: the messages are only texts.
    """
    kept = find_meaning(body, NAME, operation="chat", bookkeeping=_BOOKKEEPING)
    ordinals: dict[str, str] = {}
    if not is_plain:
        kept["messages"] = [
            {**message, "content": _simplify_content(content, ordinals)}
            if isinstance(content := message.get("content"), list)
            else message
            for message in body["messages"]
        ]
    if type(kept.get("system")) is list:
        kept["system"] = _simplify_content(kept["system"], ordinals)
    if tools := kept.get("tools"):
        plain_tools = [{key: value for key, value in tool.items() if key not in _MEANINGLESS} for tool in tools]
        kept["tools"] = [write_schema(tool, "input_schema") for tool in plain_tools]
    if kept.get("output_format"):
        kept["output_format"] = write_schema(kept["output_format"], "schema")
    if (config := kept.get("output_config")) and config.get("format"):
        kept["output_config"] = {**config, "format": write_schema(config["format"], "schema")}
    return kept


def _simplify_content(content: Json, ordinals: dict[str, str]) -> Json:
    """Return the content with ordinals for ids, and without fields that cannot change an answer."""
    if not isinstance(content, list):
        return content
    return [_simplify_block(block, ordinals) if isinstance(block, dict) else block for block in content]


def _simplify_block(block: Body, ordinals: dict[str, str]) -> dict[str, Json]:
    plain: dict[str, Json] = {}
    for key, value in block.items():
        if key == "content":
            plain[key] = _simplify_content(value, ordinals)
        elif key in ("id", "tool_use_id") and isinstance(value, str):
            plain[key] = ordinals.setdefault(value, f"#{len(ordinals)}")
        elif key not in _MEANINGLESS:
            plain[key] = value
    return plain


_UNKNOWN = "anthropic-beta names {names}, which this server does not know; unknown fields were accepted: {places}"
_LOADED = "Tool loaded."  # the text that a client adds when it has found a tool
_ADDED = re.compile(r"\s*<(?P<tag>system[-_][a-z]+|environment[-_][a-z]+|env)>")
_MEANINGLESS = ("cache_control", "signature")
_AUTO = ToolChoice("auto")
_NONE = ToolChoice("none")
_ASKING = frozenset(  # fields that make options unusual
    ("tool_choice", "stop_sequences", "thinking", "output_config", "output_format", "thread")
)
_USUAL_IMAGE = (1024, 1024)  # pixels
_LARGEST_IMAGE = 1600  # tokens
_PDF = 1500  # tokens
_BOOKKEEPING = BOOKKEEPING | {
    "speed", "inference_geo", "cache_control", "diagnostics", "container", "thread",
    "fallbacks", "fallback_credit_token", "billing_policy", "user_profile_id", "context_management",
    "safeguards",
}  # fmt: skip


# Where the documents of a request can be cited: each place has the keys of the citation that names it.


def _find_citable_places(messages: Iterable[Body]) -> Citable:
    """Return the places in blocks with citations enabled, counting documents and search results separately."""
    found: dict[int, Mapping[str, Sequence[Body]]] = {}
    counts = {"document": 0, "search_result": 0}
    for block in _list_sources(messages):
        if (block.get("citations") or {}).get("enabled"):
            places = _PLACES[block["type"]](block, counts[block["type"]])
            found[id(block)] = {"citable": tuple(places)}
        counts[block["type"]] += 1
    return found


def _list_sources(messages: Iterable[Body]) -> Iterator[Body]:
    for message in messages:
        for block in content if isinstance(content := message.get("content"), list) else ():
            inner = block.get("content") if block["type"] == "tool_result" else None
            for each in (block, *(inner if isinstance(inner, list) else ())):
                if each["type"] in _PLACES:
                    yield each


def _cite_document(block: Body, index: int) -> Iterator[Body]:
    source = block["source"]
    named = {"document_index": index, "document_title": block.get("title")}
    if source["type"] == "content":
        for at, text in enumerate(_read_source_texts(source)):
            span = {"start_block_index": at, "end_block_index": at + 1, "file_id": None}
            yield {"type": "content_block_location", "cited_text": text, **named, **span}
        return
    for found in _SENTENCE.finditer("".join(_read_source_texts(source))):
        span = {"start_char_index": found.start(), "end_char_index": found.end(), "file_id": None}
        yield {"type": "char_location", "cited_text": found[0], **named, **span}


def _cite_search_result(block: Body, index: int) -> Iterator[Body]:
    named = {"source": block["source"], "title": block["title"], "search_result_index": index}
    for at, content in enumerate(block["content"]):
        span = {"start_block_index": at, "end_block_index": at + 1}
        yield {"type": "search_result_location", "cited_text": content["text"], **named, **span}


def _read_source_texts(source: Body) -> list[str]:
    """Return the texts of a document, one for each of its blocks; none if only its bytes are known."""
    match source:
        case {"type": "text", "data": text} | {"type": "content", "content": str(text)}:
            return [text]
        case {"type": "content", "content": blocks}:
            return [block["text"] if block["type"] == "text" else "" for block in blocks]
    return []


_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]{0,2000}[.!?]*")
_PLACES: Mapping[str, Callable[[Body, int], Iterator[Body]]] = {
    "document": _cite_document,
    "search_result": _cite_search_result,
}


def list_betas(http: HttpRequest) -> tuple[str, ...]:
    """Return the names in all headers of that name."""
    if b"anthropic-beta" not in http.header_values:
        return ()
    values = [value.decode("latin-1") for name, value in http.headers if name == b"anthropic-beta"]
    return tuple([beta for value in values for named in value.split(",") if (beta := named.strip())])


# Those that the official client names, whose types say which fields they bring.
KNOWN_BETAS = frozenset(
    (
        "admin-user-sign-out-2026-10-08",
        "advisor-tool-2026-03-01",
        "agent-memory-2026-07-22",
        "analytics-usage-cost-2026-08-24",
        "cache-diagnosis-2026-04-07",
        "ce-claude-code-managed-settings-2026-10-06",
        "ce-plugins-2026-09-01",
        "ce-user-management-2026-07-13",
        "code-execution-2025-05-22",
        "compact-2026-01-12",
        "compact-2026-09-04",
        "computer-use-2024-10-22",
        "computer-use-2025-01-24",
        "computer-use-2025-11-24",
        "context-1m-2025-08-07",
        "context-management-2025-06-27",
        "dev-full-thinking-2025-05-14",
        "dreaming-2026-04-21",
        "efs-2026-10-01",
        "experimental-claude-tag-2026-10-21",
        "extended-cache-ttl-2025-04-11",
        "fallback-credit-2026-06-01",
        "fallback-credit-2026-07-01",
        "fast-mode-2026-02-01",
        FILES_BETA,
        "google-managed-data-controls-2026-09-01",
        "inline-tools-2026-09-15",
        INTERLEAVED_THINKING_BETA,
        "managed-agents-2026-04-01",
        "mcp-client-2025-04-04",
        "mcp-client-2025-11-20",
        "mcp-client-2026-09-15",
        "mcp-tunnels-2026-06-22",
        "message-batches-2024-09-24",
        "message-threads-2026-08-12",
        "mid-conversation-output-config-2026-07-01",
        "mid-conversation-system-clear-at-2026-08-21",
        "mid-conversation-tool-changes-2026-07-01",
        "model-context-window-exceeded-2025-08-26",
        "output-128k-2025-02-19",
        "output-300k-2026-03-24",
        "pdfs-2024-09-25",
        "prompt-caching-2024-07-31",
        "server-side-fallback-2026-06-01",
        "server-side-fallback-2026-07-01",
        "skills-2025-10-02",
        "spend-limit-reads-2026-09-26",
        "structured-outputs-2025-11-13",
        "task-budgets-2026-03-13",
        "telemetry-destinations-2026-08-11",
        "thinking-binding-controls-2026-08-01",
        "thinking-display-updates-2026-08-18",
        "thinking-token-count-2026-05-13",
        "token-counting-2024-11-01",
        "token-efficient-tools-2025-02-19",
        "user-profiles-2026-03-24",
        "user-profiles-2026-08-18",
        "user-profiles-2026-09-04",
        "user-profiles-billing-2026-10-01",
        "webhooks-2026-10-07",
    )
)
