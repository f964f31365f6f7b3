"""Claude in the clouds: the path names the model, and the body states what other clients of Anthropic state in headers.

Bedrock's dialect reads its own paths; those of Vertex AI are here.
Source: https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
"""

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import Body, read_object
from mockserver.dialects.anthropic.answers import render_count, render_message
from mockserver.dialects.anthropic.bodies import COUNT
from mockserver.dialects.anthropic.errors import make_error_event, refuse
from mockserver.dialects.anthropic.replay import HISTORY
from mockserver.dialects.anthropic.request import make_call

HEADER_FIELDS = ("anthropic_version", "anthropic_beta")
USUAL_VERSION = "2023-06-01"  # the version by Anthropic's own name
JSON_HEADER = (b"content-type", b"application/json")


def drop_header_fields(body: Body, model: str) -> dict[str, Json]:
    """Return the body that Anthropic's own API would get for this model."""
    return {**{key: value for key, value in body.items() if key not in HEADER_FIELDS}, "model": model}


def state_headers(http: HttpRequest, body: Body, own_version: str) -> HttpRequest:
    """Return the request with the headers that a body states; `own_version` is the cloud's name of `USUAL_VERSION`."""
    version = body.get("anthropic_version")
    betas = body.get("anthropic_beta")
    named = USUAL_VERSION if version in (None, own_version) else str(version)
    sent = [field for field in http.headers if field[0] == b"anthropic-beta"]
    listed = [(b"anthropic-beta", _encode(beta)) for beta in (betas if isinstance(betas, list) else ())]
    return replace(http, headers=(JSON_HEADER, (b"anthropic-version", _encode(named)), *sent, *listed))


def _encode(value: Json) -> bytes:
    return str(value).encode("latin-1", "replace")


def list_vertex_operations() -> tuple[Operation, ...]:
    """Return the operations of Claude on Vertex AI; the one that counts tokens is called like a model."""
    count = f"{_MODELS}/count-tokens:rawPredict"
    return (
        Operation(
            "input_tokens", "POST", count, parse=_parse_count, render=render_count, params=_PARAMS, body=_ask_count
        ),
        _make_chat("rawPredict", streams=False),
        _make_chat("streamRawPredict", streams=True),
    )


def _make_chat(verb: str, *, streams: bool) -> Operation:
    return Operation(
        "chat",
        "POST",
        f"{_MODELS}/{{model}}:{verb}",
        parse=_parse_messages,
        render=_render_message,
        error=make_error_event,
        params=_PARAMS,
        streams=streams,
        body=_ask,
        history=HISTORY,
        shows_reasoning=True,
    )


def _parse_messages(http: HttpRequest, validation: Validation) -> Call:
    body = read_object(http)
    if validation is not Validation.OFF:
        if "model" in body:
            raise refuse("model: Extra inputs are not permitted")
        if "anthropic_version" not in body:
            raise refuse("anthropic_version: Field required")
    model = http.path_params["model"]
    inner = drop_header_fields(body, model)
    if http.path.endswith(":streamRawPredict"):
        inner["stream"] = True
    call = make_call(state_headers(http, body, _VERSION), inner, validation=validation)
    return replace(call, http=http, raw=body, ids=_MESSAGE_IDS, tool_call_ids=_CALL_IDS)


def _parse_count(http: HttpRequest, validation: Validation) -> Call:
    body = read_object(http)
    inner = {key: value for key, value in body.items() if key not in HEADER_FIELDS}
    call = make_call(state_headers(http, body, _VERSION), inner, validation=validation, model=COUNT)
    return replace(call, http=http, raw=body, operation="input_tokens")


def _render_message(call: Call, answer: Answer) -> Reply:
    """Return a message that names its model as Anthropic does, unless a rule names another."""
    named = call.model.replace("@", "-") if answer.model == call.model else answer.model
    return render_message(call, replace(answer, model=named))


def _ask(text: str) -> dict[str, Json]:
    return {"max_tokens": 1024, **_ask_count(text)}


def _ask_count(text: str) -> dict[str, Json]:
    return {"anthropic_version": _VERSION, "messages": [{"role": "user", "content": text}]}


_MODELS = "/v1/projects/{project}/locations/{location}/publishers/anthropic/models"
_PARAMS = {"project": "project", "location": "us-east5"}
_VERSION = "vertex-2023-10-16"
_MESSAGE_IDS = IdShape("msg_vrtx_01", 22, "base58")
_CALL_IDS = IdShape("toolu_vrtx_01", 22, "base58")
