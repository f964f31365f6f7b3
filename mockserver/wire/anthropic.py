"""Anthropic's Messages: an Answer as one message, or as the events of a stream, from the same blocks."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Item, Part, Reasoning, Refusal, Text, ToolUse, Usage, find_tokens
from mockserver.core.seed import Seed
from mockserver.wire.parts import (
    has_object,
    join_spoken,
    list_pieces,
    list_spoken_pieces,
    read_arguments,
    wrap_arguments,
)
from mockserver.wire.renderer import Outline, Renderer
from mockserver.wire.thinking import Prefix, sign

Body = Mapping[str, Json]


class MessageOptions(Struct, frozen=True):
    """What the request contributes to the message."""

    thinking: bool = True  # whether the text of thoughts is shown
    usage: Body = {}  # keys of the usage that repeat the request
    extra: Body = {}  # keys of the message that were asked for
    toolset: str = ""  # the toolset of calls to other tools than `tools`
    tools: frozenset[str] = frozenset()
    prefix: Callable[[], Prefix] | None = None  # the conversation before the answer, if thoughts are bound to it


class ContentBlock(Struct, frozen=True):
    """A content block as it is in the end, and the part whose text streams; None for one that comes whole."""

    body: Body
    part: Part | None = None


class MessageRenderer(Renderer[MessageOptions]):
    """Renders messages."""

    def render_body(self, answer: Answer, options: MessageOptions) -> dict[str, Json]:
        content = [block.body for block in list_blocks(answer, options)]
        return {
            **_make_head(answer, content),
            **_make_ending(answer),
            "usage": make_usage(answer, options.usage),
            **options.extra,
        }

    def render_frames(self, answer: Answer, options: MessageOptions) -> Iterator[Frame]:
        counted = answer.usage
        extra = dict(options.usage)
        done = {key: extra.pop(key) for key in ("iterations",) if key in extra}  # is known at the end only
        used = _write_usage(counted, min(1, counted.completion), details={}, extra=extra)
        started = {**_make_head(answer, []), "stop_reason": None, "stop_sequence": None, "stop_details": None}
        yield _make_event("message_start", {"message": {**started, "usage": used, **options.extra}}, "open")
        for index, block in enumerate(list_blocks(answer, options)):
            yield from _list_block_events(index, block, answer)
        ended = {**_make_ending(answer), **{key: value for key, value in options.extra.items() if key == "container"}}
        total = {**_count_input(counted), "output_tokens": counted.completion}
        total |= {**_make_output_details(counted, answer.choices[0].parts), **done}
        yield _make_event("message_delta", {"delta": ended, "usage": total}, "finish")
        yield Frame(b'{"type":"message_stop"}', "message_stop", part="end")

    def outline(self, answer: Answer, options: MessageOptions) -> Outline | None:
        if options.usage or options.extra or options.toolset:
            return None
        inputs = [
            to_json(read_arguments(part.call.arguments)) for part in answer.choices[0].parts if type(part) is ToolUse
        ]
        return Outline((options.thinking,), tuple(inputs))


def _make_head(answer: Answer, content: list[Body]) -> dict[str, Json]:
    return {"model": answer.model, "id": answer.id, "type": "message", "role": "assistant", "content": content}


def _make_ending(answer: Answer) -> dict[str, Json]:
    choice = answer.choices[0]
    reason = find_stop_reason(choice)
    return {
        "stop_reason": reason,
        "stop_sequence": choice.stop or None,
        "stop_details": _describe_refusal(choice) if reason == "refusal" else None,
    }


def find_stop_reason(choice: Choice) -> str:
    """Return the `stop_reason` of a message (https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons)."""
    if choice.finish == "stop":
        refused = any(isinstance(part, Refusal) for part in choice.parts)
        return "refusal" if refused else "stop_sequence" if choice.stop else "end_turn"
    return _REASONS.get(choice.finish, choice.finish)


def _describe_refusal(choice: Choice) -> Body:
    words = "".join(part.text for part in choice.parts if isinstance(part, Refusal))
    category = "general_harms" if any(verdict.filtered for verdict in choice.safety) else None
    return {"type": "refusal", "category": category, "explanation": words or None}


_REASONS = {
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "error": "end_turn",
}


def make_usage(answer: Answer, extra: Body) -> dict[str, Json]:
    """Return the `usage` of a whole message, with these `extra` keys."""
    details = _make_output_details(answer.usage, answer.choices[0].parts)
    return _write_usage(answer.usage, answer.usage.completion, details=details, extra=extra)


def _write_usage(counted: Usage, output: int, *, details: Body, extra: Body) -> dict[str, Json]:
    return {
        **_count_input(counted),
        "cache_creation": {"ephemeral_5m_input_tokens": counted.cache_write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        **details,
        "service_tier": "standard",
        "inference_geo": "not_available",
        **extra,
    }


def _count_input(counted: Usage) -> dict[str, Json]:
    return {
        "input_tokens": max(counted.prompt - counted.cached - counted.cache_write, 0),
        "cache_creation_input_tokens": counted.cache_write,
        "cache_read_input_tokens": counted.cached,
    }


def _make_output_details(counted: Usage, parts: Iterable[Part]) -> dict[str, Json]:
    kinds = [part.kind for part in parts if isinstance(part, Item)]
    searches = kinds.count("web_search_call")
    fetches = kinds.count("web_fetch_tool_result")
    searches += kinds.count("web_search_tool_result")
    asked = {"web_search_requests": searches, "web_fetch_requests": fetches}
    thought = {"output_tokens_details": {"thinking_tokens": counted.reasoning}} if counted.reasoning else {}
    return {**thought, **({"server_tool_use": asked} if searches or fetches else {})}


def list_blocks(answer: Answer, options: MessageOptions) -> Iterator[ContentBlock]:
    """Yield the blocks of an answer; the signature of each thought is bound to all that stands before it."""
    thinks = any(isinstance(part, Reasoning) for part in answer.choices[0].parts)
    prefix = options.prefix() if thinks and options.prefix is not None else None
    thoughts = 0
    for block in _make_blocks(answer, options):
        if isinstance(block.part, Reasoning):
            block = replace(block, body={**block.body, "signature": sign(block.part.text, thoughts, prefix)})
            thoughts += 1
        if prefix is not None:
            prefix.add("assistant", block.body)
        yield block


def _make_blocks(answer: Answer, options: MessageOptions) -> Iterator[ContentBlock]:
    last = ""  # the id of the provider's tool call that a result belongs to
    for at, part in enumerate(answer.choices[0].parts):
        match part:
            case Text() | Refusal():
                if part.text or isinstance(part.chunks, tuple):
                    notes = part.annotations if isinstance(part, Text) else ()
                    citations = [citation for note in notes for citation in _make_citations(note, part.text)]
                    cited = {"citations": citations} if citations else {}
                    yield ContentBlock({**cited, "type": "text", "text": part.text}, part)
            case Reasoning():
                text = part.text if options.thinking else ""
                yield ContentBlock({"type": "thinking", "thinking": text, "signature": ""}, part)
            case ToolUse(call):
                if not has_object(part):
                    part = wrap_arguments(part)
                    call = part.call
                used = {"id": call.id, "name": call.name, "input": read_arguments(call.arguments), "caller": _DIRECT}
                if options.toolset and call.name not in options.tools:
                    used["toolset_name"] = options.toolset
                yield ContentBlock({"type": "tool_use", **used}, part)
            case Item():
                for body in _make_hosted_blocks(part, partial(_make_hosted_id, answer.id, str(at)), last):
                    last = body.get("id", last)
                    yield ContentBlock(body, part if body["type"].endswith("tool_use") else None)


def _make_citations(note: Body, text: str) -> Iterator[Body]:
    """Yield a rule's annotation as a citation: Anthropic's own, or a chat's of a URL. Others are not sent."""
    kind = str(note.get("type"))
    if kind.endswith("_location"):
        yield note
    if kind != "url_citation":
        return
    inner = note.get("url_citation")
    cited = inner if isinstance(inner, Mapping) else note
    start, end = (at if isinstance(at := cited.get(key), int) else None for key in ("start_index", "end_index"))
    url = cited.get("url") or ""
    title = cited.get("title")
    sealed = _seal_text(f"{url}{title}")
    yield {
        "type": "web_search_result_location",
        "cited_text": text[start:end],
        "url": url,
        "title": title,
        "encrypted_index": sealed,
    }


