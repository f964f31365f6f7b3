"""Bodies as JSON in the style they came in, as text, or as base64: the same bytes again."""

import json

import pytest

from mockserver.cassettes.bodies import Style, parse_json, read_body, write_body
from mockserver.cassettes.yaml_text import Refused, parse

TREE = {"a": [1, 2.5, None, True], "b": {}, "c": [], "é": "é<&>/\u2028\n"}


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ('{"a":1,"b":["c","d"]}', ""),
        ('{"a": 1, "b": ["c", "d"]}', "spaced"),
        (json.dumps(TREE), "spaced ascii"),
        (json.dumps(TREE, separators=(",", ":")), "ascii"),
        (json.dumps(TREE, indent=2) + "\n", "indent2 ascii newline"),
        (json.dumps(TREE, indent=4, ensure_ascii=False), "indent4"),
        (json.dumps(TREE, indent="\t", ensure_ascii=False), "tabs"),
        ('{"a":"\\u003cb\\u003e \\u0026 é\\u2028"}\n', "html newline"),
        ('{"a":"\\u00e9\\/b"}', "slashes"),
        ('{"n":[1.50,1e5,-0,1E+2,0.1000,12345678901234567890123]}', ""),
        ("[]", ""),
        ("{}\n", "newline"),
        ('"text"', ""),
        ("null", ""),
        ("12", ""),
    ],
)
def test_json_is_known_by_its_style(text: str, style: str) -> None:
    found = parse_json(text)
    assert found is not None
    assert found.style.name == style
    assert Style.parse(style) == found.style
    assert found.write() == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        '{"a":1,"a":1}',
        "[NaN]",
        "[-Infinity]",
        '{"a": 1,"b":2}',
        '{"a":1}\n\n',
        '{"a":1} ',
        "[" * 70 + "]" * 70,
        "[" * 100_000,
        '{\n   "a": 1\n}',
        '["\\u0061"]',
        "[01]",
    ],
)
def test_what_would_not_come_out_the_same_is_no_json(text: str) -> None:
    assert parse_json(text) is None
    assert write_body(text.encode()) == {"text": text}


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        (b'{"a": 1}', ["json", "style"]),
        (b'{"a":1}', ["json"]),
        (b"text", ["text"]),
        ("é\n\t\u2028".encode(), ["text"]),
        (b"\x00", ["base64"]),
        (b"\x1b[0m", ["base64"]),
        (b"\xff", ["base64"]),
        (b"", ["text"]),
    ],
)
def test_bodies_are_shown_as_well_as_can_be(data: bytes, kinds: list[str]) -> None:
    assert list(write_body(data)) == kinds


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("json: {a: 1.50, b: [yes, 'no', ~]}", b'{"a":1.50,"b":["yes","no",null]}'),
        ("json: {a: 1}\nstyle: newline spaced", b'{"a": 1}\n'),
        ("json:\n  a: +5\n  b: 0o17\n  c: .5\n  d: 1.", b'{"a":5,"b":15,"c":0.5,"d":1.0}'),
        ("text: |\n  a\n  b\n", b"a\nb\n"),
        ("text: 12", b"12"),
        ("base64: |\n  AA\n  E=", b"\x00\x01"),
        ('json: "a"', b'"a"'),
    ],
)
def test_bodies_may_be_written_by_hand(text: str, data: bytes) -> None:
    node = parse(text)
    assert node is not None
    assert read_body(node) == data


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", "a body needs exactly one of json, text, base64"),
        ("{}", "a body needs exactly one of json, text, base64"),
        ("{json: 1, text: a}", "a body needs exactly one of json, text, base64"),
        ("{json: 1, stile: a}", 'a body has no "stile"'),
        ("{text: a, style: spaced}", 'a body has no "style"'),
        ("{json: 1, style: [a]}", "write a text here"),
        ("{json: 1, style: spaced compact}", 'write "compact" or "spaced", not both'),
        ("{json: 1, style: tab}", 'unknown JSON style "tab"; did you mean "tabs"?'),
        ("{json: .nan}", "JSON has no such number"),
        ("{json: [-.inf]}", "JSON has no such number"),
        ("{json: 0x" + "f" * 2000 + "}", "JSON has no such number"),
        ("{text: [a]}", "write a text here"),
        ("{base64: a}", "this is not valid base64"),
        ("{base64: $$$$}", "this is not valid base64"),
    ],
)
def test_other_bodies_are_refused(text: str, words: str) -> None:
    node = parse(text)
    assert node is not None
    with pytest.raises(Refused) as caught:
        read_body(node)
    assert str(caught.value) == words
