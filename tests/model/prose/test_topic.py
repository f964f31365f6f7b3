"""What a prompt is about."""

import pytest

from mockserver.model.prose.topic import content_words, is_order, question, topic

SUBJECTS = [
    ("Tell me about cheap flights to Rome", "tell", "cheap flights to Rome"),
    ("What is the capital of France?", "what", "the capital of France"),
    ("What is my order status?", "what", "your order status"),
    ("Which lamp is brighter, the red or the blue one?", "what", "the lamp"),
    ("What are the best ways to learn guitar?", "what", "the best ways to learn guitar"),
    ("How does photosynthesis work?", "what", "photosynthesis"),
    ("How do I install numpy on Windows?", "how", "numpy on Windows"),
    ("How many moons does Jupiter have?", "count", "moons"),
    ("What's the weather like in Paris?", "what", "the weather in Paris"),
    ("Which is better, cats or dogs?", "what", "cats or dogs"),
    ("What does the fox say?", "what", "the fox"),
    ("Explain the difference between TCP and UDP", "tell", "the difference between TCP and UDP"),
    ("Answer in one short sentence: what is gravity?", "what", "gravity"),
    ("Why do cats purr?", "why", "cats"),
    ("Why is the sky blue?", "why", "the sky"),
    ("Who wrote Hamlet?", "who", "Hamlet"),
    ("Where is the nearest bakery in Rome?", "where", "the nearest bakery in Rome"),
    ("When does the train to Berlin leave?", "when", "the train"),
    ("Is Python faster than Java?", "yes", "Python"),
    ("Should I invest in index funds?", "yes", "index funds"),
    ("Write a short poem about autumn leaves.", "tell", "autumn leaves"),
    ("Explain quantum computing to a child.", "tell", "quantum computing"),
    ("Compare Python and Rust for web servers", "tell", "Python and Rust for web servers"),
    ("Generate a title for an article about solar power", "tell", "solar power"),
    ("Write an email to my boss about holidays", "tell", "holidays"),
    ("Can you help me plan a trip to Japan in May?", "do", "a trip to Japan in May"),
    ("Please book a table for two at Luigi's", "do", "a table for two at Luigi's"),
    ("Answer the question: Who wrote Hamlet?", "who", "Hamlet"),
    ("The lamp is red. The sun is up. What is a lamp?", "what", "a lamp"),
    ("I like trains", "state", "trains"),
    ("", "state", ""),
    ("?!", "state", ""),
    ("Was ist die Hauptstadt von Frankreich?", "tell", "Hauptstadt von Frankreich"),
    ("Erzähl mir etwas über grünen Tee.", "tell", "grünen Tee"),
    ("Quelle est la capitale de la France ?", "tell", "capitale de la France"),
    ("中国的首都是什么？", "tell", "中国的首都"),
    ("日本の首都はどこですか", "tell", "日本の首都"),
]


@pytest.mark.parametrize(("text", "kind", "subject"), SUBJECTS)
def test_subject(text: str, kind: str, subject: str) -> None:
    found = topic(text)
    assert (found.kind, found.subject) == (kind, subject)


def test_what_is_to_be_done() -> None:
    assert topic("How do I install numpy on Windows?").act == "install numpy on Windows"
    assert topic("Book my flight, please").act == "book your flight"


def test_words_and_number() -> None:
    assert topic("Tell me about cheap flights to Rome").words == ("cheap", "flights", "Rome")
    assert topic("Tell me about cheap flights to Rome").plural
    assert not topic("Tell me about the price of flights").plural
    assert not topic("Tell me about physics").plural
    assert topic("Tell me about salt and pepper").plural


def test_language_of_the_answer() -> None:
    assert topic("What is Rome?").language == "en"
    assert topic("What is Rome?", "Answer in German.").language == "de"
    assert topic("What is Rome? Answer in French.", "Answer in German.").language == "fr"


@pytest.mark.parametrize("piece", ['"', "(", " ", "a ", "\n", ".", "what ", "tell me ", "é", "什么", "please ", "1"])
def test_no_text_is_too_odd(piece: str) -> None:
    assert len(topic(piece * 300_000).subject) < 1000


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


def test_content_words() -> None:
    assert content_words("the cat and the hat and the cat", "en") == ("cat", "hat")
    assert content_words("der Hut und die Katze", "de") == ("Hut", "Katze")
    assert content_words("首都", "zh") == ("首都",)
    assert content_words("", "zh") == ()
