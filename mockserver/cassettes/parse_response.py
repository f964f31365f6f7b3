"""What a recorded answer says: its choices, usage and error, from a body or a stream, in any wire format."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.episode import Recorded, RecordedEvent
from mockserver.core.event_stream import is_prelude
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.plan import Usage
from mockserver.core.sent_body import split_frames

Table = Mapping[str, Json]

DONE = "[DONE]"
FINAL = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class ParsedToolCall(Struct, frozen=True):
    """A call of a tool; `text` is its arguments, or the input of a custom tool."""

    name: str
    text: str
    custom: bool = False
    namespace: str = ""


class ParsedPart(Struct, frozen=True):
    """A part of a choice: with a text, a call or, of a provider's own tools, an item."""

    kind: str  # reasoning | text | refusal | call | item
    text: str = ""
    call: ParsedToolCall | None = None
    item: Table | None = None


class ParsedChoice(Struct, frozen=True):
    """One choice: its parts in wire order, and why it ended, in the words of chat completions."""

    parts: tuple[ParsedPart, ...] = ()
    finish: str = ""
    annotations: tuple[Table, ...] = ()
    filters: Table | None = None

    def join_texts(self, kind: str) -> str:
        return "".join(part.text for part in self.parts if part.kind == kind)

    @property
    def calls(self) -> tuple[ParsedToolCall, ...]:
        return tuple(part.call for part in self.parts if part.call is not None)


class ParsedResponse(Struct, frozen=True):
    """An answer.

    `error` is what its envelope holds, `body` the whole error; `broken`: it failed after it had begun; `complete`: the
    stream has its last event, or the answer is not streamed; `blocked`: its prompt was filtered.
    """

    choices: tuple[ParsedChoice, ...] = ()
    status: int = 200
    model: str = ""
    usage: Table | None = None
    error: Json = None
    body: Json = None
    broken: bool = False
    complete: bool = True
    prompt_filters: Table | None = None
    blocked: bool = False


class Event(Struct, frozen=True):
    """An event of a stream; `json` is None if its data is not JSON."""

    at: float
    name: str
    text: str
    json: Json

    @property
    def table(self) -> Table:
        return read_table(self.json)

    @property
    def error(self) -> Json:
        """The error that the event reports, if any."""
        if self.name.endswith("Exception"):
            return self.json or self.text
        if self.name == "error" or self.table.get("type") == "error":
            return self.table.get("error") or self.json or self.text
        return self.table.get("error") if "choices" not in self.table and "response" not in self.table else None


def parse_events(recorded: Sequence[RecordedEvent]) -> tuple[Event, ...]:
    """Return the events of a stream, without comments; its lines of JSON; or the messages of Amazon's streams."""
    return tuple(
        Event(frame.at, frame.event or "", frame.text, try_parse(frame.text))
        for frame in split_frames(recorded)
        if b"data:" in frame.raw or frame.raw[:1] == b"{" or is_prelude(frame.raw)
    )


def parse_response(reply: Recorded, form: str) -> ParsedResponse:
    streamed = () if reply.frames is None else parse_events(reply.frames)
    if reply.status >= 400:
        if reply.frames is not None:
            text = "".join(event.text for event in streamed)
            return ParsedResponse(error=text, status=reply.status, body=text)
        text = reply.body.decode("utf-8", "replace")
        body = try_parse(text)
        whole = text if body is None else body
        error = whole.get("error") or whole if isinstance(whole, Mapping) else whole
        return ParsedResponse(error=error, status=reply.status, body=whole)
    body = try_parse(reply.body.decode("utf-8", "replace")) if reply.frames is None else None
    if form == "contents":
        if reply.frames is None:
            return _read_contents(read_rows([body]) or read_rows(body))
        read = _read_contents([event.table for event in streamed])
        return _end_stream(read, streamed, complete=read.complete)
    from_events, from_body = _READERS.get(form, (None, None))
    if from_events is not None and reply.frames is not None:
        return from_events(streamed)
    if from_body is not None and isinstance(body, Mapping):
        return from_body(body)
    return ParsedResponse(status=reply.status)


