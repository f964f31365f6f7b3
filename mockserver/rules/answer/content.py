"""Compiles the content of an answer: the parts of a choice, errors, filters that trip, and raw bytes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.source import suggest
from mockserver.core.call import ToolCall
from mockserver.core.draft import AFTER_LAST_TOKEN, DraftChoice, RenderContext
from mockserver.core.frames import Frame
from mockserver.core.hosted_tools import make_item
from mockserver.core.http import HOP_BY_HOP, Headers, explain_header_name
from mockserver.core.json import Json
from mockserver.core.mcp_server import McpExtras
from mockserver.core.plan import (
    DETECTIONS_OF_COMPLETION,
    DETECTIONS_OF_PROMPT,
    HARMS,
    REASONS,
    TOOL_ERROR,
    Broken,
    Failure,
    Item,
    Part,
    Raw,
    Reasoning,
    Refusal,
    Safety,
    Text,
    ToolUse,
    Verdict,
    find_reason,
)
from mockserver.core.text import count_noun, show_value
from mockserver.core.tokens import Chunks
from mockserver.rules.answer.notices import compile_notices
from mockserver.rules.items import CustomToolCallSpec, FunctionCallSpec, ItemSpec, MessageSpec, ReasoningSpec
from mockserver.rules.schema import (
    AnnotateSpec,
    ContentSpec,
    ErrorSpec,
    FailedSpec,
    FilterSpec,
    HarmsSpec,
    PartSpec,
    RawSpec,
    SizeSpec,
    ThenSpec,
    ToolCallSpec,
)
from mockserver.rules.schema import Chunks as ChunksSpec
from mockserver.rules.templates import (
    CompileContext,
    Compiled,
    combine,
    compile_json,
    compile_json_text,
    encode_json,
    gather,
    make_constant,
)

_BROKEN = re.compile(r"[\x00-\x1f\x7f]")
# They frame the answer or control the connection, so a rule that sets them could break the next answer.
_SET_BY_SERVER = HOP_BY_HOP | {"content-length"}


def compile_headers(table: Mapping[str, str | int] | None, context: CompileContext) -> Headers:
    """Compile a table of headers, with names in lower case; report invalid ones to `context`."""
    for name, value in (table or {}).items():
        for complaint in filter(None, (_check_header_name(name), _check_header_value(str(value)))):
            context.at(name).refuse(complaint)
        context.at(name).refuse_template(str(value))
    return tuple((name.lower(), str(value)) for name, value in (table or {}).items())


def _check_header_name(name: str) -> str | None:
    if name.lower() in _SET_BY_SERVER:
        return f'the server sets "{name.lower()}" itself; remove it'
    return explain_header_name(name)


def _check_header_value(value: str) -> str | None:
    if _BROKEN.search(value):
        return f"{show_value(value)} is not a valid header value: it must be one line without control characters"
    if not value.isascii() or value != value.strip():
        return f"{show_value(value)} is not a valid header value: use ASCII without leading or trailing spaces"
    return None


_OF: Mapping[str, tuple[str, ...]] = {
    "prompt": (*HARMS, *DETECTIONS_OF_PROMPT),
    "completion": (*HARMS, *DETECTIONS_OF_COMPLETION),
}


def make_verdicts(annotate: AnnotateSpec | None, trip: FilterSpec | None, on: str) -> Safety:
    """Return the filter verdicts for the prompt or the completion (`on`): a trip first, then annotations."""
    tripped = (_make_tripped(trip),) if trip is not None and trip.on == on else ()
    harms: HarmsSpec | None = None if annotate is None else getattr(annotate, on)
    noted = () if harms is None else _make_noted(harms)
    return (*tripped, *(verdict for verdict in noted if all(verdict.category != t.category for t in tripped)))


def check_filter(trip: FilterSpec, context: CompileContext) -> None:
    if trip.category not in _OF[trip.on]:
        other = "completion" if trip.on == "prompt" else "prompt"
        context.at("category").refuse(f'"{trip.category}" applies to the {other} only; write on: {other}')
    if trip.severity is not None and trip.category not in HARMS:
        context.at("severity").refuse_key(
            f'"{trip.category}" has no severity, as it is only detected or not; remove severity'
        )
    if trip.after_tokens is not None and trip.on == "prompt":
        context.at("after_tokens").refuse_key(
            '"after_tokens" counts tokens of the completion; remove it, or write on: completion'
        )


def _make_tripped(trip: FilterSpec) -> Verdict:
    if trip.category in HARMS:
        return Verdict(trip.category, trip.severity or "high", filtered=True)
    return Verdict(trip.category, filtered=True, detected=True)


def _make_noted(harms: HarmsSpec) -> Safety:
    severities = harms.model_dump(exclude_none=True)
    return tuple(
        Verdict(category, severity) if category in HARMS else Verdict(category, detected=severity)
        for category, severity in severities.items()
    )


def compile_error(then: ThenSpec, context: CompileContext) -> Compiled[Failure]:
    error = then.error
    here = context.at("error")
    table = error if isinstance(error, ErrorSpec) else ErrorSpec()
    failure = _make_free_failure(table, here) if isinstance(error, ErrorSpec) else _make_short_failure(error, here)
    headers = compile_headers(then.headers, context.at("headers"))
    if then.retry_after is not None and table.retry_after is not None:
        context.at("retry_after").refuse_key('"retry_after" is also in "error"; keep only one')
    retry_after = then.retry_after if table.retry_after is None else table.retry_after
    failure = failure.replace(retry_after=retry_after, headers=(*failure.headers, *headers))
    message = None if table.message is None else here.at("message").compile_text(table.message)
    compiled = _renew_for_each_call(failure, message)
    if table.data is not None:
        data = compile_json(table.data, here.at("data"))
        compiled = _add_details(compiled, data.map(lambda value: {"data": value}))
    if then.progress is not None or then.log is not None:
        notices = compile_notices(then, context)
        compiled = _add_details(compiled, notices.map(lambda found: {"mcp": McpExtras(found)}))
    return compiled


def _add_details(failure: Compiled[Failure], details: Compiled[dict[str, Json]]) -> Compiled[Failure]:
    """Return the failure of each call with more details."""

    def make(scope: RenderContext) -> Failure:
        plain = failure.make(scope)
        return plain.replace(details={**plain.details, **details.make(scope)})

    return Compiled(make)


def compile_trip(then: ThenSpec, context: CompileContext) -> Compiled[Failure]:
    trip = then.content_filter
    assert trip is not None  # it decides this kind of answer
    check_filter(trip, context.at("content_filter"))
    safety = make_verdicts(then.annotate, trip, "prompt")
    headers = compile_headers(then.headers, context.at("headers"))
    return _renew_for_each_call(Failure("content_filter", details={"safety": safety}, headers=headers), None)


def compile_failed(failed: Literal[True] | FailedSpec | None, context: CompileContext) -> Compiled[Broken | None]:
    if failed is None:
        return make_constant(None)
    if not isinstance(failed, FailedSpec):
        return make_constant(Broken())
    context.at("code").refuse_template(failed.code or "")
    broken = Broken(code=failed.code or Broken().code, event=failed.event is not None)
    if failed.message is None:
        return make_constant(broken)
    return context.at("message").compile_text(failed.message).map(lambda message: replace(broken, message=message))


def _renew_for_each_call(failure: Failure, message: Compiled[str] | None) -> Compiled[Failure]:
    # A new one for every call: an exception collects tracebacks.
    if message is None:
        return Compiled(lambda _: failure.renew())
    make = message.make
    return Compiled(lambda scope: failure.replace(message=make(scope)))


def _make_short_failure(error: int | str | None, context: CompileContext) -> Failure:
    if isinstance(error, str):
        return Failure(_find_reason(error, context))
    status = error or 0
    if not 400 <= status <= 599:
        context.refuse(f"{status} is not an error status; write 400 to 599, or a table with a status and a message")
    return Failure(find_reason(status), status=status)


def _make_free_failure(error: ErrorSpec, context: CompileContext) -> Failure:
    is_json_rpc = isinstance(error.code, int) and error.code < 0  # of MCP, which needs no status
    if error.status is None and error.reason is None and not is_json_rpc:
        context.refuse('"error" needs a status, such as {status: 429, message: Slow down}')
    reason = (
        find_reason(error.status or 400) if error.reason is None else _find_reason(error.reason, context.at("reason"))
    )
    return Failure(
        reason,
        status=error.status,
        code=error.code,
        kind=error.type,
        param=error.param,
        headers=compile_headers(error.headers, context.at("headers")),
    )


def _find_reason(name: str, context: CompileContext) -> str:
    if name in ERROR_NAMES:
        return ERROR_NAMES[name]
    hint = "; write the number without quotes" if name.isdecimal() else suggest(name, ERROR_NAMES)
    context.refuse(f'unknown error "{name[:60]}"{hint}')
    return "server_error"


_UNSCRIPTED_REASONS = (
    "missing_key", "unmatched", "route_not_found", "method_not_allowed", "bad_json",
    "not_found", "previous_not_found", "not_cancellable", "unsupported",
    "key_not_allowed", "model_not_allowed", "over_limit",
)  # fmt: skip
# The short names of errors, and their reasons.
ERROR_NAMES: Mapping[str, str] = {name: name for name in REASONS if name not in _UNSCRIPTED_REASONS}


def compile_raw(raw: RawSpec, context: CompileContext) -> Compiled[Raw]:
    """Compile a raw reply, to which only a content type is added; only its `json` may have templates."""
    bodies = [name for name in ("body", "json", "frames") if raw.model_fields_set & {name, f"{name}_"}]
    if len(bodies) > 1:
        context.at(bodies[1]).refuse_key(f'use "{bodies[0]}" or "{bodies[1]}", not both')
    headers = compile_headers(raw.headers, context.at("headers"))
    if all(name != "content-type" for name, _ in headers):
        headers = (*headers, ("content-type", _choose_content_type(raw, bodies)))
    if bodies == ["json"]:
        text = compile_json_text(raw.json_, context.at("json"))
        return text.map(lambda json: Raw(raw.status, headers, json.encode()))
    if raw.frames is None:
        body = _encode(raw.body, context.at("body")) if "body" in bodies else b""
        return make_constant(Raw(raw.status, headers, body))
    frames: list[Frame | bytes] = []
    for at, value in enumerate(raw.frames):
        data = _encode(value, context.at("frames", at))
        frames.append(data if isinstance(value, str) else Frame(data))
    return make_constant(Raw(raw.status, headers, frames=tuple(frames)))


def _choose_content_type(raw: RawSpec, bodies: list[str]) -> str:
    if raw.frames is not None and bodies != ["json"]:
        return "text/event-stream"
    is_text = bodies != ["json"] and isinstance(raw.body, str | None)
    return "text/plain; charset=utf-8" if is_text else "application/json"


def _encode(value: Json, context: CompileContext) -> bytes:
    """Return text unchanged, and any other value as JSON."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else encode_json(value, context)


