"""Words: how names and texts are split, their stems and weights, and the word lists."""

import re

import pytest

from mockserver.model.vocabulary import (
    cut_excerpt,
    find_keys,
    find_language,
    keep_ends,
    read_number,
    read_prepositions,
    read_word_list,
    split_name,
    split_words,
    stem,
)


def test_of_a_huge_text_the_end_is_read_above_all() -> None:
    assert cut_excerpt("a" * 5000 + "b" * 50_000 + "c" * 9000) == "a" * 2000 + "\n" + "c" * 8000
    assert cut_excerpt("short") == "short"
    assert cut_excerpt(f"a{' ' * 90}b\n{' ' * 10}c") == f"a{' ' * 20}b\n{' ' * 10}c"


@pytest.mark.parametrize("blank", [" ", "\n \t", "a" * 30 + "\n\n"])
@pytest.mark.parametrize("run", [1, 19, 21, 500, 9_000])
def test_the_ends_of_a_huge_text_are_those_of_all_of_it_without_its_runs_of_blanks(blank: str, run: int) -> None:
    text = "".join(f"{number}{(blank * run)[:run]}" for number in range(max(20, 90_000 // (run + 5))))
    for most in (100, 10_000, 50_000):
        shortened = re.sub(r"(\s{20})\s+", r"\1", text)
        assert cut_excerpt(text, most) == keep_ends(shortened, most // 5, most * 4 // 5)


def test_numbers_are_read_in_all_letters_that_a_pattern_takes_for_theirs() -> None:
    assert [read_number(word) for word in ("12", "Six", "ſİx", "A", "٣")] == [12, 6, 6, 1, 3]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fromCity", ("from", "city")),
        ("check_in_dates", ("check", "in", "date")),
        ("número", ("número",)),
        ("_", ()),
    ],
)
def test_names_are_split_into_words(name: str, expected: tuple[str, ...]) -> None:
    assert split_name(name) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lookUp_order2", ("look", "up", "order", "2")),
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
def test_texts_are_split_into_words(text: str, found: tuple[str, ...]) -> None:
    assert split_words(text) == found


def test_a_megabyte_is_read_in_linear_time() -> None:
    assert len(split_words("a'b " * 250_000)) == 500_000
    assert len(split_words("天" * 100_000)) == 99_999


@pytest.mark.parametrize(
    ("text", "word", "meaning"),
    [
        ("ein Flug nach Rom bitte", "nach", "to"),
        ("un vuelo de Madrid a Lima para mi", "a", "to"),
        ("a flight to Rome", "named", "named"),
        ("book me a flight to the city", "a", None),
    ],
)
def test_prepositions_are_those_of_the_language_and_of_english(text: str, word: str, meaning: str | None) -> None:
    assert read_prepositions(find_language(text)).get(word) == meaning


@pytest.mark.parametrize(
    "family",
    [
        ("book", "booking", "bookings", "booked"),
        ("translate", "translation", "translates"),
        ("reserve", "reservation", "reservations"),
        ("notify", "notification"),
        ("ship", "shipping", "shipment"),
        ("remind", "reminder"),
        ("summarise", "summarize"),
    ],
)
def test_forms_of_a_word_have_one_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize(("one", "other"), [("user", "use"), ("news", "new"), ("add", "address"), ("order", "old")])
def test_other_words_have_other_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_words_of_every_group_of_synonyms_share_a_key() -> None:
    for first, group in read_word_list("tool_synonyms").items():
        assert len(group) > 1
        assert all(f"~{first}" in find_keys(word) for word in group)
    assert not find_keys("forecast") & find_keys("ticket")


def test_translations_share_a_key_with_their_english_words() -> None:
    for english, foreign in read_word_list("translations").items():
        for word in foreign:
            assert find_keys(english) & frozenset().union(*map(find_keys, split_words(word))), word
    assert not find_keys("wet") & find_keys("weather")
