import gc
import json
from time import process_time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mockserver.config import yaml_reader
from mockserver.config.errors import MockserverError
from mockserver.config.source import read

GOOD = {
    "": None,
    "just text": "just text",
    "a: 1\nb: [x, 2, true]\nc: {d: null}": {"a": 1, "b": ["x", 2, True], "c": {"d": None}},
    "a: '1'\nb: \"true\"\nc: |\n  1\n": {"a": "1", "b": "true", "c": "1\n"},
    "404: x\ntrue: y\n1.0: z\nnull: n\n~: t": {"404": "x", "true": "y", "1.0": "z", "null": "n", "~": "t"},
    "a: &x {b: 1}\nc: *x": {"a": {"b": 1}, "c": {"b": 1}},
    "a: &k b\n*k : 1": {"a": "b", "b": 1},
    "base: &x {a: 1, b: 1}\nmore: {<<: *x, b: 2}": {"base": {"a": 1, "b": 1}, "more": {"a": 1, "b": 2}},
    "x: {<<: [{a: 1}, {a: 2, b: 2}], c: 3}": {"x": {"a": 1, "b": 2, "c": 3}},
    "a: !!str 1\nb: !!int '2'\nc: ! 3\nd: !!float 1": {"a": "1", "b": 2, "c": "3", "d": 1.0},
    "a: !!map {}\nb: !!seq []\nc: !!bool true\nd: !!null ''": {"a": {}, "b": [], "c": True, "d": None},
    "%YAML 1.2\n---\na: 1\n...\n": {"a": 1},
}

BAD = {
    "a: 1\nb: 2\na: 3": '3:1: duplicate key "a"; it is already on line 1',
    "a: 1\n---\nb: 2": "2:1: a second document starts here, but a file can hold only one; join them, or split the file",
    "a: &x [*x]": '1:8: "*x" is inside "&x" itself',
    "a: !python/object:os.system x": '1:4: the tag "!python/object:os.system" is not allowed here; remove it',
    "a: !!int x": '1:4: the tag "!!int" is not allowed here; remove it',
    "a: !!set {b, c}": '1:4: the tag "!!set" is not allowed here; remove it',
    "[a, b]: c": "1:1: a key must be a string",
    "{a: b}: c": '1:1: text that starts with "{{" needs quotes',
    "a: {<<: 1}": '1:5: "<<" expects a table or a list of tables',
    "a: b\x07": '1:5: the character U+0007 is not allowed in YAML; write "\\u0007" in double quotes',
    f"a: {'9' * 5000}": "1:4: this number has too many digits; put it in quotes if it is text",
    f"a: 0x{'f' * 5000}": "1:4: this number has too many digits; put it in quotes if it is text",
    "[" * 101 + "]" * 101: "1:101: this is nested more than 100 levels deep; flatten it",
}


@pytest.fixture(params=["Loader", *(["CLoader"] if hasattr(yaml, "CLoader") else [])], autouse=True)
def _parser(request, monkeypatch):
    monkeypatch.setattr(yaml_reader, "LOADER", getattr(yaml, request.param))


def mistakes(text):
    with pytest.raises(MockserverError) as caught:
        read(text, "r.yaml")
    return [f"{m.place.line}:{m.place.column}: {m.message}" for m in caught.value.mistakes]


@pytest.mark.parametrize(("text", "value"), GOOD.items())
def test_what_can_be_read(text, value):
    assert read(text, "r.yaml").data == value


@pytest.mark.parametrize(("text", "expected"), BAD.items())
def test_what_cannot(text, expected):
    assert mistakes(text) == [expected]


def test_aliases_cannot_exhaust_the_machine():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    started = process_time()
    assert mistakes("\n".join(lines)) == [
        "6:10: the aliases in this file expand to more than 200,000 values; use fewer"
    ]
    assert process_time() - started < 2


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_depth_cannot_exhaust_the_machine(opening):
    started = process_time()
    assert "levels deep" in mistakes(opening * 50_000)[0]
    assert process_time() - started < 5


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled):
    (gc.enable if enabled else gc.disable)()
    try:
        read("a: 1", "r.yaml")
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


texts = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"], exclude_characters="\x85\ufeff"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_what_json_says_is_read_as_json(value):
    assert read(json.dumps(value, ensure_ascii=False), "r.json").data == value


@given(st.text() | st.text(alphabet="ab:-[]{},&*!|>'\"%@`#?\n\t 01.~<"))
def test_any_text_is_read_or_refused(text):
    try:
        read(text, "r.yaml")
    except MockserverError as refused:
        places = [mistake.place for mistake in refused.mistakes]
    else:
        return
    assert places
    assert all(place.line >= 1 and place.column >= 1 for place in places)


def test_tags_of_other_tools_only_where_they_are_asked_for() -> None:
    text = "a: !!python/object/apply:os.system [ls]\nb: !!python/tuple [1, 2]\nc: !!python/object:a.B {d: 1}\n"
    assert yaml_reader.parse(text, foreign=True)[::2] == ({"a": "ls", "b": [1, 2], "c": {"d": 1}}, [])
    assert [line for _, line, _ in yaml_reader.parse(text)[2]] == [0, 1, 2]


def test_bytes_only_where_they_are_asked_for() -> None:
    text = "a: !!binary |\n  aGVs\n  bG8=\nb: !!binary a\n"
    data, _, problems = yaml_reader.parse(text, foreign=True)
    assert data == {"a": b"hello", "b": "a"}
    assert problems == [('the tag "!!binary" is not allowed here; remove it', 3, 3)]
    assert [line for _, line, _ in yaml_reader.parse(text)[2]] == [0, 3]
