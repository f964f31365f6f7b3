"""Texts keep to lengths, patterns and formats, alone and together."""

from typing import Any

import jsonschema_rs
import pytest

from mockserver.core.seed import Seed
from mockserver.model.schema.document import DeadEndError
from mockserver.model.schema.scalars import text


def drawn(*parts: Any, hints: tuple[str, ...] = ()) -> list[str]:
    return [text(parts, hints, lambda at, seed=seed: Seed(seed).stream(str(at))) for seed in range(10)]  # type: ignore[misc]


@pytest.mark.parametrize(
    "parts",
    [
        [{}],
        [{"minLength": 40}],
        [{"minLength": 10, "maxLength": 10}],
        [{"maxLength": 0}],
        [{"pattern": "^[A-Z]{2}$"}],
        [{"pattern": "^[a-z]+$", "minLength": 50, "maxLength": 60}],
        [{"pattern": "^[a-z]"}, {"pattern": "[0-9]$"}, {"maxLength": 12}],
        [{"pattern": "^(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9]{8,20}$"}],
        [{"pattern": "^(?!admin).{4,12}$"}],
        [{"pattern": "b", "minLength": 30}],
        [{"format": "email", "maxLength": 12}],
        [{"format": "uri", "pattern": "^https://"}],
        [{"format": "date-time", "pattern": "Z$"}],
        [{"format": "date", "pattern": r"^\d{4}-\d\d-\d\d$"}],
        [{"format": "uuid"}, {"minLength": 36}],
        [{"format": "unknown"}],
        [{"format": "hostname", "minLength": 120}],
        [{"contentEncoding": "base64"}],
        [{"contentMediaType": "application/json"}],
    ],
    ids=str,
)
def test_texts_satisfy(parts: list[Any]) -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#", "allOf": parts}
    validator = jsonschema_rs.validator_for(draft, validate_formats=True)
    assert all(map(validator.is_valid, drawn(*parts)))


def test_plausible_texts_win_over_patterns() -> None:
    assert all(one[0].isupper() for one in drawn({"pattern": "^[a-zA-Z]+$"}, hints=("city",)))


def test_refused_texts_are_not_made() -> None:
    assert set(drawn({"pattern": "^[ab]$"}, {"not in": ["a"]})) == {"b"}


@pytest.mark.parametrize(
    ("part", "why", "keyword"),
    [
        ({"minLength": 3, "maxLength": 2}, "no text has 3 characters and no more than 2", "minLength"),
        ({"minLength": 10**9}, "a text of 1,000,000,000 characters is not made, only up to 20,000", "minLength"),
        ({"pattern": "^a{3}$", "maxLength": 2}, "no text was found for the pattern", "pattern"),
        ({"format": "uuid", "maxLength": 2}, "no text was found for the format 'uuid'", "format"),
        ({"not in": [""], "maxLength": 0}, "no text was found that is allowed", ""),
    ],
)
def test_what_cannot_be_made_is_said(part: Any, why: str, keyword: str) -> None:
    with pytest.raises(DeadEndError, match=why) as caught:
        drawn(part)
    assert caught.value.pointer == keyword
