"""Tokenize and detokenize (https://docs.cohere.com/reference/tokenize): with the model's tokenizer here."""

from collections.abc import Iterator

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Stored
from mockserver.core.tokens import Token, find_token_id
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import Body, complain, read_request
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects.cohere.bodies import DETOKENIZE, NAME, TOKENIZE
from mockserver.dialects.cohere.errors import make_refuse, write_header_lines

_META: Body = {"api_version": {"version": "1"}}
MAX_LENGTH = 65_536  # characters of a text that is split into tokens


def make_token_operations() -> tuple[Operation, Operation]:
    return (
        Operation("tokenize", "POST", "/v1/tokenize", parse=_parse_text, render=_render_tokens),
        Operation("detokenize", "POST", "/v1/detokenize", parse=_parse_tokens, render=_render_text),
    )


def _parse_text(http: HttpRequest, validation: Validation) -> Call:
    refuse = make_refuse("reference/tokenize")
    body, parsed = read_request(TOKENIZE, http, refuse=refuse, validation=validation)
    if not 0 < len(parsed["text"]) <= MAX_LENGTH:
        raise refuse(complain(f"text must be between 1 and {MAX_LENGTH} characters.", "text"))
    return _make_call(http, body, operation="tokenize", messages=(Message("user", parsed["text"]),))


def _parse_tokens(http: HttpRequest, validation: Validation) -> Call:
    body, _ = read_request(DETOKENIZE, http, refuse=make_refuse("reference/detokenize"), validation=validation)
    return _make_call(http, body, operation="detokenize", messages=())


def _make_call(http: HttpRequest, body: Body, operation: str, messages: tuple[Message, ...]) -> Call:
    return Call(NAME, operation, model=str(body["model"]), http=http, meaning=body, raw=body, messages=messages)


def _render_tokens(call: Call, stored: Stored) -> Reply:
    tokens = stored.call.tokenizer.split(call.last_user)
    if not stored.call.tokenizer.exact:
        tokens = tuple([piece for token in tokens for piece in _cut_short(token)])
    return _make_reply(call, {"tokens": [_find_number(token) for token in tokens], "token_strings": [*tokens]})


def _cut_short(token: str) -> Iterator[str]:
    """Cut a token so that each piece fits into a number."""
    piece = ""
    for letter in token:
        if len((piece + letter).encode("utf-8", "replace")) > _BYTES:
            yield piece
            piece = ""
        piece += letter
    yield piece


def _find_number(token: str) -> int:
    """Return the number of a token: without a vocabulary, that of its bytes, so that the text can be read from it."""
    return find_token_id(token) if isinstance(token, Token) else int.from_bytes(token.encode("utf-8", "replace"), "big")


def _render_text(call: Call, stored: Stored) -> Reply:
    numbers = call.raw["tokens"]
    tokenizer = stored.call.tokenizer
    texts = tokenizer.read(numbers) if tokenizer.exact else [*map(_read_number, numbers)]
    return _make_reply(call, {"text": "".join(texts)})


def _read_number(number: int) -> str:
    return number.to_bytes((number.bit_length() + 7) // 8, "big").decode("utf-8", "replace")


_BYTES = 6  # of a token: as many as a number has that JavaScript can hold, too


def _make_reply(call: Call, body: dict[str, Json]) -> Reply:
    return make_json_reply(200, {**body, "meta": _META}, lines=write_header_lines(call.http, call))