def read_table(value: Json) -> Table:
    """Return the value if it is a table, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def read_rows(value: Json) -> list[Table]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def read_usage(counts: Table) -> Usage:
    """Return the tokens of an answer from the table in which its provider states them.

    Anthropic's and Bedrock's `input_tokens` are without those that were read from a cache or written into it.
    """
    details = read_table(counts.get("prompt_tokens_details") or counts.get("input_tokens_details"))
    read, written = (counts.get(f"cache_{way}_input_tokens") for way in ("read", "creation"))
    beside = _read_number(read, 0) + _read_number(written, 0)
    cached = _read_number(details.get("cached_tokens", counts.get("cached_tokens")), 0)
    prompt = _read_number(counts.get("prompt_tokens", counts.get("input_tokens")), 0)
    thought = _read_number(counts.get("reasoning_tokens"), 0)  # Gemini counts them beside the answer
    completion = _read_number(counts.get("completion_tokens", counts.get("output_tokens")), 0)
    return Usage(prompt + beside, completion + thought, thought, cached or _read_number(read, 0))


def _read_text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _read_number(value: Json, default: int) -> int:
    return value if isinstance(value, int) else default


def _end_stream(read: ParsedResponse, found: Sequence[Event], *, complete: bool, error: Json = None) -> ParsedResponse:
    """Return what was read of a stream with how it ended: with an error, stated or among its events, or complete."""
    error = error or _find_error(found)
    return replace(read, error=error, broken=error is not None, complete=complete)


def _find_error(found: Sequence[Event]) -> Json:
    return next((event.error for event in found if event.error is not None), None)


def _read_chunks(found: Sequence[Event]) -> ParsedResponse:
    complete = any(event.text == DONE or event.table.get("object") == _LAST_CHUNK for event in found)
    return _end_stream(_read_choices([event.table for event in found], streamed=True), found, complete=complete)


_LAST_CHUNK = "chat.completion.done"  # of Perplexity, which sends no [DONE]


def _read_choices(bodies: Sequence[Table], *, streamed: bool = False) -> ParsedResponse:
    """Return a chat or text completion, from its body or its chunks: texts add up, of other fields the last counts."""
    messages = dict[int, _Message]()
    last = dict[int, dict[str, Json]]()
    for body in bodies:
        for position, choice in enumerate(read_rows(body.get("choices"))):
            at = _read_number(choice.get("index"), position)
            messages.setdefault(at, _Message()).add(_find_message(choice, streamed=streamed))
            last.setdefault(at, {}).update({key: value for key, value in choice.items() if value is not None})
    return ParsedResponse(
        choices=tuple(messages[at].build(last[at]) for at in sorted(messages)),
        model=next((model for body in bodies if (model := _read_text(body.get("model")))), ""),
        usage=next((usage for body in reversed(bodies) if (usage := read_table(body.get("usage")))), None),
        prompt_filters=next((filters for body in bodies if (filters := _find_prompt_filters(body))), None),
    )


def _find_message(choice: Table, *, streamed: bool) -> Table:
    """Return what a choice says. Some hosts have a text beside the delta (Together), or all so far (Perplexity)."""
    keys = ("delta", "message") if streamed else ("message", "delta")
    found = next((choice[key] for key in keys if key in choice), {"content": choice.get("text")})
    return read_table(found)


def _find_prompt_filters(body: Table) -> Table | None:
    found = read_rows(body.get("prompt_filter_results"))
    return read_table(found[0].get("content_filter_results")) or None if found else None


class _Message(Struct):
    texts: dict[str, str] = {}
    calls: dict[int, ParsedToolCall] = {}
    annotations: list[Table] = []

    def add(self, delta: Table) -> None:
        for key, kind in _TEXTS.items():
            self._add_text(kind, _read_text(delta.get(key)))
        for part in read_rows(delta.get("content")):  # of Mistral
            self._add_text("text", _read_text(part.get("text")))
            self._add_text("reasoning", "".join(_read_text(row.get("text")) for row in read_rows(part.get("thinking"))))
        for position, call in enumerate(read_rows(delta.get("tool_calls"))):
            self._add_call(_read_number(call.get("index"), position), call)
        if function_call := read_table(delta.get("function_call")):
            self._add_call(-1, {"function": function_call})
        self.annotations += read_rows(delta.get("annotations"))

    def _add_text(self, kind: str, text: str) -> None:
        self.texts[kind] = self.texts.get(kind, "") + text

    def _add_call(self, at: int, delta: Table) -> None:
        before = self.calls.get(at, ParsedToolCall("", ""))
        custom = before.custom or "custom" in delta
        used = read_table(delta.get("custom" if custom else "function"))
        name = _read_text(used.get("name"))
        text = _read_text(used.get("input" if custom else "arguments"))
        self.calls[at] = ParsedToolCall(before.name + name, before.text + text, custom)

    def build(self, fields: Table) -> ParsedChoice:
        texts = [ParsedPart(kind, text) for kind, text in self.texts.items() if text]
        calls = [ParsedPart("call", call=self.calls[at]) for at in sorted(self.calls)]
        return ParsedChoice(
            parts=(*texts, *calls),
            finish=_read_text(fields.get("finish_reason")),
            annotations=tuple(self.annotations),
            filters=read_table(fields.get("content_filter_results")) or None,
        )


def _read_response(body: Table) -> ParsedResponse:
    items = read_rows(body.get("output"))
    contents = [content for item in items for content in read_rows(item.get("content"))]
    notes = tuple(note for content in contents for note in read_rows(content.get("annotations")))
    return ParsedResponse(
        choices=(
            ParsedChoice(
                _read_parts(items),
                _find_finish(body, items),
                annotations=notes,
                filters=_find_filters(body, "completion"),
            ),
        ),
        model=_read_text(body.get("model")),
        usage=read_table(body.get("usage")) or None,
        error=body.get("error"),
        broken=body.get("status") == "failed" or body.get("error") is not None,
        prompt_filters=_find_filters(body, "prompt"),
    )


def _read_steps(found: Sequence[Event]) -> ParsedResponse:
    last = next((event for event in reversed(found) if event.table.get("type") in FINAL), None)
    if last is not None:
        return _read_response(read_table(last.table.get("response")))
    read = ParsedResponse((ParsedChoice(_read_parts(_collect_items(found))),))
    return _end_stream(read, found, complete=_find_error(found) is not None)


def _read_spoken(found: Sequence[Event]) -> ParsedResponse:
    """Return a response of a Realtime session: its last event is the same whatever its status is."""
    last = next((event for event in reversed(found) if event.table.get("type") == "response.done"), None)
    if last is None:
        return _read_steps(found)
    response = read_table(last.table.get("response"))
    details = read_table(response.get("status_details"))
    return _read_response({**response, "incomplete_details": details, "error": details.get("error")})


def _collect_items(found: Sequence[Event]) -> list[Table]:
    """Return the finished items, and the text of unfinished messages."""
    items = dict[int, Table]()
    texts = dict[int, str]()
    for event in found:
        at = _read_number(event.table.get("output_index"), 0)
        match event.table.get("type"):
            case "response.output_item.done":
                items[at] = read_table(event.table.get("item"))
            case "response.output_text.delta":
                texts[at] = texts.get(at, "") + _read_text(event.table.get("delta"))
    for at, text in texts.items():
        items.setdefault(at, {"type": "message", "content": [{"type": "output_text", "text": text}]})
    return [items[at] for at in sorted(items)]


def _read_contents(bodies: Sequence[Table]) -> ParsedResponse:
    """Return a response of Gemini, or the responses of its stream: pieces of a text add up."""
    found = dict[int, list[ParsedPart]]()
    ends = dict[int, str]()
    for body in bodies:
        for position, candidate in enumerate(read_rows(body.get("candidates"))):
            at = _read_number(candidate.get("index"), position)
            parts = found.setdefault(at, [])
            for part in filter(
                None, map(_read_content_part, read_rows(read_table(candidate.get("content")).get("parts")))
            ):
                if parts and part.text and parts[-1].kind == part.kind:
                    part = ParsedPart(part.kind, parts.pop().text + part.text)
                parts.append(part)
            ends[at] = _read_text(candidate.get("finishReason")) or ends.get(at, "")
    choices = [ParsedChoice(tuple(found[at]), _map_content_finish(ends[at], found[at])) for at in sorted(found)]
    feedback = next((said for body in bodies if (said := read_table(body.get("promptFeedback")))), {})
    blocked = "blockReason" in feedback
    counts = read_table(bodies[-1].get("usageMetadata")) if bodies else {}
    return ParsedResponse(
        choices=tuple(choices),
        model=next((model for body in bodies if (model := _read_text(body.get("modelVersion")))), ""),
        usage={name: counts[key] for key, name in _COUNTS.items() if key in counts} or None,
        complete=blocked or (bool(ends) and all(ends.values())),
        prompt_filters=_read_content_filters(feedback) or None,
        blocked=blocked,
    )


def _read_content_filters(feedback: Table) -> dict[str, Json]:
    """Return the ratings of a prompt as filters of chats, of the harms that both know."""
    found = (
        (_HARMS.get(_read_text(rating.get("category"))), rating) for rating in read_rows(feedback.get("safetyRatings"))
    )
    return {
        harm: {"filtered": rating.get("blocked") is True, "severity": _read_text(rating.get("probability")).lower()}
        for harm, rating in found
        if harm
    }


_HARMS = {
    "HARM_CATEGORY_HATE_SPEECH": "hate",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT": "sexual",
    "HARM_CATEGORY_DANGEROUS_CONTENT": "violence",
}


def _read_content_part(part: Table) -> ParsedPart | None:
    if call := read_table(part.get("functionCall")):
        return ParsedPart("call", call=ParsedToolCall(_read_text(call.get("name")), compact(call.get("args") or {})))
    if code := read_table(part.get("executableCode")):
        return ParsedPart("item", item={"type": "code_interpreter_call", "code": _read_text(code.get("code"))})
    text = _read_text(part.get("text"))
    return ParsedPart("reasoning" if part.get("thought") else "text", text) if text else None


def _map_content_finish(reason: str, parts: Sequence[ParsedPart]) -> str:
    if reason == "STOP":
        return "tool_calls" if any(part.call for part in parts) else "stop"
    return {"MAX_TOKENS": "length", "SAFETY": "content_filter"}.get(reason, reason)


_COUNTS = {
    "promptTokenCount": "prompt_tokens",
    "candidatesTokenCount": "completion_tokens",
    "thoughtsTokenCount": "reasoning_tokens",
    "cachedContentTokenCount": "cached_tokens",
    "totalTokenCount": "total_tokens",
}


def _read_lines(found: Sequence[Event]) -> ParsedResponse:
    complete = any(event.table.get("done") is True for event in found[-1:])
    return _end_stream(_join_lines([event.table for event in found]), found, complete=complete)


def _join_lines(bodies: Sequence[Table]) -> ParsedResponse:
    """Return an answer of Ollama's own API, from its body or the lines of its stream: pieces of texts add up."""
    thoughts = list[str]()
    said = list[str]()
    calls = list[ParsedToolCall]()
    for body in bodies:
        message = read_table(body.get("message")) or body
        thoughts.append(_read_text(message.get("thinking")))
        said.append(_read_text(message.get("content", message.get("response"))))
        for call in read_rows(message.get("tool_calls")):
            used = read_table(call.get("function"))
            calls.append(ParsedToolCall(_read_text(used.get("name")), compact(used.get("arguments") or {})))
    texts = (("reasoning", "".join(thoughts)), ("text", "".join(said)))
    parts = (
        *[ParsedPart(kind, text) for kind, text in texts if text],
        *[ParsedPart("call", call=call) for call in calls],
    )
    reason = next((reason for body in reversed(bodies) if (reason := _read_text(body.get("done_reason")))), "")
    last = bodies[-1] if bodies else {}
    return ParsedResponse(
        choices=(ParsedChoice(parts, "tool_calls" if calls and reason == "stop" else reason),),
        model=next((model for body in bodies if (model := _read_text(body.get("model")))), ""),
        usage={name: last[key] for key, name in _LINE_COUNTS.items() if key in last} or None,
    )


