"""What a prompt is about, and in which language."""

import pytest

from mockserver.model.prose import is_order, list_content_words, read_topic
from mockserver.model.vocabulary import (
    UNSPACED,
    find_language,
    find_requested_language,
    read_languages,
    read_lexicon,
    read_stop_words,
)


@pytest.mark.parametrize(
    ("text", "kind", "subject", "act"),
    [
        ("Tell me about cheap flights to Rome", "tell", "cheap flights to Rome", ""),
        ("Tell me of fjords", "tell", "fjords", ""),
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
    found = read_topic(text)
    assert (found.kind, found.subject, found.act) == (kind, subject, act)


def test_endless_words_are_no_subject() -> None:
    assert list_content_words("x" * 9_000 + " boats", "en") == ("boats",)


def test_language_of_the_answer() -> None:
    assert read_topic("What is Rome?").language == "en"
    assert read_topic("What is Rome?", "Answer in German.").language == "de"
    assert read_topic("What is Rome? Answer in French.", "Answer in German.").language == "fr"


@pytest.mark.parametrize("piece", ['"', "(", " ", "a ", "\n", ".", "what ", "tell me ", "é", "什么", "please ", "1"])
def test_no_text_is_too_odd(piece: str) -> None:
    assert len(read_topic(piece * 300_000).subject) < 1000


def test_is_order() -> None:
    assert is_order("please book a flight")
    assert not is_order("The book is red")


def test_content_words() -> None:
    assert list_content_words("the cat and the hat and the cat", "en") == ("cat", "hat")
    assert list_content_words("der Hut und die Katze", "de") == ("Hut", "Katze")
    assert list_content_words("首都", "zh") == ("首都",)
    assert list_content_words("", "zh") == ()


TEXTS = [
    ("en", "Tell me about cheap flights to Rome"),
    ("en", ""),
    ("en", "What does 東京 mean in English, and where is it?"),
    ("de", "Was ist die Hauptstadt von Frankreich?"),
    ("fr", "Quelle est la capitale de la France ?"),
    ("es", "¿Qué es la fotosíntesis?"),
    ("it", "Ciao, come stai?"),
    ("pt", "Qual é a capital do Brasil?"),
    ("nl", "Wat is de hoofdstad van Frankrijk?"),
    ("da", "Hvad er hovedstaden i Danmark?"),
    ("sv", "Vad är huvudstaden i Sverige?"),
    ("pl", "Jaka jest stolica Polski?"),
    ("cs", "Jaké je hlavní město České republiky?"),
    ("tr", "Fransa'nın başkenti nedir?"),
    ("id", "Apa ibu kota Indonesia?"),
    ("vi", "Thủ đô của Việt Nam là gì?"),
    ("ru", "Что такое фотосинтез?"),
    ("uk", "Що таке фотосинтез? Поясни її"),
    ("mk", "Што е тоа? Кажи ми за ѕвездите"),
    ("el", "Ποια είναι η πρωτεύουσα της Γαλλίας;"),
    ("hy", "Ի՞նչ է ֆոտոսինթեզը"),
    ("ar", "ما هي عاصمة فرنسا؟"),
    ("fa", "پایتخت فرانسه کجاست؟"),
    ("he", "מהי בירת צרפת?"),
    ("hi", "भारत की राजधानी क्या है?"),
    ("bn", "বাংলাদেশের রাজধানী কী?"),
    ("th", "เมืองหลวงของไทยคืออะไร"),
    ("ko", "프랑스의 수도는 어디인가요?"),
    ("ja", "日本の首都はどこですか"),
    ("zh", "中国的首都是什么？"),
    ("zh-TW", "台灣的首都是什麼？"),
    ("en", "Count to ten."),
    ("en", "come here"),
    ("en", "seven plus five"),
    ("en", "non-refundable plus tax"),
]


@pytest.mark.parametrize(("code", "text"), TEXTS)
def test_language_of(code: str, text: str) -> None:
    assert find_language(text) == code


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("de", "What is Rome? Answer in German."),
        ("de", "Antworte bitte auf Deutsch: what is Rome?"),
        ("fr", "Translate 'cat' to French"),
        ("zh", "Please respond only in simplified Chinese"),
        (None, "Books in Italian"),
        (None, "Where is the German embassy?"),
    ],
)
def test_requested_language(code: str | None, text: str) -> None:
    assert find_requested_language(text) == code


def test_every_language_has_a_name_and_words() -> None:
    for code, language in read_languages().items():
        assert language["names"]
        assert read_stop_words(code)
        assert len(read_lexicon(code)) > 20
    assert set(read_languages()) == {code for code, _ in TEXTS} | {"az", "fil"}
    assert set(read_languages()) >= UNSPACED
