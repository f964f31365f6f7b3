"""Gemini (generativelanguage.googleapis.com), and the paths of Vertex AI that the same clients call.

Differences from OpenAI: the model is in the path, bodies are proto JSON, streams consist of whole responses, and errors
are `google.rpc.Status`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace
from pydantic_core import from_json, to_json

from mockserver.core.call import Call, Message
from mockserver.core.http import Frame, HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Stored, Usage
from mockserver.core.seed import FROZEN_AT
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._errors import retry_lines
from mockserver.dialects._reply import merge_headers
from mockserver.dialects.gemini.batches import Batches
from mockserver.dialects.gemini.cached_contents import cache_operations
from mockserver.dialects.gemini.checks import signs
from mockserver.dialects.gemini.embeddings import embedding_operations
from mockserver.dialects.gemini.errors import credential, error_body
from mockserver.dialects.gemini.files import file_operations
from mockserver.dialects.gemini.live import play_stated, turn_operation
from mockserver.dialects.gemini.media import ask_for_media, find_operation, render_media
from mockserver.dialects.gemini.messages import COUNT_TOKENS, GENERATE
from mockserver.dialects.gemini.models import MODELS, USUAL_PARAMS, model_operations
from mockserver.dialects.gemini.parse import (
    NAME,
    PART_TOKENS,
    is_media,
    is_vertex,
    make_renamer,
    parse_count,
    parse_generate,
)
from mockserver.dialects.gemini.replay import HISTORY
from mockserver.dialects.gemini.replies import EVENT_TYPE, JSON_TYPE, indent_of, json_lines, pretty_reply
from mockserver.kinds.audio import Spoken
from mockserver.kinds.images import Images
from mockserver.wire.gemini import (
    GeminiOptions,
    GeminiRenderer,
    frame_responses,
    generate_content,
    list_modalities,
    render_blocked_prompt,
    stream_array,
    write_indented,
)


def _parse(http: HttpRequest, validation: Validation) -> Call:
    call = parse_generate(http, validation)
    operation = find_operation(call.model, call.raw.get("generationConfig") or {})
    return call if operation == "chat" else ask_for_media(call, operation)


def _render(call: Call, outcome: Answer | Images | Spoken) -> Reply:
    if not isinstance(outcome, Answer):
        return render_media(call, outcome, events=_wants_events(call.http))
    options = _options(call)
    if call.previous_response_id is not None and not outcome.usage.cached:
        cached = max(outcome.usage.prompt - call.prompt_tokens, 0)  # which the call itself does not have
        outcome = replace(outcome, usage=replace(outcome.usage, cached=cached))
        options = _count_cached(options, cached, outcome.prompt)
    if not call.stream:
        data = _RENDERER.fill_body(outcome, options)
        if data is not None:
            own = HeaderLines(f"content-length: {len(data)}\r\n{json_lines(call.http, 200)}", sized=True)
            return Reply(200, merge_headers(own, outcome.headers), data, tokens=outcome.weight)
        return pretty_reply(call.http, generate_content(outcome, options), outcome.headers, tokens=outcome.weight)
    events = _wants_events(call.http)
    headers = merge_headers(HeaderLines(EVENT_TYPE if events else JSON_TYPE), outcome.headers)
    return Reply(200, headers, frames=(_RENDERER.stream if events else stream_array)(outcome, options))


def _render_turn(call: Call, outcome: Answer) -> Reply:
    headers = merge_headers(HeaderLines(EVENT_TYPE), outcome.headers)
    return Reply(200, headers, frames=play_stated(outcome, _RENDERER.stream(outcome, _options(call))))


def _render_count(call: Call, outcome: Stored) -> Reply:
    asked = outcome.call  # with the cached content, where there is one
    if call.previous_response_id is not None and (asked.messages, asked.tools) == (call.messages, call.tools):
        raise Failure("previous_not_found")
    tokens, options = outcome.answer.usage.prompt, _options(call)
    cached = max(tokens - call.prompt_tokens, 0) if call.previous_response_id is not None else 0
    options = _count_cached(options, cached, asked.messages) if cached else options
    body = {"totalTokens": tokens, "promptTokensDetails": list_modalities(tokens, options.media)}
    if cached:
        body |= {"cachedContentTokenCount": cached, "cacheTokensDetails": list_modalities(cached, options.cached_media)}
    if options.vertex:
        body["totalBillableCharacters"] = sum(len(message.text.replace(" ", "")) for message in call.messages)
    return pretty_reply(call.http, body)


_RENDERER = GeminiRenderer()


def _wants_events(http: HttpRequest) -> bool:
    return http.query.get("alt", http.query.get("$alt", "")).startswith("sse")


def _options(call: Call) -> GeminiOptions:
    config: Mapping[str, Json] = call.raw.get("generationConfig") or {}
    return GeminiOptions(
        vertex=is_vertex(call.http),
        thoughts=(config.get("thinkingConfig") or {}).get("includeThoughts") is True,
        signed=signs(call.model),
        alternatives=call.options.logprobs or 0,
        media=_media(call.messages),
        indent=indent_of(call.http),
    )


def _count_cached(options: GeminiOptions, cached: int, messages: Iterable[Message]) -> GeminiOptions:
    """Return a call with this many cached tokens; `messages` are those of its cached content and its own."""
    media, own = _media(messages), options.media
    of_cached = {modality: count - own.get(modality, 0) for modality, count in media.items()}
    shown = {modality: count for modality, count in of_cached.items() if count}
    return replace(options, media=media, cached=cached, cached_media=shown)


def _media(messages: Iterable[Message]) -> dict[str, int]:
    """Return the tokens of parts that are not text, by modality."""
    parts = [part for message in messages for part in message.parts if is_media(part)]
    return (
        {modality: PART_TOKENS * count for modality, count in Counter(map(_modality, parts)).items()} if parts else {}
    )


def _modality(part: Mapping[str, Json]) -> str:
    kind = str((part.get("file") or {}).get("mime_type", ""))
    if "image_url" in part or "input_audio" in part:
        return "IMAGE" if "image_url" in part else "AUDIO"
    return next((name for front, name in _MODALITIES.items() if kind.startswith(front)), "DOCUMENT")


_MODALITIES = {"video/": "VIDEO", "audio/": "AUDIO"}


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    if failure.reason == "content_filter" and failure.status is None and call is not None and call.operation == "chat":
        return _render_blocked(call, failure)
    status, body = error_body(http, failure, call)
    again = "" if "window" in failure.details else retry_lines(failure)
    headers = (*HeaderLines(again), *failure.headers)
    if ":stream" in http.path and not _wants_events(http):
        data = b"[" + write_indented(body) + b"\n]\n"
        own = HeaderLines(f"{JSON_TYPE}content-length: {len(data)}\r\n", sized=True)
        return Reply(status, merge_headers(own, headers), data)
    return pretty_reply(http, body, headers, status=status)


def _render_blocked(call: Call, failure: Failure) -> Reply:
    """Return the reply to a blocked prompt: a response without candidates, not an error."""
    answer = Answer(call.fingerprint[:23], FROZEN_AT, call.model, (), Usage(call.prompt_tokens))
    body = render_blocked_prompt(answer, failure.details.get("safety", ()), _options(call))
    if not call.stream:
        return pretty_reply(call.http, body, failure.headers)
    events = _wants_events(call.http)
    headers = merge_headers(HeaderLines(EVENT_TYPE if events else JSON_TYPE), failure.headers)
    return Reply(200, headers, frames=tuple(frame_responses([body], events=events)))


def _error_event(failed: Reply, frames: int) -> Frame:
    """Return an error as an event, or as the last element of an array."""
    if failed.frames is not None:
        return next(frame for frame in failed.frames if isinstance(frame, Frame))
    if failed.body.startswith(b"["):
        return Frame((b",\r\n" if frames else b"[") + failed.body[1:], part="finish", framing="bare")
    return Frame(to_json(from_json(failed.body)), part="finish", framing="crlf")


def _usual_body(text: str) -> dict[str, Json]:
    return {"contents": [{"parts": [{"text": text}], "role": "user"}]}


def _generation(verb: str, **more: Any) -> Operation:
    more |= {"params": USUAL_PARAMS, "body": _usual_body}
    more |= {"unify": make_renamer(GENERATE), "history": HISTORY, "also": ("images", "speech")}
    return Operation("chat", "POST", f"{_MODEL}:{verb}", _parse, _render, shows_reasoning=True, **more)


_MODEL = "/{version:version}/{parent:models}/{model}"
_GENERATE = _generation("generateContent", streams=False)
_EMBEDDINGS = embedding_operations(_MODEL)
DIALECT = Dialect(
    name=NAME,
    operations=(
        _GENERATE,
        _generation("streamGenerateContent", streams=True, query={"alt": "sse"}, error=_error_event),
        Operation(
            "input_tokens",
            "POST",
            f"{_MODEL}:countTokens",
            parse_count,
            _render_count,
            params=USUAL_PARAMS,
            body=_usual_body,
            unify=make_renamer(COUNT_TOKENS),
        ),
        *_EMBEDDINGS,
        *model_operations(),
        *cache_operations(),
        *file_operations(),
        turn_operation(_render_turn, _GENERATE),
        *Batches(_GENERATE, _EMBEDDINGS[0], _fail).operations(_MODEL),
    ),
    credential=credential,
    fail=_fail,
    models=tuple(MODELS),
    own_features=frozenset({"content_filter", "filter_annotations", "refusal", "annotations", "items", "status"}),
    missing={f"/*/{name}": "{json: {}}" for name in ("corpora", "fileSearchStores", "operations", "tunedModels")}
    | {
        "/*/interactions": "{json: {id: v1_1, status: completed, "
        "steps: [{type: model_output, content: [{type: text, text: Hello!}]}]}}"
    },
)