_LINE_COUNTS = {"prompt_eval_count": "prompt_tokens", "eval_count": "completion_tokens"}


def _read_parts(items: Sequence[Table]) -> tuple[ParsedPart, ...]:
    return tuple(part for item in items for part in _read_item(item))


def _read_item(item: Table) -> Iterator[ParsedPart]:
    match item.get("type"):
        case "message":
            for content in read_rows(item.get("content")):
                for key, kind in (("text", "text"), ("refusal", "refusal"), ("transcript", "text")):
                    if text := _read_text(content.get(key)):
                        yield ParsedPart(kind, text)
        case "reasoning":
            texts = read_rows(item.get("content")) or read_rows(item.get("summary"))
            if text := "\n".join(_read_text(row.get("text")) for row in texts):
                yield ParsedPart("reasoning", text)
        case "function_call" | "custom_tool_call" as kind:
            name = _read_text(item.get("name"))
            namespace = _read_text(item.get("namespace"))
            custom = kind == "custom_tool_call"
            text = _read_text(item.get("input" if custom else "arguments"))
            yield ParsedPart("call", call=ParsedToolCall(name, text, custom=custom, namespace=namespace))
        case _:
            yield ParsedPart("item", item=item)


def _find_finish(body: Table, items: Sequence[Table]) -> str:
    reason = _read_text(read_table(body.get("incomplete_details")).get("reason"))
    if reason:
        return "length" if reason.startswith("max_") else reason
    return "tool_calls" if any(item.get("type") in ("function_call", "custom_tool_call") for item in items) else "stop"


