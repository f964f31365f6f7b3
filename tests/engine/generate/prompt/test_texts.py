"""How well mentions suit what takes text."""

import pytest

from mockserver.model.arguments.properties import wanted
from mockserver.model.arguments.scoring import text_score
from mockserver.model.arguments.values import Mention


def points(name: str, kind: str, value: str, **said: str) -> int:
    return text_score(Mention(kind, value, 0, len(value), **said), wanted(name, {"type": "string"}, 0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "better", "worse"),
    [
        ("city", ("name", "Paris", ""), ("name", "France", "")),
        ("country", ("name", "France", ""), ("name", "Paris", "")),
        ("street", ("address", "12 Baker Street", ""), ("name", "London", "")),
        ("role", ("words", "designer", ""), ("words", "team", "")),
        ("name", ("words", "flour", "counted"), ("words", "results", "counted")),
        ("deployment", ("name", "Web", ""), ("name", "Scale", "lead")),
        ("name", ("name", "Mia", ""), ("name", "Contacts", "label")),
        ("city", ("name", "Oslo", ""), ("words", "address", "the")),
    ],
)
def test_what_suits_better_has_more_points(
    name: str, better: tuple[str, str, str], worse: tuple[str, str, str]
) -> None:
    (kind, value, unit), (other, word, mark) = better, worse
    assert points(name, kind, value, unit=unit) > points(name, other, word, unit=mark)