def _make_hosted_blocks(item: Item, name: Callable[[str], str], last: str) -> Iterator[Body]:
    """Yield the call and the result of a provider's tool; of other providers' tools, those that Anthropic has."""
    body = item.body
    match item.kind:
        case "web_search_call":
            action = body["action"]
            made = name("srvtoolu_01")
            found = [_make_search_result(source["url"]) for source in action.get("sources", ())]
            asked = {"query": action.get("query", "")}
            yield {"type": "server_tool_use", "id": made, "name": "web_search", "input": asked, "caller": _DIRECT}
            yield {"type": "web_search_tool_result", "tool_use_id": made, "content": found, "caller": _DIRECT}
        case "code_interpreter_call":
            made = name("srvtoolu_01")
            outputs = body.get("outputs") or ()
            printed = "".join(output.get("logs", "") for output in outputs)
            ran = {"type": "code_execution_result", "stdout": printed, "stderr": "", "return_code": 0, "content": []}
            asked = {"code": body["code"]}
            yield {"type": "server_tool_use", "id": made, "name": "code_execution", "input": asked, "caller": _DIRECT}
            yield {"type": "code_execution_tool_result", "tool_use_id": made, "content": ran}
        case "mcp_call":
            made = name("mcptoolu_01")
            asked = read_arguments(body["arguments"])
            server = body["server_label"]
            failed = body.get("error") is not None
            text = _explain_mcp_error(body["error"]) if failed else str(body.get("output") or "")
            content = [{"type": "text", "text": text, "citations": None}]
            yield {"type": "mcp_tool_use", "id": made, "name": body["name"], "server_name": server, "input": asked}
            yield {"type": "mcp_tool_result", "tool_use_id": made, "is_error": failed, "content": content}
        case "server_tool_use" | "mcp_tool_use":
            made = name("srvtoolu_01" if item.kind == "server_tool_use" else "mcptoolu_01")
            called = {"caller": _DIRECT} if item.kind == "server_tool_use" else {}
            yield {"type": item.kind, "id": made, "input": {}, **body, **called}
        case kind if kind.endswith("_tool_result"):
            called = {"caller": _DIRECT} if kind.startswith("web_") else {}
            yield {"type": kind, "tool_use_id": last, **body, **called}
        case "redacted_thinking" | "container_upload" | "compaction" as kind:
            yield {"type": kind, **body}


