"""What is taken out of a text, or put in order."""

import pytest

from mockserver.core.seed import Seed
from mockserver.model.forms.extracts import counted, extracted, ordered_anew
from mockserver.model.forms.prompt import Asked
from mockserver.model.prose.topic import topic

RNG = Seed(0).stream("x")


def asked(text: str, rules: str = "") -> Asked:
    return Asked(text, rules, topic(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Extract all email addresses from: write to bob@example.com or al@test.org.", "bob@example.com\nal@test.org"),
        ("Find the URLs in the following text: see https://a.b/c, then http://x.y/.", "https://a.b/c\nhttp://x.y/"),
        ("Extract the phone numbers from this text: +1 555 123 4567 or (030) 123456", "+1 555 123 4567\n(030) 123456"),
        ("List the dates in: born 2020-01-02, died March 5, 2021", "2020-01-02\nMarch 5, 2021"),
        ("Extract the numbers from this: 3 cats, 12.5 dogs, -7 fish", "3\n12.5\n-7"),
        ("Get all hashtags from: #one and #two", "#one\n#two"),
        ("Extract prices from: tea $3.50, cake 4 EUR", "$3.50\n4 EUR"),
        ("Extract the names from: Yesterday Alice met Bob Miller.", "Yesterday Alice\nBob Miller"),
        ("Extract the numbers from: 1, 2. Comma-separated.", "1, 2"),
        ("Extract two key words from: the garden is wonderful today", "wonderful\ngarden"),
    ],
)
def test_extracted(text: str, found: str) -> None:
    assert extracted(asked(text), RNG) == found


@pytest.mark.parametrize(
    "text", ["Find the numbers in the report", "Extract the essence from: tea", "List names for a cat", "Find a date"]
)
def test_nothing_to_extract(text: str) -> None:
    assert extracted(asked(text), RNG) is None


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Sort these numbers: 5, 30, 9 and 1", "1, 5, 9, 30"),
        ("Sort in descending order: 5, 30, 9", "30, 9, 5"),
        ("Sort alphabetically: pear, Apple, fig", "Apple, fig, pear"),
        ('Reverse the string "hello"', "olleh"),
        ("Reverse this word: 'abc'", "cba"),
    ],
)
def test_ordered_anew(text: str, made: str) -> None:
    assert ordered_anew(asked(text), RNG) == made


@pytest.mark.parametrize("text", ["Sort my mail", "Reverse the car", "Sort it: out"])
def test_nothing_to_order(text: str) -> None:
    assert ordered_anew(asked(text), RNG) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("How many r's are in strawberry?", "3"),
        ('How many letters are there in "a b c"?', "3"),
        ('How many characters are in the string "a b c"?', "5"),
        ("How many words are in 'a b c'?", "3"),
        ('How many times does the letter e appear in "eleven"?', "3"),
        ("Count to 5.", "1, 2, 3, 4, 5"),
        ("count from 8 to 10", "8, 9, 10"),
        ("Count to 999999", None),
        ("How many words are in the book?", None),
        ("How many people live in Oslo?", None),
    ],
)
def test_counted(text: str, number: str | None) -> None:
    assert counted(asked(text), RNG) == number
