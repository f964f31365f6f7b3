"""Events of a stream as lines of YAML, read by the fast way exactly as by the slow one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mockserver.cassettes.bodies import Style
from mockserver.cassettes.event_lines import (
    EventLayout,
    find_layout,
    join_data,
    parse_milliseconds,
    read_event,
    read_events_fast,
    replace_data,
    write_event,
    write_milliseconds,
)
from mockserver.cassettes.yaml_text import Refused, parse
from mockserver.core.episode import RecordedEvent
from tests.cassettes import hostile
from tests.fuzz.amount import thrown

SPACED = Style("spaced")
CRLF = EventLayout(ends="crlf")


def slow(text: str, form: EventLayout) -> RecordedEvent | str:
    try:
        node = parse(text)
        return read_event(node.value[0], form) if node and isinstance(node.value, list) else ""
    except Refused as refused:
        return refused.words


@pytest.mark.parametrize(
    ("form", "data", "shown"),
    [
        (EventLayout(), b'data: {"a":[1,null]}\n\n', '{at: 12, data: {"a": [1, null]}}'),
        (EventLayout(), b'event: a.b\ndata: {"a":1.50}\n\n', '{at: 12, event: a.b, data: {"a": 1.50}}'),
        (EventLayout(), b'event: a b\ndata: {"a":1}\n\n', '{at: 12, event: "a b", data: {"a": 1}}'),
        (EventLayout(), b'data: {"a": 1}\n\n', '{at: 12, style: "spaced", data: {"a": 1}}'),
        (EventLayout(SPACED), b'data: {"a": 1}\n\n', '{at: 12, data: {"a": 1}}'),
        (EventLayout(), b"data: [DONE]\n\n", '{at: 12, data: "[DONE]"}'),
        (EventLayout(), b"data: a\ndata: b\n\n", '{at: 12, data: "a\\nb"}'),
        (EventLayout(), b'data: {\ndata:   "a": 1\ndata: }\n\n', '{at: 12, style: "indent2", data: {"a": 1}}'),
        (CRLF, b'event: x\r\ndata: {"a":1}\r\n\r\n', '{at: 12, event: x, data: {"a": 1}}'),
        (EventLayout(), b'data: {"a":1}\r\n\r\n', '{at: 12, raw: "data: {\\"a\\":1}\\r\\n\\r\\n"}'),
        (EventLayout(), b": ping\n\n", '{at: 12, raw: ": ping\\n\\n"}'),
        (EventLayout(), b"", '{at: 12, raw: ""}'),
        (EventLayout(), b"\xff", '{at: 12, base64: "/w=="}'),
        (EventLayout(), 'data: {"a":"é\u2028\x7f"}\n\n'.encode(), '{at: 12, data: {"a": "é\\u2028\\u007f"}}'),
        (EventLayout(), b'data: {"a":1,"a":2}\n\n', '{at: 12, data: "{\\"a\\":1,\\"a\\":2}"}'),
    ],
)
def test_an_event_is_a_line(form: EventLayout, data: bytes, shown: str) -> None:
    assert write_event((0.012, data), form) == shown
    assert slow(f"- {shown}", form) == (0.012, data)
    assert read_events_fast([f"    - {shown}"], form) in (((0.012, data),), None)


@pytest.mark.parametrize(
    ("frames", "found"),
    [
        ([], EventLayout()),
        ([b": ping\n\n", b"data: x\n\n"], EventLayout()),
        ([b": ping\n\n", b'data: {"a": 1}\n\n', b'data: {"a":1}\n\n'], EventLayout(SPACED)),
        ([b'event: a\r\ndata: ["\\u00e9","b"]\r\n\r\n'], EventLayout(Style("compact", "ascii"), "crlf")),
    ],
)
def test_the_first_json_says_how_a_stream_is_laid_out(frames: list[bytes], found: EventLayout) -> None:
    assert find_layout([(0, data) for data in frames]) == found


FORMS = (
    EventLayout(),
    EventLayout(SPACED),
    CRLF,
    EventLayout(Style("compact", "ascii")),
    EventLayout(Style("compact", "html")),
)


@given(st.lists(st.tuples(hostile.seconds, hostile.events), max_size=5), st.sampled_from(FORMS))
@thrown(300)
def test_the_swift_way_reads_what_is_written_as_the_slow_one(frames: list[RecordedEvent], form: EventLayout) -> None:
    shown = [f"    - {write_event(each, form)}" for each in frames]
    one_by_one = [read_events_fast([text], form) for text in shown]
    for text, found in zip(shown, one_by_one, strict=True):
        assert found in (None, (slow(text, form),))
    together = None if None in one_by_one else tuple(event for found in one_by_one for event in found or ())
    assert read_events_fast(shown, form) in (None, together)


WRITTEN = '    - {at: 12, event: a, data: {"a": [1, -0.5, true, "b"], "": null}}'
PIECES = st.sampled_from(
    [*hostile.HOSTILE, *hostile.NUMBERS, "NaN", "1E5", '"', "\\", "\\u", "\\ud83d", "}", "]", ",", ": "]
)


@given(st.integers(0, len(WRITTEN)), st.integers(0, 4), PIECES, st.sampled_from(FORMS))
@example(20, 0, "\\ud83d", FORMS[3])
@thrown(600)
def test_and_of_other_lines_nothing_that_the_slow_one_does_not(
    at: int, less: int, more: str, form: EventLayout
) -> None:
    text = WRITTEN[:at] + more + WRITTEN[at + less :]
    if "\n" not in text:
        assert read_events_fast([text], form) in (None, (slow(text, form),))


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
    assert read_events_fast([f"    - {{at: 1, data: {{{data}}}}}"], EventLayout()) is None


@given(st.floats(0, 1e8))
@thrown(300)
def test_times_stay_as_they_are_once_written(at: float) -> None:
    kept = parse_milliseconds(write_milliseconds(at))
    assert abs(kept - at) <= 1e-6
    assert write_milliseconds(kept) == write_milliseconds(at)


EVENTS = [
    (b'data: {"a":1}\n\n', '{"a":1}', b"data: X\n\n"),
    (b'event: b\r\ndata:{"a":1}\r\nid: 3\r\n\r\n', '{"a":1}', b"event: b\r\ndata:X\r\nid: 3\r\n\r\n"),
    (b"data: [DONE]\n\n", "[DONE]", b"data: X\n\n"),
    (b"data:\n\n", "", b"data:X\n\n"),
    (b"data: a\rdata: b\r\r", "a\nb", b"data: X\rdata: \r\r"),
    (b"data: \xff\n\n", "\udcff", b"data: X\n\n"),
]


@pytest.mark.parametrize(("event", "data", "changed"), EVENTS)
def test_the_data_of_an_event(event: bytes, data: str, changed: bytes) -> None:
    assert join_data(event) == data
    assert replace_data(event, data) == event
    assert replace_data(event, "X") == changed
