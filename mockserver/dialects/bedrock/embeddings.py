"""Embeddings by InvokeModel: Titan's, Nova's and Cohere's requests as Calls, and vectors as their bodies."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import encode

from mockserver.core.call import Call, Message, Options, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, find_in
from mockserver.core.validation import Validation
from mockserver.dialects._embeddings import ENCODINGS
from mockserver.dialects._fields import BodyModel, Object, Type, integer, list_of, literal, optional, shape, text
from mockserver.dialects._parse import Body, read_body
from mockserver.dialects._reply import make_data_reply
from mockserver.dialects.bedrock.errors import write_request_id
from mockserver.dialects.bedrock.formats import refuse_input, refuse_malformed
from mockserver.dialects.bedrock.models import NAME
from mockserver.kinds.embeddings import Embeddings

MAX_TEXTS = 96


class Embedder(Struct, frozen=True, kw_only=True):
    """The format of a family of models.

    `model` describes its requests, and `reads(model, body)` tells whether a request has this format. `texts(body)` are
    the texts of a request, `size(model, body)` is how many numbers the vectors have, and `body(call, outcome)` is the
    answer.
    """

    model: BodyModel
    reads: Callable[[str, Body], bool]
    texts: Callable[[Body], Sequence[str]]
    size: Callable[[str, Body], int]
    body: Callable[[Call, Embeddings], Mapping[str, Json]]


def parse_embeddings(http: HttpRequest, body: Body, embedder: Embedder, validation: Validation) -> Call:
    """Return the Call of texts to embed, in the format of a family. Raises Failure."""
    model = http.path_params.get("model", "")
    read = read_body(embedder.model, body, refuse=refuse_malformed, validation=validation).body
    texts = [*embedder.texts(read)]
    if validation is not Validation.OFF and not texts:
        key = "texts" if "cohere" in model else "inputText"
        raise refuse_input(f"#: required key [{key}] not found")
    return Call(
        dialect=NAME,
        operation="embeddings",
        model=model,
        http=http,
        meaning={**read, "model": model},
        raw=read,
        messages=tuple([Message("user", each) for each in texts]),
        prompts=tuple([Prompt(each) for each in texts]),
        options=Options(dimensions=embedder.size(model, read)),
    )


def render_embeddings(call: Call, outcome: Embeddings) -> Reply:
    """Return the reply with the vectors, in the format of the family."""
    embedder = next(each for each in EMBEDDERS if each.reads(call.model, call.raw))
    counted = f"x-amzn-bedrock-input-token-count: {outcome.prompt_tokens}\r\nx-amzn-bedrock-invocation-latency: 0\r\n"
    lines = write_request_id(call.http, call) + counted
    return make_data_reply(200, encode(embedder.body(call, outcome)), lines=lines, headers=outcome.headers)


def _encode_vectors(outcome: Embeddings, form: str = "float") -> list[Json]:
    return [ENCODINGS[form](vector) for vector in outcome.vectors]


def _encode_first(outcome: Embeddings, form: str = "float") -> Json:
    return next(iter(_encode_vectors(outcome, form)), Raw(b"[]"))


def _make_titan_body(call: Call, outcome: Embeddings) -> Mapping[str, Json]:
    counted = {"inputTextTokenCount": outcome.prompt_tokens}
    vector = _encode_first(outcome)
    if "image" not in call.model and ("-v1" in call.model or "g1-" in call.model):
        return {"embedding": vector, **counted}
    if "image" in call.model:
        return {"embedding": vector, **counted, "message": None}
    forms = call.raw.get("embeddingTypes") or ["float"]
    by_type = {form: vector if form == "float" else _encode_first(outcome, "ubinary") for form in forms}
    return {**({"embedding": vector} if "float" in forms else {}), "embeddingsByType": by_type, **counted}


def _find_titan_size(model: str, body: Body) -> int:
    if "image" in model:
        return int((body.get("embeddingConfig") or {}).get("outputEmbeddingLength") or 1024)
    return int(body.get("dimensions") or (1536 if "-v1" in model or "g1-" in model else 1024))


def _make_nova_body(call: Call, outcome: Embeddings) -> Mapping[str, Json]:
    return {"embeddings": [{"embedding": vector, "embeddingType": "TEXT"} for vector in _encode_vectors(outcome)]}


def _list_nova_texts(body: Body) -> list[str]:
    asked: Body = body.get("singleEmbeddingParams") or body.get("segmentedEmbeddingParams") or {}
    value = find_in(asked, "text", "value")
    return [value if isinstance(value, str) else ""]


def _find_nova_size(model: str, body: Body) -> int:
    found = (body.get("singleEmbeddingParams") or {}).get("embeddingDimension")
    return found if isinstance(found, int) and 0 < found <= _LARGEST else 3072


def _make_cohere_body(call: Call, outcome: Embeddings) -> Mapping[str, Json]:
    forms = call.raw.get("embedding_types") or []
    texts = call.raw.get("texts") or []
    shown = [text.lower() for text in texts] if "english" in call.model else texts
    if not forms and "v4" not in call.model:
        return {
            "embeddings": _encode_vectors(outcome),
            "id": call.fingerprint,
            "response_type": "embeddings_floats",
            "texts": shown,
        }
    return {
        "embeddings": {form: _encode_vectors(outcome, form) for form in forms or ("float",)},
        "id": call.fingerprint,
        "response_type": "embeddings_by_type",
        "texts": shown,
    }


def _find_cohere_size(model: str, body: Body) -> int:
    return int(body.get("output_dimension") or (1536 if "v4" in model else 1024))


_LARGEST = 4096
_DIMENSIONS: Type = optional(integer(1, _LARGEST))
_TITAN = shape(
    inputText=optional(str),
    inputImage=optional(str),
    dimensions=_DIMENSIONS,
    normalize=optional(bool),
    embeddingTypes=optional(list_of(literal("float", "binary"))),
    embeddingConfig=optional(shape(outputEmbeddingLength=_DIMENSIONS)),
)
_NOVA = shape(
    taskType=literal("SINGLE_EMBEDDING", "SEGMENTED_EMBEDDING"),
    singleEmbeddingParams=optional(Object),
    segmentedEmbeddingParams=optional(Object),
)
_COHERE = shape(
    texts=optional(list_of(text(1), 1, MAX_TEXTS)),
    images=optional(list_of(str)),
    inputs=optional(list_of(Object)),
    input_type=literal("search_document", "search_query", "classification", "clustering", "image"),
    truncate=optional(literal("NONE", "START", "END", "LEFT", "RIGHT")),
    embedding_types=optional(list_of(literal("float", "int8", "uint8", "binary", "ubinary"))),
    output_dimension=_DIMENSIONS,
    max_tokens=optional(integer(1)),
)


def _list_cohere_texts(body: Body) -> Sequence[str]:
    return [*(body.get("texts") or ()), *("" for _ in (*(body.get("images") or ()), *(body.get("inputs") or ())))]


def _is_titan(model: str, body: Body) -> bool:
    unnamed: Any = "inputText" in body and "textGenerationConfig" not in body and "titan" not in model
    return ("titan" in model and "embed" in model) or bool(unnamed and "nova" not in model)


def _is_cohere(model: str, body: Body) -> bool:
    return ("cohere" in model and "embed" in model) or ("texts" in body and "input_type" in body)


EMBEDDERS = (
    Embedder(
        model=BodyModel(_NOVA),
        reads=lambda model, body: ("nova" in model and "embed" in model) or "singleEmbeddingParams" in body,
        texts=_list_nova_texts,
        size=_find_nova_size,
        body=_make_nova_body,
    ),
    Embedder(
        model=BodyModel(_TITAN),
        reads=_is_titan,
        texts=lambda body: (
            [body["inputText"]] if body.get("inputText") is not None else [""] * bool(body.get("inputImage"))
        ),
        size=_find_titan_size,
        body=_make_titan_body,
    ),
    Embedder(
        model=BodyModel(_COHERE),
        reads=_is_cohere,
        texts=_list_cohere_texts,
        size=_find_cohere_size,
        body=_make_cohere_body,
    ),
)
