"""Voyage: embeddings and rerank (https://docs.voyageai.com/reference)."""

from collections.abc import Mapping
from functools import partial

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._clients import CLIENT_CONFIGS
from mockserver.dialects._embedders import (
    MAX_DIMENSIONS,
    MAX_INPUTS,
    detail_fail,
    embedding_reply,
    find_writer,
    make_embedding_call,
)
from mockserver.dialects._errors import ErrorRow, error_rows, plain_errors
from mockserver.dialects._fields import Model, integer, list_of, literal, optional, shape, text_or
from mockserver.dialects._parse import (
    Complaint,
    bearer,
    clip,
    custom_complaint,
    join_words,
    read_request,
    refuse_first,
    unknown_fields,
)
from mockserver.dialects._reply import json_reply, request_id_line
from mockserver.dialects._rerank import list_ranked, parse_rerank, show_ranked, wants_documents
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.rerank import Ranking

NAME = "voyage"
# `POST /embeddings` and `POST /rerank`.
EMBED = Model(
    shape(
        input=text_or("<an array>", list_of(str, 1, MAX_INPUTS)),
        model=str,
        input_type=optional(literal("query", "document")),
        truncation=optional(bool),
        output_dimension=optional(integer(1, MAX_DIMENSIONS)),
        output_dtype=optional(literal("float", "int8", "uint8", "binary", "ubinary")),
        encoding_format=optional(literal("base64")),
    )
)
RERANK = Model(
    shape(
        query=str,
        documents=list_of(str, 1, MAX_INPUTS),
        model=str,
        top_k=optional(integer(1)),
        return_documents=optional(bool),
        truncation=optional(bool),
    )
)


def _refuse(complaint: Complaint) -> Failure:
    return Failure("bad_parameter", message=_word_complaint(complaint), param=complaint.where or None)


def _word_complaint(complaint: Complaint) -> str:
    if complaint.kind == "unknown":
        return f"Argument '{complaint.where}' is not supported by our API"
    return f"{_INVALID} In particular, {_word_argument(complaint)}"


def _word_argument(complaint: Complaint) -> str:
    where, bound = complaint.where, complaint.bound
    if complaint.message is not None:
        return complaint.message
    match complaint.kind:
        case "missing":
            return f"Argument '{where}' is required"
        case "value":
            allowed = join_words([f"'{value}'" for value in complaint.expected], "or")
            stated = f"Value '{clip(str(complaint.got))}' supplied for argument '{where}'"
            return f"{stated} is not valid -- accepted values are {allowed}"
        case "type":
            return f"Argument '{where}' must be {join_words(complaint.expected, 'or')}"
        case "short":
            return f"Argument '{where}' must not be empty"
        case "long":
            return f"Argument '{where}' must have at most {bound} items"
    return f"Argument '{where}' must be at {'least' if complaint.kind == 'below' else 'most'} {bound:g}"


def _parse_embeddings(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(EMBED, http, _refuse, validation)
    if validation is not Validation.OFF:
        refuse_first(unknown_fields(body, EMBED.fields), _refuse)
    given = parsed["input"]
    inputs = [given] if isinstance(given, str) else given
    if validation is not Validation.OFF and "" in inputs:
        raise _refuse(custom_complaint("Input cannot contain empty strings or empty lists", "input"))
    return make_embedding_call(http, NAME, body, inputs, dimensions=parsed.get("output_dimension"))


def _render_embeddings(call: Call, outcome: Embeddings) -> Reply:
    raw = call.raw
    write = find_writer(raw.get("output_dtype") or "float", is_coded=raw.get("encoding_format") == "base64")
    return embedding_reply(call, outcome, write, {"total_tokens": outcome.prompt_tokens})


def _render_ranking(call: Call, outcome: Ranking) -> Reply:
    shown = (lambda at: call.documents[at]) if wants_documents(call.raw) else None
    body = {
        "object": "list",
        "data": list_ranked(outcome, show_ranked, shown),
        "model": outcome.model,
        "usage": {"total_tokens": outcome.prompt_tokens},
    }
    return json_reply(200, body, request_id_line(call.http, call), outcome.headers)


MODELS = (
    *("voyage-4-large", "voyage-4", "voyage-4-lite", "voyage-3-large", "voyage-3.5", "voyage-3.5-lite"),
    *("voyage-code-3", "rerank-2.5", "rerank-2.5-lite"),
)
_INVALID = "The request body is not valid JSON, or some arguments were not specified properly."
_NO_MODEL = f"Model {{model}} is not supported. Supported models are {[*MODELS]}.".replace("'", '"')
MESSAGES: Mapping[str, str] = {
    "bad_json": _INVALID,
    "bad_parameter": _INVALID,
    "invalid_key": "Provided API key is invalid.",
    "missing_key": "Provided API key is invalid.",
    "model_not_found": _NO_MODEL,
    "unknown_model": _NO_MODEL,
    "route_not_found": "Not Found",
    "rate_limit": "You have exceeded the rate limit of {most} {rate}. Please wait {wait} and try again.",
    "quota": "You have not yet added your payment method in the billing page, and the free tokens are used up.",
    "server_error": "The server encountered an unexpected error. Please try again.",
    "overloaded": "The server is overloaded. Please try again later.",
}
ERRORS = plain_errors(error_rows(ErrorRow, model_not_found=ErrorRow(400)), MESSAGES, bearer)

DIALECT = Dialect(
    name=NAME,
    mounts=CLIENT_CONFIGS[NAME].mounts,
    omissible="/v1",
    operations=(
        Operation("embeddings", "POST", "/v1/embeddings", _parse_embeddings, _render_embeddings),
        Operation(
            "rerank",
            "POST",
            "/v1/rerank",
            partial(parse_rerank, dialect=NAME, model=RERANK, refuse=_refuse),
            _render_ranking,
        ),
    ),
    credential=bearer,
    fail=detail_fail(ERRORS),
    models=MODELS,
    variables=CLIENT_CONFIGS[NAME].variables,
    missing=dict.fromkeys(("/v1/multimodalembeddings", "/v1/contextualizedembeddings"), "{json: {}}"),
)