def _find_filters(body: Table, on: str) -> Table | None:
    for row in read_rows(body.get("content_filters")):
        if row.get("source_type") == on:
            return read_table(row.get("content_filter_results")) or None
    return None


def _read_message(body: Table) -> ParsedResponse:
    """Return a message of Anthropic's."""
    blocks = read_rows(body.get("content"))
    stopped = _read_text(body.get("stop_reason"))
    finish = _STOP_REASONS.get(stopped, stopped)
    parts = tuple(part for block in blocks for part in _read_block(block))
    if finish == "content_filter" and parts:
        finish = "stop"
        parts = tuple(replace(part, kind="refusal") if part.kind == "text" else part for part in parts)
    notes = tuple(note for block in blocks for note in read_rows(block.get("citations")))
    return ParsedResponse(
        (ParsedChoice(parts, finish, notes),),
        model=_read_text(body.get("model")),
        usage=read_table(body.get("usage")) or None,
    )


def _read_block(block: Table) -> Iterator[ParsedPart]:
    match block.get("type"):
        case "text":
            yield ParsedPart("text", _read_text(block.get("text")))
        case "thinking":
            yield ParsedPart("reasoning", _read_text(block.get("thinking")))
        case "tool_use":
            yield ParsedPart(
                "call", call=ParsedToolCall(_read_text(block.get("name")), _write_input(block.get("input")))
            )
        case _:
            yield ParsedPart("item", item=block)


