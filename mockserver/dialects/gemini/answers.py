"""Answers of Gemini: content, whole and streamed, counts of tokens, and replies to calls that fail.

A blocked prompt is answered by a response without candidates; a stream that fails ends with its error.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace
from pydantic_core import from_json, to_json

from mockserver.core.call import Call, Message
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Stored, Usage
from mockserver.core.seed import FROZEN_AT
from mockserver.core.tokens import find_token_id
from mockserver.dialects._errors import write_retry_lines
from mockserver.dialects._openai_api.google import is_openai_at_google
from mockserver.dialects._reply import merge_headers
from mockserver.dialects.gemini.checks import signs_calls
from mockserver.dialects.gemini.errors import (
    JSON_TYPE,
    find_indent,
    is_vertex,
    make_error_body,
    make_pretty_reply,
    make_stream_reply,
    write_head_lines,
)
from mockserver.dialects.gemini.live import add_stated_sound
from mockserver.dialects.gemini.media import render_media
from mockserver.dialects.gemini.request import PART_TOKENS, is_media
from mockserver.kinds.audio import Spoken
from mockserver.kinds.images import Images
from mockserver.wire.gemini import (
    GeminiOptions,
    GeminiRenderer,
    list_modalities,
    render_blocked_prompt,
    stream_array,
    stream_responses,
    write_indented,
)


def render(call: Call, outcome: Answer | Images | Spoken) -> Reply:
    if not isinstance(outcome, Answer):
        return render_media(call, outcome, events=_wants_events(call.http))
    options = _make_options(call)
    if call.previous_response_id is not None and not outcome.usage.cached:
        cached = max(outcome.usage.prompt - call.prompt_tokens, 0)  # the earlier turns are kept by the provider
        outcome = replace(outcome, usage=replace(outcome.usage, cached=cached))
        options = _count_cached(options, cached, outcome.prompt)
    if not call.stream:
        data = _RENDERER.fill_body(outcome, options)
        if data is not None:
            own = HeaderLines(f"content-length: {len(data)}\r\n{write_head_lines(call.http, 200)}", sized=True)
            return Reply(200, merge_headers(own, outcome.headers), data, tokens=outcome.weight)
        return make_pretty_reply(
            call.http, _RENDERER.render_body(outcome, options), outcome.headers, tokens=outcome.weight
        )
    events = _wants_events(call.http)
    return make_stream_reply(
        (_RENDERER.stream if events else stream_array)(outcome, options), outcome.headers, events=events
    )


def render_turn(call: Call, outcome: Answer) -> Reply:
    """Return the stream of a turn of a Live session."""
    return make_stream_reply(add_stated_sound(outcome, _RENDERER.stream(outcome, _make_options(call))), outcome.headers)


def render_count(call: Call, outcome: Stored) -> Reply:
    """Return the reply with the tokens of a prompt. Raises Failure if its cached content does not exist."""
    asked = outcome.call  # with the cached content, where there is one
    if call.previous_response_id is not None and (asked.messages, asked.tools) == (call.messages, call.tools):
        raise Failure("previous_not_found")
    tokens = outcome.answer.usage.prompt
    options = _make_options(call)
    cached = max(tokens - call.prompt_tokens, 0) if call.previous_response_id is not None else 0
    options = _count_cached(options, cached, asked.messages) if cached else options
    body = {"totalTokens": tokens, "promptTokensDetails": list_modalities(tokens, options.media)}
    if cached:
        body |= {"cachedContentTokenCount": cached, "cacheTokensDetails": list_modalities(cached, options.cached_media)}
    if options.vertex:
        body["totalBillableCharacters"] = sum(len(message.text.replace(" ", "")) for message in call.messages)
    return make_pretty_reply(call.http, body)


def render_tokens(call: Call, outcome: Stored) -> Reply:
    """Return the reply with the tokens of each content, and their numbers."""
    infos = []
    for message in call.messages:
        tokens = outcome.call.tokenizer.split(message.text)
        infos.append(
            {
                "role": "model" if message.role == "assistant" else "user",
                "tokens": [b64encode(token.encode("utf-8", "replace")).decode() for token in tokens],
                "tokenIds": [str(find_token_id(token)) for token in tokens],
            }
        )
    return make_pretty_reply(call.http, {"tokensInfo": infos})


_RENDERER = GeminiRenderer()


def _wants_events(http: HttpRequest) -> bool:
    return http.query.get("alt", http.query.get("$alt", "")).startswith("sse")


def _make_options(call: Call) -> GeminiOptions:
    config: Mapping[str, Json] = call.raw.get("generationConfig") or {}
    return GeminiOptions(
        vertex=is_vertex(call.http),
        thoughts=(config.get("thinkingConfig") or {}).get("includeThoughts") is True,
        signed=signs_calls(call.model),
        alternatives=call.options.logprobs or 0,
        media=_count_media(call.messages),
        indent=find_indent(call.http),
    )


def _count_cached(options: GeminiOptions, cached: int, messages: Iterable[Message]) -> GeminiOptions:
    """Return options for this many cached tokens; `messages` are those of the cached content and the call's own."""
    media = _count_media(messages)
    own = options.media
    of_cached = {modality: count - own.get(modality, 0) for modality, count in media.items()}
    shown = {modality: count for modality, count in of_cached.items() if count}
    return replace(options, media=media, cached=cached, cached_media=shown)


