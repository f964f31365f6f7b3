"""Messages of Amazon's event streams: known bytes, what botocore's parser reads, and what cannot be one."""

from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer

from mockserver.core.event_stream import (
    EventMessage,
    make_error,
    make_event,
    read_message,
    split_messages,
    write_event_message,
)
from mockserver.core.frames import Frame, FrameRun, write_event

HI = b'{"contentBlockIndex":0,"delta":{"text":"Hi"}}'
# Smithy's encoding of this event, byte for byte.
KNOWN = bytes.fromhex(
    "00000094" "00000057" "b4ab9aee"
    "0b3a6576656e742d74797065" "070011" "636f6e74656e74426c6f636b44656c7461"
    "0d3a636f6e74656e742d74797065" "070010" "6170706c69636174696f6e2f6a736f6e"
    "0d3a6d6573736167652d74797065" "070005" "6576656e74"
    + HI.hex() + "1f944657"
)  # fmt: skip
FRAMES: Any = {
    "a message": Frame(HI, "contentBlockDelta", framing="message"),
    "a run": FrameRun(b'{"text":', [b'"a"', b'"bc"', b'"d"'], b"}", (1, 1, 1), "delta", framing="message"),
    "a chunk": Frame(HI, "chunk", framing="chunk"),
    "a run of chunks": FrameRun(b'{"text":', [b'"a"', b'"bc"', b'"d"'], b"}", (1, 1, 1), "chunk", framing="chunk"),
}


def test_an_event_is_written_as_aws_writes_it() -> None:
    assert write_event_message("contentBlockDelta", HI) == KNOWN
    assert make_event("contentBlockDelta", HI).write() == KNOWN


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_a_run_is_its_frames(frame: Any) -> None:
    data = write_event(frame)
    each = [frame] if isinstance(frame, Frame) else [*frame]
    assert data == b"".join(map(write_event, each))
    buffer = EventStreamBuffer()
    for at in range(0, len(data), 7):  # cut anywhere
        buffer.add_data(data[at : at + 7])
    read = [(event.headers[":event-type"], event.payload) for event in buffer]
    found = [read_message(message) for message in split_messages(data)]
    assert read == [(message.name, message.payload) for message in found if message is not None]
    assert [message.text.encode() for message in found if message is not None] == [one.data for one in each]


@pytest.mark.parametrize("message", [make_event("throttlingException", b"{}", ":exception-type"), make_error("A", "b")])
def test_what_is_written_is_read(message: EventMessage) -> None:
    assert read_message(message.write()) == message


@pytest.mark.parametrize(
    "data",
    [b"", KNOWN[:-1], KNOWN + b"x", KNOWN[:-1] + b"x", b"x" + KNOWN[1:], b"data: {}\n\n", KNOWN[:8] + b"\0" * 200],
)
def test_other_bytes_are_no_message(data: bytes) -> None:
    assert read_message(data) is None


def test_a_stream_is_split_by_its_lengths() -> None:
    assert list(split_messages(KNOWN * 2 + KNOWN[:20])) == [KNOWN, KNOWN, KNOWN[:20]]
    assert list(split_messages(b"no message")) == [b"no message"]


def test_a_chunk_keeps_its_padding() -> None:
    message = make_event("chunk", b'{"bytes":"eyJhIjoxfQ==","p":"abc"}')
    assert (message.text, message.padding) == ('{"a":1}', "abc")
    assert message.replace_text('{"b":2}').payload == b'{"bytes":"eyJiIjoyfQ==","p":"abc"}'
