"""Amazon Bedrock's Converse: an Answer as one body, or as the events of a stream, from the same blocks.

The keys of every object are sorted, as on the wire of the live service, but for the input of tools.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.plan import (
    Answer,
    Choice,
    Part,
    Reasoning,
    Refusal,
    Safety,
    Text,
    ToolUse,
    Usage,
    Verdict,
    find_tokens,
)
from mockserver.wire.parts import has_object, list_pieces, read_arguments, wrap_arguments
from mockserver.wire.renderer import Outline, Renderer
from mockserver.wire.thinking import sign

Body = Mapping[str, Json]


class Guardrail(Struct, frozen=True):
    """The guardrail that a request names; `traces`: the answer tells what it found."""

    name: str
    traces: bool = False


class ConverseOptions(Struct, frozen=True):
    """What the request contributes to its answer."""

    thoughts: bool = True  # whether their text is shown
    is_claude: bool = True  # which signs its thoughts, and says of what type its calls are
    tells_stop: bool = False  # whether it asked for the stop sequence
    caches: bool = False  # whether it marks what to cache
    echoed: Body = {}  # keys of the answer that repeat the request, in their order
    guardrail: Guardrail | None = None


class ConverseBlock(Struct, frozen=True):
    """A content block as it is in the end, and the part that it shows."""

    body: Body
    part: Part


class ConverseRenderer(Renderer[ConverseOptions]):
    """Renders Converse answers."""

    seals = True

    def render_body(self, answer: Answer, options: ConverseOptions) -> dict[str, Json]:
        choice = answer.choices[0]
        message = {"content": [block.body for block in list_blocks(answer, options)], "role": "assistant"}
        return {
            **_tell_stop(choice, options),
            "metrics": METRICS,
            "output": {"message": message},
            **options.echoed,
            "stopReason": find_stop_reason(choice, options),
            **make_trace(answer, options),
            "usage": make_usage(answer.usage, options),
        }

    def render_frames(self, answer: Answer, options: ConverseOptions) -> Iterator[Frame]:
        choice = answer.choices[0]
        yield make_frame("messageStart", {"role": "assistant"}, "open")
        for index, block in enumerate(list_blocks(answer, options)):
            yield from _list_block_events(index, block, answer)
        ended = {**_tell_stop(choice, options), "stopReason": find_stop_reason(choice, options)}
        yield make_frame("messageStop", ended, "end")
        metadata = {
            "metrics": METRICS,
            **options.echoed,
            **make_trace(answer, options),
            "usage": make_usage(answer.usage, options),
        }
        yield make_frame("metadata", metadata, "end")

    def outline(self, answer: Answer, options: ConverseOptions) -> Outline | None:
        if options.echoed or options.guardrail is not None:
            return None
        calls = [part.call for part in answer.choices[0].parts if type(part) is ToolUse]
        inputs = [to_json(read_arguments(call.arguments)) for call in calls]
        return Outline((options.thoughts, options.is_claude, options.tells_stop, options.caches), tuple(inputs))


METRICS: Body = {"latencyMs": 0}  # the time that an answer takes is not in its bytes


def find_stop_reason(choice: Choice, options: ConverseOptions) -> str:
    """Return the `stopReason` of an answer; a filter that trips counts as the guardrail, if the request names one."""
    if choice.finish == "stop":
        refused = any(isinstance(part, Refusal) for part in choice.parts)
        return "content_filtered" if refused else "stop_sequence" if choice.stop else "end_turn"
    if choice.finish == "content_filter" and options.guardrail is not None:
        return "guardrail_intervened"
    return _REASONS.get(choice.finish, choice.finish)


_REASONS = {
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filtered",
    "error": "malformed_model_output",
}


def _tell_stop(choice: Choice, options: ConverseOptions) -> Body:
    if not options.tells_stop or not choice.stop:
        return {}
    return {"additionalModelResponseFields": {"delta": {"stop_sequence": choice.stop}}}


def make_usage(usage: Usage, options: ConverseOptions) -> dict[str, Json]:
    """Return the `usage` of an answer; tokens of caches are left out where nothing is cached."""
    cached = {"cacheReadInputTokens": usage.cached, "cacheWriteInputTokens": usage.cache_write}
    return {
        **(cached if options.caches or usage.cached or usage.cache_write else {}),
        "inputTokens": max(usage.prompt - usage.cached - usage.cache_write, 0),
        "outputTokens": usage.completion,
        "totalTokens": usage.total,
    }


def list_blocks(answer: Answer, options: ConverseOptions) -> Iterator[ConverseBlock]:
    """Yield the blocks of an answer."""
    thoughts = 0
    for part in answer.choices[0].parts:
        match part:
            case Text() | Refusal():
                if part.text or isinstance(part.chunks, tuple):
                    notes = part.annotations if isinstance(part, Text) else ()
                    citations = [citation for note in notes for citation in _make_citations(note, part.text)]
                    cited = {"citationsContent": {"citations": citations, "content": [{"text": part.text}]}}
                    yield ConverseBlock(cited if citations else {"text": part.text}, part)
            case Reasoning():
                signed = {"signature": sign(part.text, thoughts, None)} if options.is_claude else {}
                text = {**signed, "text": part.text if options.thoughts else ""}
                thoughts += 1
                yield ConverseBlock({"reasoningContent": {"reasoningText": text}}, part)
            case ToolUse(call):
                if not has_object(part):
                    part = wrap_arguments(part)
                    call = part.call
                typed = {"type": "tool_use"} if options.is_claude else {}
                used = {"input": read_arguments(call.arguments), "name": call.name, "toolUseId": call.id, **typed}
                yield ConverseBlock({"toolUse": used}, part)


def _make_citations(note: Body, text: str) -> Iterator[Body]:
    """Yield a rule's annotation as a citation: Bedrock's own, or a chat's of an address."""
    if "location" in note or "sourceContent" in note:
        yield {key: note[key] for key in ("location", "source", "sourceContent", "title") if key in note}
        return
    inner = note.get("url_citation")
    cited = inner if isinstance(inner, Mapping) else note
    if not isinstance(url := cited.get("url"), str):
        return
    start, end = (at if isinstance(at := cited.get(key), int) else None for key in ("start_index", "end_index"))
    domain = url.partition("://")[2].partition("/")[0]
    titled = {"title": cited["title"]} if isinstance(cited.get("title"), str) else {}
    where = {"web": {"domain": domain, "url": url}}
    yield {"location": where, "source": url, "sourceContent": [{"text": text[start:end]}], **titled}


