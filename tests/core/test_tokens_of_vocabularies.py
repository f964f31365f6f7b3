"""Tokens that know their numbers and bytes, and what pieces of a text weigh."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.tokens import (
    APPROX,
    Chunks,
    Token,
    count,
    encode_token,
    end_tokens,
    find_token_id,
    slice_tokens,
    spell_token,
    split,
    weigh_pieces,
)

WAYS: tuple[Chunks, ...] = ("token", "word", "char", 1, 7)
FACE = (Token("", 1, b"\xf0\x9f"), Token("\U0001f642", 2, b"\x99\x82"))
BOTH = (Token("a", 3, b"a"), *FACE, Token("b", 4, b"b"))


@pytest.mark.parametrize(
    ("tokens", "chunks", "pieces"),
    [
        (("One", " two"), "token", [("One", 1), (" two", 1)]),
        (BOTH, "token", [("a", 1), ("\U0001f642", 2), ("b", 1)]),
        (BOTH, "char", [("a", 1), ("\U0001f642", 2), ("b", 1)]),
        (BOTH, 2, [("a\U0001f642", 3), ("b", 1)]),
        (("One", " two"), 2, [("On", 0), ("e ", 1), ("tw", 0), ("o", 1)]),
        (("One", " two"), ("One two",), [("One two", 2)]),
        ((), "token", []),
    ],
)
def test_pieces_weigh_the_tokens_that_end_within_them(
    tokens: tuple[str, ...], chunks: Chunks, pieces: list[tuple[str, int]]
) -> None:
    assert list(weigh_pieces(tokens, chunks)) == pieces


@given(st.text(), st.sampled_from(WAYS))
def test_pieces_weigh_as_much_as_the_text(text: str, chunks: Chunks) -> None:
    assert sum(weight for _, weight in weigh_pieces(split(text), chunks)) == count(text)


def test_a_token_without_text_goes_with_the_one_after_it() -> None:
    assert list(slice_tokens(["a", "\U0001f642b"], BOTH)) == [slice(0, 1), slice(1, 4)]


def test_a_token_knows_its_number_and_bytes() -> None:
    assert [find_token_id(token) for token in BOTH] == [3, 1, 2, 4]
    assert b"".join(map(encode_token, BOTH)) == "a\U0001f642b".encode()
    assert [spell_token(token) for token in BOTH] == ["a", "\\xf0\\x9f", "\\x99\\x82", "b"]
    assert (encode_token("é"), spell_token("é")) == ("é".encode(), "é")


def test_a_text_that_ends_within_a_character_says_so() -> None:
    whole, cut_off = end_tokens(BOTH), end_tokens(BOTH[:2])
    assert whole is BOTH
    assert [(token, find_token_id(token), encode_token(token)) for token in cut_off] == [
        ("a", 3, b"a"),
        ("\ufffd", 1, b"\xf0\x9f"),
    ]
    assert end_tokens(("a", "")) == ("a", "")
    assert end_tokens(()) == ()


def test_the_estimate_reads_numbers_as_such() -> None:
    assert APPROX.read([1, 23]) == ("<|1|>", "<|23|>")
    assert (APPROX.name, APPROX.exact) == ("approx", False)
