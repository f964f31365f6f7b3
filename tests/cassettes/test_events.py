"""The data of an event can be read and put back; the rest of it stays."""

import pytest

from mockserver.cassettes.sse_yaml import data_of, with_data

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
    assert data_of(event) == data
    assert with_data(event, data) == event
    assert with_data(event, "X") == changed


def test_data_of_several_lines_stay_where_they_were() -> None:
    event = b'data: {\ndata:   "a": 1\nid: 7\ndata: }\n\n'
    data = data_of(event)
    assert data == '{\n  "a": 1\n}'
    assert with_data(event, data.replace("1", "2")) == event.replace(b"1", b"2")


@pytest.mark.parametrize("event", [b": ping\n\n", b"event: end\n\n", b"", b"metadata: 1\n\n"])
def test_an_event_without_data(event: bytes) -> None:
    assert data_of(event) is None
    assert with_data(event, "x") == event
