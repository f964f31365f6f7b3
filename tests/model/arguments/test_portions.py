"""What stands within a mention and is asked for by itself."""

from typing import Any

import pytest

from mockserver.model.arguments.numbers import portion_of
from mockserver.model.arguments.reading import read


def of_kind(text: str, kind: str) -> list[Any]:
    return [mention.value for mention in read(text) if mention.kind == kind]


def test_an_address_has_a_number_and_a_street() -> None:
    text = "Send it to 11 West 53rd Street, please"
    assert (of_kind(text, "address"), of_kind(text, "house")) == (["11 West 53rd Street"], ["11"])
    assert of_kind(text, "street") == ["West 53rd Street"]


def test_a_city_is_followed_by_its_state_and_postal_code() -> None:
    text = "I live in Springfield, IL 62704 with Ann"
    assert (of_kind(text, "state"), of_kind(text, "zip")) == (["IL"], ["62704"])
    assert "Springfield" in of_kind(text, "name")


def test_a_name_has_halves() -> None:
    text = "I met Mary Ann Evans"
    assert (of_kind(text, "forename"), of_kind(text, "surname")) == (["Mary"], ["Evans"])


def test_words_have_a_colour_a_number_and_an_abbreviation() -> None:
    assert {"blue dress", "blue", "dress"} <= set(of_kind("she wants a blue dress", "words"))
    assert of_kind("order a pizza", "one") == [1]
    assert "HR manager" in of_kind("Ann is our HR manager", "words")


def test_a_name_goes_on_with_an_id() -> None:
    assert "Sony WH-1000XM5" in of_kind("The Sony WH-1000XM5 is good", "name")


@pytest.mark.parametrize(
    ("words", "beside", "kind"),
    [
        (("number",), {"street"}, "house"),
        (("street",), {"number", "city"}, "street"),
        (("street",), {"city"}, ""),
        (("make",), {"model"}, "forename"),
        (("model",), {"year"}, ""),
    ],
)
def test_a_part_is_asked_for_where_another_property_asks_for_the_rest(
    words: tuple[str, ...], beside: set[str], kind: str
) -> None:
    assert portion_of(words, beside) == kind