def compile_tool_use(call: ToolCallSpec, cut: Chunks, context: CompileContext, *, before: int = 0) -> Compiled[Part]:
    """Compile a tool call that follows `before` calls of the same tool; an id is added later if it has none."""
    call_id = call.id or ""
    name = call.name
    namespace = call.namespace or ""
    context.at("name").refuse_template(name)
    context.at("id").refuse_template(call_id)
    context.at("namespace").refuse_template(namespace)
    kind = "function"
    is_json = False
    if call.input is not None:
        if call.arguments is not None:
            context.at("input").refuse_key('use "input" or "arguments", not both')
        kind = "custom"
        arguments = context.at("input").compile_text(call.input)
    elif call.arguments is None or call.arguments == "auto":
        bare = ToolCall(call_id, name, "{}", namespace=namespace)
        return Compiled(lambda scope: ToolUse(_generate_arguments(scope, bare, before), cut))
    elif isinstance(call.arguments, str):
        arguments = context.at("arguments").compile_text(call.arguments)
    else:
        is_json = True
        arguments = compile_json_text(call.arguments, context.at("arguments"))

    def make(text: str) -> ToolUse:
        return ToolUse(ToolCall(call_id, name, text, kind, namespace), cut, is_json=is_json)

    return arguments.map(make)