def _write_input(arguments: Json) -> str:
    """Return arguments as a plain answer has them; as they were streamed if that differs by more than usual spaces."""
    if not isinstance(arguments, str):
        return compact(arguments)
    whole = try_parse(arguments)
    usual = isinstance(whole, dict) and json.dumps(whole, ensure_ascii=False) == arguments
    return compact(whole) if usual else arguments or "{}"


def _read_message_events(found: Sequence[Event]) -> ParsedResponse:
    """Return a streamed message: its blocks with what was added to each, and what the last events say."""
    message = dict[str, Json]()
    blocks = dict[int, dict[str, Json]]()
    usage = dict[str, Json]()
    for event in found:
        body = event.table
        at = _read_number(event.table.get("index"), 0)
        match body.get("type"):
            case "message_start":
                message |= read_table(body.get("message"))
                usage |= read_table(message.get("usage"))
            case "content_block_start":
                blocks[at] = {**read_table(body.get("content_block"))}
            case "content_block_delta":
                _add_to_block(blocks.setdefault(at, {}), read_table(body.get("delta")))
            case "message_delta":
                message |= read_table(body.get("delta"))
                usage |= read_table(body.get("usage"))
    content = [{**block, "input": try_parse(block["input"])} if _was_run(block) else block for block in blocks.values()]
    complete = any(event.table.get("type") == "message_stop" for event in found)
    return _end_stream(_read_message({**message, "content": content, "usage": usage}), found, complete=complete)


def _was_run(block: Table) -> bool:
    """Return whether the provider ran a tool: its input is a table then, not a text that may be cut."""
    return isinstance(block.get("input"), str) and block.get("type") != "tool_use"


def _add_to_block(block: dict[str, Json], delta: Table) -> None:
    for key in ("text", "thinking"):
        if key in delta:
            block[key] = _read_text(block.get(key)) + _read_text(delta.get(key))
    if "partial_json" in delta:
        block["input"] = _read_text(block.get("input")) + _read_text(delta.get("partial_json"))
    if "citation" in delta:
        block["citations"] = [*read_rows(block.get("citations")), read_table(delta["citation"])]


