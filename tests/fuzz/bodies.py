"""Bodies that are nearly sound: those of every feature of every operation, with some of their values spoilt."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from tests.dialects.anthropic.features import bodies as anthropic_bodies
from tests.dialects.cohere.features import bodies as cohere_bodies
from tests.dialects.features import FEATURES, RESPONSE_FEATURES, TEXT_FEATURES, request, response_request, text_request
from tests.dialects.gemini.features import bodies as gemini_bodies
from tests.kit.client_types import smallest_bodies
from tests.kit.odd import ODD, places

Json = Any

NUMBERS: Sequence[Json] = (
    0, -1, 1, 2, 15, 16, 127, 128, 129, 255, 2047, 2048, 65_536, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63),
    10**30, -(10**30), 10**400, -0.0, 0.5, 1.5, 1e-9, 5e-324, 1e308, -1e308, 1e16,
    float("nan"),
    float("inf"),
    float("-inf"),
)  # fmt: skip
TEXTS: Sequence[str] = (
    "", " ", "\n", "\x00", "a\x00b", "\x7f", "\x1b[31m", "\ud800", "\udc00\ud800", "\ud83d\ude00", "\ufeff",
    "\uffff", "\u2028\u2029", "\u202e", "e\u0301", "👩‍👩‍👧", "İ", "ß", "ﬁ", "\U0010ffff", "٣", "²", "a" * 5000,
    "👩" * 700, "{{ 7 * 7 }}", "{% for x in y %}", "${x}", "%s%n", "{0.__class__}", "../../etc/passwd", "C:\\",
    "\\", '"', "'", "<|endoftext|>", "<script>", "null", "true", "1e999", "[[[[", "```json", "data: [DONE]\n\n",
    "\r\nx: y", "*", "\\*", "resp_1", "gpt-4o", "f", "get_weather", "function", "user", "text", "auto", "required",
    "none", "json_schema",
)  # fmt: skip
Draw = Callable[[st.SearchStrategy[Any]], Any]
KEYS: Sequence[str] = (
    "", "x", "type", "role", "content", "name", "id", "model", "stream", "__proto__", "a.b[0]", "$ref",
)  # fmt: skip


def _nested(levels: int, *, of: str) -> Json:
    value: Json = None
    for _ in range(levels):
        value = [value] if of == "lists" else {"a": value}
    return value


_DEEP = tuple(_nested(levels, of=of) for levels in (20, 90, 110, 500) for of in ("lists", "tables"))
_SMALL = st.recursive(
    st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(TEXTS) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner),
    max_leaves=5,
)


def _copied(value: Json) -> Json:
    return json.loads(json.dumps(value))


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NUMBERS),
    st.sampled_from(TEXTS),
    st.text(max_size=30),
    _SMALL,
    st.sampled_from(([], {}, [None], [[]], [{}], {"": None})),
    st.sampled_from(_DEEP),
    _SMALL.map(lambda value: [value] * 300),
).map(_copied)


@cache
def sound(operation: str, dialect: str = "") -> tuple[Json, ...]:
    """Bodies that an operation answers, plain and streamed, each for something else that it can do."""
    if dialect == "anthropic":
        made = [*anthropic_bodies(operation)]
    elif dialect == "gemini":
        made = [*gemini_bodies(operation), *_GOOGLE_JOBS.get(operation, ())]
    elif dialect == "cohere":
        made = [*cohere_bodies(operation)]
    elif dialect in _EMBEDDERS:
        made = [*_EMBEDDERS[dialect][operation]]
    elif operation in ("chat", "update_chat"):
        made = [request(name, stream=stream) for name in FEATURES for stream in (False, True)]
    elif operation == "completions":
        made = [text_request(name, stream=stream) for name in TEXT_FEATURES for stream in (False, True)]
    elif operation in ("responses", "input_tokens", "compact_response"):
        made = [response_request(name, stream=stream) for name in RESPONSE_FEATURES for stream in (False, True)]
    else:
        made = [*DOCUMENTS[operation]]
    return tuple(made)


@st.composite
def spoilt(draw: st.DrawFn, operation: str, dialect: str = "") -> bytes:
    body = _copied(draw(st.sampled_from(sound(operation, dialect))))
    for _ in range(draw(st.integers(1, 4))):
        body = spoil(draw, body)
    text = json.dumps(body, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    return _cut_up(draw, text) if draw(st.integers(0, 9)) == 0 else text


@st.composite
def odd(draw: st.DrawFn, operation: str, dialect: str = "") -> bytes:
    """A sound body with odd values at any depth, but neither in place of the model nor in what is said."""
    body = _copied(draw(st.sampled_from(sound(operation, dialect) + typed(operation, dialect))))
    for _ in range(draw(st.integers(1, 3))):
        beside = {key: value for key, value in body.items() if key not in _ASKED}
        holder, key = draw(st.sampled_from([*places(beside), (beside, "later")]))
        holder[key] = _copied(draw(st.sampled_from(ODD)))
        body |= beside
    return json.dumps(body).encode()


@cache
def typed(operation: str, dialect: str) -> tuple[Json, ...]:
    """A body for each field, tool and choice that OpenAI's client knows for an operation that others took over."""
    kind = None if dialect in ("anthropic", "cohere", "gemini") else _TYPES.get(operation)
    found = smallest_bodies(kind, {"messages": _SAID, "input": _SAID, "model": "m"}) if kind else ()
    said: Json = {"model": "m", "input": _SAID} if operation == "responses" else {}
    return tuple({**said, **body} for _, body in found)