def _generate_arguments(scope: RenderContext, bare: ToolCall, before: int) -> ToolCall:
    """Generate arguments that match the tool's schema; none if the request does not offer the tool."""
    if scope.call.find_tool(bare.name, bare.namespace) is not None:
        wanted = {"tool": bare.name, "namespace": bare.namespace, "before": before}
        for part in scope.generate("arguments", wanted, 0).parts:
            if isinstance(part, ToolUse):
                return replace(part.call, id=bare.id, namespace=bare.namespace)
    return bare


def compile_item(spec: ItemSpec, cut: Chunks, context: CompileContext) -> Iterator[Compiled[Part]]:
    """Yield the compiled parts of an item: one, except for a message, which may have several."""
    match spec:
        case MessageSpec():
            yield from _compile_message(spec, cut, context)
        case ReasoningSpec():
            yield _compile_reasoning(spec, cut, context)
        case FunctionCallSpec():
            yield compile_tool_use(_make_call_spec(spec, {"arguments": spec.arguments}), cut, context)
        case CustomToolCallSpec():
            yield compile_tool_use(_make_call_spec(spec, {"input": spec.input}), cut, context)
        case hosted:
            _check_ways(hosted.type, hosted.model_fields_set, context)
            given = compile_json(hosted.model_dump(exclude_unset=True, exclude={"type"}), context)
            yield given.map(partial(make_item, hosted.type, chunks=cut))


