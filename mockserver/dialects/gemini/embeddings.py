"""Embeddings: `embedContent`, `batchEmbedContents`, and Vertex AI's `predict`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from mockserver.core.call import Call, Message, Options, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Embeddings, Failure, Success
from mockserver.dialects import Operation
from mockserver.dialects.gemini.checks import MAX_BATCH, Line, refuse
from mockserver.dialects.gemini.messages import BATCH_EMBED, EMBED, PREDICT
from mockserver.dialects.gemini.models import USUAL_PARAMS
from mockserver.dialects.gemini.parse import NAME, is_vertex, model_of, read

Body = Mapping[str, Json]
Render = Callable[[HttpRequest, int, Body], Reply]
MAX_DIMENSIONS, SMALL_DIMENSIONS = 3072, 768


def embedding_operations(model: str, render: Render) -> tuple[Operation, ...]:
    def of(
        verb: str, parse: Callable[[HttpRequest, bool], Call], body: Callable[[Call, Embeddings], Body]
    ) -> Operation:
        def shown(call: Call, outcome: Success) -> Reply:
            assert isinstance(outcome, Embeddings)  # noqa: S101  # the engine answers an operation in its own kind
            return render(call.http, 200, body(call, outcome))

        return Operation(
            "embeddings",
            "POST",
            f"{model}:{verb}",
            parse,
            shown,
            params=USUAL_PARAMS,
            body=lambda text: {"content": {"parts": [{"text": text}]}},
        )

    return (
        of("embedContent", _parse_one, _one),
        of("batchEmbedContents", _parse_batch, lambda call, outcome: {"embeddings": _values(outcome)}),
        of("predict", _parse_predict, _predictions),
    )


def _parse_one(http: HttpRequest, strict: bool) -> Call:
    body = read(http, EMBED)
    refuse("EmbedContentRequest", _lines("", body, _model_name(http)))
    return _call(http, body, [body])


def _parse_batch(http: HttpRequest, strict: bool) -> Call:
    body = read(http, BATCH_EMBED)
    requests = body.get("requests") or []
    if len(requests) > MAX_BATCH:
        refuse("BatchEmbedContentsRequest", [("requests", f"at most {MAX_BATCH} requests can be in one batch")])
    refuse("BatchEmbedContentsRequest", _batch_lines(requests, _model_name(http)))
    return _call(http, body, requests)


def _parse_predict(http: HttpRequest, strict: bool) -> Call:
    body = read(http, PREDICT)
    parameters = body.get("parameters") or {}
    requests = [
        {**parameters, **each, "content": {"parts": [{"text": each.get("content") or ""}]}}
        for each in body.get("instances") or ()
    ]
    if not requests:
        raise Failure("bad_parameter", "Invalid instances: at least one instance is needed.")
    return _call(http, body, requests)


def _model_name(http: HttpRequest) -> str:
    return "" if is_vertex(http) else model_of(http)


def _batch_lines(requests: Sequence[Body], model: str) -> Iterator[Line]:
    if not requests:
        yield "requests", "requests is not specified"
    for at, request in enumerate(requests):
        named = str(request.get("model") or "").removeprefix("models/")
        if model and named != model:
            why = "model is not specified" if not named else "model must match the model of the batch request."
            yield f"requests[{at}].model", why
        yield from _lines(f"requests[{at}].", request, model)


def _lines(front: str, request: Body, model: str) -> Iterator[Line]:
    if not (request.get("content") or {}).get("parts"):
        yield f"{front}content", "content is not specified"
    if request.get("title") and request.get("taskType") != "RETRIEVAL_DOCUMENT":
        yield f"{front}title", "title is only valid with the task type RETRIEVAL_DOCUMENT."
    size = request.get("outputDimensionality")
    if size is not None and not 1 <= size <= MAX_DIMENSIONS:
        yield f"{front}output_dimensionality", f"output_dimensionality must be in the range [1, {MAX_DIMENSIONS}]."


def _call(http: HttpRequest, body: Body, requests: Sequence[Body]) -> Call:
    model = model_of(http)
    texts = ["\n".join(part.get("text", "") for part in request["content"]["parts"]) for request in requests]
    asked = next((size for each in requests if (size := each.get("outputDimensionality"))), None)
    asked = asked or (body.get("embedContentConfig") or {}).get("outputDimensionality")
    return Call(
        dialect=NAME,
        operation="embeddings",
        model=model,
        http=http,
        meaning={
            "model": model,
            "dimensions": asked,
            "task": [request.get("taskType", request.get("task_type")) for request in requests[:1]],
            "input": texts[0] if len(texts) == 1 else texts,
        },
        raw=body,
        messages=tuple(Message("user", text) for text in texts),
        prompts=tuple(map(Prompt, texts)),
        options=Options(dimensions=asked if isinstance(asked, int) and asked > 0 else _dimensions(model)),
    )


def _dimensions(model: str) -> int:
    return SMALL_DIMENSIONS if model.startswith(("text-embedding", "embedding-")) else MAX_DIMENSIONS


def _one(call: Call, outcome: Embeddings) -> Body:
    body: dict[str, Json] = {"embedding": _values(outcome)[0]}
    if is_vertex(call.http) or "embedding-2" in call.model:
        details = [{"modality": "TEXT", "tokenCount": outcome.prompt_tokens}]
        body["usageMetadata"] = {"promptTokenCount": outcome.prompt_tokens, "promptTokenDetails": details}
    return body


def _values(outcome: Embeddings) -> list[dict[str, Json]]:
    return [{"values": list(vector)} for vector in outcome.vectors]


def _predictions(call: Call, outcome: Embeddings) -> Body:
    counts: Iterable[int] = (prompt.count(call.tokenizer) for prompt in call.prompts)
    predictions = [
        {"embeddings": {**values, "statistics": {"token_count": count, "truncated": False}}}
        for values, count in zip(_values(outcome), counts, strict=True)
    ]
    letters = sum(len(prompt.text.replace(" ", "")) for prompt in call.prompts)
    return {"predictions": predictions, "metadata": {"billableCharacterCount": letters}}