_STOP_REASONS = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}

# The texts of a message, in the order of parts, by the fields of the wire.
_TEXTS = {"reasoning_content": "reasoning", "reasoning": "reasoning", "content": "text", "refusal": "refusal"}


def _read_cohere_chat(body: Table) -> ParsedResponse:
    """Return a message of Cohere's v2, or an answer of v1, which is a text."""
    message = read_table(body.get("message"))
    if "message" not in body:
        message = {**body, "content": [{"type": "text", "text": body.get("text")}]}
    parts = [ParsedPart("text", text)] if (text := _read_text(message.get("tool_plan"))) else []
    for block in read_rows(message.get("content")):
        parts += [part for part in _read_block(block) if part.text]
    parts += [ParsedPart("call", call=_read_cohere_call(call)) for call in read_rows(message.get("tool_calls"))]
    stopped = _read_text(body.get("finish_reason"))
    finish = (
        "tool_calls" if stopped == "COMPLETE" and message.get("tool_calls") else _COHERE_REASONS.get(stopped, stopped)
    )
    usage = read_table(body.get("usage")) or read_table(body.get("meta"))
    return ParsedResponse(
        (ParsedChoice(tuple(parts), finish, tuple(read_rows(message.get("citations")))),),
        usage=read_table(usage.get("tokens")) or read_table(usage.get("billed_units")) or None,
    )


def _read_cohere_call(call: Table) -> ParsedToolCall:
    function = read_table(call.get("function"))
    if not function:  # of v1
        return ParsedToolCall(_read_text(call.get("name")), compact(call.get("parameters") or {}))
    return ParsedToolCall(_read_text(function.get("name")), _read_text(function.get("arguments")))


def _read_cohere_events(found: Sequence[Event]) -> ParsedResponse:
    """Return a streamed message: its blocks and calls with what was added to each, and what the last event says."""
    if any("event_type" in event.table for event in found):
        return _read_old_cohere_events(found)
    blocks = dict[int, dict[str, Json]]()
    calls = dict[int, dict[str, Json]]()
    citations = list[Table]()
    ended = dict[str, Json]()
    plan = ""
    for event in found:
        body = event.table
        at = _read_number(event.table.get("index"), 0)
        delta = read_table(body.get("delta"))
        message = read_table(delta.get("message"))
        content = read_table(message.get("content"))
        call = read_table(message.get("tool_calls"))
        match body.get("type"):
            case "content-start":
                blocks[at] = {**content}
            case "content-delta":
                _add_to_block(blocks.setdefault(at, {"type": "text"}), content)
            case "tool-plan-delta":
                plan += _read_text(message.get("tool_plan"))
            case "tool-call-start":
                calls[at] = {**read_table(call.get("function"))}
            case "tool-call-delta":
                function = calls.setdefault(at, {})
                more = read_table(call.get("function"))
                function["arguments"] = _read_text(function.get("arguments")) + _read_text(more.get("arguments"))
            case "citation-start":
                citations.append(read_table(message.get("citations")))
            case "message-end":
                ended = {**delta}
    made = [{"function": function} for function in calls.values()]
    whole = {"content": [*blocks.values()], "tool_plan": plan, "tool_calls": made, "citations": citations}
    read = _read_cohere_chat({**ended, "message": whole})
    return _end_stream(read, found, complete=bool(ended), error=ended.get("error"))


def _read_old_cohere_events(found: Sequence[Event]) -> ParsedResponse:
    """Return a streamed answer of v1, whose last event has the whole of it; the pieces of one that broke off."""
    pieces = "".join(_read_text(event.table.get("text")) for event in found)
    ended = next((event.table for event in found if event.table.get("event_type") == "stream-end"), {})
    whole = {"text": pieces, "finish_reason": ended.get("finish_reason"), **read_table(ended.get("response"))}
    return _end_stream(_read_cohere_chat(whole), found, complete=bool(ended), error=ended.get("error"))


_COHERE_REASONS = {
    **dict.fromkeys(("COMPLETE", "STOP_SEQUENCE"), "stop"),
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "ERROR_TOXIC": "content_filter",
}


