"""Events of a stream as lines, read by the swift way exactly as by the slow one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mockserver.cassettes.bodies import Style
from mockserver.cassettes.nodes import Refused, parse
from mockserver.cassettes.sse_yaml import Form, beat, form, line, milliseconds, seconds_of, swift
from mockserver.core.episode import Beat
from tests.cassettes import hostile
from tests.fuzz.amount import thrown

SPACED = Style("spaced")
CRLF = Form(ends="crlf")


def slow(text: str, form: Form) -> Beat | str:
    try:
        node = parse(text)
        return beat(node.value[0], form) if node and isinstance(node.value, list) else ""
    except Refused as refused:
        return refused.words


@pytest.mark.parametrize(
    ("form", "data", "shown"),
    [
        (Form(), b'data: {"a":[1,null]}\n\n', '{at: 12, data: {"a": [1, null]}}'),
        (Form(), b'event: a.b\ndata: {"a":1.50}\n\n', '{at: 12, event: a.b, data: {"a": 1.50}}'),
        (Form(), b'event: a b\ndata: {"a":1}\n\n', '{at: 12, event: "a b", data: {"a": 1}}'),
        (Form(), b'event: no\ndata: {"a":1}\n\n', '{at: 12, event: "no", data: {"a": 1}}'),
        (Form(), b'data: {"a": 1}\n\n', '{at: 12, style: "spaced", data: {"a": 1}}'),
        (Form(SPACED), b'data: {"a": 1}\n\n', '{at: 12, data: {"a": 1}}'),
        (Form(SPACED), b'data: {"a":1}\n\n', '{at: 12, style: "compact", data: {"a": 1}}'),
        (Form(), b"data: [DONE]\n\n", '{at: 12, data: "[DONE]"}'),
        (Form(), b"data: 12\n\n", '{at: 12, data: "12"}'),
        (Form(), b"data: a\ndata: b\n\n", '{at: 12, data: "a\\nb"}'),
        (Form(), b'data: {\ndata:   "a": 1\ndata: }\n\n', '{at: 12, style: "indent2", data: {"a": 1}}'),
        (CRLF, b'event: x\r\ndata: {"a":1}\r\n\r\n', '{at: 12, event: x, data: {"a": 1}}'),
        (Form(), b'data: {"a":1}\r\n\r\n', '{at: 12, raw: "data: {\\"a\\":1}\\r\\n\\r\\n"}'),
        (Form(), b": ping\n\n", '{at: 12, raw: ": ping\\n\\n"}'),
        (Form(), b"data:x\n\n", '{at: 12, raw: "data:x\\n\\n"}'),
        (Form(), b"data: x", '{at: 12, raw: "data: x"}'),
        (Form(), b"", '{at: 12, raw: ""}'),
        (Form(), b"\xff", '{at: 12, base64: "/w=="}'),
        (Form(), 'data: {"a":"é\u2028\x7f"}\n\n'.encode(), '{at: 12, data: {"a": "é\\u2028\\u007f"}}'),
        (Form(), b'data: {"a":1,"a":2}\n\n', '{at: 12, data: "{\\"a\\":1,\\"a\\":2}"}'),
    ],
)
def test_an_event_is_a_line(form: Form, data: bytes, shown: str) -> None:
    assert line((0.012, data), form) == shown
    assert slow(f"- {shown}", form) == (0.012, data)
    assert list(swift([f"    - {shown}"], form)) in ([(0.012, data)], [None])


def test_raw_is_always_possible() -> None:
    assert line((0.5, b'data: {"a":1}\n\n'), Form(), plain=True) == '{at: 500, raw: "data: {\\"a\\":1}\\n\\n"}'


@pytest.mark.parametrize(
    ("frames", "found"),
    [
        ([], Form()),
        ([b": ping\n\n", b"data: x\n\n"], Form()),
        ([b": ping\n\n", b'data: {"a": 1}\n\n', b'data: {"a":1}\n\n'], Form(SPACED)),
        ([b'event: a\r\ndata: ["\\u00e9","b"]\r\n\r\n'], Form(Style("compact", "ascii"), "crlf")),
    ],
)
def test_the_first_json_says_how_a_stream_is_laid_out(frames: list[bytes], found: Form) -> None:
    assert form([(0, data) for data in frames]) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1", "an event has one of data, raw and base64"),
        ("- {at: 1}", "an event has one of data, raw and base64"),
        ("- {at: 1, data: a, raw: b}", "an event has one of data, raw and base64"),
        ("- {at: 1, raw: a, event: b}", 'an event has no "event"'),
        ("- {at: 1, data: a, x: b}", 'an event has no "x"'),
        ("- {at: soon, data: a}", "milliseconds must stand here, such as 12 or 12.5"),
        ("- {at: [1], data: a}", "milliseconds must stand here, such as 12 or 12.5"),
        ("- {at: 1, raw: [a]}", "a text must stand here"),
        ("- {at: 1, base64: é}", "this is no base64"),
        ("- {at: 1, style: spased, data: {}}", 'no style of JSON: "spased"; did you mean "spaced"?'),
        ("- {at: 1, data: {a: .inf}}", "JSON has no such number"),
    ],
)
def test_other_lines_are_refused(text: str, words: str) -> None:
    assert slow(text, Form()) == words


def test_a_line_written_by_hand_is_fine() -> None:
    assert slow("- {data: {a: yes, b: .5, c: ~, d: [0x10, True]}}", Form()) == (
        0.0,
        b'data: {"a":"yes","b":0.5,"c":null,"d":[16,true]}\n\n',
    )


FORMS = (Form(), Form(SPACED), CRLF, Form(Style("compact", "ascii")), Form(Style("compact", "html")))


@given(st.lists(st.tuples(hostile.seconds, hostile.events), max_size=5), st.sampled_from(FORMS))
@thrown(300)
def test_the_swift_way_reads_what_is_written_as_the_slow_one(frames: list[Beat], form: Form) -> None:
    shown = [f"    - {line(each, form)}" for each in frames]
    for text, found in zip(shown, swift(shown, form), strict=True):
        assert found in (None, slow(text, form))


WRITTEN = '    - {at: 12, event: a, data: {"a": [1, -0.5, true, "b"], "": null}}'
PIECES = st.sampled_from(
    [*hostile.HOSTILE, *hostile.NUMBERS, "NaN", "1E5", '"', "\\", "\\u", "\\ud83d", "}", "]", ",", ": "]
)


@given(st.integers(0, len(WRITTEN)), st.integers(0, 4), PIECES, st.sampled_from(FORMS))
@example(20, 0, "\\ud83d", FORMS[3])
@thrown(600)
def test_and_of_other_lines_nothing_that_the_slow_one_does_not(at: int, less: int, more: str, form: Form) -> None:
    text = WRITTEN[:at] + more + WRITTEN[at + less :]
    if "\n" not in text:
        (found,) = swift([text], form)
        assert found in (None, slow(text, form))


@pytest.mark.parametrize(
    "data",
    [
        '"' + "a" * 1100 + '": 1',
        '"a": "\\ud83d"',
        '"a": NaN',
        '"a": "\\/"',
        '"a": 1, "a": 1',
        '"a": ' + "[" * 200 + "]" * 200,
        '"a": 1.50',
        '"a":1',
    ],
)
def test_what_yaml_may_see_in_another_way_goes_the_slow_one(data: str) -> None:
    assert list(swift([f"    - {{at: 1, data: {{{data}}}}}"], Form())) == [None]


def test_long_events_go_the_swift_way_too() -> None:
    data = b'data: {"a":"' + b"x" * 5000 + b'"}\n\n'
    assert list(swift([f"    - {line((1, data), Form())}"], Form())) == [(1.0, data)]


@given(st.floats(0, 1e8))
@thrown(300)
def test_times_stay_as_they_are_once_written(at: float) -> None:
    kept = seconds_of(milliseconds(at))
    assert abs(kept - at) <= 1e-6
    assert milliseconds(kept) == milliseconds(at)


def test_times_are_short() -> None:
    assert [milliseconds(at) for at in (0, 1, 0.0123, 0.0123456, -5)] == ["0", "1000", "12.3", "12.346", "0"]
