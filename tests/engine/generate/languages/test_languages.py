"""In which language a text is, and in which it wants its answer."""

import pytest

from mockserver.model.languages import LANGUAGES, UNSPACED, frequent, language_asked, language_of, lexicon

TEXTS = [
    ("en", "Tell me about cheap flights to Rome"),
    ("en", ""),
    ("en", "def f(a): return a"),
    ("en", "What does 東京 mean in English, and where is it?"),
    ("en", "Die Hard is a film about a man in a tower"),
    ("en", "pizza in Napoli"),
    ("de", "Was ist die Hauptstadt von Frankreich?"),
    ("de", "Guten Morgen"),
    ("fr", "Quelle est la capitale de la France ?"),
    ("fr", "Bonjour"),
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
        ("en", "Réponds en English"),
        (None, "Books in Italian"),
        (None, "Where is the German embassy?"),
    ],
)
def test_language_asked(code: str | None, text: str) -> None:
    assert language_asked(text) == code


def test_every_language_has_something_to_say() -> None:
    for code, language in LANGUAGES.items():
        assert language.greeting, code
        assert language.names.islower() or not language.names.isascii()
        assert frequent(code)
        assert lexicon(language.locale) if language.locale else len(language.middles) >= 4
        assert bool(language.openers) == bool(language.middles) == bool(language.aspects)
        assert all("{topic}" in opener for opener in language.openers)
        assert not any("{topic}" in middle for middle in language.middles)
    assert set(LANGUAGES) >= UNSPACED
