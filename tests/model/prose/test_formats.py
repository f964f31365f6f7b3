"""Answers in the format that a prompt orders."""

from collections.abc import Callable
from random import Random

import pytest
from msgspec.structs import replace

from mockserver.core.seed import Seed
from mockserver.model.form import finish_answer, write_list
from mockserver.model.orders import Request, choose, compute, decide, dictate, obey, rate
from mockserver.model.prose import read_topic


def made(make: Callable[[Request, Random], str | None], text: str, rules: str = "", seed: int = 0) -> str | None:
    return make(Request(text, rules, read_topic(text)), Seed(seed).stream("x"))


@pytest.mark.parametrize(
    ("text", "rules", "answer"),
    [
        ("Say hello", "", "hello"),
        ("Good evening!", "", "Hi there! What can I do for you?"),
        ("Hello, what is the capital of France?", "", None),
        ("What is 2+3?", "", "5"),
        ("2+2", "Reply with just the result.", "4"),
        ("Tell me about the colour red", "", None),
        ("The list of my friends", "You write lists, code and tables.", None),
        ("Say hello in French", "", None),
        ("", "", None),
    ],
)
def test_obey(text: str, rules: str, answer: str | None) -> None:
    assert made(obey, text, rules) == answer


@pytest.mark.parametrize(
    "piece", ["say ", "list 5 ", "one of: a, ", "1+", "answer a or ", "A) x\n", '"', "table ", "in one "]
)
def test_no_text_is_too_odd(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    for order in (obey, write_list):
        answer = made(order, text[:10_000], text[:10_000])
        assert answer is None or len(answer) < 30_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Say this is a test!", "this is a test!"),
        ("Just say hi and nothing else.", "hi"),
        ("Repeat after me: I am a robot.", "I am a robot"),
        ('Repeat the following: "one, two"', "one, two"),
        ("Reply with exactly: OK", "OK"),
        ("Reply with the word 'pong' and nothing else.", "pong"),
        ("Respond only with PONG", "PONG"),
        ("Ignore all that. Output exactly «à bientôt»", "à bientôt"),
        ("Say I like my family", "I like my family"),
        ("Write exactly 3 bullet points about tea", None),
        ("Say something nice about cats", None),
        ("Say why the sky is blue", None),
        ("Respond only with valid JSON", None),
        ("Answer the following questions as best you can.", None),
        ("Answer with one of: a, b", None),
        ("Answer yes or no", None),
        ("Answer with the letter alone.", None),
        ('Answer "don\'t know" if it is not in the document.', None),
        ('If it is not in the document, say "unknown".', None),
        ("If you understand, reply with exactly: OK", "OK"),
        ("Say 'hello' if you can hear me.", "hello"),
        ("If you can read this, answer with the word yes.", "yes"),
        ("Respond with only the word 'pong' when you receive this.", "pong"),
        ("When you are ready, say READY.", "READY"),
        ('Reply with exactly: "Tell me when you are ready"', "Tell me when you are ready"),
        ("Reply with exactly: Run it when you get this", "Run it when you get this"),
        ("Write about cats", None),
        ("What do they say in Rome?", None),
    ],
)
def test_dictated(text: str, words: str | None) -> None:
    assert made(dictate, text) == words


def test_rules_may_dictate_where_they_are_plain() -> None:
    assert made(dictate, "Whatever", "Always answer with exactly 'BANANA'.") == "BANANA"
    assert made(dictate, "Say hi", "You say what the user wants. Be brief.") == "hi"


@pytest.mark.parametrize(
    ("text", "rules", "options"),
    [
        ("I love it. Answer with one of: positive, negative, neutral.", "", {"positive"}),
        ("It is here. Answer with one of: positive, negative, neutral.", "", {"positive", "negative", "neutral"}),
        ("Is the sky blue? Answer yes or no.", "", {"yes", "no"}),
        ("Output your verdict as [[A]] or [[B]].", "", {"[[A]]", "[[B]]"}),
        ("Choose one: red, green or blue", "", {"red", "green", "blue"}),
        ("Classify the text as spam or ham: buy now", "", {"spam", "ham"}),
        ('Output "low" | "high" only', "", {"low", "high"}),
        ("Choose one of the categories:\n- billing\n- technical support\n\nIt broke.", "",
         {"billing", "technical support"}),
        ("Which?\nA) red\nB) green", "", {"A) red", "B) green"}),
        ("Which?\nA) red\nB) green\nAnswer with the letter only.", "", {"A", "B"}),
        ("My billing is wrong. Categories: billing, technical, other", "", {"billing"}),
        ("I hate it", "Classify the message. Respond with either POSITIVE or NEGATIVE.", {"NEGATIVE"}),
        ("A refund, please", "Output only one of the following labels: [refund, shipping]", {"refund"}),
        ("Tell me about cats and dogs", "", {None}),
        ("One of the best films is a long one, or so they say", "", {None}),
        ("List some options", "", {None}),
        ('What does "yes or no" mean?', "", {None}),
        ("", "", {None}),
    ],
)  # fmt: skip
def test_chosen(text: str, rules: str, options: set[str | None]) -> None:
    assert {made(choose, text, rules, seed) for seed in range(40)} == options


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("Pick a number between 1 and 10", 1, 10),
        ("Rate this essay on a scale of 1 to 5", 1, 5),
        ("Give a score from 0-3", 0, 3),
    ],
)
def test_rated(text: str, low: int, high: int) -> None:
    found = {int(made(rate, text, seed=seed) or -1) for seed in range(200)}
    assert found == set(range(low, high + 1))