def _make_call_spec(spec: FunctionCallSpec | CustomToolCallSpec, argument: Mapping[str, Json]) -> ToolCallSpec:
    named = {"id": spec.call_id, "namespace": spec.namespace}
    stated = {key: value for key, value in named.items() if value is not None}
    return ToolCallSpec.model_validate({"name": spec.name, **argument, **stated})


def _compile_message(message: MessageSpec, cut: Chunks, context: CompileContext) -> Iterator[Compiled[Part]]:
    if (message.text is None) == (message.content is None):
        context.refuse("a message needs either text or content")
    elif message.text is not None:
        yield _compile_item_text(
            message.text, message.annotations, make=partial(Text, chunks=cut, apart=True), context=context
        )
    if message.annotations and message.content is not None:
        context.at("annotations").refuse_key('"annotations" belong to a text; put them into its part')
    for at, part in enumerate(message.content or ()):
        here = context.at("content", at)
        apart = at == 0
        if part.type == "refusal":
            yield here.at("refusal").compile_text(part.refusal).map(partial(Refusal, chunks=cut))
        else:
            yield _compile_item_text(
                part.text, part.annotations, make=partial(Text, chunks=cut, apart=apart), context=here
            )


def _compile_item_text(
    text: str, notes: list[dict[str, Json]] | None, make: Callable[..., Text], context: CompileContext
) -> Compiled[Part]:
    noted: Compiled[Json] = compile_json(notes or [], context.at("annotations"))
    return combine(
        context.at("text").compile_text(text), noted, lambda words, listed: make(words, annotations=tuple(listed))
    )


def _compile_reasoning(thought: ReasoningSpec, cut: Chunks, context: CompileContext) -> Compiled[Part]:
    if thought.text is None and thought.summary is None:
        context.refuse("reasoning needs text, a summary, or both")
    text = context.at("text").compile_text(thought.text or "")
    if thought.summary is None:
        return text.map(partial(Reasoning, chunks=cut))
    summary = context.at("summary").compile_text(thought.summary)
    return combine(text, summary, lambda words, short: Reasoning(words, cut, short))


def _check_ways(kind: str, keys: frozenset[str] | set[str], context: CompileContext) -> None:
    ways = [key for key in WAYS.get(kind, ()) if key in keys]
    if len(ways) > 1:
        context.at(ways[1]).refuse_key(f'use "{ways[1]}" or "{ways[0]}", not both')
    elif not ways and kind in WAYS:
        context.refuse(f"{kind} needs one of {', '.join(WAYS[kind])}")
    if "sources" in keys and "action" in keys and kind == "web_search_call":
        context.at("sources").refuse_key('"sources" belong to the action of a search; put them into "action"')


# An item has exactly one of these keys.
WAYS: Mapping[str, tuple[str, ...]] = {
    "web_search_call": ("query", "action"),
    "file_search_call": ("query", "queries"),
    "computer_call": ("action", "actions"),
    "local_shell_call": ("command", "action"),
    "shell_call": ("commands", "action"),
}


