"""Amazon's event streams (`application/vnd.amazon.eventstream`): messages with headers, a payload, and checksums.

A message is its length and that of its headers, the CRC-32 of these two numbers, the headers, the payload, and the
CRC-32 of all that. The payloads here are JSON; that of an event `chunk` holds other JSON in base64.
Source: the event stream encoding of Smithy (https://smithy.io/2.0/aws/amazon-eventstream.html).
"""

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

MEDIA_TYPE = "application/vnd.amazon.eventstream"
MESSAGE_SIGN = b"\r:message-type\x07"  # what is in every message, and hardly ever in other bytes
CHUNK = "chunk"  # the event whose payload holds bytes
MessageHeaders = tuple[tuple[str, str], ...]
_KINDS = {":event-type": "event", ":exception-type": "exception"}  # the header that names the type, and `:message-type`


class EventMessage(Struct, frozen=True):
    """A message; all values of its headers are texts, as in every message that Bedrock sends."""

    headers: MessageHeaders
    payload: bytes

    @property
    def name(self) -> str:
        """The type of the event or of the exception, or the code of an error."""
        return next((value for name, value in self.headers if name in (*_KINDS, ":error-code")), "")

    @property
    def kind(self) -> str:
        """`event`, `exception` or `error`."""
        return dict(self.headers).get(":message-type", "event")

    @property
    def text(self) -> str:
        """The payload; of a chunk, what it holds."""
        inner = _open_chunk(self.payload) if self.name == CHUNK else None
        return (self.payload if inner is None else inner[0]).decode("utf-8", "surrogateescape")

    def replace_text(self, text: str) -> "EventMessage":
        """Return the message with another payload; a chunk with other contents."""
        data = text.encode("utf-8", "surrogateescape")
        inner = _open_chunk(self.payload) if self.name == CHUNK else None
        return replace(self, payload=data if inner is None else close_chunk(data, inner[1]))

    @property
    def padding(self) -> str | None:
        """What a chunk has beside its contents, to hide their length."""
        inner = _open_chunk(self.payload) if self.name == CHUNK else None
        return None if inner is None else inner[1]

    def write(self) -> bytes:
        return _seal(_write_headers(self.headers), self.payload)


def describe_message(message: EventMessage) -> str:
    """Return what a message says, as people read it; of an error, its message."""
    return dict(message.headers).get(":error-message", "") if message.kind == "error" else message.text


def make_event(name: str, payload: bytes, header: str = ":event-type") -> EventMessage:
    """Return an event, or with the header `:exception-type` an exception, as Bedrock writes it."""
    return EventMessage(
        ((header, name), (":content-type", "application/json"), (":message-type", _KINDS[header])), payload
    )


def make_error(code: str, message: str) -> EventMessage:
    """Return a failure that the service's model has no exception for."""
    return EventMessage(((":message-type", "error"), (":error-code", code), (":error-message", message)), b"")


def close_chunk(data: bytes, padding: str | None = None) -> bytes:
    """Return the payload of a chunk that holds these bytes."""
    padded = b"" if padding is None else b',"p":' + json.dumps(padding).encode()
    return b'{"bytes":"%b"%b}' % (b64encode(data), padded)


def _open_chunk(payload: bytes) -> tuple[bytes, str | None] | None:
    """Return the contents and the padding of a chunk, if `close_chunk` restores it of them."""
    try:
        held = json.loads(payload)
        data = b64decode(held["bytes"], validate=True)
        padding = held.get("p")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return (data, padding) if close_chunk(data, padding) == payload else None


def write_event_message(name: str, payload: bytes) -> bytes:
    """Return an event as bytes."""
    return _write_short_event(name, payload) if len(payload) <= _SHORT_EVENT else _write_event(name, payload)


def write_event_messages(name: str, before: bytes, pieces: Sequence[bytes], after: bytes) -> bytes:
    """Return the events whose payloads are these pieces, each between `before` and `after`.

    A rule says the same again and again, so that short texts are remembered as they are written.
    """
    if len(pieces) <= _FEW_PIECES and sum(map(len, pieces)) <= _SHORT_TEXT:
        return _write_short_run(name, before, tuple(pieces), after)
    return _write_run(name, before, pieces, after)


def _write_event(name: str, payload: bytes) -> bytes:
    return _seal(_write_event_headers(name), payload)


def _write_run(name: str, before: bytes, pieces: Sequence[bytes], after: bytes) -> bytes:
    """Return the events as bytes.

    What comes before a piece depends on its length only: it is made, and its checksum begun, once for each length.
    """
    head = _write_event_headers(name)
    begun = dict[int, tuple[bytes, int]]()
    around = len(head) + len(before) + len(after) + _AROUND
    made = list[bytes]()
    pack = _NUMBER.pack
    for piece in pieces:
        known = begun.get(len(piece))
        if known is None:
            start = _write_prelude(around + len(piece), len(head)) + head + before
            known = begun[len(piece)] = start, crc32(start)
        made += (known[0], piece, after, pack(crc32(after, crc32(piece, known[1]))))
    return b"".join(made)


