"""Gemini's GenerateContentResponse: an Answer as one body, or as the responses of a stream, each with its new parts."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from math import fsum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import compute_fingerprint
from mockserver.core.frames import Frame
from mockserver.core.json import Json, try_parse
from mockserver.core.plan import (
    Answer,
    Choice,
    Item,
    Logprob,
    Part,
    Reasoning,
    Text,
    ToolUse,
    Usage,
    Verdict,
    find_tokens,
)
from mockserver.core.seal import Seal, claim
from mockserver.core.tokens import find_token_id, spell_token, weigh_pieces
from mockserver.wire.parts import take_turns, write_moment
from mockserver.wire.renderer import Outline, Renderer, encode_texts
from mockserver.wire.template import HOLE, ChunkTemplate, CountedFrames

Object = dict[str, Json]


class GeminiOptions(Struct, frozen=True):
    """What the request contributes to its answer."""

    vertex: bool = False
    thoughts: bool = False  # whether to show them
    signed: bool = False  # whether the first call of an answer has a signature
    alternatives: int = 0  # of each token, in log probabilities
    media: Mapping[str, int] = {}  # tokens of the prompt that are not text, by modality
    cached: int = 0  # tokens of the prompt that are in its cached content
    cached_media: Mapping[str, int] = {}  # those of them that are not text
    indent: int | None = 2  # of a body that is spread over lines


class GeminiRenderer(Renderer[GeminiOptions]):
    """Renders responses. Those for Vertex AI have no template: their average log probability depends on the text."""

    def render_body(self, answer: Answer, options: GeminiOptions) -> Object:
        candidates = [
            _render_candidate(choice, at, answer=answer, options=options) for at, choice in enumerate(answer.choices)
        ]
        fields = {"candidates": candidates, **_make_feedback(answer)}
        return _make_response(fields, answer, options, usage=make_usage_metadata(answer.usage, options))

    def encode(self, body: Mapping[str, Json], options: GeminiOptions) -> bytes:
        return to_json(body) if options.indent is None else to_json(body, indent=options.indent) + b"\n"

    def outline(self, answer: Answer, options: GeminiOptions) -> Outline | None:
        if options.vertex or options.media or options.cached or options.cached_media:
            return None
        made: list[bytes] = []
        for index, choice in enumerate(answer.choices):
            calls = [part for part in choice.parts if type(part) is ToolUse]
            if calls and options.signed:
                made += encode_texts([_sign_part(answer, index)])
            for part in calls:
                call = _make_function_call(part)
                made.append(b"" if call is None else _indent_arguments(call["args"], options.indent))
        return Outline((options.thoughts, options.signed, options.indent, *map(bool, made)), tuple(made))

    def render_frames(self, answer: Answer, options: GeminiOptions) -> Iterator[Frame]:
        """Yield the frames, but for the last with a hole for the tokens so far."""
        return _Stream(answer, options, is_uncounted=True).list_events()

    def stream(self, answer: Answer, options: GeminiOptions) -> Iterable[Frame]:
        """Return the responses as server-sent events."""
        filled = None
        if all(isinstance(part, Text) and not isinstance(part.chunks, tuple) for part in answer.choices[0].parts):
            filled = self.fill_frames(answer, options)  # but not stated pieces, which may be empty
        if filled is None or filled.weights[:1] == [0]:  # a count of zero is not stated
            return _Stream(answer, options).list_events()
        prompt = answer.usage.prompt
        return CountedFrames(
            filled, lambda: (_SO_FAR % (tokens, prompt + tokens) for tokens in accumulate(filled.weights))
        )


def _indent_arguments(arguments: Json, indent: int | None) -> bytes:
    """Return JSON as it stands in a part: its lines are indented as deep as a part is within a body."""
    if indent is None:
        return to_json(arguments)
    return to_json(arguments, indent=indent).replace(b"\n", b"\n" + b" " * (7 * indent))


def _make_feedback(answer: Answer) -> Object:
    """Return the ratings of the prompt that a rule states."""
    ratings = _make_ratings(answer.prompt_safety)
    return {"promptFeedback": {"safetyRatings": ratings}} if ratings else {}


def render_blocked_prompt(answer: Answer, verdicts: Sequence[Verdict], options: GeminiOptions) -> Object:
    """Return the response to a prompt that a filter blocks: without candidates."""
    tripped = next((verdict for verdict in verdicts if verdict.filtered), None)
    reason = "SAFETY"
    if tripped is not None and tripped.category == "jailbreak":
        reason = "JAILBREAK" if options.vertex else "PROHIBITED_CONTENT"
    feedback: Object = {"blockReason": reason}
    if ratings := _make_ratings(verdicts):
        feedback["safetyRatings"] = ratings
    usage = make_usage_metadata(answer.usage, options)
    return _make_response({"promptFeedback": feedback}, answer, options, usage=usage)


def _make_response(fields: Object, answer: Answer, options: GeminiOptions, *, usage: Object) -> Object:
    if options.vertex:
        made = write_moment(answer.created)
        return {
            **fields,
            "usageMetadata": usage,
            "modelVersion": answer.model,
            "createTime": made,
            "responseId": answer.id,
        }
    usage = {**usage, "serviceTier": "standard"}
    return {**fields, "usageMetadata": usage, "modelVersion": answer.model, "responseId": answer.id}


def make_usage_metadata(usage: Usage, options: GeminiOptions) -> Object:
    """Return the `usageMetadata` of a response; zeros are left out."""
    visible = max(usage.completion - usage.reasoning, 0)
    counts: Object = {
        "promptTokenCount": usage.prompt,
        "candidatesTokenCount": visible,
        "totalTokenCount": usage.prompt + visible + usage.reasoning,
        "trafficType": "ON_DEMAND" if options.vertex else "",
        "cachedContentTokenCount": usage.cached,
    }
    made = {key: count for key, count in counts.items() if count}
    if usage.prompt:
        made["promptTokensDetails"] = list_modalities(usage.prompt, options.media)
    if usage.cached:
        made["cacheTokensDetails"] = list_modalities(usage.cached, options.cached_media)
    if options.vertex and visible:
        made["candidatesTokensDetails"] = list_modalities(visible, {})
    if usage.reasoning:
        made["thoughtsTokenCount"] = usage.reasoning
    return made


def list_modalities(tokens: int, media: Mapping[str, int]) -> list[Object]:
    """Return the counts of tokens by modality; those that no medium takes are text."""
    text = tokens - sum(media.values())
    counted = {"TEXT": text, **media} if text > 0 else media
    return [{"modality": modality, "tokenCount": count} for modality, count in counted.items()]


def _render_candidate(choice: Choice, index: int, answer: Answer, options: GeminiOptions) -> Object:
    parts = [part for shown in choice.parts for part in _make_parts(shown, options)]
    if options.signed:
        parts = _sign_first_call(parts, answer, index)
    return _make_candidate(parts, choice, index=index, options=options)


def _make_parts(part: Part, options: GeminiOptions) -> Iterator[Object]:
    """Yield the parts of a response that show a part of the answer, whole."""
    match part:
        case Reasoning():
            if options.thoughts:
                yield {"text": part.text, "thought": True}
        case ToolUse():
            if (call := _make_function_call(part)) is not None:
                yield {"functionCall": call}
        case Item():
            yield from _make_code_parts(part)
        case _:
            yield {"text": part.text}


def _make_function_call(part: ToolUse) -> Object | None:
    """Return the call; None if its arguments are not a JSON object, as Gemini's calls demand."""
    call = part.call
    arguments = {"input": call.arguments} if call.kind == "custom" else try_parse(call.arguments or "{}")
    if not isinstance(arguments, dict):
        return None
    return {"name": call.name, "args": arguments, **({"id": call.id} if call.id else {})}


