"""Answers that say something else."""

import pytest

from mockserver.core.action import Action, Cut, Position, Write
from mockserver.core.frames import Frame, write_event
from mockserver.core.json import compact
from mockserver.delivery.faults import Crlf, DropUsage, ErrorEvent, MissingField
from tests.delivery.faults.stage import HEAD, PLAIN, STREAM, frame, plain, sized, streamed


def event(words: str) -> Write:
    return Write(write_event(Frame(words.encode())))


@pytest.mark.parametrize(
    ("at", "sent"),
    [
        (Position("after_frames", 2), 3),
        (Position("after_tokens", 2), 4),
        (Position("before_done"), 5),
        (Position("in_tool_arguments"), None),
    ],
    ids=lambda value: getattr(value, "where", ""),
)
def test_an_error_in_a_stream(at: Position, sent: int | None) -> None:
    expected: list[Action] = list(STREAM)
    if sent is not None:
        before = STREAM[sent - 1]
        assert isinstance(before, Write)
        error = compact({"error": "overloaded", "after": before.data.decode()})
        expected = [*STREAM[:sent], event(error), Cut("end")]
    assert streamed(ErrorEvent(at, "overloaded")) == expected


def test_an_error_in_place_of_a_plain_body() -> None:
    assert plain(ErrorEvent()) == [sized(35), Write(b'{"error":"server_error","after":""}'), Cut("end")]


@pytest.mark.parametrize(
    ("field", "left"),
    [
        ("/id", b'{"usage":{"n":4}}'),
        ("/usage/n", b'{"id":"a","usage":{}}'),
    ],
)
def test_a_field_is_missing_in_a_plain_body(field: str, left: bytes) -> None:
    assert plain(MissingField(field=field)) == [sized(len(left)), Write(left)]


@pytest.mark.parametrize("field", ["/nowhere", "/id/0", "/usage/n/x", "/usage/0"])
def test_a_field_that_is_not_there(field: str) -> None:
    assert plain(MissingField(field=field)) == list(PLAIN)


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("/a/0/b", '{"a":[{"b":1},{"b":2}]}', '{"a":[{},{"b":2}]}'),
        ("/a/*/b", '{"a":[{"b":1},{"b":2}]}', '{"a":[{},{}]}'),
        ("/a/1", '{"a":[1,2]}', '{"a":[1]}'),
        ("/a~1b/~0", '{"a/b":{"~":1,"é":2}}', '{"a/b":{"é":2}}'),
    ],
)
def test_pointers(field: str, before: str, after: str) -> None:
    assert streamed(MissingField(field=field), (HEAD, event(before))) == [HEAD, event(after)]


def test_a_field_is_missing_from_there_on() -> None:
    found = streamed(MissingField(Position("after_tokens", 1), "/say"))
    assert found == [*STREAM[:3], event("{}"), event("{}"), STREAM[5]]


def test_what_stands_around_the_json_stays() -> None:
    found = streamed(MissingField(field="/say"), streamed(Crlf()))
    assert found[1] == Write(b"data: {}\r\n\r\n")


def test_no_usage() -> None:
    usage = frame("usage", 0, "usage")
    told = (HEAD, frame("a"), event('{"usage":{"n":1},"b":2}'), usage, event('{"response":{"usage":1,"c":3}}'))
    assert streamed(DropUsage(), told) == [HEAD, frame("a"), event('{"b":2}'), event('{"response":{"c":3}}')]
    assert plain(DropUsage()) == [sized(10), Write(b'{"id":"a"}')]