_SHORT_EVENT = 256  # bytes
_FEW_PIECES = 256  # pieces
_SHORT_TEXT = 4_096  # bytes
_write_short_event = lru_cache(maxsize=1024)(_write_event)
_write_short_run = lru_cache(maxsize=512)(_write_run)


def write_chunk(data: bytes) -> bytes:
    """Return the chunk that holds these bytes."""
    return _write_short_chunk(data) if len(data) <= _SHORT_EVENT else _write_chunk(data)


def _write_chunk(data: bytes) -> bytes:
    return _write_event(CHUNK, close_chunk(data))


_write_short_chunk = lru_cache(maxsize=1024)(_write_chunk)


def write_chunks(before: bytes, pieces: Sequence[bytes], after: bytes) -> bytes:
    """Return the chunks that hold these pieces, each between `before` and `after`."""
    if len(pieces) <= _FEW_PIECES and sum(map(len, pieces)) <= _SHORT_TEXT:
        return _write_short_chunks(before, tuple(pieces), after)
    return _write_chunks(before, pieces, after)


def _write_chunks(before: bytes, pieces: Sequence[bytes], after: bytes) -> bytes:
    return _write_run(CHUNK, b'{"bytes":"', [b64encode(before + piece + after) for piece in pieces], b'"}')


_write_short_chunks = lru_cache(maxsize=512)(_write_chunks)


def _seal(head: bytes, payload: bytes) -> bytes:
    whole = _write_prelude(len(head) + len(payload) + _AROUND, len(head)) + head + payload
    return whole + _NUMBER.pack(crc32(whole))


@lru_cache(maxsize=1024)
def _write_prelude(size: int, head: int) -> bytes:
    lengths = _LENGTHS.pack(size, head)
    return lengths + _NUMBER.pack(crc32(lengths))


@lru_cache(maxsize=256)
def _write_event_headers(name: str) -> bytes:
    return _write_headers(make_event(name, b"").headers)


def _write_headers(headers: MessageHeaders) -> bytes:
    written = list[bytes]()
    for name, value in headers:
        key = name.encode()
        data = value.encode("utf-8", "replace")[:_LONGEST_VALUE]
        written += (bytes((len(key),)), key, _TEXT, _UINT16.pack(len(data)), data)
    return b"".join(written)


def split_messages(data: bytes) -> Iterator[bytes]:
    """Yield the messages in these bytes; what is left of an incomplete one, or cannot be one, comes last."""
    start = 0
    while start < len(data):
        end = start + measure_message(data[start : start + PRELUDE], len(data) - start)
        yield data[start:end]
        start = end


def is_whole(data: bytes) -> bool:
    """Return whether a message has all the bytes that it states, whatever their checksum says."""
    return is_prelude(data) and _LENGTHS.unpack_from(data)[0] == len(data)


def measure_message(prelude: bytes, otherwise: int) -> int:
    """Return the length that a message states in its first bytes; `otherwise`, if it is incomplete or states none."""
    if len(prelude) < PRELUDE or not is_prelude(prelude):
        return otherwise
    size: int = _LENGTHS.unpack_from(prelude)[0]
    return min(size, otherwise)


def is_prelude(data: bytes) -> bool:
    """Return whether bytes begin with the prelude of a message; a text never does."""
    if len(data) < PRELUDE:
        return False
    size, head = _LENGTHS.unpack_from(data)
    return bool(_AROUND + head <= size <= LARGEST and _NUMBER.unpack_from(data, 8)[0] == crc32(data[:8]))


def read_message(data: bytes) -> EventMessage | None:
    """Return the message in these bytes; None if they are not just one, or if a checksum is wrong."""
    if not is_whole(data):
        return None
    if _NUMBER.unpack_from(data, len(data) - 4)[0] != crc32(data[:-4]):
        return None
    end = PRELUDE + _LENGTHS.unpack_from(data)[1]
    headers = _read_headers(data[PRELUDE:end])
    return None if headers is None else EventMessage(headers, data[end:-4])


def _read_headers(data: bytes) -> MessageHeaders | None:
    """Return the headers, if they are texts and written as here."""
    found = list[tuple[str, str]]()
    at = 0
    try:
        while at < len(data):
            name = data[at + 1 : at + 1 + data[at]]
            at += 1 + len(name)
            (length,) = _UINT16.unpack_from(data, at + 1)
            value = data[at + 3 : at + 3 + length]
            at += 3 + length
            found.append((name.decode(), value.decode()))
        return tuple(found) if _write_headers(tuple(found)) == data else None
    except (ValueError, IndexError, struct.error):
        return None


_LENGTHS = struct.Struct(">II")
_NUMBER = struct.Struct(">I")
_UINT16 = struct.Struct(">H")
PRELUDE = 12  # bytes before the headers
_AROUND = 16  # bytes of all numbers
LARGEST = 1 << 25  # bytes of a message: clients take 24 MB of payload
_TEXT = b"\x07"  # the type of a header whose value is text
_LONGEST_VALUE = 32_767  # bytes