def _make_code_parts(item: Item) -> Iterator[Object]:
    if item.kind == "code_interpreter_call":
        yield {"executableCode": {"language": "PYTHON", "code": item.body.get("code") or ""}}
        printed = (each.get("logs") or "" for each in item.body.get("outputs") or () if isinstance(each, Mapping))
        outcome = "OUTCOME_FAILED" if item.body.get("status") == "failed" else "OUTCOME_OK"
        output = "".join(printed)
        yield {"codeExecutionResult": {"outcome": outcome, **({"output": output} if output else {})}}


def _sign_first_call(parts: list[Object], answer: Answer, index: int) -> list[Object]:
    """Return the parts, the first call among them with its signature."""
    first = next((at for at, part in enumerate(parts) if "functionCall" in part), None)
    if first is None:
        return parts
    return [*parts[:first], {**parts[first], "thoughtSignature": _sign_part(answer, index)}, *parts[first + 1 :]]


def _sign_part(answer: Answer, index: int) -> str:
    return SIGNATURE.close(claim(answer.id.encode("utf-8", "surrogatepass"), b"%d" % index))


SIGNATURE = Seal("thought", b"\x0a\xc8\x01\x01", 210)


def _make_candidate(parts: Sequence[Object], choice: Choice, *, index: int, options: GeminiOptions) -> Object:
    """Return a candidate with its end; `parts` are all that a plain answer has, or the last of a stream."""
    finish = _find_finish(choice, options)
    made: Object = {"content": _render_content(parts, choice, options), "finishReason": finish.reason, "index": index}
    if finish.message:
        made["finishMessage"] = finish.message
    if ratings := _make_ratings(choice.safety):
        made["safetyRatings"] = ratings
    if any(isinstance(part, Item) or (isinstance(part, Text) and part.annotations) for part in choice.parts):
        made |= _make_citations(choice, options)
        if grounding := _make_grounding(choice, options):
            made["groundingMetadata"] = grounding
    if choice.logprobs is not None:
        made |= _make_logprobs(choice.logprobs, options)
    elif options.vertex:
        texts = [part.text for part in choice.parts if isinstance(part, Text)]
        made["avgLogprobs"] = -int(compute_fingerprint(index, *texts)[:4], 16) / 0x1FFFF
    return made