def _read_generations(body: Table) -> ParsedResponse:
    """Return the texts of Cohere's generate."""
    choices = [
        ParsedChoice(
            (ParsedPart("text", _read_text(made.get("text"))),),
            _COHERE_REASONS.get(stopped := _read_text(made.get("finish_reason")), stopped),
        )
        for made in read_rows(body.get("generations"))
    ]
    return ParsedResponse(tuple(choices), usage=read_table(read_table(body.get("meta")).get("tokens")) or None)


def _read_mcp_result(body: Table) -> ParsedResponse:
    """Read the texts of a result of an MCP server, or its error."""
    result = read_table(body.get("result"))
    contents = [*read_rows(result.get("content")), *read_rows(result.get("contents"))]
    contents += [read_table(message.get("content")) for message in read_rows(result.get("messages"))]
    texts = [_read_text(content["text"]) for content in contents if "text" in content]
    for key in _MCP_LISTS:
        if key in result:
            names = [str(entry.get("name")) for entry in read_rows(result[key])]
            texts.append(f"{key}: {', '.join(names) or 'none'}")
    if "serverInfo" in result:
        server = read_table(result["serverInfo"])
        texts.append(f"{server.get('name')} {server.get('version')}")
    parts = tuple(ParsedPart("text", text) for text in texts)
    return ParsedResponse(choices=(ParsedChoice(parts),) if parts else (), error=body.get("error"))


def _read_mcp_events(found: Sequence[Event]) -> ParsedResponse:
    """Read the response among the messages of a stream."""
    responses = [event.table for event in found if "result" in event.table or "error" in event.table]
    return _read_mcp_result(responses[-1]) if responses else ParsedResponse(complete=False)


_MCP_LISTS = ("tools", "resources", "resourceTemplates", "prompts")


# Bedrock.


def _read_converse(body: Table) -> ParsedResponse:
    message = read_table(read_table(body.get("output")).get("message"))
    stopped = _read_text(body.get("stopReason"))
    parts = [part for block in read_rows(message.get("content")) for part in _read_converse_block(block)]
    finish = _CONVERSE_REASONS.get(stopped, stopped)
    usage = read_table(body.get("usage"))
    counts = {name: usage[key] for key, name in _CONVERSE_COUNTS.items() if key in usage}
    return ParsedResponse((ParsedChoice(tuple(parts), finish),), usage=counts or None)


def _read_converse_block(block: Table) -> Iterator[ParsedPart]:
    if isinstance(text := block.get("text"), str):
        yield ParsedPart("text", text)
    if thought := read_table(read_table(block.get("reasoningContent")).get("reasoningText")):
        yield ParsedPart("reasoning", _read_text(thought.get("text")))
    if cited := read_table(block.get("citationsContent")):
        yield ParsedPart("text", "".join(_read_text(row.get("text")) for row in read_rows(cited.get("content"))))
    if used := read_table(block.get("toolUse")):
        yield ParsedPart("call", call=ParsedToolCall(_read_text(used.get("name")), _write_input(used.get("input"))))


def _read_converse_events(found: Sequence[Event]) -> ParsedResponse:
    """Return a streamed answer of Converse: the blocks with what was added to each, and what the last events say."""
    blocks = dict[int, dict[str, Json]]()
    told = dict[str, Json]()
    names = set[str]()
    for event in found:
        name, body = _name_event(event)
        names.add(name)
        block = blocks.setdefault(_read_number(body.get("contentBlockIndex"), 0), {}) if "contentBlock" in name else {}
        delta = read_table(body.get("delta"))
        match name:
            case "contentBlockStart":
                block |= read_table(body.get("start"))
            case "contentBlockDelta" if "text" in delta:
                block["text"] = _read_text(block.get("text")) + _read_text(delta["text"])
            case "contentBlockDelta" if "toolUse" in delta:
                used = read_table(block.get("toolUse"))
                more = _read_text(read_table(delta["toolUse"]).get("input"))
                block["toolUse"] = {**used, "input": _read_text(used.get("input")) + more}
            case "contentBlockDelta" if "reasoningContent" in delta:
                thought = read_table(read_table(block.get("reasoningContent")).get("reasoningText"))
                more = _read_text(read_table(delta["reasoningContent"]).get("text"))
                thought = {"text": _read_text(thought.get("text")) + more}
                block["reasoningContent"] = {"reasoningText": thought}
            case "messageStop" | "metadata":
                told |= body
    message = {"content": [block for _, block in sorted(blocks.items()) if block]}
    whole = _read_converse({**told, "output": {"message": message}})
    return _end_stream(whole, found, complete="metadata" in names)


