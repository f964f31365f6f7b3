"""Claude by InvokeModel: Anthropic's requests, without `model` and `stream`, and with the API version in the body.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
"""

from collections.abc import Sequence

from msgspec.json import encode
from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, RawHeaders
from mockserver.core.lazy import remember
from mockserver.core.plan import Answer, Failure
from mockserver.core.validation import HistoryProblem, Validation
from mockserver.dialects._fields import BodyModel, closed_shape, list_of, optional
from mockserver.dialects._parse import Body, read_table, read_usual
from mockserver.dialects.anthropic.bodies import MessagesBody
from mockserver.dialects.anthropic.clouds import (
    HEADER_FIELDS,
    JSON_HEADER,
    USUAL_VERSION,
    drop_header_fields,
    state_headers,
)
from mockserver.dialects.anthropic.completions import parse_completion
from mockserver.dialects.anthropic.replay import HISTORY
from mockserver.dialects.anthropic.request import make_call, make_usual_call
from mockserver.dialects.bedrock.models import NAME, find_base_model
from mockserver.dialects.bedrock.request import MESSAGE_IDS, read_model

_PATH_FIELDS = ("model", "stream")
_MESSAGES = BodyModel(
    closed_shape(
        **{name: field for name, field in MessagesBody["fields"].items() if name not in _PATH_FIELDS},
        anthropic_version=str,
        anthropic_beta=optional(list_of(str)),
    )
)
_CALL_IDS = IdShape("toolu_bdrk_01", 22, "base58")


def parse_claude(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a request to a model of Anthropic. Raises Failure with Anthropic's messages."""
    model = read_model(http)
    asked = replace(http, headers=_USUAL_HEADERS)
    raw = None
    if validation is Validation.PUBLISHED:
        raw = read_usual(_MESSAGES.typed, asked)
    if raw is None:
        sent = read_table(http.body)
        call = _parse_unusual(
            state_headers(http, sent, _OWN_VERSION), sent, model=shorten_name(model), validation=validation
        )
        raw = {**call.raw, **{key: sent[key] for key in HEADER_FIELDS if key in sent}}
        raw.pop("model", None)
    else:
        is_usual = raw["anthropic_version"] == _OWN_VERSION and "anthropic_beta" not in raw
        if not is_usual or b"anthropic-beta" in http.header_values:
            asked = state_headers(http, raw, _OWN_VERSION)
        call = make_usual_call(asked, drop_header_fields(raw, shorten_name(model)))
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
    inner = drop_header_fields(body, model)
    if is_completion(body):
        return parse_completion(replace(asked, body=encode(inner)), validation)
    return make_call(asked, inner, validation=validation)


def is_completion(body: Body) -> bool:
    """Return whether a body is that of a text completion, from before messages."""
    return "prompt" in body and "messages" not in body


def _refuse_own(body: Body) -> None:
    for key in _PATH_FIELDS:
        if key in body:
            raise Failure("bad_parameter", f"{key}: Extra inputs are not permitted")
    if "anthropic_version" not in body and not is_completion(body):
        raise Failure("bad_parameter", "anthropic_version: Field required")


_OWN_VERSION = "bedrock-2023-05-31"  # Anthropic's usual one, as Bedrock names it
_USUAL_HEADERS: RawHeaders = (JSON_HEADER, (b"anthropic-version", USUAL_VERSION.encode()))


@remember(256)
def shorten_name(model: str) -> str:
    """Return the name of a model without its vendor and version: `claude-haiku-4-5-20251001`."""
    base = find_base_model(model)
    return base.partition(".")[2] or base


def name_shortly(call: Call, answer: Answer) -> Answer:
    """Return an answer whose model is named as Anthropic does, unless a rule names another."""
    return replace(answer, model=shorten_name(call.model)) if answer.model == call.model else answer


def check_claude(call: Call, validation: Validation) -> Sequence[HistoryProblem]:
    """Return the problems of the history in a request to a model of Anthropic."""
    return () if is_completion(call.raw) else HISTORY(call, validation)
