"""In which language a text is, and in which it wants its answer."""

import pytest

from mockserver.model.prose.topic import UNSPACED, language_of, languages, lexicon, requested_language, stop_words

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
]


@pytest.mark.parametrize(("code", "text"), TEXTS)
def test_language_of(code: str, text: str) -> None:
    assert language_of(text) == code


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
    assert requested_language(text) == code


def test_every_language_has_a_name_and_words() -> None:
    for code, language in languages().items():
        assert language["names"]
        assert stop_words(code)
        assert len(lexicon(code)) > 20
    assert set(languages()) == {code for code, _ in TEXTS} | {"az", "fil"}
    assert set(languages()) >= UNSPACED