def _name_event(event: Event) -> tuple[str, Table]:
    """Return the name and the body of an event; in chunks, Nova's have their name as a key."""
    if event.name != "chunk":
        return event.name, event.table
    return next(((key, read_table(value)) for key, value in event.table.items()), ("", {}))


_CONVERSE_REASONS = {
    "end_turn": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    **dict.fromkeys(("guardrail_intervened", "content_filtered"), "content_filter"),
}
_CONVERSE_COUNTS = {
    "inputTokens": "prompt_tokens",
    "outputTokens": "completion_tokens",
    "totalTokens": "total_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}


def _read_body_of_model(body: Table) -> ParsedResponse:
    """Return an answer of InvokeModel, by the keys of its model's format."""
    if body.get("type") == "message":
        return _read_message(body)
    if "output" in body and "stopReason" in body:
        return _read_converse(body)
    if _has_messages(body):
        return _read_choices([body])
    return _read_texts([body])


def _has_messages(body: Table) -> bool:
    """Return whether a body, or an event, has the choices of a chat."""
    return any("message" in choice or "delta" in choice for choice in read_rows(body.get("choices")))


def _read_chunks_of_model(found: Sequence[Event]) -> ParsedResponse:
    tables = [event.table for event in found if event.name == "chunk"]
    complete = any("amazon-bedrock-invocationMetrics" in table for table in tables)
    if any(table.get("type") == "message_start" for table in tables):
        read = _read_message_events(found)
    elif any("messageStart" in table for table in tables):
        read = _read_converse_events(found)
    elif any(map(_has_messages, tables)):
        read = _read_choices(tables)
    else:
        read = _read_texts(tables)
    return _end_stream(read, found, complete=complete)


def _read_texts(bodies: Sequence[Table]) -> ParsedResponse:
    """Return an answer of a model that continues a prompt: the texts of all its pieces."""
    rows = [row for body in bodies for row in _list_generations(body)]
    texts = [_read_text(row.get(key)) for row in rows for key in _TEXTS_OF_MODELS]
    ends = (_read_text(row.get(key)) for row in reversed(rows) for key in _ENDS_OF_MODELS)
    ended = next(filter(None, ends), "")
    text = "".join(texts)
    parts = (ParsedPart("text", text),) if text else ()
    return ParsedResponse((ParsedChoice(parts, _PROMPTED_REASONS.get(ended.upper(), "stop")),) if parts else ())


def _list_generations(body: Table) -> list[Table]:
    """Return the rows that hold texts: those of a list, or the body itself."""
    return next(filter(None, (read_rows(body.get(key)) for key in _LISTS_OF_MODELS)), [body])


_LISTS_OF_MODELS = ("results", "outputs", "generations", "choices")
_TEXTS_OF_MODELS = ("outputText", "generation", "text", "completion")
_ENDS_OF_MODELS = ("completionReason", "stop_reason", "finish_reason")
_PROMPTED_REASONS = {"LENGTH": "length", "MAX_TOKENS": "length", "CONTENT_FILTERED": "content_filter"}


# How the events of a stream, and a whole body, are read in each format; the contents of Gemini are alike in both.
_READERS: Mapping[str, tuple[Callable[[Sequence[Event]], ParsedResponse] | None, Callable[[Table], ParsedResponse]]] = {
    **dict.fromkeys(("responses", "response"), (_read_steps, _read_response)),
    "realtime": (_read_spoken, _read_response),
    **dict.fromkeys(("chat", "completions"), (_read_chunks, lambda body: _read_choices([body]))),
    "stored_chat": (None, lambda body: _read_choices([body])),
    "messages": (_read_message_events, _read_message),
    "lines": (_read_lines, lambda body: _join_lines([body])),
    **dict.fromkeys(("mcp_call", "mcp_read", "mcp_prompt", "mcp_session"), (_read_mcp_events, _read_mcp_result)),
    "cohere_chat": (_read_cohere_events, _read_cohere_chat),
    "generations": (None, _read_generations),
    "converse": (_read_converse_events, _read_converse),
    "invoked": (_read_chunks_of_model, _read_body_of_model),
}
