"""Claude by InvokeModel: Anthropic's requests, without `model` and `stream`, and with the API version in the body.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
"""

from collections.abc import Sequence

from msgspec.json import encode
from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, RawHeaders
from mockserver.core.json import Json
from mockserver.core.lazy import remember
from mockserver.core.plan import Answer, Failure
from mockserver.core.validation import HistoryProblem, Validation
from mockserver.dialects._fields import Model, closed_shape, list_of, optional
from mockserver.dialects._parse import Body, read_table, read_usual
from mockserver.dialects.anthropic.bodies import MessagesBody
from mockserver.dialects.anthropic.completions import parse_completion
from mockserver.dialects.anthropic.replay import HISTORY
from mockserver.dialects.anthropic.request import make_call, make_usual_call
from mockserver.dialects.bedrock.models import NAME, find_base_model
from mockserver.dialects.bedrock.request import MESSAGE_IDS, model_of

_OF_BEDROCK = ("anthropic_version", "anthropic_beta")  # what other clients of Anthropic state in headers
_OF_PATH = ("model", "stream")
_MESSAGES = Model(
    closed_shape(
        **{name: field for name, field in MessagesBody["fields"].items() if name not in _OF_PATH},
        anthropic_version=str,
        anthropic_beta=optional(list_of(str)),
    )
)
_CALL_IDS = IdShape("toolu_bdrk_01", 22, "base58")


def parse_claude(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a request to a model of Anthropic. Raises Failure with Anthropic's messages."""
    model = model_of(http)
    asked = replace(http, headers=_USUAL_HEADERS)
    raw = None
    if validation is Validation.PUBLISHED:
        raw = read_usual(_MESSAGES.typed, asked)
    if raw is None:
        sent = read_table(http.body)
        call = _parse_unusual(_move_headers(http, sent), sent, shorten_name(model), validation)
        raw = {**call.raw, **{key: sent[key] for key in _OF_BEDROCK if key in sent}}
        raw.pop("model", None)
    else:
        is_usual = raw["anthropic_version"] == _USUAL_VERSION and "anthropic_beta" not in raw
        if not is_usual or b"anthropic-beta" in http.header_values:
            asked = _move_headers(http, raw)
        call = make_usual_call(asked, _drop_own(raw, shorten_name(model)))
    call.meaning["model"] = model
    return replace(
        call,
        dialect=NAME,
        operation="chat",
        model=model,
        http=http,
        raw=raw,
        stream=http.path.endswith("-stream"),
        ids=MESSAGE_IDS,
        tool_call_ids=_CALL_IDS,
    )


def _parse_unusual(asked: HttpRequest, body: Body, model: str, validation: Validation) -> Call:
    if validation is not Validation.OFF:
        _refuse_own(body)
    inner = _drop_own(body, model)
    if is_completion(body):
        return parse_completion(replace(asked, body=encode(inner)), validation)
    return make_call(asked, inner, validation=validation)


def is_completion(body: Body) -> bool:
    """Return whether a body is that of a text completion, from before messages."""
    return "prompt" in body and "messages" not in body


def _refuse_own(body: Body) -> None:
    for key in _OF_PATH:
        if key in body:
            raise Failure("bad_parameter", f"{key}: Extra inputs are not permitted")
    if "anthropic_version" not in body and not is_completion(body):
        raise Failure("bad_parameter", "anthropic_version: Field required")


def _drop_own(body: Body, model: str) -> dict[str, Json]:
    """Return the body that Anthropic's own API would get."""
    inner = {**body, "model": model}
    inner.pop("anthropic_version", None)
    inner.pop("anthropic_beta", None)
    return inner


def _move_headers(http: HttpRequest, body: Body) -> HttpRequest:
    """Return the request with what Bedrock has in the body in headers."""
    version = body.get("anthropic_version")
    betas = body.get("anthropic_beta")
    named = _VERSION if version in (None, _USUAL_VERSION) else str(version)
    sent = [field for field in http.headers if field[0] == b"anthropic-beta"]
    listed = [(b"anthropic-beta", _encode(beta)) for beta in (betas if isinstance(betas, list) else ())]
    return replace(http, headers=(_JSON, (b"anthropic-version", _encode(named)), *sent, *listed))


def _encode(value: Json) -> bytes:
    return str(value).encode("latin-1", "replace")


_USUAL_VERSION = "bedrock-2023-05-31"  # one version, as Bedrock names it
_VERSION = "2023-06-01"  # as Anthropic names it
_JSON = (b"content-type", b"application/json")
_USUAL_HEADERS: RawHeaders = (_JSON, (b"anthropic-version", _VERSION.encode()))


@remember(256)
def shorten_name(model: str) -> str:
    """Return the name of a model without its vendor and version: `claude-haiku-4-5-20251001`."""
    base = find_base_model(model)
    return base.partition(".")[2] or base


def name_shortly(call: Call, answer: Answer) -> Answer:
    """Return an answer whose model is named as Anthropic does, unless a rule names another."""
    return replace(answer, model=shorten_name(call.model)) if answer.model == call.model else answer


def check_claude(call: Call, validation: Validation) -> Sequence[HistoryProblem]:
    return () if is_completion(call.raw) else HISTORY(call, validation)
