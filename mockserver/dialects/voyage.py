"""Voyage: embeddings and rerank (https://docs.voyageai.com/reference)."""

from collections.abc import Mapping, Sequence
from functools import partial

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._embeddings import (
    MAX_DIMENSIONS,
    Write,
    find_writer,
    make_embedding_call,
    make_embedding_reply,
)
from mockserver.dialects._errors import ErrorRow, make_bare_row, make_error_rows, make_plain_errors
from mockserver.dialects._fields import (
    BodyModel,
    integer,
    list_of,
    literal,
    open_shape,
    optional,
    shape,
    tag_union,
    text_or,
)
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._parse import (
    Body,
    Complaint,
    clip,
    complain,
    find_unknown_fields,
    join_words,
    read_bearer,
    read_request,
    refuse_first,
)
from mockserver.dialects._reply import fail_with_detail, make_json_reply, write_request_id
from mockserver.dialects._rerank import list_ranked, parse_rerank, show_ranked, wants_documents
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.rerank import Ranking

NAME = "voyage"
MAX_INPUTS = 1000
# `POST /embeddings` and `POST /rerank`.
EMBED = BodyModel(
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
_IMAGES = ("image_url", "image_base64", "video_url", "video_base64")
_SEGMENT = tag_union(
    "type",
    open_shape(type=literal("text"), text=str),
    *(open_shape(type=literal(kind), **{kind: str}) for kind in _IMAGES),
)
_KINDS_OF_VECTORS = {
    key: EMBED.schema["fields"][key] for key in ("input_type", "output_dimension", "output_dtype", "encoding_format")
}
# `POST /multimodalembeddings` and `POST /contextualizedembeddings`.
MULTIMODAL = BodyModel(
    open_shape(
        inputs=list_of(open_shape(content=list_of(_SEGMENT, 1)), 1, MAX_INPUTS),
        model=str,
        **_KINDS_OF_VECTORS,
    )
)
CONTEXTUALIZED = BodyModel(
    open_shape(
        inputs=list_of(text_or("<an array>", list_of(str, 1)), 1, MAX_INPUTS),
        model=str,
        **_KINDS_OF_VECTORS,
    )
)
RERANK = BodyModel(
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
    where = complaint.where
    bound = complaint.bound
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
    body, parsed = read_request(EMBED, http, refuse=_refuse, validation=validation)
    if validation is not Validation.OFF:
        refuse_first(find_unknown_fields(body, EMBED.fields), _refuse)
    texts = _list_chunks(parsed["input"])
    if validation is not Validation.OFF and "" in texts:
        raise _refuse(complain("Input cannot contain empty strings or empty lists", "input"))
    return _make_call(http, body, parsed=parsed, inputs=[Message("user", text) for text in texts])


def _make_call(http: HttpRequest, body: Body, *, parsed: Body, inputs: Sequence[Message]) -> Call:
    return make_embedding_call(
        http,
        body,
        dialect=NAME,
        inputs=inputs,
        model=parsed["model"],
        meaning=find_meaning(body, NAME, "embeddings", _BOOKKEEPING),
        dimensions=parsed.get("output_dimension"),
    )


_BOOKKEEPING = frozenset(("encoding_format", "output_dtype"))


def _render_embeddings(call: Call, outcome: Embeddings) -> Reply:
    usage = {"total_tokens": outcome.prompt_tokens}
    return make_embedding_reply(call, outcome, write=_find_writer(call), usage=usage)


def _parse_multimodal(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(MULTIMODAL, http, refuse=_refuse, validation=validation)
    inputs = [_join_segments(each["content"]) for each in parsed["inputs"]]
    return _make_call(http, body, parsed=parsed, inputs=inputs)


def _join_segments(content: Sequence[Body]) -> Message:
    """Return an input of several texts and pictures as a message of one text and the first picture."""
    images = [segment[segment["type"]] for segment in content if segment["type"] != "text"]
    text = "\n".join(segment["text"] for segment in content if segment["type"] == "text")
    return Message("user", text, parts=tuple({"type": "image_url", "image_url": {"url": url}} for url in images[:1]))


def _render_multimodal(call: Call, outcome: Embeddings) -> Reply:
    tokens = outcome.prompt_tokens
    usage = {"text_tokens": tokens, "image_pixels": 0, "video_pixels": 0, "total_tokens": tokens}
    return make_embedding_reply(call, outcome, write=_find_writer(call), usage=usage)


def _parse_contextualized(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(CONTEXTUALIZED, http, refuse=_refuse, validation=validation)
    chunks = [chunk for document in parsed["inputs"] for chunk in _list_chunks(document)]
    return _make_call(http, body, parsed=parsed, inputs=[Message("user", chunk) for chunk in chunks])


def _list_chunks(document: str | Sequence[str]) -> Sequence[str]:
    """Return the chunks of a document; a document that was sent as a text is one chunk."""
    return [document] if isinstance(document, str) else document


def _render_contextualized(call: Call, outcome: Embeddings) -> Reply:
    vectors = iter(outcome.vectors)
    write = _find_writer(call)
    documents: list[Json] = []
    for number, document in enumerate(call.raw["inputs"]):
        data = []
        for index, chunk in enumerate(_list_chunks(document)):
            text = {"text": chunk} if isinstance(document, str) else {}
            data.append({"object": "embedding", "embedding": write(next(vectors)), "index": index, **text})
        documents.append({"object": "list", "data": data, "index": number})
    usage = {"total_tokens": outcome.prompt_tokens}
    body = {"object": "list", "data": documents, "model": outcome.model, "usage": usage}
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


def _find_writer(call: Call) -> Write:
    raw = call.raw
    return find_writer(raw.get("output_dtype") or "float", is_coded=raw.get("encoding_format") == "base64")


def _render_ranking(call: Call, outcome: Ranking) -> Reply:
    find_document = (lambda at: call.documents[at]) if wants_documents(call.raw) else None
    body = {
        "object": "list",
        "data": list_ranked(outcome, show_ranked, find_document),
        "model": outcome.model,
        "usage": {"total_tokens": outcome.prompt_tokens},
    }
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


MODELS = (
    "voyage-4-large", "voyage-4", "voyage-4-lite", "voyage-3-large", "voyage-3.5", "voyage-3.5-lite",
    "voyage-code-3", "rerank-2.5", "rerank-2.5-lite",
)  # fmt: skip
_INVALID = "The request body is not valid JSON, or some arguments were not specified properly."
_NO_MODEL = f"Model {{model}} is not supported. Supported models are {[*MODELS]}.".replace("'", '"')
MESSAGES: Mapping[str, str] = {
    "bad_json": _INVALID,
    "unsupported_media_type": _INVALID,
    "bad_parameter": _INVALID,
    "invalid_key": "Provided API key is invalid.",
    "model_not_found": _NO_MODEL,
    "route_not_found": "Not Found",
    "rate_limit": "You have exceeded the rate limit of {most} {rate}. Please wait {wait} and try again.",
    "quota": "You have not yet added your payment method in the billing page, and the free tokens are used up.",
    "server_error": "The server encountered an unexpected error. Please try again.",
    "overloaded": "The server is overloaded. Please try again later.",
}
ERRORS = make_plain_errors(
    make_error_rows(make_bare_row, model_not_found=ErrorRow(status=400)), MESSAGES, read_credential=read_bearer
)

DIALECT = Dialect(
    name=NAME,
    operations=(
        Operation("embeddings", "POST", "/embeddings", parse=_parse_embeddings, render=_render_embeddings),
        Operation("embeddings", "POST", "/multimodalembeddings", parse=_parse_multimodal, render=_render_multimodal),
        Operation(
            "embeddings",
            "POST",
            "/contextualizedembeddings",
            parse=_parse_contextualized,
            render=_render_contextualized,
        ),
        Operation(
            "rerank",
            "POST",
            "/rerank",
            parse=partial(parse_rerank, dialect=NAME, model=RERANK, refuse=_refuse),
            render=_render_ranking,
        ),
    ),
    read_credential=read_bearer,
    fail=fail_with_detail(ERRORS),
    models=MODELS,
)