def _render_content(parts: Sequence[Object], choice: Choice, options: GeminiOptions) -> Object:
    spoken = any(part.get("text") != "" for part in parts)
    if not parts and choice.finish == "length":
        return {"role": "model"}  # thoughts took all tokens
    if not spoken and choice.finish != "length":
        return {}  # a stop sequence came first, or all was blocked
    return _make_content(parts, options)


def _make_content(parts: Sequence[Object], options: GeminiOptions) -> Object:
    return {"role": "model", "parts": list(parts)} if options.vertex else {"parts": list(parts), "role": "model"}


class _Finish(NamedTuple):
    """A finish reason, and the message beside it."""

    reason: str
    message: str = ""


def _find_finish(choice: Choice, options: GeminiOptions) -> _Finish:
    calls = [part for part in choice.parts if isinstance(part, ToolUse)]
    broken = next((part.call for part in calls if _make_function_call(part) is None), None)
    if broken is not None and choice.finish != "length":
        return _Finish("MALFORMED_FUNCTION_CALL", f"Malformed function call: {broken.name}({broken.arguments})")
    if choice.finish == "content_filter" and any("protected_material" in seen.category for seen in choice.safety):
        return _Finish("RECITATION")
    reason = _FINISHES.get(choice.finish, choice.finish)
    if reason == "UNEXPECTED_TOOL_CALL":
        name = calls[0].call.name if calls else "default_api"
        return _Finish(reason, f"Unexpected tool call: Model tried to call an undeclared function: {name}")
    calls_functions = bool(calls) and reason == "STOP" and not options.vertex
    return _Finish(reason, "Model generated function call(s)." if calls_functions else "")


_FINISHES = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "function_call": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "error": "OTHER",
}


def _make_ratings(verdicts: Sequence[Verdict]) -> list[Object]:
    """Return the ratings of the harms that a rule states, or that block."""
    return [
        {
            "category": _CATEGORIES[verdict.category],
            "probability": _PROBABILITIES[verdict.severity],
            **({"blocked": True} if verdict.filtered else {}),
        }
        for verdict in verdicts
        if verdict.category in _CATEGORIES
    ]


_CATEGORIES = {
    "hate": "HARM_CATEGORY_HATE_SPEECH",
    "self_harm": "HARM_CATEGORY_DANGEROUS_CONTENT",
    "sexual": "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "violence": "HARM_CATEGORY_DANGEROUS_CONTENT",
}
_PROBABILITIES = {"safe": "NEGLIGIBLE", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}


def _list_notes(choice: Choice, options: GeminiOptions) -> Iterator[tuple[Mapping[str, Json], str, int]]:
    """Yield each annotation with the text that it is on, and where that is among the parts."""
    at = 0
    for part in choice.parts:
        if isinstance(part, Text):
            yield from (({**note, **(note.get("url_citation") or {})}, part.text, at) for note in part.annotations)
        at += len(list(_make_parts(part, options)))


def _make_citations(choice: Choice, options: GeminiOptions) -> Object:
    """Return annotations in Gemini's own form: `{startIndex, endIndex, uri, license}`."""
    notes = [note for note, _, _ in _list_notes(choice, options) if "uri" in note]
    sources = [{key: value for key, value in note.items() if value} for note in notes]  # zeros are not printed
    key = "citations" if options.vertex else "citationSources"
    return {"citationMetadata": {key: sources}} if sources else {}