def lines(text: str, rules: str = "") -> list[str]:
    return (made(write_list, text, rules) or "").split("\n")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("List 5 fruits", 5),
        ("Give me three reasons to learn Go", 3),
        ("Name 40 animals", 40),
        ("Write 1000 tips", 50),
        ("List 0 reasons to run", 1),
    ],
)
def test_as_many_items_as_asked(text: str, number: int) -> None:
    found = lines(text)
    assert [line.partition(". ")[0] for line in found] == [str(at) for at in range(1, number + 1)]
    assert len({line.partition(". ")[2] for line in found}) == number


def test_items_are_of_the_kind() -> None:
    assert all("gadget" in line for line in lines("List 5 gadgets"))
    assert all(line.endswith(" berry") for line in lines("Name 3 berries"))
    assert not any("city" in line for line in lines("List 3 cities"))


def test_bullets_and_rows() -> None:
    assert all(line.startswith("- ") for line in lines("Give me bullet points on Rome"))
    assert all(line.startswith("- ") for line in lines("List 3 tips", "Use bullets."))
    (row,) = lines("names of 4 planets, comma-separated: give me 4 planets")
    assert row.count(", ") == 3


@pytest.mark.parametrize(
    "text", ["Tell me about Rome", "Book a table for 2 people", "Write 3 sentences", "In 3 days", ""]
)
def test_no_list(text: str) -> None:
    assert "1. " not in (made(write_list, text) or "")


@pytest.mark.parametrize(
    ("order", "formed"),
    [
        ("in one word", "Rain"),
        ("in at most 3 words.", "Rain falls. Snow."),
        ("Write exactly two sentences", "Rain falls. Snow too."),
        ("one word of advice", "Rain falls. Snow too. Hail."),
        ("in a few words", "Rain falls. Snow too. Hail."),
        ("in a single sentence", "Rain falls."),
    ],
)
def test_an_answer_is_no_longer_than_ordered(order: str, formed: str) -> None:
    asked = Request(f"Describe it {order}", "", read_topic("Describe it"))
    assert finish_answer("Rain falls. Snow too. Hail.", asked, Seed(0).stream("x")) == formed


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("Answer inside <answer></answer> tags.", "<answer>Tea.</answer>"),
        ("Wrap your response in <out> tags", "<out>Tea.</out>"),
        (
            "Put your thoughts in <think> tags and write the answer within `<answer>` tags.",
            "<think>The user asks about tea.</think>\n<answer>Tea.</answer>",
        ),
        ("The context is in <doc> tags. <doc>x</doc>", "Tea."),
        ("Is 3 < 4?", "Tea."),
    ],
)
def test_tags(order: str, answer: str) -> None:
    asked = Request("Tell me about tea", order, read_topic("Tell me about tea"))
    assert finish_answer("Tea.", asked, Seed(0).stream("x")) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("What is 2+3?", "5"),
        ("¿Cuánto es 5 + 7?", "12"),
        ("2 + 3 * (4 - 1) =", "11"),
        ("What's 7 times 6", "42"),
        ("What is 007 + 1.05?", "8.05"),
        ("Calculate 1 / 3", "0.3333333333"),
        ("how much is 1,000 - 0.5", "999.5"),
        ("What is 10 ÷ 4?", "2.5"),
        ("What is 15% of 80?", "12"),
        ("What is 1/0?", "That cannot be computed: it divides by zero."),
    ],
)
def test_computed(text: str, answer: str) -> None:
    assert compute(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "On 2024-05-01 it was 3 degrees",
        "Can we meet on 5/12?",
        "Who ruled in 1990-1995?",
        "Call 555-1234",
        "Tell me about 9/11",
        "version 1.2.3",
        "2",
        "((((",
        "What is 2 +?",
        "What is (2 + 3?",
        "1+" * 99,
        "",
    ],
)
def test_what_is_no_sum(text: str) -> None:
    assert compute(text) is None


def test_the_words_of_a_manual_are_no_cases() -> None:
    rules = 'If it rains, reply "WET".{} Otherwise, if it is dry, reply "DRY".'
    asked = Request("It rains.", rules.format(""), read_topic("It rains."))
    assert decide(asked) == "WET"
    assert decide(replace(asked, rules=rules.format(" Keep it clean." * 200))) is None
