"""Embeddings: requests as Calls, for OpenAI, similar APIs and Azure's own, and outcomes as bodies."""

from collections.abc import Callable, Iterator, Mapping
from struct import pack
from typing import Any

from msgspec import Raw
from msgspec.json import encode
from pydantic_core import to_json

from mockserver.core.call import Call, Message, Options
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.lazy import FEW, LazySequence
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.core.vectors import PaletteVector
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import (
    Model,
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
    Refuse,
    custom_complaint,
    read_request,
    refuse_first,
    unknown_fields,
)
from mockserver.dialects._reply import data_reply, json_reply
from mockserver.kinds.embeddings import Embeddings, Vector

MAX_INPUTS = 2048
MAX_DIMENSIONS = 4096  # more than any model has


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
# The same of Azure's own API.
AzureEmbeddingBody = shape(
    input=_limit_items(str),
    model=optional(str),
    encoding_format=optional(literal("base64", "binary", "float", "int8", "ubinary", "uint8")),
    dimensions=Dimensions,
    input_type=optional(literal("text", "query", "document")),
)


def _read_input(given: Json) -> Json:
    """Return the texts of an input, even if it is a single one."""
    return [given] if isinstance(given, str) else given


EMBEDDING, AZURE_EMBEDDING = Model(EmbeddingBody), Model(AzureEmbeddingBody, lenient={"input": _read_input})


MAX_TOKENS = 300_000  # of all inputs together
MAX_TOKENS_PER_INPUT = 8192  # of one input; only the live service counts so exactly


def parse_embeddings(http: HttpRequest, dialect: str, elsewhere: Body, *, validation: Validation) -> Call:
    body, parsed = read_request(EMBEDDING, http, refuse, validation, elsewhere)
    if validation is not Validation.OFF:
        if body is not parsed:  # else it has known fields only
            refuse_first(unknown_fields(body, EMBEDDING.fields), refuse)
        _refuse_empty(parsed["input"])
    call = embeddings_call(http, body, parsed, dialect=dialect, refuse=refuse)
    if validation is Validation.LIVE and (failure := too_long(call)):
        raise failure
    return call


def embeddings_call(http: HttpRequest, body: Body, parsed: Body, *, dialect: str, refuse: Refuse) -> Call:
    """Return the Call of a validated body. Raises Failure if its inputs are too long in total."""
    prompts = parse_prompts(parsed["input"])
    texts = [prompt.text for prompt in prompts]
    meaning = {key: body[key] for key in body if key not in _BOOKKEEPING}
    size = parsed.get("dimensions")
    call = Call(
        dialect=dialect,
        operation="embeddings",
        model=parsed.get("model") or "",
        http=http,
        meaning={**meaning, "input": texts[0] if len(texts) == 1 else texts},
        raw=body,
        messages=tuple([Message("user", text) for text in texts]),
        prompts=prompts,
        options=_USUAL if size is None else Options(dimensions=size),
    )
    if call.prompt_tokens > MAX_TOKENS:
        message = f"Requested {call.prompt_tokens:,} tokens, max {MAX_TOKENS:,} tokens per request"
        raise refuse(custom_complaint(message, "input"))
    return call


def too_long(call: Call) -> Failure | None:
    longest = max(len(prompt.tokens(call.tokenizer)) for prompt in call.prompts)
    if longest <= MAX_TOKENS_PER_INPUT:
        return None
    message = (
        f"This model's maximum context length is {MAX_TOKENS_PER_INPUT} tokens, however you requested {longest} tokens "
        f"({longest} in your prompt; 0 for the completion). Please reduce your prompt; or completion length."
    )
    return Failure("context_length", message, param="input")


def _refuse_empty(given: Json) -> None:
    """Raise a Failure if an input contains an empty text."""
    if given == "":
        raise refuse(custom_complaint("Invalid 'input': input cannot be an empty string.", "input"))
    if isinstance(given, list) and "" in given:
        at = given.index("")
        raise refuse(custom_complaint(f"Invalid 'input[{at}]': input cannot be an empty string.", "input", at))


_BOOKKEEPING = ("encoding_format", "user")
_USUAL = Options()


def embeddings_reply(outcome: Embeddings, encoding: str | None, lines: str, identity: str = "") -> Reply:
    """Return a reply with these header lines, and with an `identity` if there is one."""
    body = embeddings(outcome, encoding)
    if identity:
        body = {"id": identity, **body}
    if type(body["data"]) is not list:  # they are many
        return json_reply(200, body, lines, outcome.headers)
    return data_reply(200, encode(body), lines, outcome.headers)


def embeddings(outcome: Embeddings, encoding: str | None) -> dict[str, Json]:
    """Return the body; `encoding` is a key of ENCODINGS, float by default. Vectors are JSON already, or integers."""
    write, vectors = ENCODINGS[encoding or "float"], outcome.vectors

    def make() -> Iterator[Json]:
        for index, vector in enumerate(vectors):
            yield {"object": "embedding", "index": index, "embedding": write(vector)}

    return {
        "object": "list",
        "data": [*make()] if len(vectors) <= FEW else LazySequence(make, len(vectors)),
        "model": outcome.model,
        "usage": {"prompt_tokens": outcome.prompt_tokens, "total_tokens": outcome.prompt_tokens},
    }


def _write_floats(vector: Vector) -> Json:
    return Raw(vector.json() if isinstance(vector, PaletteVector) else to_json([*vector]))


def _write_base64(vector: Vector) -> Json:
    """Return little-endian floats of 32 bits, which msgspec writes in base64."""
    packed = vector.pack() if isinstance(vector, PaletteVector) else pack(f"<{len(vector)}f", *vector)
    return Raw(encode(packed))


def _round_to_int8(vector: Vector) -> list[int]:
    return [max(-128, min(127, round(number * 127))) for number in vector]


def _round_to_uint8(vector: Vector) -> list[int]:
    return [number + 128 for number in _round_to_int8(vector)]


def _pack_bits(vector: Vector) -> list[int]:
    """Return eight signs per byte, the first as the highest bit."""
    bits = "".join("1" if number > 0 else "0" for number in vector)
    return [int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8)]


def _pack_signed_bits(vector: Vector) -> list[int]:
    return [byte - 128 for byte in _pack_bits(vector)]


ENCODINGS: Mapping[str, Callable[[Vector], Json]] = {
    "float": _write_floats,
    "base64": _write_base64,
    "int8": _round_to_int8,
    "uint8": _round_to_uint8,
    "binary": _pack_signed_bits,
    "ubinary": _pack_bits,
}
