"""Bytes are read by the letter, whatever their size, and leave the collector as it was."""

import gc
import json
from typing import Any

import pytest

from mockserver.dialects._parse import LARGE, parse_json

BLANKS = (b"", b" " * LARGE)


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


def test_a_collector_at_rest_is_left_so() -> None:
    gc.disable()
    try:
        assert parse_json(BLANKS[1] + b"[]") == []
        assert not gc.isenabled()
    finally:
        gc.enable()