def _make_grounding(choice: Choice, options: GeminiOptions) -> Object:
    """Return citations of URLs as chunks with the segments that they support, and the queries of searches."""
    noted = [each for each in _list_notes(choice, options) if isinstance(each[0].get("url"), str)]
    chunks: dict[str, Object] = {}
    for note, _, _ in noted:
        chunks.setdefault(note["url"], {"web": {"uri": note["url"], "title": str(note.get("title") or note["url"])}})
    supports = [
        {"segment": segment, "groundingChunkIndices": [list(chunks).index(note["url"])]}
        for note, text, at in noted
        if (segment := _make_segment(note, text, at))
    ]
    made: Object = {}
    if chunks:
        made["groundingChunks"] = list(chunks.values())
    if supports:
        made["groundingSupports"] = supports
    searches = [part.body for part in choice.parts if isinstance(part, Item) and part.kind == "web_search_call"]
    queries = chain.from_iterable((body.get("action") or {}).get("queries") or () for body in searches)
    if asked := [query for query in queries if query]:
        made["webSearchQueries"] = asked
    return made


def _make_segment(note: Mapping[str, Json], text: str, at: int) -> Object:
    """Return a stretch of a text: in bytes, its end exclusive; zeros are not printed."""
    start = note.get("start_index")
    end = note.get("end_index")
    if not isinstance(start, int) or not isinstance(end, int):
        return {}
    before = text[:start].encode("utf-8", "replace")
    within = text[start:end]
    inside = within.encode("utf-8", "replace")
    places = {"partIndex": at, "startIndex": len(before), "endIndex": len(before) + len(inside)}
    return {**{key: place for key, place in places.items() if place}, "text": within}


def _make_logprobs(logprobs: Sequence[Logprob], options: GeminiOptions) -> Object:
    chosen = [_make_token(logprob.token, logprob.logprob) for logprob in logprobs]
    total = fsum(logprob.logprob for logprob in logprobs)  # exact, so that no version of Python differs
    result: Object = {"chosenCandidates": chosen, "logProbabilitySum": total}
    if options.alternatives:
        top = [logprob.top or ((logprob.token, logprob.logprob),) for logprob in logprobs]
        result = {"topCandidates": [{"candidates": [_make_token(*each) for each in some]} for some in top], **result}
    return {"avgLogprobs": total / len(chosen) if chosen else 0.0, "logprobsResult": result}


def _make_token(token: str, logprob: float) -> Object:
    return {"token": spell_token(token), "tokenId": find_token_id(token), "logProbability": logprob}


def stream_array(answer: Answer, options: GeminiOptions) -> Iterator[Frame]:
    """Return the responses as the elements of one JSON array."""
    return _stream_as_array(_Stream(answer, options, indented=True).list_events())


def stream_responses(responses: Sequence[Object], *, events: bool) -> Iterator[Frame]:
    """Return whole responses as a stream: as server-sent events, or as the elements of one JSON array."""
    write = _write_one_line if events else write_indented
    last = len(responses) - 1
    frames = (
        Frame(write(response), part="finish" if at == last else "text", framing="crlf")
        for at, response in enumerate(responses)
    )
    return frames if events else _stream_as_array(frames)


def _stream_as_array(frames: Iterable[Frame]) -> Iterator[Frame]:
    before = b"["
    for frame in frames:
        yield replace(frame, data=before + frame.data, framing="bare")
        before = b",\r\n"
    yield Frame(b"\n]\n", part="end", framing="bare")


def write_indented(value: Json) -> bytes:
    """Return JSON over several lines, as Google writes it."""
    return to_json(value, indent=2)


def _write_one_line(value: Json) -> bytes:
    return _encode(value).encode()


_encode = json.JSONEncoder(separators=(",", ": "), ensure_ascii=False).encode


# What one event adds to a candidate: a piece of its text, or a part (None: nothing that is shown); its tokens; which
# part of the answer it carries; how many of the tokens are thoughts. A tuple, as there is one for every token.
_Step = tuple[str | Object | None, int, str, int]


