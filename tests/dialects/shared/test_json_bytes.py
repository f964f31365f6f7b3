"""Bytes are read by the letter, whatever their size, and leave the collector as it was."""

import gc
import json
from typing import Any

import pytest

from mockserver.core.plan import Failure
from mockserver.dialects._parse import LONG_BODY, parse_json, read_json

BLANKS = (b"", b" " * LONG_BODY)


@pytest.mark.parametrize("before", BLANKS, ids=["small", "large"])
@pytest.mark.parametrize("value", [None, {"a": [1, 2.5, "x", True, {}]}, [[]] * 100])
def test_what_is_sound(before: bytes, value: Any) -> None:
    assert parse_json(before + json.dumps(value).encode()) == value
    assert gc.isenabled()


@pytest.mark.parametrize("before", BLANKS, ids=["small", "large"])
@pytest.mark.parametrize("text", [b"", b"{", b'{"a":1,"a":2}', b"[NaN]", b"[Infinity]", b"1 2", b"\xff"])
def test_what_is_broken(before: bytes, text: bytes) -> None:
    with pytest.raises(ValueError, match="line"):
        parse_json(before + text)
    assert gc.isenabled()


@pytest.mark.parametrize("text", ["x" * LONG_BODY, "", '\\"[{' * LONG_BODY])
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("[" * 99 + "]" * 99, ""),
        ("[" * 101 + "]" * 101, "nested more than 100 levels"),
        ("1e999", "number out of range"),
        ("-1" + "0" * 400 + ".0", "number out of range"),
        ("[" + "1," * 3000 + "1e999]", "number out of range"),
        ('"1e999"', ""),
        ("[]", ""),
    ],
)
def test_the_limits_of_values_hold_whatever_the_size_of_texts(value: str, why: str, text: str) -> None:
    body = b'{"a":{"b":%b},"c":%b}' % (json.dumps(text).encode(), value.encode())
    if not why:
        assert read_json(body)["a"] == {"b": text}
        return
    with pytest.raises(Failure, match=why):
        read_json(body)


def test_a_collector_at_rest_is_left_so() -> None:
    gc.disable()
    try:
        assert parse_json(BLANKS[1] + b"[]") == []
        assert not gc.isenabled()
    finally:
        gc.enable()
