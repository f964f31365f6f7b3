"""JSON text: encode it compactly, parse it without raising."""

import json
from collections.abc import Callable, Container, Iterator, Mapping
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]
from typing import Any

from msgspec.json import encode

Json = Any  # JSON is the one place where Any is honest

compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _refuse(value: object) -> Json:
    raise TypeError(f"no JSON: {type(value).__name__}")


# JSONEncoder.encode builds this encoder again on every call, which takes longer than encoding a short text.
_canonical = c_make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", True, False, False)
_LONG = 4_096  # characters


def canonical(value: Json) -> str:
    """Return JSON text with sorted keys and ASCII only. Raises ValueError for NaN."""
    return "".join(_canonical(value, 0))


def canonical_pieces(value: Json) -> Iterator[bytes]:
    """Yield the canonical JSON text of a value in pieces: long texts are encoded faster, each by itself."""
    texts: list[str] = []

    def quoted(text: str) -> str:
        if len(text) < _LONG or not text.isascii() or "\x7f" in text:  # which msgspec does not escape
            return encode_basestring_ascii(text)
        texts.append(text)
        return "\0"

    encoder = c_make_encoder(None, _refuse, quoted, None, ":", ",", True, False, False)
    first, *others = "".join(encoder(value, 0)).encode("ascii").split(b"\0")
    yield first
    for text, after in zip(texts, others, strict=True):
        yield encode(text)
        yield after


def parsed(text: str, otherwise: Json = None) -> Json:
    """The JSON value of a text, or `otherwise` if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def map_texts(value: Json, change: Callable[[str], Json], fixed: Container[str] = (), *, keys: bool = False) -> Json:
    """The value with each text in it changed, except below `fixed` keys; `keys`: names too. Tuples become lists."""

    def mapped(inner: Json) -> Json:
        match inner:
            case str():
                return change(inner)
            case Mapping():
                items = inner.items()
                return {change(k) if keys else k: each if k in fixed else mapped(each) for k, each in items}
            case list() | tuple():
                return list(map(mapped, inner))
        return inner

    return mapped(value)