def _count_media(messages: Iterable[Message]) -> dict[str, int]:
    """Return the tokens of parts that are not text, by modality."""
    parts = [part for message in messages for part in message.parts if is_media(part)]
    return (
        {modality: PART_TOKENS * count for modality, count in Counter(map(_find_modality, parts)).items()}
        if parts
        else {}
    )


def _find_modality(part: Mapping[str, Json]) -> str:
    kind = str((part.get("file") or {}).get("mime_type", ""))
    if "image_url" in part or "input_audio" in part:
        return "IMAGE" if "image_url" in part else "AUDIO"
    return next((name for front, name in _MODALITIES.items() if kind.startswith(front)), "DOCUMENT")


_MODALITIES = {"video/": "VIDEO", "audio/": "AUDIO"}


def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    to_openai = is_openai_at_google(http)  # OpenAI's dialect gives such failures to this one
    if to_openai:
        failure = _reword(failure, call)
    elif call is not None and call.operation == "chat" and (failure.reason, failure.status) == ("content_filter", None):
        return _render_blocked(call, failure)
    status, body = make_error_body(http, failure, call)
    again = "" if "window" in failure.details else write_retry_lines(failure)
    headers = (*HeaderLines(again), *failure.headers)
    if to_openai or (":stream" in http.path and not _wants_events(http)):
        data = b"[" + write_indented(body) + b"\n]\n"
        own = HeaderLines(f"{JSON_TYPE}content-length: {len(data)}\r\n", sized=True)
        return Reply(status, merge_headers(own, headers), data)
    return make_pretty_reply(http, body, headers, status=status)


def _reword(failure: Failure, call: Call | None) -> Failure:
    """Return a failure in the words that OpenAI's clients get; without a code of OpenAI, which its checks give."""
    failure = failure.replace(details={"version": "v1main", **failure.details}, code=failure.code if call else None)
    if failure.reason != "invalid_key":
        return failure
    return failure.replace(reason="bad_parameter", message=failure.message or "Please pass a valid API key")


def _render_blocked(call: Call, failure: Failure) -> Reply:
    """Return the reply to a blocked prompt: a response without candidates, not an error."""
    answer = Answer(call.fingerprint[:23], FROZEN_AT, model=call.model, choices=(), usage=Usage(call.prompt_tokens))
    body = render_blocked_prompt(answer, failure.details.get("safety", ()), _make_options(call))
    if not call.stream:
        return make_pretty_reply(call.http, body, failure.headers)
    events = _wants_events(call.http)
    return make_stream_reply(tuple(stream_responses([body], events=events)), failure.headers, events=events)


def make_error_event(failed: Reply, last: bytes) -> Frame:
    """Return an error as an event, or as the last element of an array."""
    if failed.frames is not None:
        return next(frame for frame in failed.frames if isinstance(frame, Frame))
    if failed.body.startswith(b"["):
        return Frame((b",\r\n" if last else b"[") + failed.body[1:], part="finish", framing="bare")
    return Frame(to_json(from_json(failed.body)), part="finish", framing="crlf")
