"""The models that exist, each by its name, and whether a key is valid."""

from mockserver.core.call import Call, compute_fingerprint
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import ModelLimits, Models
from mockserver.core.seed import group_as_uuid
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._reply import make_json_reply, make_model_look_ups
from mockserver.dialects.cohere.bodies import NAME
from mockserver.dialects.cohere.errors import write_header_lines

_CONTEXT = 128_000  # tokens of a model whose window is not known


def make_model_operations() -> tuple[Operation, ...]:
    return (
        *make_model_look_ups(NAME, _render_models, "/v1/models"),
        Operation("info", "POST", "/v1/check-api-key", parse=_parse_check, render=_render_check),
    )


def _render_models(call: Call, outcome: Models) -> Reply:
    limits = outcome.limits or (ModelLimits(),) * len(outcome.names)
    listed = [_describe(name, each.context) for name, each in zip(outcome.names, limits, strict=True)]
    if call.operation == "model":
        return make_json_reply(200, listed[0], lines=write_header_lines(call.http, call))
    wanted = call.http.query.get("endpoint")
    shown = [model for model in listed if wanted is None or wanted in model["endpoints"]]
    return make_json_reply(200, {"models": shown}, lines=write_header_lines(call.http, call))


def _describe(name: str, window: int | None) -> dict[str, Json]:
    endpoint = next((word for word in ("embed", "rerank") if word in name), "chat")
    about = {"name": name, "endpoints": [endpoint], "finetuned": False, "context_length": window or _CONTEXT}
    return {**about, "default_endpoints": []}


def _parse_check(http: HttpRequest, validation: Validation) -> Call:
    return Call(NAME, "info", model="", http=http, meaning={})


def _render_check(call: Call, outcome: Models) -> Reply:
    names = {name: group_as_uuid(compute_fingerprint(NAME, name)) for name in ("organization_id", "owner_id")}
    body = {"valid": True, **names}
    return make_json_reply(200, body, lines=write_header_lines(call.http, call))
