"""Server-sent events that were sent or recorded: where they end, and what they say (WHATWG HTML, section 9.2).

`frames.py` writes new ones.
"""

from collections.abc import Iterator

from mockserver.core.lazy import compile_lazily

_BLANK_LINE = rb"(?:\r\n\r\n|\n\r?\n|\r\r)"
END_OF_EVENT = compile_lazily(_BLANK_LINE)
_WHOLE_END = compile_lazily(_BLANK_LINE + rb"[\r\n]*")
_DATA = compile_lazily(rb"(?:\A|(?<=[\r\n]))data:[ ]?([^\r\n]*+)")


def split_events(stream: bytes) -> Iterator[bytes]:
    """Yield the events of a stream, each with the blank lines that end it; the last may lack them."""
    start = 0
    for found in _WHOLE_END.finditer(stream):
        yield stream[start : found.end()]
        start = found.end()
    if start < len(stream):
        yield stream[start:]


def find_data(event: bytes) -> bytes:
    """Return the data of an event, its lines joined; no bytes if it has none."""
    return b"\n".join(_DATA.findall(event))