def _explain_mcp_error(error: Json) -> str:
    """Return the text of an error that OpenAI's API would have as an object."""
    content = error.get("content") if isinstance(error, Mapping) else None
    if isinstance(content, list):
        return "\n".join(str(block.get("text")) for block in content if isinstance(block, Mapping) and "text" in block)
    return str(error.get("message") if isinstance(error, Mapping) else error)


class PreparedMessage(NamedTuple):
    """An answer as a message shows it, and the options of that message."""

    answer: Answer
    options: MessageOptions


def compact_answer(answer: Answer, options: MessageOptions) -> PreparedMessage:
    """Return the text of an answer as a block that sums up the conversation.

    The usage of such a message is zero; its options tell the tokens of the answer among the `iterations`.
    """
    text = "".join(part.text for part in answer.choices[0].parts if isinstance(part, Text))
    block = Item("compaction", {"content": text, "encrypted_content": _seal_text(text)})
    cost = {"type": "compaction", **_count_input(answer.usage), "output_tokens": answer.usage.completion}
    silent = replace(answer, choices=(Choice((block,), "compaction"),), usage=Usage())
    return PreparedMessage(silent, replace(options, usage={**options.usage, "iterations": [cost]}))


def _make_search_result(url: str) -> Body:
    title = url.removeprefix("https://").removeprefix("http://")
    sealed = _seal_text(url)
    return {"type": "web_search_result", "title": title, "url": url, "encrypted_content": sealed, "page_age": None}


def _make_hosted_id(answer: str, at: str, prefix: str) -> str:
    return prefix + Seed().draw_base58(22, "server tool", answer, at)


def _seal_text(text: str) -> str:
    """Return a text that nobody can read; equal texts give equal ones."""
    return b64encode(Seed().digest("sealed", text, size=48)).decode()


_DIRECT: Body = {"type": "direct"}
PING = Frame(b'{"type": "ping"}', "ping", part="open")


def make_completion(answer: Answer) -> dict[str, Json]:
    """Return an answer of the API before messages: one text."""
    return _write_completion(answer, join_spoken(answer.choices[0]), answer.choices[0])


def _write_completion(answer: Answer, text: str, ended: Choice | None = None) -> dict[str, Json]:
    body = {"type": "completion", "id": answer.id, "completion": text, "stop_reason": None, "model": answer.model}
    if ended is None:
        return body
    cut = ended.finish == "length"
    return {
        **body,
        "stop_reason": "max_tokens" if cut else "stop_sequence",
        **({} if cut else {"stop": ended.stop or _TURN}),
    }


def stream_completion(answer: Answer) -> Iterator[Frame]:
    """Yield the events of an answer of the API before messages."""
    for piece, weight in list_spoken_pieces(answer.choices[0], answer.tokenizer):
        yield Frame(to_json(_write_completion(answer, piece)), "completion", weight)
    yield Frame(to_json(_write_completion(answer, "", answer.choices[0])), "completion", part="finish")


