import os
import re
from pathlib import Path

import pytest

from mockserver.config import source
from mockserver.config.errors import MockserverError, RuleError, SourceLocation
from mockserver.config.source import Document, Mistakes, did_you_mean, raise_if_any, read

TEXT = """\
# a comment
version: 1
rules:
  - name: weather
    when: {last_user: "*rain*", tools: [a, b]}
    then:
      text: |
        first
        second
  -   name: other
base: &base
  deep: {x: 1}
merged:
  <<: *base
  own: 2
"""

PLACES = [
    ((), False, (2, 1)),
    (("version",), True, (2, 1)),
    (("rules", 0), False, (4, 5)),
    (("rules", 0, "when", "last_user"), False, (5, 23)),
    (("rules", 0, "when", "last_user"), True, (5, 12)),
    (("rules", 0, "when", "tools", 1), False, (5, 44)),
    (("rules", 1, "name"), True, (10, 7)),
    (("merged", "deep", "x"), False, (12, 13)),
    (("rules", 0, "nowhere", "at", 7), False, (4, 5)),
    (("rules", 9), False, (4, 3)),
]


@pytest.mark.parametrize(("path", "key", "expected"), PLACES)
def test_every_value_and_key_has_its_place(path, key, expected):
    place = read(TEXT, "rules.yaml").find_place(path, key=key)
    assert (place.line, place.column) == expected
    assert place.text == TEXT.splitlines()[place.line - 1]
    assert place.file == "rules.yaml"


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a: |\n  one\n    two\n", 1, (2, 3)),
        ("a: |\n  one\n    two\n", 2, (3, 5)),
        ("a: |-\n  one\n", 9, (2, 3)),
        ("a: >\n  one\n  two\n", 2, (1, 4)),
        ("a: one\n", 1, (1, 4)),
    ],
)
def test_a_line_inside_a_block_has_its_own_place(text, line, expected):
    place = read(text, "r.yaml").find_line(("a",), line)
    assert (place.line, place.column) == expected
    assert place.text == text.splitlines()[expected[0] - 1]


def test_what_never_stood_in_a_file_has_no_place():
    document = Document.from_data({"rules": []}, "<test>")
    assert document.data == {"rules": []}
    assert document.find_place(("rules",)) is None
    assert document.find_line(("rules",), 1) is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_like(end):
    place = read(f"a: 1{end}b:{end}  c: 2{end}", "r.yaml").find_place(("b", "c"))
    assert (place.line, place.column, place.text) == (3, 6, "  c: 2")


def test_a_byte_order_mark_is_no_column():
    for text in ("\ufeffa: 1", "\ufeffa: 1".encode()):
        document = read(text, "r.yaml")
        assert document.data == {"a": 1}
        assert document.find_place(("a",)) == SourceLocation("r.yaml", 1, 4, "a: 1")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a: 1\nb: caf\xe9\n", "r.yaml:2:7: the byte 0xe9 is not UTF-8; save the file as UTF-8  [b: caf\ufffd]"),
        (b"\xef\xbb\xbfa: \xc3", "r.yaml:1:4: the byte 0xc3 is not UTF-8; save the file as UTF-8  [a: \ufffd]"),
    ],
)
def test_bytes_that_are_no_utf_8(data, expected):
    with pytest.raises(MockserverError) as caught:
        read(data, "r.yaml")
    assert str(caught.value) == expected


def test_a_long_line_is_shown_up_to_a_point():
    document = read("a: " + "x" * 200 + "\nb: {" + ", ".join(f"k{i}: 1" for i in range(99)) + "}", "r.yaml")
    assert document.find_place(("a",)).text == "a: " + "x" * 157 + "…"
    assert document.find_place(("b", "k98")).text == ""
    assert document.find_place(("b", "k98")).column > 160


def test_mistakes_are_raised_together_in_the_order_of_the_file():
    mistakes = Mistakes(read(TEXT, "rules.yaml"))
    mistakes.add("too wet", ("rules", 0, "when", "last_user"))
    mistakes.add("unknown key", ("version",), key=True)
    with pytest.raises(RuleError) as caught:
        raise_if_any((mistakes,), RuleError)
    assert str(caught.value) == (
        "rules.yaml:2:1: unknown key  [version: 1]\n"
        'rules.yaml:5:23: too wet  [when: {last_user: "*rain*", tools: [a, b]}]'
    )


def test_several_documents_are_raised_as_one():
    first, second = Mistakes(read("a: 1", "a.yaml")), Mistakes(read("b: 1", "b.yaml"))
    second.add("wrong", ("b",))
    first.add("bad", ("a",))
    with pytest.raises(RuleError) as caught:
        raise_if_any((first, second), RuleError)
    assert str(caught.value) == "a.yaml:1:4: bad  [a: 1]\nb.yaml:1:4: wrong  [b: 1]"


def test_more_mistakes_than_anybody_reads_are_counted():
    mistakes = Mistakes(read("a: 1", "a.yaml"))
    for number in range(130):
        mistakes.add(f"mistake {number}", ("a",))
    assert mistakes.full
    with pytest.raises(RuleError) as caught:
        raise_if_any((mistakes,), RuleError)
    assert len(caught.value.mistakes) == 101
    assert str(caught.value.mistakes[-1]) == "a.yaml: and 30 more mistakes"


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("contain", ("contains", "glob"), '; did you mean "contains"?'),
        ("Last_User", ("last_user", "last_message"), '; did you mean "last_user"?'),
        ("zzz", ("equals", "glob"), ""),
        ("thinking", ("timing", "reasoning"), '; did you mean "reasoning"?'),
        ("output_tokens", ("prompt_tokens", "completion_tokens"), '; did you mean "completion_tokens"?'),
        ("RESOURCE_EXHAUSTED", ("rate_limit", "quota"), '; did you mean "rate_limit"?'),
        ("citations", ("annotations", "choices"), '; did you mean "annotations"?'),
        ("claude", ("openai", "anthropic"), '; did you mean "anthropic"?'),
        ("QUEUED", ("queued", "validating"), '; did you mean "validating"?'),
        ("Queued", ("queued", "validating"), '; did you mean "queued"?'),
        ("thinking", ("thin",), '; did you mean "thin"?'),
        ("stopp", ("stop", "STOP"), '; did you mean "stop"?'),
        ("x" * 100_000, ("equals",), ""),
    ],
)
def test_the_nearest_known_word_is_offered(word, known, expected):
    assert did_you_mean(word, known) == expected


def test_a_file_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_FILE", 2_000_000)
    with pytest.raises(OSError, match="it has more than 2 MB"):
        source.read_bytes("/dev/zero")
    assert source.read_bytes("/dev/null") == b""


def test_a_file_beside_that_is_no_file(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\n")
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "folder").mkdir()
    document = read(rules.read_bytes(), str(rules))
    for name, why in (
        ("pipe.png", "pipe.png is a pipe, not a file"),
        ("folder", "cannot read folder: Is a directory"),
        ("none.png", "cannot read none.png: No such file or directory"),
        ("../x.png", "../x.png is outside the folder of this file"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
            document.read_beside(name)
