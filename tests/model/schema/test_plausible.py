"""Texts and numbers suit what properties are called, and texts satisfy their formats."""

import re

import jsonschema_rs
import pytest

from mockserver.core.seed import Seed
from mockserver.model.schema.plausible import FORMATS, TEXTS, natural_range, plain_text


def drawn(*hints: str) -> list[str]:
    return [plain_text(hints, Seed(seed).stream("x")) for seed in range(30)]


@pytest.mark.parametrize(
    ("hints", "pattern"),
    [
        (("email",), r"[a-z]+\.[a-z]+@example\.com"),
        (("customer_name",), r"[A-Z][a-z]+ [A-Z][a-z]+"),
        (("fileName",), r"\w+\.\w+"),
        (("name_of_city",), r"[A-Z][a-z]+"),
        (("orderId",), r"[0-9a-f]{12}"),
        (("phone",), r"\+1-555-01\d\d"),
        (("birth-date",), r"202[23]-\d\d-\d\d"),
        (("start_time",), r"\d\d:\d\d"),
        (("x", "The city to look up"), r"[A-Z][a-z]+"),
        (("remark",), r"\w+( \w+){0,2}"),
        (("explanation",), r"[A-Z][^.]+\."),
        ((), r"\w+( \w+){0,2}"),
    ],
    ids=str,
)
def test_texts_suit_their_names(hints: tuple[str, ...], pattern: str) -> None:
    found = drawn(*hints)
    assert all(re.fullmatch(pattern, one) for one in found), found
    assert len(set(found)) > 5


@pytest.mark.parametrize("name", TEXTS)
def test_every_known_name_gives_a_line(name: str) -> None:
    found = drawn(name.title().replace(" ", ""))
    assert all(one and "\n" not in one for one in found)
    assert found == drawn(name.title().replace(" ", ""))


def test_no_real_people_or_hosts() -> None:
    everything = " ".join(text for name in TEXTS for text in drawn(name))
    assert set(re.findall(r"[\w.]+@([\w.]+)", everything)) == {"example.com"}
    assert set(re.findall(r"https?://([\w.]+)", everything)) == {"example.com"}


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        (("age",), (18, 80)),
        (("n", "Share in percent"), (0, 100)),
        (("count",), (1, 100)),
        ((), (1, 100)),
    ],
)
def test_numbers_have_natural_ranges(hints: tuple[str, ...], expected: tuple[float, float]) -> None:
    assert natural_range(hints) == expected


@pytest.mark.parametrize("kind", FORMATS)
def test_texts_satisfy_their_formats(kind: str) -> None:
    validator = jsonschema_rs.validator_for({"format": kind}, validate_formats=True)
    found = [FORMATS[kind](Seed(seed).stream("x")) for seed in range(30)]
    assert all(map(validator.is_valid, found)), found
    assert len(set(found)) > 5