_Notes = Compiled[tuple[Json, ...]]
_NO_NOTES: _Notes = make_constant(())


class Citation(Struct, frozen=True):
    """A source of a text; `text`: of these words in it, or of all."""

    url: str
    title: str = ""
    text: str = ""

    def note(self, whole: str) -> dict[str, Json]:
        """Return it as an annotation of a text, in OpenAI's form, which every dialect reads."""
        start = max(whole.find(self.text), 0)
        end = start + len(self.text) if self.text and self.text in whole else len(whole)
        places = {"start_index": start, "end_index": end}
        return {"type": "url_citation", **places, "title": self.title or self.url, "url": self.url}


def compile_content(content: ContentSpec, context: CompileContext) -> Compiled[DraftChoice]:
    parts = gather(_compile_parts(content, context))
    if isinstance(content.chunks, list):
        _check_pieces(content.chunks, parts, context.at("chunks"))
    return add_ending(content, context, parts.map(DraftChoice))


def add_ending(content: ContentSpec, context: CompileContext, choice: Compiled[DraftChoice]) -> Compiled[DraftChoice]:
    trip = content.content_filter
    if trip is not None:
        check_filter(trip, context.at("content_filter"))
    logprobs = None if content.logprobs is None else tuple(content.logprobs)
    safety = make_verdicts(content.annotate, trip, "completion")
    finish = TOOL_ERROR if content.tool_error is not None else content.finish
    after = None if trip is None else AFTER_LAST_TOKEN if trip.after_tokens is None else trip.after_tokens
    if (finish, logprobs, safety, after) == (None, None, (), None):
        return choice
    return choice.map(lambda made: replace(made, finish=finish, logprobs=logprobs, safety=safety, filter_after=after))


def find_cut(chunks: ChunksSpec | None) -> Chunks:
    match chunks:
        case None:
            return "token"
        case SizeSpec(size=size):
            return size
        case list():
            return tuple(chunks)
    return chunks


def _compile_parts(content: ContentSpec, context: CompileContext) -> Iterator[Compiled[Part]]:
    cut = find_cut(content.chunks)
    notes = _NO_NOTES
    if content.annotations:
        notes = compile_json(content.annotations, context.at("annotations")).map(tuple)
    if content.citations:
        stated = [cited.model_dump(exclude_none=True) for cited in content.citations]
        sources = compile_json(stated, context.at("citations"))
        notes = combine(notes, sources, lambda noted, cited: (*noted, *(Citation(**source) for source in cited)))
    # An exact list of pieces applies to the text; the parts before it are split as usual.
    before = "token" if isinstance(cut, tuple) else cut
    if content.reasoning is not None:
        yield context.at("reasoning").compile_text(content.reasoning).map(partial(Reasoning, chunks=before))
    for index, spec in enumerate(content.items or ()):
        yield from compile_item(spec, before, context.at("items", index))
    if content.text is not None:
        text = context.at("text").compile_text(content.text)
        _check_cited(content, text, context)
        yield _compile_text(text, cut, notes)
    if "json_" in content.model_fields_set:
        yield _compile_text(compile_json_text(content.json_, context.at("json")), cut, notes, is_json=True)
    if content.tool_error is not None:
        failed = content.tool_error
        here = context.at("tool_error")
        if isinstance(failed, str):
            yield _compile_text(here.compile_text(failed), cut, notes)
        else:
            yield _compile_text(compile_json_text(failed, here), cut, notes, is_json=True)
    for index, block in enumerate(content.content or ()):
        yield _compile_block(block, context.at("content", index))
    if content.refusal is not None:
        yield context.at("refusal").compile_text(content.refusal).map(partial(Refusal, chunks=cut))
    for index, call in enumerate(content.tool_calls or ()):
        same = sum(earlier.name == call.name for earlier in (content.tool_calls or ())[:index])
        yield compile_tool_use(call, cut, context.at("tool_calls", index), before=same)
    for index, part in enumerate(content.parts or ()):
        chunks = content.chunks if part.chunks is None else part.chunks
        yield from _compile_part(part, find_cut(chunks), notes=notes, context=context.at("parts", index))
        if part.text is not None:
            notes = _NO_NOTES  # they belong to the first text