_ASKED = (
    "model", "messages", "input", "prompt", "contents", "content", "requests", "instances",
    "message", "texts", "images", "query", "documents", "text", "tokens",
)  # fmt: skip
_SAID = [{"role": "user", "content": "Hi"}]
_TYPES: Mapping[str, Any] = {
    "chat": CompletionCreateParamsNonStreaming,
    "responses": ResponseCreateParamsNonStreaming,
}


def spoil(draw: Draw, body: Json) -> Json:
    """The body with one of its values, at any depth, made another."""
    if not isinstance(body, dict | list) or not body:
        return draw(JUNK)
    at, place = body, draw(_place(body))
    while isinstance(at[place], dict | list) and at[place] and draw(st.integers(0, 3)):
        at = at[place]
        place = draw(_place(at))
    match draw(st.integers(0, 6)):
        case 0:
            del at[place]
        case 1:
            at[place] = [at[place]]
        case 2:
            at[place] = {draw(st.sampled_from(KEYS)): at[place]}
        case 3 if isinstance(at, dict):
            at[draw(st.sampled_from(KEYS) | st.text(max_size=8))] = draw(JUNK)
        case 3 if isinstance(at, list):
            at += [at[place]] * draw(st.sampled_from((1, 20, 500)))
        case _:
            at[place] = draw(JUNK)
    return body


def _place(within: Json) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(within)) if isinstance(within, dict) else st.integers(0, len(within) - 1)


def _cut_up(draw: st.DrawFn, text: bytes) -> bytes:
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.binary(max_size=6)) + text[at + draw(st.integers(0, 6)) :]


_PARTS = [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
_RANKED = {"model": "m", "query": "the sea", "documents": ["a street", "the sea"], "return_documents": True}
DOCUMENTS: Mapping[str, Sequence[Json]] = {
    "rerank": (_RANKED, {**_RANKED, "top_n": 1}),
    "embeddings": (
        {"model": "text-embedding-3-small", "input": "the sea"},
        {"model": "text-embedding-3-large", "input": ["the sea", "the land"], "encoding_format": "base64"},
        {"model": "m", "input": [1, 2, 3], "dimensions": 7, "encoding_format": "float"},
        {"model": "m", "input": [[1, 2], [3]], "user": "u"},
    ),
    "moderations": (
        {"input": "I like the sea."},
        {"model": "omni-moderation-latest", "input": ["one", "two"]},
        {"model": "omni-moderation-latest", "input": _PARTS},
    ),
    "images": (
        {"prompt": "a teal sea"},
        {"model": "gpt-image-2", "prompt": "a cat", "size": "64x32", "n": 2, "output_format": "webp", "quality": "low"},
        {"model": "dall-e-3", "prompt": "a cat", "response_format": "url", "size": "16x16"},
        {"prompt": "a cat", "size": "16x16", "stream": True, "partial_images": 2},
    ),
    "speech": (
        {"input": "Hello there", "voice": "sage", "model": "tts-1"},
        {"input": "Hello", "voice": {"id": "v"}, "response_format": "flac", "speed": 2.5},
        {"input": "Hello", "voice": "alloy", "response_format": "wav", "stream_format": "sse"},
    ),
    "create_batch": (
        {"input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h"},
        {"input_file_id": "f", "endpoint": "/v1/x", "completion_window": "1h", "metadata": {"a": "b"}},
    ),
}
_EMBEDDERS: Mapping[str, Mapping[str, Sequence[Json]]] = {
    "jina": {
        "embeddings": (
            {"model": "m", "input": ["the sea"], "dimensions": 8, "embedding_type": "base64"},
            {"model": "m", "input": [{"text": "the sea"}, {"image": "https://a.test/b.png"}], "task": "x"},
        ),
        "rerank": (_RANKED, {**_RANKED, "top_n": 1}),
    },
    "voyage": {
        "embeddings": (
            {"model": "m", "input": "the sea", "output_dimension": 8, "encoding_format": "base64"},
            {"model": "m", "input": ["the sea"], "input_type": "query", "output_dtype": "binary"},
        ),
        "rerank": (_RANKED, {**_RANKED, "top_k": 1}),
    },
}
_GOOGLE_JOBS: Mapping[str, Sequence[Json]] = {
    "create_video": (
        {
            "instances": [{"prompt": "a red cat"}],
            "parameters": {"sampleCount": 2, "durationSeconds": 6, "aspectRatio": "16:9", "storageUri": "gs://a/b"},
        },
    ),
    "video": ({"operationName": "models/veo-3/operations/a"},),
    "create_vector_store": ({"displayName": "My store", "embeddingModel": "m"},),
    "create_vector_store_file": (
        {
            "fileName": "files/a",
            "customMetadata": [{"key": "a", "stringValue": "b"}, {"key": "n", "numericValue": 1.5}],
            "chunkingConfig": {"whiteSpaceConfig": {"maxTokensPerChunk": 3}},
        },
        {"displayName": "a", "mimeType": "text/plain"},
    ),
    "tokenize": ({"contents": [{"role": "user", "parts": [{"text": "the sea"}]}]},),
}