class _Stream:
    """Makes the responses of a stream; one that `is_uncounted` has a hole for the tokens so far."""

    def __init__(
        self, answer: Answer, options: GeminiOptions, *, indented: bool = False, is_uncounted: bool = False
    ) -> None:
        self._answer = answer
        self._options = options
        self._is_uncounted = is_uncounted
        self._encode = write_indented if indented else _write_one_line
        self._texts = None if indented else ChunkTemplate(self._make_text_event, _encode_with_holes)
        # Tokens so far.
        self._visible = 0
        self._thoughts = 0

    def list_events(self) -> Iterator[Frame]:
        """Yield the responses; candidates take turns, and the last one of each has its finish reason."""
        answer = self._answer
        options = self._options
        steps = [_list_steps(choice, at, answer=answer, options=options) for at, choice in enumerate(answer.choices)]
        left = [*map(len, steps)]
        for index, (part, tokens, kind, thoughts) in take_turns(steps):
            self._visible += tokens - thoughts
            self._thoughts += thoughts
            left[index] -= 1
            if left[index]:
                yield Frame(self._write_event(index, part), None, tokens, kind, "crlf")
                continue
            parts = [] if part is None else [_make_part(part)]
            usage = self._count_usage() if any(left) else make_usage_metadata(answer.usage, options)
            candidate = _make_candidate(parts, answer.choices[index], index=index, options=options)
            if parts and parts[0].get("text") == "":  # a rule states this piece
                candidate["content"] = _make_content(parts, options)
            fields = {"candidates": [candidate], **({} if any(left) else _make_feedback(answer))}
            data = self._encode(_make_response(fields, answer, options, usage=usage))
            yield Frame(data, None, tokens, "finish", "crlf")

    def _write_event(self, index: int, part: str | Object | None) -> bytes:
        if self._texts is None or not self._visible or type(part) is not str:
            return self._encode(self._make_event(index, _make_part(part), self._count_usage()))
        data = self._texts.fill((index, self._thoughts), part)
        if self._is_uncounted:
            return data
        visible = self._visible
        total = self._answer.usage.prompt + self._visible + self._thoughts
        return data.replace(HOLE, _SO_FAR % (visible, total), 1).replace(HOLE, b"%d" % visible)

    def _make_text_event(self, form: tuple[int, int], text: Json) -> Object:
        """Return the response with a text of a candidate, with numbers in place of the tokens so far."""
        usage = self._count_usage() | _UNKNOWN
        if "candidatesTokensDetails" in usage:
            usage["candidatesTokensDetails"] = list_modalities(_UNKNOWN["candidatesTokenCount"], {})
        return self._make_event(form[0], {"text": text}, usage)

    def _make_event(self, index: int, part: Object, usage: Object) -> Object:
        candidate = {"content": _make_content([part], self._options), "index": index}
        return _make_response({"candidates": [candidate]}, self._answer, self._options, usage=usage)

    def _count_usage(self) -> Object:
        counted = Usage(self._answer.usage.prompt, self._visible + self._thoughts, self._thoughts, self._options.cached)
        return make_usage_metadata(counted, self._options)


_SO_FAR = b'%d,"totalTokenCount": %d'  # the tokens so far, alone and with those of the prompt
_UNKNOWN = {"candidatesTokenCount": 987_654_321_000_001, "totalTokenCount": 987_654_321_000_002}


def _encode_with_holes(response: Json) -> bytes:
    data = _write_one_line(response).replace(_SO_FAR % tuple(_UNKNOWN.values()), HOLE)
    return data.replace(b"%d" % _UNKNOWN["candidatesTokenCount"], HOLE)


def _make_part(part: str | Object | None) -> Object:
    return part if isinstance(part, dict) else {"text": part or ""}


def _list_steps(choice: Choice, index: int, answer: Answer, options: GeminiOptions) -> list[_Step]:
    """Return what the events of a candidate add; hidden tokens go with the next step, or the last one."""
    steps: list[_Step] = []
    hidden = 0
    thoughts = 0
    for part in choice.parts:
        tokens = find_tokens(part, answer.tokenizer)
        made = _list_part_steps(part, tokens, options)
        if not made:
            hidden += len(tokens)
            thoughts += len(tokens) * isinstance(part, Reasoning)
        elif hidden:
            made[0] = _count_hidden(made[0], hidden, thoughts)
            hidden = 0
            thoughts = 0
        steps += made
    if hidden or not steps:
        steps.append(_count_hidden(steps.pop() if steps else (None, 0, "text", 0), hidden, thoughts))
    for at, (added, weight, kind, thought) in enumerate(steps if options.signed else ()):
        if isinstance(added, dict) and "functionCall" in added:
            steps[at] = ({**added, "thoughtSignature": _sign_part(answer, index)}, weight, kind, thought)
            break
    return steps


def _count_hidden(step: _Step, hidden: int, thoughts: int) -> _Step:
    return step[0], step[1] + hidden, step[2], step[3] + thoughts


def _list_part_steps(part: Part, tokens: tuple[str, ...], options: GeminiOptions) -> list[_Step]:
    if isinstance(part, ToolUse | Item):
        whole = list(_make_parts(part, options))
        last = len(whole) - 1
        return [(each, len(tokens) if at == last else 0, "arguments", 0) for at, each in enumerate(whole)]
    pieces = weigh_pieces(tokens, part.chunks)
    if isinstance(part, Reasoning):
        return [
            ({"text": piece, "thought": True}, weight, "text", weight) for piece, weight in pieces if options.thoughts
        ]
    return [(piece, weight, "text", 0) for piece, weight in pieces]