def _check_cited(content: ContentSpec, text: Compiled[str], context: CompileContext) -> None:
    """Refuse citations of words that are not in a text without templates."""
    for at, cited in enumerate(content.citations or ()):
        if text.known and cited.text and "{{" not in cited.text and cited.text not in text.known[0]:
            context.at("citations", at, "text").refuse(f"the answer's text has no {show_value(cited.text)}")


def _compile_block(block: Mapping[str, Json], context: CompileContext) -> Compiled[Part]:
    kind = block.get("type")
    if not isinstance(kind, str):
        context.refuse('a content block needs a "type", such as image')
    body = {key: value for key, value in block.items() if key != "type"}
    return compile_json(body, context).map(partial(Item, str(kind)))


def _compile_text(text: Compiled[str], cut: Chunks, notes: _Notes, *, is_json: bool = False) -> Compiled[Part]:
    """Compile a text with its annotations; `is_json`: it is a value."""
    if notes.known and not any(isinstance(note, Citation) for note in notes.known[0]):
        return text.map(partial(Text, chunks=cut, annotations=notes.known[0], is_json=is_json))
    return combine(text, notes, lambda made, noted: Text(made, cut, tuple(_place_notes(noted, made)), is_json=is_json))


def _place_notes(notes: Iterable[Json], text: str) -> Iterator[Json]:
    for note in notes:
        yield note.note(text) if isinstance(note, Citation) else note


def _compile_part(part: PartSpec, cut: Chunks, notes: _Notes, context: CompileContext) -> Iterator[Compiled[Part]]:
    if len(part.model_fields_set - {"chunks"}) != 1:
        context.refuse("a part needs exactly one of reasoning, text, refusal, tool_call and item")
        return
    made = tuple(_compile_part_content(part, cut, notes=notes, context=context))
    if isinstance(part.chunks, list):
        _check_pieces(part.chunks, gather(made), context.at("chunks"))
    yield from made


def _compile_part_content(
    part: PartSpec, cut: Chunks, notes: _Notes, context: CompileContext
) -> Iterator[Compiled[Part]]:
    if part.reasoning is not None:
        yield context.at("reasoning").compile_text(part.reasoning).map(lambda text: Reasoning(text, cut))
    if part.text is not None:
        yield _compile_text(context.at("text").compile_text(part.text), cut, notes)
    if part.refusal is not None:
        yield context.at("refusal").compile_text(part.refusal).map(lambda text: Refusal(text, cut))
    if part.tool_call is not None:
        yield compile_tool_use(part.tool_call, cut, context.at("tool_call"))
    if part.item is not None:
        yield from compile_item(part.item, cut, context.at("item"))


def _check_pieces(pieces: list[str], parts: Compiled[tuple[Part, ...]], context: CompileContext) -> None:
    """Check that an exact list of pieces has a single text that is the same for every call."""
    if not parts.known:
        context.refuse(
            "exact pieces need fixed text, without templates; give a template as the whole text, with chunks: word"
        )
        return
    texts = [_get_text(part) for part in parts.known[0] if not isinstance(part, Item)]
    if len(texts) > 1 and isinstance(parts.known[0][0], Reasoning):
        texts = texts[1:]
    if len(texts) != 1:
        context.refuse("exact pieces apply to one text, but there are several; give each its own chunks under parts")
    elif "".join(pieces) != texts[0]:
        context.refuse(f"these pieces do not add up to the text: {_describe_difference(''.join(pieces), texts[0])}")


def _get_text(part: Part) -> str:
    match part:
        case ToolUse():
            return part.call.arguments
        case Item():
            return ""
    return part.text


def _describe_difference(joined: str, text: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(joined, text, strict=False)) if a != b), min(len(joined), len(text)))
    return (
        f"after {count_noun(at, 'character')} they have {_quote_rest(joined, at)}, the text has {_quote_rest(text, at)}"
    )


def _quote_rest(text: str, at: int) -> str:
    return f'"{text[at : at + 12]}"' if text[at:] else "nothing more"
