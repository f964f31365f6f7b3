"""English questions taken apart; many more stand in test_topic.py."""

import pytest

from mockserver.model.prose.questions import is_order, question, telling_words


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("How do I install numpy on Windows?", ("how", "numpy on Windows", "install numpy on Windows")),
        ("how to cook rice", ("how", "rice", "cook rice")),
        ("How much does a horse cost?", ("count", "a horse", "")),
        ("Is it safe to swim in the Danube?", ("yes", "swim and Danube", "")),
        ("Where can I buy fresh bread?", ("where", "fresh bread", "")),
        ("What should I cook tonight?", ("what", "tonight", "")),
        ("Could you please tell me what entropy is?", ("what", "entropy", "")),
        ("Let's play a game", ("do", "a game", "play a game")),
        ("Give me 5 names for a bakery", ("tell", "a bakery", "")),
        ("On Monday it rained", ("state", "Monday and rained", "")),
        ("It is you", ("state", "", "")),
        ("If it rains, when does the train leave?", ("when", "the train", "")),
        ("What's in this image?", ("what", "this image", "")),
        ("What is this?", ("what", "", "")),
        ("Where do I live?", ("where", "", "")),
        ("In exactly 10 words, describe the sea.", ("tell", "the sea", "")),
        ("Write an email to my boss asking for a day off", ("tell", "a day off", "")),
        ("Explain tides to a 5-year-old", ("tell", "tides", "")),
        ("Translate 'I love tea' into French.", ("do", "I love tea", "")),
        ("Translate the following text to German: Good morning", ("do", "Good morning", "")),
        ("Search for 'Alan Turing'", ("do", "Alan Turing", "search for Alan Turing")),
        ("", ("state", "", "")),
    ],
)
def test_question(asked: str, found: tuple[str, str, str]) -> None:
    assert question(asked) == found


def test_is_order() -> None:
    assert is_order("please book a flight")
    assert not is_order("The book is red")


def test_telling_words() -> None:
    assert telling_words("the cat and the hat and the cat", "en") == ("cat", "hat")
    assert telling_words("der Hut und die Katze", "de") == ("Hut", "Katze")
    assert telling_words("首都", "zh") == ("首都",)
    assert telling_words("", "zh") == ()
