"""Cohere: chat, embed and rerank, in v2 and v1 (https://docs.cohere.com/reference/about)."""

from functools import partial

from mockserver.core.call import Call, fingerprint
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Models
from mockserver.core.seed import group_as_uuid
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._parse import bearer, parse_models
from mockserver.dialects._reply import EVENT_TYPE, answer_reply, json_reply
from mockserver.dialects.cohere.embed import embed_operations
from mockserver.dialects.cohere.errors import error_event, fail, header_lines, rate_limit_headers
from mockserver.dialects.cohere.models import NAME
from mockserver.dialects.cohere.old_chat import old_chat_operations
from mockserver.dialects.cohere.request import parse_chat
from mockserver.dialects.cohere.rerank import rerank_operations
from mockserver.dialects.cohere.tokens import token_operations
from mockserver.wire.cohere import CohereOptions, CohereRenderer

_RENDERER = CohereRenderer()
_CONTEXT = 128_000  # tokens of a model whose window is not known


def _render_chat(call: Call, outcome: Answer) -> Reply:
    options = CohereOptions(thinking=call.options.effort is not None)
    own = header_lines(call.http, call)
    return answer_reply(outcome, _RENDERER, options, own, stream=call.stream, stream_lines=EVENT_TYPE)


def _render_models(call: Call, outcome: Models) -> Reply:
    limits = outcome.limits or ((None, None),) * len(outcome.names)
    listed = [_describe(name, window) for name, (window, _) in zip(outcome.names, limits, strict=True)]
    if call.operation == "model":
        return json_reply(200, listed[0], header_lines(call.http, call))
    wanted = call.http.query.get("endpoint")
    shown = [model for model in listed if wanted is None or wanted in model["endpoints"]]
    return json_reply(200, {"models": shown}, header_lines(call.http, call))


def _describe(name: str, window: int | None) -> dict[str, Json]:
    endpoint = next((word for word in ("embed", "rerank") if word in name), "chat")
    about = {"name": name, "endpoints": [endpoint], "finetuned": False, "context_length": window or _CONTEXT}
    return {**about, "default_endpoints": []}


def _parse_check(http: HttpRequest, validation: Validation) -> Call:
    return Call(NAME, "info", "", http, {})


def _render_check(call: Call, outcome: Models) -> Reply:
    names = {name: group_as_uuid(fingerprint(NAME, name)) for name in ("organization_id", "owner_id")}
    body = {"valid": True, **names}
    return json_reply(200, body, header_lines(call.http, call))


DIALECT = Dialect(
    name=NAME,
    operations=(
        Operation(
            *("chat", "POST", "/v2/chat", parse_chat, _render_chat),
            error=error_event,
            shows_reasoning=True,
        ),
        *embed_operations(),
        *rerank_operations(),
        *old_chat_operations(),
        *token_operations(),
        Operation("models", "GET", "/v1/models", partial(parse_models, NAME), _render_models),
        Operation("model", "GET", "/v1/models/{model:path}", partial(parse_models, NAME), _render_models),
        Operation("info", "POST", "/v1/check-api-key", _parse_check, _render_check),
    ),
    credential=bearer,
    fail=fail,
    rate_limit_headers=rate_limit_headers,
    models=(
        *("command-a-03-2025", "command-a-reasoning-08-2025", "command-a-vision-07-2025", "command-r7b-12-2024"),
        *("embed-v4.0", "embed-english-v3.0", "embed-multilingual-v3.0", "rerank-v4.0-pro", "rerank-v3.5"),
    ),
    own_features=frozenset({"content_filter", "finish_error", "refusal", "annotations", "call_pieces"}),
    missing={
        **dict.fromkeys(("/v1/classify", "/v1/summarize", "/v1/embed-jobs", "/v1/datasets"), "{json: {}}"),
        **dict.fromkeys(("/v1/connectors", "/v1/finetuning", "/v2/batches", "/v2/parse"), "{json: {}}"),
    },
)
