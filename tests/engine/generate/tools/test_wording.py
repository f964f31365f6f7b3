"""Words by which tools are told apart."""

import pytest

from mockserver.model.wording import is_action, keys, stem, weight, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lookUp_order2", ("look", "up", "order", "2")),
        ("HTTPServer", ("http", "server")),
        ("What's the weather?", ("what", "the", "weather")),
        ("Crème brûlée", ("creme", "brulee")),
        ("an e-mail", ("an", "email")),
        ("look it up; looked up", ("look", "it", "up", "lookup")),
        ("3 times 4", ("3", "×", "4")),
        ("the first time", ("the", "first", "time")),
        ("查询天气", ("查询", "询天", "天气")),
        ("read notes.txt", ("read", "file")),
        ("", ()),
    ],
)
def test_words_of_texts_and_names(text: str, found: tuple[str, ...]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    "family",
    [
        ("book", "booking", "bookings", "booked"),
        ("calculate", "calculator", "calculation", "calculating"),
        ("translate", "translation", "translates"),
        ("currency", "currencies"),
        ("reserve", "reservation", "reservations"),
        ("notify", "notification"),
        ("search", "searches", "searching"),
        ("ship", "shipping", "shipment"),
        ("remind", "reminder"),
        ("summarise", "summarize"),
        ("plan", "planning"),
    ],
)
def test_forms_of_a_word_have_one_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize(("one", "other"), [("user", "use"), ("news", "new"), ("add", "address"), ("order", "old")])
def test_other_words_have_other_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_synonyms_share_a_key() -> None:
    assert keys("forecast") & keys("weather")
    assert not keys("forecast") & keys("ticket")


def test_words_without_meaning_have_no_key() -> None:
    assert keys("the") == keys("x") == frozenset()
    assert weight("the") == 0


def test_subjects_tell_more_than_deeds_and_those_more_than_getting() -> None:
    assert weight("weather") > weight("delete") > weight("get") > weight("the")
    assert is_action("deletes")
    assert not is_action("weather")


def test_a_megabyte_is_read_in_linear_time() -> None:
    assert len(words("a'b " * 250_000)) == 500_000
    assert len(words("天" * 100_000)) == 99_999
