"""Embeddings: `embedContent`, `batchEmbedContents`, and Vertex AI's `predict`, which makes pictures, too."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._embeddings import make_embedding_call
from mockserver.dialects._parse import Body
from mockserver.dialects.gemini.bodies import BATCH_EMBED, EMBED, PREDICT
from mockserver.dialects.gemini.checks import MAX_BATCH, MAX_INSTANCES, Line, check_parts, has_data, mend_parts, refuse
from mockserver.dialects.gemini.errors import is_vertex, render_with
from mockserver.dialects.gemini.media import asks_for_pictures, make_predictions, parse_imagen
from mockserver.dialects.gemini.models import USUAL_PARAMS
from mockserver.dialects.gemini.request import NAME, find_model, make_renamer, read
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.images import Images

MAX_DIMENSIONS = 3072
SMALL_DIMENSIONS = 768


def make_embedding_operations(model: str) -> tuple[Operation, ...]:
    verbs = (
        ("embedContent", EMBED, _parse_one, _render_one),
        ("batchEmbedContents", BATCH_EMBED, _parse_batch, _render_batch),
        ("predict", PREDICT, _parse_predict, _render_predictions),
    )
    return tuple(
        Operation(
            "embeddings",
            "POST",
            f"{model}:{verb}",
            parse=parse,
            render=render_with(body),
            params=USUAL_PARAMS,
            body=lambda text: {"content": {"parts": [{"text": text}]}},
            unify=make_renamer(kind),
            also=("images",) if verb == "predict" else (),
        )
        for verb, kind, parse, body in verbs
    )


def _parse_one(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, EMBED, validation)
    request = _apply_config(body)
    if validation is Validation.OFF:
        request = _mend(request)
    refuse("EmbedContentRequest", _check_request("", request))
    return _make_call(http, body, [request])


def _apply_config(request: Body) -> Body:
    return {**request, **(request.get("embedContentConfig") or {})}


def _parse_batch(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, BATCH_EMBED, validation)
    requests = list(map(_apply_config, body.get("requests") or ()))
    if validation is Validation.OFF:
        requests = [{**_mend(request), "model": find_model(http)} for request in requests]
        body["requests"] = requests
    elif len(requests) > MAX_BATCH:
        refuse("BatchEmbedContentsRequest", [("requests", f"at most {MAX_BATCH} requests can be in one batch")])
    model = "" if is_vertex(http) else find_model(http)
    refuse("BatchEmbedContentsRequest", _check_batch(requests, model))
    return _make_call(http, body, requests)


def _parse_predict(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, PREDICT, validation)
    if asks_for_pictures(http, body):
        return parse_imagen(http, body, validation)
    parameters = body.get("parameters") or {}
    requests: list[Body] = [
        {**parameters, **each, "content": {"parts": [{"text": each.get("content") or ""}]}}
        for each in body.get("instances") or ()
    ]
    most = MAX_INSTANCES
    if validation is Validation.OFF:
        requests = list(map(_mend, requests))
        most = max(len(requests), 1)
    if not 0 < len(requests) <= most:
        raise Failure("bad_parameter", f"{len(requests)} instance(s) are given; 1 to {MAX_INSTANCES} are allowed.")
    refuse(
        "PredictRequest",
        chain.from_iterable(_check_request(f"instances[{at}].", each) for at, each in enumerate(requests)),
    )
    return _make_call(http, body, requests)


def _mend(request: Body) -> Body:
    """Return a request without incomplete or invalid values."""
    content: Body = request.get("content") or {}
    made = {key: value for key, value in request.items() if key != "title"}
    if any(_check_size("", request)):
        del made["outputDimensionality"]
    return {**made, "content": {**content, "parts": mend_parts(content.get("parts") or ())}}


def _check_batch(requests: Sequence[Body], model: str) -> Iterator[Line]:
    if not requests:
        yield "requests", "requests is not specified"
    for at, request in enumerate(requests):
        named = str(request.get("model") or "").removeprefix("models/")
        if model and named != model:
            why = "model is not specified" if not named else "model must match the model of the batch request."
            yield f"requests[{at}].model", why
        yield from _check_request(f"requests[{at}].", request)


def _check_request(front: str, request: Body) -> Iterator[Line]:
    parts = (request.get("content") or {}).get("parts")
    if not parts:
        yield f"{front}content", "content is not specified"
    yield from check_parts(f"{front}content.parts", parts or ())
    if request.get("title") and request.get("taskType") != "RETRIEVAL_DOCUMENT":
        yield f"{front}title", "title is only valid with the task type RETRIEVAL_DOCUMENT."
    yield from _check_size(front, request)


def _check_size(front: str, request: Body) -> Iterator[Line]:
    size = request.get("outputDimensionality")
    if size is not None and not 1 <= size <= MAX_DIMENSIONS:
        yield f"{front}output_dimensionality", f"output_dimensionality must be in the range [1, {MAX_DIMENSIONS}]."


def _make_call(http: HttpRequest, body: Body, requests: Sequence[Body]) -> Call:
    model = find_model(http)
    texts = ["\n".join(map(_read_text, filter(has_data, request["content"]["parts"]))) for request in requests]
    sizes = _find_sizes(model, requests)
    return make_embedding_call(
        http,
        body,
        dialect=NAME,
        inputs=[Message("user", text) for text in texts],
        model=model,
        meaning={
            "model": model,
            "dimensions": max(sizes) if len(set(sizes)) == 1 else sizes,
            "task": [request.get("taskType") for request in requests[:1]],
        },
        dimensions=max(sizes),
    )


def _read_text(part: Body) -> str:
    text: str = part.get("text", "")
    return text


def _find_sizes(model: str, requests: Iterable[Body]) -> list[int]:
    usual = SMALL_DIMENSIONS if model.startswith(("text-embedding", "embedding-")) else MAX_DIMENSIONS
    return [request.get("outputDimensionality") or usual for request in requests]


def _render_one(call: Call, outcome: Embeddings) -> Body:
    body: dict[str, Json] = {"embedding": _list_values(outcome)[0]}
    if is_vertex(call.http) or "embedding-2" in call.model:
        details = [{"modality": "TEXT", "tokenCount": outcome.prompt_tokens}]
        body["usageMetadata"] = {"promptTokenCount": outcome.prompt_tokens, "promptTokenDetails": details}
    return body


def _render_batch(call: Call, outcome: Embeddings) -> Body:
    found = _list_values(outcome)
    sizes = _find_sizes(call.model, map(_apply_config, call.raw["requests"]))
    if len(set(sizes)) > 1:  # they are made with as many numbers as the longest has
        found = [{"values": each["values"][:size]} for each, size in zip(found, sizes, strict=True)]
    return {"embeddings": found}


def _list_values(outcome: Embeddings) -> list[dict[str, Json]]:
    return [{"values": list(vector)} for vector in outcome.vectors]


def _render_predictions(call: Call, outcome: Embeddings | Images) -> Body:
    if isinstance(outcome, Images):
        return make_predictions(call, outcome)
    counts: Iterable[int] = (prompt.count(call.tokenizer) for prompt in call.prompts)
    predictions = [
        {"embeddings": {**values, "statistics": {"token_count": count, "truncated": False}}}
        for values, count in zip(_list_values(outcome), counts, strict=True)
    ]
    letters = sum(len(prompt.text.replace(" ", "")) for prompt in call.prompts)
    return {"predictions": predictions, "metadata": {"billableCharacterCount": letters}}
