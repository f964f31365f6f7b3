"""Texts of formats satisfy them, in the lengths that are asked for."""

import jsonschema_rs
import pytest

from mockserver.core.seed import Seed
from mockserver.model.schema.formats import FORMATS, formatted, moment


@pytest.mark.parametrize("kind", FORMATS)
def test_texts_satisfy_their_formats(kind: str) -> None:
    validator = jsonschema_rs.validator_for({"format": kind}, validate_formats=True)
    found = [formatted(kind, Seed(seed).stream("x")) for seed in range(30)]
    assert all(map(validator.is_valid, found)), found
    assert len(set(found)) > 5


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        *((kind, 100, 120) for kind in ("uri", "iri", "uri-reference", "json-pointer", "hostname", "regex")),
        *((kind, 100, 200) for kind in ("email", "idn-email", "hostname", "uri-template", "relative-json-pointer")),
        ("email", 0, 15),
        ("email", 0, 6),
        ("uri", 0, 19),
        ("hostname", 0, 4),
        ("ipv6", 0, 3),
        ("ipv4", 0, 7),
        ("date-time", 24, 30),
        ("time", 12, 20),
        ("duration", 5, 6),
        ("json-pointer", 0, 0),
    ],
)
def test_lengths_are_met(kind: str, least: int, most: int) -> None:
    schema = {"format": kind, "minLength": least, "maxLength": most}
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    for seed in range(10):
        found = formatted(kind, Seed(seed).stream("x"), least=least, most=most)
        assert validator.is_valid(found), found


def test_unknown_formats_are_nothing() -> None:
    assert formatted("color", Seed(0).stream("x")) is None


def test_moments_lie_before_the_clock() -> None:
    assert {moment(Seed(seed).stream("x")).year for seed in range(30)} == {2022, 2023}
