"""Jina: embeddings and rerank (https://api.jina.ai/redoc)."""

from collections.abc import Mapping
from functools import partial

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._embeddings import MAX_DIMENSIONS, find_writer, make_embedding_call, make_embedding_reply
from mockserver.dialects._errors import make_bare_row, make_error_rows, make_plain_errors, refuse_without_code
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    Schema,
    integer,
    label_member,
    list_of,
    literal,
    optional,
    shape,
    text_or,
    union_by,
    usually,
)
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._parse import Complaint, read_bearer, read_request
from mockserver.dialects._reply import fail_with_detail, make_json_reply, write_request_id
from mockserver.dialects._rerank import list_ranked, parse_rerank, show_ranked, wants_documents
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.rerank import Ranking

NAME = "jina"
MAX_INPUTS = 1000


def _make_texts_type(table: Schema) -> Schema:
    """Return the type of a list of texts and tables."""
    either = union_by(
        lambda value: "<an object>" if isinstance(value, dict) else "<a string>",
        label_member("<a string>", str),
        label_member("<an object>", table),
    )
    return usually(list_of(str, 1, MAX_INPUTS), list_of(either, 1, MAX_INPUTS))


_TYPE = literal("float", "base64", "binary", "ubinary")
# `POST /embeddings` and `POST /rerank`.
EMBED = BodyModel(
    shape(
        model=str,
        input=text_or("<an array>", _make_texts_type(shape(text=optional(str), image=optional(str)))),
        task=optional(str),
        dimensions=optional(integer(1, MAX_DIMENSIONS)),
        late_chunking=optional(bool),
        truncate=optional(bool),
        embedding_type=optional(_TYPE),
        encoding_format=optional(_TYPE),
        normalized=optional(bool),
    )
)
RERANK = BodyModel(
    shape(
        model=str,
        query=str,
        documents=_make_texts_type(Object),
        top_n=optional(integer(1)),
        return_documents=optional(bool),
    )
)


def _refuse(complaint: Complaint) -> Failure:
    return refuse_without_code(complaint).replace(reason="unprocessable")


def _parse_embeddings(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(EMBED, http, refuse=_refuse, validation=validation, is_closed=True)
    given = parsed["input"]
    return make_embedding_call(
        http,
        body,
        dialect=NAME,
        inputs=[_read_input(each) for each in ([given] if isinstance(given, str) else given)],
        model=parsed["model"],
        meaning=find_meaning(body, NAME, "embeddings", _BOOKKEEPING),
        dimensions=parsed.get("dimensions"),
    )


def _read_input(given: Json) -> Message:
    if isinstance(given, str):
        return Message("user", given)
    text = given.get("text")
    image = given.get("image")
    parts = () if image is None else ({"type": "image_url", "image_url": {"url": image}},)
    return Message("user", text or "", parts=parts)


_BOOKKEEPING = frozenset(("embedding_type", "encoding_format"))


def _render_embeddings(call: Call, outcome: Embeddings) -> Reply:
    kind = call.raw.get("embedding_type") or call.raw.get("encoding_format") or "float"
    usage = {"total_tokens": outcome.prompt_tokens, "prompt_tokens": outcome.prompt_tokens}
    return make_embedding_reply(call, outcome, write=find_writer(kind), usage=usage)


def _render_ranking(call: Call, outcome: Ranking) -> Reply:
    find_document = (lambda at: {"text": call.documents[at]}) if wants_documents(call.raw) else None
    body = {
        "model": outcome.model,
        "object": "list",
        "usage": {"total_tokens": outcome.prompt_tokens},
        "results": list_ranked(outcome, show_ranked, find_document),
    }
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


MESSAGES: Mapping[str, str] = {
    "bad_json": "The request body is not valid JSON.",
    "unsupported_media_type": "The content type must be application/json.",
    "invalid_key": "Invalid API key",
    "missing_key": "No API key provided",
    "model_not_found": "Model {model} not found",
    "route_not_found": "Not Found",
    "rate_limit": "Rate limit exceeded: {most} {rate}. Please try again in {wait}.",
    "quota": "Insufficient balance, please recharge your API key.",
    "server_error": "Internal Server Error",
}
ERRORS = make_plain_errors(make_error_rows(make_bare_row), MESSAGES, read_credential=read_bearer)

DIALECT = Dialect(
    name=NAME,
    bare=("/v1/rerank",),  # of servers that are compatible, such as vLLM
    omissible="/v1",
    operations=(
        Operation("embeddings", "POST", "/v1/embeddings", parse=_parse_embeddings, render=_render_embeddings),
        Operation(
            "rerank",
            "POST",
            "/v1/rerank",
            parse=partial(parse_rerank, dialect=NAME, model=RERANK, refuse=_refuse),
            render=_render_ranking,
        ),
    ),
    read_credential=read_bearer,
    fail=fail_with_detail(ERRORS),
    models=("jina-embeddings-v4", "jina-embeddings-v3", "jina-reranker-v3", "jina-reranker-v2-base-multilingual"),
    missing=dict.fromkeys(("/v1/classify", "/v1/segment"), "{json: {}}"),
)
