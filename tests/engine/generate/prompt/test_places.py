"""The names of countries, states and peoples."""

from mockserver.model.arguments.words import COUNTRIES, NATIONALITIES, STATES


def test_names_are_in_lower_case_without_blanks_around_them() -> None:
    for name in (*COUNTRIES, *STATES, *NATIONALITIES):
        assert name
        assert name == name.strip().lower()


def test_what_is_a_country_is_no_people() -> None:
    assert {"france", "new zealand", "usa"} <= COUNTRIES
    assert {"texas", "new south wales"} <= STATES
    assert not COUNTRIES & NATIONALITIES