def make_frame(event: str, body: Body, part: str = "text", tokens: int = 0) -> Frame:
    """Return an event of a stream: its name, its JSON, what it carries, and how many tokens."""
    return Frame(to_json(body), event, tokens, part, "message")


def _list_block_events(index: int, block: ConverseBlock, answer: Answer) -> Iterator[Frame]:
    """Yield the events of a block; only one that calls a tool has a start."""
    part = "arguments" if isinstance(block.part, ToolUse) else "text"
    if "toolUse" in block.body:
        used = {key: block.body["toolUse"][key] for key in ("name", "toolUseId")}
        yield make_frame("contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": used}}, part)
    for delta, weight in _list_deltas(block, answer):
        data = b'{"contentBlockIndex":%d,"delta":%b}' % (index, delta)
        yield Frame(data, "contentBlockDelta", weight, part, "message")
    yield make_frame("contentBlockStop", {"contentBlockIndex": index}, part)


def _list_deltas(block: ConverseBlock, answer: Answer) -> Iterator[tuple[bytes, int]]:
    """Yield the deltas of a block as JSON, each with its weight in tokens."""
    body = block.body
    part = block.part
    pieces = list_pieces(part, answer.tokenizer)
    if isinstance(part, Reasoning):
        text = body["reasoningContent"]["reasoningText"]
        shown = 0
        for piece, weight in pieces if text["text"] else ():
            shown += weight
            yield b'{"reasoningContent":{"text":%b}}' % to_json(piece), weight
        if "signature" in text:
            hidden = len(find_tokens(part, answer.tokenizer)) - shown
            yield b'{"reasoningContent":{"signature":%b}}' % to_json(text["signature"]), hidden
        return
    form = b'{"toolUse":{"input":%b}}' if isinstance(part, ToolUse) else b'{"text":%b}'
    for piece, weight in pieces:
        yield form % to_json(piece), weight
    for citation in body.get("citationsContent", {}).get("citations", ()):
        yield to_json({"citation": citation}), 0


