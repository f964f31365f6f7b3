"""Every way to break YAML that a hand finds, and the words that say how to mend it: the same with either parser."""

import json

import pytest
import yaml

from mockserver.config import yaml_reader
from mockserver.config.errors import MockserverError
from mockserver.config.source import read

BROKEN = {
    "a: *hello*": '1:4: text that starts with "*" needs quotes',
    "a: *b c: d": '1:4: text that starts with "*" needs quotes',
    "a: & b": '1:4: text that starts with "&" needs quotes',
    "a: !x! y": '1:4: text that starts with "!" needs quotes',
    "a: !<x y": '1:4: text that starts with "!" needs quotes',
    "a: @x": '1:4: text that starts with "@" needs quotes',
    "a: %x": '1:4: text that starts with "%" needs quotes',
    "a: {{ b }}": '1:5: text that starts with "{{" needs quotes',
    "a:\n\tb: 1": "2:1: a tab is not allowed here: indent YAML with spaces",
    "a: |\n\tx": "2:1: a tab is not allowed here: indent YAML with spaces",
    "a: b: c": '1:5: this ":" is not allowed here: put text that contains ": " in quotes, or fix the indentation',
    "a: 1\n b: 2": '2:3: this ":" is not allowed here: put text that contains ": " in quotes, or fix the indentation',
    "a: - b": '1:4: a list cannot start here: put its "-" on a line of its own',
    "a: [1, 2": '1:4: this "[" is never closed',
    "a: {b: 1": '1:4: this "{" is never closed',
    "a: {b: 1\nc: 2": '2:2: a "," or "}" is missing before this, for the "{" of line 1',
    "a: {b: x {{ y }}}": "1:10: text with {{ }} needs quotes inside the braces of a table",
    "a: [1\nb: 2": '2:2: a "," or "]" is missing before this, for the "[" of line 1',
    'a: "x': "1:4: this quote is never closed",
    'a: "x\n---\ny"': "1:4: this quote is never closed",
    "a: |x\n  y": '1:4: the line must end after "|" or ">"; start the text on the next line',
    "a: 1\nb\nc: 2": '2:1: this line is not "key: value"; is a ":" missing?',
    "[a, , b]": "1:5: a value is missing before this; text that starts with this needs quotes",
    "a: 'it's'": "1:8: text after a closing quote; put the whole value in one pair of quotes",
    "a: {b: 'it's'}": "1:12: text after a closing quote; put the whole value in one pair of quotes",
    "a: ['it's']": "1:9: text after a closing quote; put the whole value in one pair of quotes",
    'a: {b: "x" c: 2}': '1:12: a "," or "}" is missing before this, for the "{" of line 1',
    # A quote that is not closed, however the next one is met.
    "a: 'x\nb: it's": "1:4: this quote is closed only by the one at 2:6; close it where its text ends",
    'a: "x\nb: {c: "y"}': "1:4: this quote is closed only by the one at 2:8; close it where its text ends",
    'a: {b: "x}\nc: {d: ""}\n': "1:8: this quote is closed only by the one at 2:8; close it where its text ends",
    '- {b: "x}\n- - c: ["y"]': "1:7: this quote is closed only by the one at 2:9; close it where its text ends",
    'a: "x\n  y"\nb: "c" d': "3:8: text after a closing quote; put the whole value in one pair of quotes",
    'a: "x\n  y" z': "2:6: text after a closing quote; put the whole value in one pair of quotes",
    'a: "b" c': "1:8: text after a closing quote; put the whole value in one pair of quotes",
    "a: [1]]": '1:7: this "]" has no matching "["',
    "a:\n  - b\n - c": "3:2: this line is not indented like the lines of its table",
    "- - a\n -b": '2:2: this line is not indented like the "-" above it',
    "  a: 1\nb: 2": "2:1: this line is not indented like the first one",
    "a: [b] c": ("1:8: this is not allowed here; check the quotes and the indentation of this line and the one above"),
    "%YAML 3.0\n---\na": "1:1: only YAML 1.1 and 1.2 are supported",
}

PARSERS = ["Loader", *(["CLoader"] if hasattr(yaml, "CLoader") else [])]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(("text", "expected"), BROKEN.items())
def test_broken_yaml_is_explained(text, expected, parser, monkeypatch):
    monkeypatch.setattr(yaml_reader, "LOADER", getattr(yaml, parser))
    with pytest.raises(MockserverError) as caught:
        read(text, "r.yaml")
    mistakes = [f"{m.place.line}:{m.place.column}: {m.message}" for m in caught.value.mistakes]
    assert mistakes == [expected]


@pytest.mark.parametrize("parser", PARSERS)
def test_an_unknown_escape_names_the_two_ways_out(parser, monkeypatch):
    monkeypatch.setattr(yaml_reader, "LOADER", getattr(yaml, parser))
    with pytest.raises(MockserverError, match=r'unknown escape; write "\\\\" for a backslash, or use single'):
        read(r'a: "\w+"', "r.yaml")


def test_an_emoji_as_json_escapes_it_names_how_yaml_does() -> None:
    with pytest.raises(MockserverError, match=r"YAML has no halves of characters such as \\ud83d; write the character"):
        read(json.dumps({"rules": [{"then": {"text": "😀"}}]}), "r.yaml")
