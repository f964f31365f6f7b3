"""Rerank at the hosts that have it: Together (https://docs.together.ai/reference/rerank), OpenRouter
(https://openrouter.ai/docs/api/api-reference/rerank) and vLLM, which takes Jina's and Cohere's bodies alike
(https://docs.vllm.ai/en/latest/models/pooling_models/scoring).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.http import Reply
from mockserver.core.json import Json, compact
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, integer, label_member, list_of, optional, shape, union_by
from mockserver.dialects._reply import make_json_reply, write_request_id
from mockserver.dialects._rerank import list_ranked, parse_rerank, show_ranked, wants_documents
from mockserver.dialects.compatible.hosts import VLLM, Host, find_provider
from mockserver.dialects.compatible.request import NAME
from mockserver.kinds.rerank import Ranking

_Document = union_by(
    lambda value: "<an object>" if isinstance(value, Mapping) else "<a string>",
    label_member("<a string>", str),
    label_member("<an object>", Object),
)
_Shared: Mapping[str, Any] = {"query": str, "documents": list_of(_Document, 1), "return_documents": optional(bool)}
_TOGETHER = BodyModel(
    shape(model=str, top_n=optional(integer(1)), rank_fields=optional(list_of(str)), **_Shared),
)
_VLLM = BodyModel(shape(model=optional(str), top_n=optional(integer(0)), **_Shared))

_OPENROUTER = BodyModel(
    shape(
        model=str,
        query=str,
        documents=list_of(_Document, 1),
        top_n=optional(integer(1)),
        provider=optional(Object),
        session_id=optional(str),
        trace=optional(Object),
        user=optional(str),
    )
)


def _render_together(call: Call, outcome: Ranking) -> Reply:
    body = {
        "object": "rerank",
        "id": outcome.id,
        "model": outcome.model,
        "results": list_ranked(outcome, show_ranked, partial(_show_document, call)),
        "usage": {"prompt_tokens": outcome.tokens, "completion_tokens": 0, "total_tokens": outcome.tokens},
    }
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


def _show_document(call: Call, index: int) -> Json:
    """Return a document as a text, if it is wanted."""
    if not wants_documents(call.raw):
        return {}
    document = call.raw["documents"][index]
    return {"text": document if isinstance(document, str) else compact(document)}


def _render_openrouter(call: Call, outcome: Ranking) -> Reply:
    def find_document(index: int) -> Json:
        document = call.raw["documents"][index]
        return {"text": document} if isinstance(document, str) else document

    body = {
        "id": f"gen-rerank-{outcome.id}",
        "model": outcome.model,
        "provider": find_provider(outcome.model),
        "results": list_ranked(outcome, show_ranked, find_document),
        "usage": {"total_tokens": outcome.tokens, "search_units": 1, "cost": 0.002},
    }
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


def _render_vllm(call: Call, outcome: Ranking) -> Reply:
    body = {
        "id": f"rerank-{outcome.id.replace('-', '')}",
        "model": outcome.model,
        "usage": {"prompt_tokens": outcome.tokens, "total_tokens": outcome.tokens},
        "results": list_ranked(outcome, show_ranked, lambda at: {"text": call.documents[at], "multi_modal": None}),
    }
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


class _RerankApi(Struct, frozen=True, kw_only=True):
    """How a host ranks documents: the model of its requests, its paths, and its replies."""

    model: BodyModel
    paths: tuple[str, ...]
    render: Callable[[Call, Ranking], Reply]
    usual_model: str = ""


_APIS: Mapping[str, _RerankApi] = {
    "together": _RerankApi(model=_TOGETHER, paths=("/rerank",), render=_render_together),
    "openrouter": _RerankApi(model=_OPENROUTER, paths=("/rerank",), render=_render_openrouter),
    "vllm": _RerankApi(model=_VLLM, paths=("/rerank", "/v2/rerank"), render=_render_vllm, usual_model=VLLM.models[0]),
}


def make_rerank_operations(host: Host) -> tuple[Operation, ...]:
    """Return the operations of a host that ranks documents."""
    api = _APIS.get(host.kin)
    if api is None:
        return ()
    parse = partial(parse_rerank, dialect=NAME, model=api.model, refuse=host.errors.refuse, usual_model=api.usual_model)
    return tuple(Operation("rerank", "POST", path, parse=parse, render=api.render) for path in api.paths)