_TURN = "\n\nHuman:"


def _make_event(event: str, body: Body, part: str, tokens: int = 0) -> Frame:
    return Frame(to_json({"type": event, **body}), event, tokens, part)


def _list_block_events(index: int, block: ContentBlock, answer: Answer) -> Iterator[Frame]:
    body = block.body
    part = "arguments" if isinstance(block.part, ToolUse) else "text"
    deltas = None if block.part is None else _DELTAS.get(body["type"])
    if body["type"] == "compaction":
        started: Body = {**body, "content": None, "encrypted_content": None}
        deltas = _write_compaction_deltas
    else:
        started = body if deltas is None else {key: _EMPTY.get(key, value) for key, value in body.items()}
    yield _make_event("content_block_start", {"index": index, "content_block": started}, part)
    if not index:
        yield PING
    for delta, weight in deltas(block, answer) if deltas else ():
        data = b'{"type":"content_block_delta","index":%d,"delta":%b}' % (index, delta)
        yield Frame(data, "content_block_delta", weight, part)
    yield _make_event("content_block_stop", {"index": index}, part)


Deltas = Iterator[tuple[bytes, int]]  # the JSON of a delta, and its weight in tokens


def _write_delta(kind: bytes, key: bytes, value: Json) -> bytes:
    return b'{"type":"%b","%b":%b}' % (kind, key, to_json(value))


def _write_text_deltas(block: ContentBlock, answer: Answer) -> Deltas:
    for citation in block.body.get("citations", ()):
        yield _write_delta(b"citations_delta", b"citation", citation), 0
    for piece, weight in _list_pieces(block, answer):
        yield _write_delta(b"text_delta", b"text", piece), weight


def _write_thinking_deltas(block: ContentBlock, answer: Answer) -> Deltas:
    shown = 0
    for piece, weight in _list_pieces(block, answer) if block.body["thinking"] else ():
        shown += weight
        yield _write_delta(b"thinking_delta", b"thinking", piece), weight
    assert block.part is not None  # thoughts are parts
    hidden = len(find_tokens(block.part, answer.tokenizer)) - shown
    yield _write_delta(b"signature_delta", b"signature", block.body["signature"]), hidden


def _write_input_deltas(block: ContentBlock, answer: Answer) -> Deltas:
    if not isinstance(block.part, ToolUse):
        yield _NO_INPUT, 0
        ((text, _),) = _space_out([(to_json(block.body["input"]).decode(), 0)])
        yield _write_delta(b"input_json_delta", b"partial_json", text), 0
        return
    pieces = list(_list_pieces(block, answer))
    as_stated = isinstance(block.part.chunks, tuple)
    if not as_stated and block.part.call.arguments.strip() in ("{}", ""):
        yield _NO_INPUT, sum(weight for _, weight in pieces)
        return
    yield _NO_INPUT, 0
    for piece, weight in pieces if as_stated else _space_out(pieces):
        yield _write_delta(b"input_json_delta", b"partial_json", piece), weight


def _space_out(pieces: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Yield the pieces of a JSON text, with a space after each colon and comma, as Anthropic streams it."""
    text = "".join(piece for piece, _ in pieces)
    at = 0
    spaced = {found.end() for found in _SEPARATOR.finditer(text) if found[0] in ":,"}
    for piece, weight in pieces:
        if not spaced.isdisjoint(range(at, at + len(piece))):
            yield "".join(f" {letter}" if place in spaced else letter for place, letter in enumerate(piece, at)), weight
        else:
            yield piece, weight
        at += len(piece)


_SEPARATOR = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[:,](?=\S)', re.DOTALL)  # or a string, for its own colons
_NO_INPUT = _write_delta(b"input_json_delta", b"partial_json", "")


def _write_compaction_deltas(block: ContentBlock, answer: Answer) -> Deltas:
    sealed = {key: block.body.get(key) for key in ("content", "encrypted_content")}
    yield to_json({"type": "compaction_delta", **sealed}), 0


def _list_pieces(block: ContentBlock, answer: Answer) -> Iterable[tuple[str, int]]:
    assert block.part is not None  # only such blocks have deltas
    return list_pieces(block.part, answer.tokenizer)


_EMPTY: Body = {"text": "", "thinking": "", "signature": "", "input": {}, "citations": []}
_DELTAS: Mapping[str, Callable[[ContentBlock, Answer], Deltas]] = {
    "text": _write_text_deltas,
    "thinking": _write_thinking_deltas,
    "tool_use": _write_input_deltas,
    "server_tool_use": _write_input_deltas,
    "mcp_tool_use": _write_input_deltas,
}
