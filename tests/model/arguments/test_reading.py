"""What a text mentions: values by their form or with a name, names, phrases, and the words around them."""

from typing import Any

import pytest

from mockserver.model.arguments.mentions import (
    Mention,
    find_fragments,
    find_literals,
    find_pairs,
    find_phrases,
    find_quoted,
    read,
)


def mention(text: str, value: object) -> Mention:
    return next(found for found in read(text) if found.value == value)


def test_neighbours_and_prepositions() -> None:
    found = mention("Book the room for 3 guests. From Rome", 3)
    assert (found.cue, found.before, found.after) == ("for", ("for", "room", "book"), ("guest",))
    assert mention("Book the room for 3 guests. From Rome", "Rome").cue == "from"


def test_there_are_not_too_many() -> None:
    found = read("7," * 5_000)
    assert len(found) == 400
    assert found[-1].end > 9_000


@pytest.mark.parametrize(
    ("text", "names", "others"),
    [
        ("Book a flight to San Francisco, CA", ["San Francisco, CA"], ["flight"]),
        ("tell Ada Lovelace about the Bank of America", ["Ada Lovelace", "Bank of America"], []),
        ("What is Tesla's price?", ["Tesla"], ["price"]),
        ("東京の天気", ["東京", "天気"], []),
        ("F. Scott Fitzgerald wrote it", ["F. Scott Fitzgerald"], ["wrote"]),
    ],
)
def test_phrases(text: str, names: list[str], others: list[str]) -> None:
    found = list(find_phrases(text))
    assert [mention.value for mention in found if mention.kind == "name"] == names
    assert [mention.value for mention in found if mention.kind == "words"] == others


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("see https://a.example/b?c=1, please", "url", "https://a.example/b?c=1"),
        ("write to bob.x+y@mail.example.com.", "email", "bob.x+y@mail.example.com"),
        ("id 550e8400-e29b-41d4-a716-446655440000!", "uuid", "550e8400-e29b-41d4-a716-446655440000"),
        ("from 10.0.0.7 on", "ip", "10.0.0.7"),
        ("read /etc/hosts.", "path", "/etc/hosts"),
        ("open report.csv", "path", "report.csv"),
        (r"open C:\Users\bob", "path", r"C:\Users\bob"),
        ("call +1 415 555 0132 today", "phone", "+1 415 555 0132"),
        ("ping db-1.example.com", "host", "db-1.example.com"),
        ("order ORD-1234", "id", "ORD-1234"),
        ("commit 9fceb02d", "id", "9fceb02d"),
        ("post to #general", "channel", "#general"),
        ("release v2.4.1", "version", "v2.4.1"),
        ("what is (12 + 8) * 3?", "expression", "(12 + 8) * 3"),
        ("at 12 Oak Street in", "address", "12 Oak Street"),
    ],
)
def test_literals(text: str, kind: str, value: str) -> None:
    found = {(m.kind, m.value) for sure in (True, False) for m in find_literals(text, sure=sure)}
    assert (kind, value) in found
    assert all(text[m.start : m.end] == m.value for sure in (True, False) for m in find_literals(text, sure=sure))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("say 'it is' now", ["it is"]),
        ("“a” ‘b’ «c» „d“ 「e」 『f』", ["a", "b", "c", "d", "e", "f"]),
        ("`ls -la` and ```x = 1```", ["ls -la", "x = 1"]),
        ("```python\nprint(1)\n```", ["print(1)"]),
        ("don't and users' and 'tis", []),
        ("the users' and the hosts' names", []),
        ('"I don\'t know"', ["I don't know"]),
        ('an open " quote', []),
        ('5" and 6" tall', []),
        (r'"a \" b"', [r"a \" b"]),
        ('"a\n\nb"', []),
    ],
)
def test_quotations(text: str, expected: list[str]) -> None:
    assert [mention.value for mention in find_quoted(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("city=Paris&days=3", [("city", "Paris"), ("days", "3")]),
        ("Note: buy milk. Then go", [("Note", "buy milk")]),
        ('title: "a, b"', [("title", "a, b")]),
        ("**Total**: 5", [("Total", "5")]),
        ("at 15:30 see http://x", []),
        ("a == b", []),
        ("resize it to 800x600", [("width", "800"), ("height", "600")]),
        ("1.5 x 2 × 30 cm", [("width", "1.5"), ("height", "2"), ("depth", "30"), ("unit", "cm")]),
        ("0x10 and 1x2x3x4", []),
    ],
)
def test_pairs(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(mention.key, mention.value) for mention in find_pairs(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('with {"a": [1, {"b": 2}]} and [3]', [{"a": [1, {"b": 2}]}, [3]]),
        ('{"a": "}"}', [{"a": "}"}]),
        ("{a} [b] {'c': 1}", []),
        ('{"a": NaN} {"b": 1e999}', []),
        ('] } {"a": 1}', [{"a": 1}]),
        ("[" * 30 + "]" * 30, []),
    ],
)
def test_fragments(text: str, expected: list[Any]) -> None:
    assert [mention.value for mention in find_fragments(text)] == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The capital is Paris, in France.", [("capital", "Paris")]),
        ("Its formula is H2O and its colour is unknown.", [("formula", "H2O")]),
        ("the governing law is that of Delaware.", [("governing law", "Delaware")]),
        ("The total is 45.20 and the tip is 5.", [("total", "45.20"), ("tip", "5")]),
        ("Order 13 is shipped.", [("status", "shipped")]),
        ("It is the end of June", []),
        ("The customer is unhappy with this", []),
    ],
)
def test_names_and_numbers_are_given_to_what_is_named(text: str, told: list[tuple[str, str]]) -> None:
    assert [(mention.key, mention.value) for mention in find_pairs(text)] == told