# Guardrails.

BLOCKED = "Sorry, the model cannot answer this question."  # the message of a guardrail that nobody has changed
FILTERED = "The generated text has been blocked by our content filters."


def replace_filtered(answer: Answer, options: ConverseOptions) -> Answer:
    """Return the answer with the guardrail's message in place of what it has filtered."""
    choice = answer.choices[0]
    if choice.finish != "content_filter" or options.guardrail is None:
        return answer
    return replace(answer, choices=(replace(choice, parts=(Text(BLOCKED),)),))


def make_trace(answer: Answer, options: ConverseOptions) -> Body:
    """Return the `trace` of the guardrail; an empty object if the request wants none."""
    guardrail = options.guardrail
    choice = answer.choices[0]
    if guardrail is None or not guardrail.traces:
        return {}
    return {"trace": {"guardrail": write_guardrail_trace(guardrail, choice.safety, answer.prompt_safety)}}


def write_guardrail_trace(guardrail: Guardrail, of_completion: Safety, of_prompt: Safety) -> Body:
    """Return what a guardrail found in a completion and its prompt."""
    trace: dict[str, Json] = {}
    if any(verdict.filtered for verdict in (*of_completion, *of_prompt)):
        trace["actionReason"] = "Guardrail blocked."
    trace["inputAssessment"] = {guardrail.name: assess(of_prompt)}
    if of_completion:
        trace["outputAssessments"] = {guardrail.name: [assess(of_completion)]}
    return trace


def assess(safety: Safety) -> Body:
    """Return the assessment of a text: the filters that found something in it, and the usage of the guardrail."""
    found = [
        _show_filter(verdict)
        for verdict in safety
        if verdict.filtered or verdict.detected or verdict.severity != "safe"
    ]
    policy = {"contentPolicy": {"filters": found}} if found else {}
    return {**policy, "invocationMetrics": {"guardrailProcessingLatency": 0, "usage": make_guardrail_usage()}}


def _show_filter(verdict: Verdict) -> Body:
    return {
        "action": "BLOCKED" if verdict.filtered else "NONE",
        "confidence": _CONFIDENCES.get(verdict.severity, "HIGH"),
        "detected": True,
        "filterStrength": "HIGH",
        "type": FILTERS.get(verdict.category, "MISCONDUCT"),
    }


def make_guardrail_usage(units: int = 1) -> dict[str, Json]:
    """Return the usage of a guardrail that has read this many units of text."""
    return {name: units if name == "contentPolicyUnits" else 0 for name in _UNITS}


_UNITS = (
    "contentPolicyUnits",
    "contextualGroundingPolicyUnits",
    "sensitiveInformationPolicyFreeUnits",
    "sensitiveInformationPolicyUnits",
    "topicPolicyUnits",
    "wordPolicyUnits",
)
_CONFIDENCES = {"low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
# The filter of a guardrail that finds what a category is about.
FILTERS: Mapping[str, str] = {
    "hate": "HATE",
    "sexual": "SEXUAL",
    "violence": "VIOLENCE",
    "self_harm": "MISCONDUCT",
    "jailbreak": "PROMPT_ATTACK",
    "harassment": "INSULTS",
}
