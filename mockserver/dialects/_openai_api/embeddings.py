"""Embeddings: requests as Calls, for OpenAI, similar APIs and Azure's own, and outcomes as bodies."""

from typing import Any

from msgspec.json import encode

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._embeddings import ENCODINGS, MAX_DIMENSIONS, list_embeddings, make_embedding_call
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import (
    BodyModel,
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
from mockserver.dialects._openai_api.completions import parse_prompts
from mockserver.dialects._parse import (
    Body,
    Complaint,
    Refuse,
    complain,
    find_unknown_fields,
    read_request,
    refuse_first,
)
from mockserver.dialects._reply import make_data_reply, make_json_reply
from mockserver.kinds.embeddings import Embeddings, Vector

MAX_INPUTS = 2048


def _tag_input(value: Any) -> str:
    first = value[0] if isinstance(value, list) and value else None
    return {int: "<numbers>", list: "<arrays>"}.get(type(first), "<strings>")


def _limit_items(kind: Any) -> Any:
    return list_of(kind, 1, MAX_INPUTS)


Tokens = _limit_items(integer(0))
Inputs = usually(
    _limit_items(str),
    union_by(
        _tag_input,
        label_member("<strings>", _limit_items(str)),
        label_member("<numbers>", Tokens),
        label_member("<arrays>", _limit_items(Tokens)),
    ),
)
Dimensions = optional(integer(1, MAX_DIMENSIONS))

# `POST /embeddings`.
EmbeddingBody = shape(
    input=text_or("<an array>", Inputs),
    model=str,
    encoding_format=optional(literal("float", "base64")),
    dimensions=Dimensions,
    user=optional(str),
)
EMBEDDING = BodyModel(EmbeddingBody)


_FIXED_IN_SIZE = "text-embedding-ada"
MAX_TOKENS = 300_000  # of all inputs together
MAX_TOKENS_PER_INPUT = 8192  # of one input; only the live service counts so exactly


def parse_embeddings(
    http: HttpRequest, dialect: str, url_fields: Body, *, validation: Validation, is_open: bool = False
) -> Call:
    """Return the Call of a request. If `is_open`, it can also have fields that only models of other hosts read."""
    body, parsed = read_request(EMBEDDING, http, refuse=refuse, validation=validation, url_fields=url_fields)
    if validation is not Validation.OFF:
        if body is not parsed and not is_open:  # else it has known fields only
            refuse_first(find_unknown_fields(body, EMBEDDING.fields), refuse)
        _refuse_empty(parsed["input"])
    call = make_bounded_embedding_call(http, body, parsed, dialect=dialect, refuse=refuse)
    if validation is Validation.LIVE:
        if parsed.get("dimensions") is not None and call.model.startswith(_FIXED_IN_SIZE):
            raise refuse(Complaint("conflict", (), message="This model does not support specifying dimensions."))
        if failure := refuse_long_input(call):
            raise failure
    return call


def make_bounded_embedding_call(http: HttpRequest, body: Body, parsed: Body, *, dialect: str, refuse: Refuse) -> Call:
    """Return the Call of a validated body. Raises Failure if its inputs are too long in total."""
    prompts = parse_prompts(parsed["input"])
    call = make_embedding_call(
        http,
        body,
        dialect=dialect,
        inputs=[Message("user", prompt.text) for prompt in prompts],
        model=parsed.get("model") or "",
        meaning={key: body[key] for key in body if key not in _BOOKKEEPING},
        dimensions=parsed.get("dimensions"),
        prompts=prompts,
    )
    if call.prompt_tokens > MAX_TOKENS:
        message = f"Requested {call.prompt_tokens:,} tokens, max {MAX_TOKENS:,} tokens per request"
        raise refuse(complain(message, "input"))
    return call


def refuse_long_input(call: Call) -> Failure | None:
    """Return the failure of a call with an input that the live model cannot read; None if there is none."""
    longest = max(len(prompt.find_tokens(call.tokenizer)) for prompt in call.prompts)
    if longest <= MAX_TOKENS_PER_INPUT:
        return None
    message = (
        f"This model's maximum context length is {MAX_TOKENS_PER_INPUT} tokens, however you requested {longest} tokens "
        f"({longest} in your prompt; 0 for the completion). Please reduce your prompt; or completion length."
    )
    return Failure("context_length", message, param="input")


def _refuse_empty(given: Json) -> None:
    """Raise a Failure if a list of inputs contains an empty text; a single one is embedded."""
    if isinstance(given, list) and "" in given:
        at = given.index("")
        raise refuse(complain(f"Invalid 'input[{at}]': input cannot be an empty string.", "input", at))


_BOOKKEEPING = ("encoding_format", "user")


def make_embeddings_reply(outcome: Embeddings, encoding: str | None, lines: str, identity: str = "") -> Reply:
    """Return a reply with these header lines, and with an `identity` if there is one."""
    body = render_embeddings(outcome, encoding)
    if identity:
        body = {"id": identity, **body}
    if type(body["data"]) is not list:  # they are many
        return make_json_reply(200, body, lines=lines, headers=outcome.headers)
    return make_data_reply(200, encode(body), lines=lines, headers=outcome.headers)


def render_embeddings(outcome: Embeddings, encoding: str | None) -> dict[str, Json]:
    """Return the body, in which vectors are JSON already, or integers; `encoding` is a key of ENCODINGS."""
    write = ENCODINGS[encoding or "float"]

    def show(index: int, vector: Vector) -> Json:
        return {"object": "embedding", "index": index, "embedding": write(vector)}

    return {
        "object": "list",
        "data": list_embeddings(outcome, show),
        "model": outcome.model,
        "usage": {"prompt_tokens": outcome.prompt_tokens, "total_tokens": outcome.prompt_tokens},
    }
