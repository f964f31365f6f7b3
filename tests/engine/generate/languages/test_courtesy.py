"""Thanks and goodbyes of other languages."""

import re

import pytest

from mockserver.model.languages import LANGUAGES
from mockserver.model.languages.courtesy import COURTESIES


@pytest.mark.parametrize("code", sorted(COURTESIES))
def test_each_is_of_a_known_language_and_answers_in_it(code: str) -> None:
    assert code in LANGUAGES
    for pattern, answer in COURTESIES[code]:
        assert answer
        assert not re.fullmatch(pattern, "")
        assert pattern == pattern.lower()
