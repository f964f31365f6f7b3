"""Opaque values: what was made here is told from what others made, and any change of it is seen."""

from base64 import b64decode, b64encode, urlsafe_b64encode

import pytest

from mockserver.core.seal import Seal, SealError, claim, encode_text

THOUGHT = Seal("thought", b"\x0a\x01", 200)
OTHER = Seal("other", b"\x0a\x01", 200)
LONG = Seal("thought", b"\x80\x00\x00\x00\x00", 233, url_safe=True)
CLAIMS = (claim(b"a"), claim(b"b", b"c"))


@pytest.mark.parametrize("seal", [THOUGHT, LONG])
def test_claims_come_back(seal: Seal) -> None:
    made = seal.close(*CLAIMS)
    assert len(b64decode(made, altchars=b"-_" if seal.url_safe else None)) == seal.size
    assert made == seal.close(*CLAIMS) != seal.close(*CLAIMS[:1])
    assert seal.open(made) == CLAIMS
    assert seal.open(seal.close()) == ()


def test_either_alphabet_with_or_without_padding() -> None:
    made = LONG.close(*CLAIMS)
    raw = b64decode(made, altchars=b"-_")
    for spelled in (b64encode(raw), urlsafe_b64encode(raw), b64encode(raw).rstrip(b"=")):
        assert LONG.open(spelled.decode()) == CLAIMS


def test_every_change_is_seen() -> None:
    made = THOUGHT.close(*CLAIMS)
    marked = b64encode(b64decode(made)[:14]).decode()[:16]  # without it, nobody knows who made it
    for at in range(len(marked), len(made) - 2):
        with pytest.raises(SealError):
            THOUGHT.open(made[:at] + ("A" if made[at] != "A" else "B") + made[at + 1 :])
    for size in range(48, len(made.rstrip("="))):
        with pytest.raises(SealError):
            THOUGHT.open(made[:size])
    with pytest.raises(SealError):
        THOUGHT.open(made + "AAAA")
    with pytest.raises(SealError):
        OTHER.open(made)


# Well-formed values of the kinds that live providers send.
FOREIGN = [
    "EqQBCgIYAhIMV1Vf9J8y0aWZ0uKxGgxq3m8cP5yq3fJqvEkiMDpQ1r0bS2yq0mV0cWb7m3e9p2nQk5aVd8u1hYx4z6tGfLw==",
    "CpcHAdHtim9ZxB7kYwq3Jr0vQ2sT4uW6yA8cE0gI2kM4oQ6sU8wY0aC2eG4iK6mO8qS0uW2yA4cE6gI8kM0oQ2sU4wY",
    "gAAAAABpQ5xT3qk9h6mWv1Zr8Yc2bN4dF6gH8jK0lM2nP4qR6sT8uV0wX2yZ4aB6cD8eF0gH2iJ4kL6mN8oP0qR2sT4uV6w==",
    "skip_thought_signature_validator",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    "x0+/" * 8,
]


@pytest.mark.parametrize("value", FOREIGN)
def test_values_of_others_are_taken_for_real(value: str) -> None:
    assert THOUGHT.open(value) is None


NONE = ["", "=", "not a signature", "a", "abcde", "AAAA", "edited", "x0+/" * 5, "schön", "\ud800", "{}"]


@pytest.mark.parametrize("value", NONE)
def test_what_nobody_made(value: str) -> None:
    with pytest.raises(SealError):
        THOUGHT.open(value)


def test_halves_of_characters_are_one() -> None:
    assert claim(encode_text("a\ud800")) == claim(encode_text("a\ufffd")) == claim(encode_text("a?"))
