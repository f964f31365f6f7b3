"""Log probabilities in the three shapes that providers use.

Chat and Responses list the tokens (`make_logprobs_block`). Text completions have parallel arrays (legacy), or a list of
tokens with ids and offsets (content), which Fireworks uses in chat too.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from sys import getsizeof
from typing import Literal

from msgspec import Struct, to_builtins
from msgspec.json import encode

from mockserver.core.json import Json
from mockserver.core.lazy import LazySequence, Memo, map_lazily
from mockserver.core.plan import Choice, Logprob
from mockserver.core.tokens import Token, encode_token, find_token_id, slice_tokens, spell_token

Block = dict[str, Json]
MANY_TOKENS = 1000  # tokens of a choice whose log probabilities are shown while they are sent


def make_logprobs_block(choice: Choice) -> Block | None:
    """Return the `logprobs` of a choice of a chat; None if they were not requested."""
    if choice.logprobs is None:
        return None
    return {"content": map_lazily(_make_token_logprob, choice.logprobs, few=MANY_TOKENS), "refusal": None}


def spread_logprobs(pieces: Sequence[str], logprobs: Sequence[Logprob]) -> Iterator[Block]:
    """Yield for each piece of a text the block of the tokens that end within it."""
    tokens = _list_tokens(logprobs)
    coming = iter(logprobs)
    for span in slice_tokens(pieces, tokens):
        some = islice(coming, span.stop - span.start)
        yield {"content": [_make_token_logprob(logprob) for logprob in some], "refusal": None}


def encode_tokens(logprobs: Sequence[Logprob]) -> bytes | None:
    """Return the JSON of the tokens of a block, without brackets.

    None if there are so many that they are written while they are sent, or if numbers are so large that pydantic
    writes them in another way. Raises UnicodeEncodeError for lone surrogates.
    """
    if len(logprobs) > MANY_TOKENS or min(map(_read_value, logprobs), default=0) < -_MAX_PLAIN:
        return None
    return encode([*map(_show_token, logprobs)])[1:-1]


def _list_tokens(logprobs: Sequence[Logprob]) -> Sequence[str]:
    return logprobs.tokens if isinstance(logprobs, LazySequence) else [logprob.token for logprob in logprobs]


def _make_token_logprob(logprob: Logprob) -> Block:
    shown: Block = to_builtins(_show_token(logprob))
    return shown


class _Alternative(Struct, gc=False):
    token: str
    logprob: float
    bytes: Sequence[int]


class _WeighedToken(Struct, gc=False):
    token: str
    logprob: float
    bytes: Sequence[int]
    top_logprobs: Sequence[_Alternative]


def _show_token(logprob: Logprob) -> _WeighedToken:
    # The bytes of a token of a vocabulary may differ from those of its text.
    others = [
        _Alternative(token, value, _BYTES[token])
        if type(token) is str
        else _Alternative(spell_token(token), value, [*encode_token(token)])
        for token, value in logprob.top
    ]
    token = logprob.token
    if type(token) is str:
        return _WeighedToken(token, logprob.logprob, _BYTES[token], others)
    return _WeighedToken(spell_token(token), logprob.logprob, [*encode_token(token)], others)


class _Bytes(Memo[str, list[int]]):
    """The bytes of tokens, which are remembered: most of any text consists of few different ones."""

    def __missing__(self, token: str) -> list[int]:
        found = [*token.encode()]
        return self.keep(token, found, getsizeof(token) + getsizeof(found))


_BYTES = _Bytes(most=1 << 20)
_read_value = attrgetter("logprob")
_MAX_PLAIN = 1e15


OffsetLogprob = tuple[int, Logprob]  # the place of the token in the text, and the token


class LogprobsShape(Struct, frozen=True):
    """How a text completion shows log probabilities: in which shape, and with how many alternatives."""

    kind: Literal["legacy", "content"] = "legacy"
    alternatives: int = 0
    null_first: bool = False  # legacy: the first token of an echoed prompt has null
    token_ids: bool = False  # legacy: token ids too


def add_offsets(choice: Choice) -> Sequence[OffsetLogprob]:
    """Return the choice's log probabilities with the offset of each token; empty if it has no log probabilities."""
    logprobs = choice.logprobs or ()
    if isinstance(logprobs, LazySequence):
        return LazySequence(lambda: _add_offsets(logprobs), len(logprobs), logprobs.tokens)
    return list(_add_offsets(logprobs))


def _add_offsets(logprobs: Sequence[Logprob]) -> Iterator[OffsetLogprob]:
    at = 0
    for logprob in logprobs:
        yield at, logprob
        at += len(logprob.token)


def group_by_piece(pieces: Sequence[str], tokens: Sequence[OffsetLogprob]) -> Iterator[list[OffsetLogprob]]:
    """Yield for each piece of the text the tokens that end within it."""
    names = tokens.tokens if isinstance(tokens, LazySequence) else [logprob.token for _, logprob in tokens]
    coming = iter(tokens)
    return (list(islice(coming, span.stop - span.start)) for span in slice_tokens(pieces, names))


def shape_logprobs(tokens: Sequence[OffsetLogprob], shape: LogprobsShape, *, echoes: bool) -> Block:
    """Return these tokens in a shape; `echoes`: the text begins with the prompt."""
    return (
        _make_legacy(tokens, shape, echoes=echoes) if shape.kind == "legacy" else make_content_logprobs(tokens, shape)
    )


def make_content_logprobs(tokens: Sequence[OffsetLogprob], shape: LogprobsShape) -> Block:
    """Return the list of tokens, Fireworks' newer format."""
    return {"content": [_make_content_token(offset, logprob, shape) for offset, logprob in tokens]}


def _make_legacy(tokens: Sequence[OffsetLogprob], shape: LogprobsShape, *, echoes: bool) -> Block:
    values: list[float | None] = [logprob.logprob for _, logprob in tokens]
    tops: list[dict[str, float] | None] = [
        {_write_legacy_name(token): value for token, value in _list_top(logprob).items()} for _, logprob in tokens
    ]
    if shape.null_first and echoes and tokens and tokens[0][0] == 0:
        # Nothing comes before the first token, so it has no probability.
        values[0] = None
        tops[0] = None
    arrays: Block = {
        "tokens": [_write_legacy_name(logprob.token) for _, logprob in tokens],
        "token_logprobs": values,
        "top_logprobs": tops if shape.alternatives else None,
        "text_offset": [offset for offset, _ in tokens],
    }
    if shape.token_ids:
        arrays["token_ids"] = [find_token_id(logprob.token) for _, logprob in tokens]
    return arrays


def _write_legacy_name(token: str) -> str:
    """Spell a token that is only a part of a character as `bytes:...`."""
    return (
        f"bytes:{spell_token(token)}" if isinstance(token, Token) and encode_token(token) != token.encode() else token
    )


def _list_top(logprob: Logprob) -> Mapping[str, float]:
    return dict(logprob.top) or {logprob.token: logprob.logprob}


def _make_content_token(offset: int, logprob: Logprob, shape: LogprobsShape) -> Block:
    top = _list_top(logprob) if shape.alternatives else {}
    return {
        "token": spell_token(logprob.token),
        "logprob": logprob.logprob,
        "sampling_logprob": logprob.logprob,
        "bytes": list(encode_token(logprob.token)),
        "top_logprobs": [
            {
                "token": spell_token(token),
                "logprob": value,
                "token_id": find_token_id(token),
                "bytes": list(encode_token(token)),
            }
            for token, value in top.items()
        ],
        "token_id": find_token_id(logprob.token),
        "text_offset": offset,
    }
