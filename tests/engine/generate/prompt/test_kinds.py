"""Which kind of thing words are."""

import pytest

from mockserver.model.arguments.phrases import is_calling, is_kind, is_measure, kind_for
from mockserver.model.arguments.properties import wanted
from mockserver.model.arguments.values import Mention


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("country", "New Zealand", "country"),
        ("city", "France", "country"),
        ("location", "France", "name"),
        ("state", "Georgia", "state"),
        ("cuisine", "Thai", "nationality"),
        ("language", "Dutch", "language"),
        ("symbol", "NVDA", "ticker"),
        ("city", "Paris", "name"),
    ],
)
def test_names_are_looked_up_for_what_is_asked(name: str, value: str, kind: str) -> None:
    want = wanted(name, {"type": "string"}, 0)
    assert kind_for(Mention("name", value, 0, len(value)), want.nature, want) == kind


@pytest.mark.parametrize(
    ("words", "sounds"),
    [("designer", True), ("project manager", True), ("Head of Sales", True), ("team", False), ("Ben Carter", False)],
)
def test_professions_are_heard(words: str, sounds: bool) -> None:
    assert is_calling(words) is sounds


def test_measures_and_kinds_are_no_things() -> None:
    assert (is_measure("results"), is_measure("years"), is_measure("apples")) == (True, True, False)
    assert (is_kind("address"), is_kind("blue house")) == (True, False)
