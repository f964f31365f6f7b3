"""What a prompt is about."""

import pytest

from mockserver.model.prose.topic import content_words, is_order, topic


@pytest.mark.parametrize(
    ("text", "kind", "subject", "act"),
    [
        ("Tell me about cheap flights to Rome", "tell", "cheap flights to Rome", ""),
        ("What is the capital of France?", "what", "the capital of France", ""),
        ("What is my order status?", "what", "your order status", ""),
        ("How does photosynthesis work?", "what", "photosynthesis", ""),
        ("How do I install numpy on Windows?", "how", "", "install numpy on Windows"),
        ("How many moons does Jupiter have?", "count", "moons", ""),
        ("Explain the difference between TCP and UDP", "tell", "the difference between TCP and UDP", ""),
        ("Answer in one short sentence: what is gravity?", "what", "gravity", ""),
        ("Why is the sky blue?", "why", "sky", ""),
        ("Where is the nearest bakery in Rome?", "where", "the nearest bakery in Rome", ""),
        ("Is Python faster than Java?", "yes", "Python", ""),
        ("Write a short poem about autumn leaves in 20 words.", "tell", "autumn leaves", ""),
        ("Can you help me plan a trip to Japan?", "do", "", "plan a trip to Japan"),
        ("Book my flight, please", "do", "", "book your flight"),
        ("The lamp is red. The sun is up. What is a lamp?", "what", "a lamp", ""),
        ("I like trains", "state", "trains", ""),
        ("", "state", "", ""),
        ("?!", "state", "", ""),
        ("Was ist die Hauptstadt von Frankreich?", "tell", "Hauptstadt von Frankreich", ""),
        ("日本の首都はどこですか", "tell", "日本の首都はどこですか", ""),
    ],
)
def test_subject(text: str, kind: str, subject: str, act: str) -> None:
    found = topic(text)
    assert (found.kind, found.subject, found.act) == (kind, subject, act)


def test_endless_words_are_no_subject() -> None:
    assert content_words("x" * 9_000 + " boats", "en") == ("boats",)


def test_language_of_the_answer() -> None:
    assert topic("What is Rome?").language == "en"
    assert topic("What is Rome?", "Answer in German.").language == "de"
    assert topic("What is Rome? Answer in French.", "Answer in German.").language == "fr"


@pytest.mark.parametrize("piece", ['"', "(", " ", "a ", "\n", ".", "what ", "tell me ", "é", "什么", "please ", "1"])
def test_no_text_is_too_odd(piece: str) -> None:
    assert len(topic(piece * 300_000).subject) < 1000


def test_is_order() -> None:
    assert is_order("please book a flight")
    assert not is_order("The book is red")


def test_content_words() -> None:
    assert content_words("the cat and the hat and the cat", "en") == ("cat", "hat")
    assert content_words("der Hut und die Katze", "de") == ("Hut", "Katze")
    assert content_words("首都", "zh") == ("首都",)
    assert content_words("", "zh") == ()
