"""The data of one server-sent event, read and put back without a change to anything else of it."""

import re


def data_of(event: bytes) -> str | None:
    """What the data lines of an event say; None where it has none."""
    lines = [found[2] for found in _DATA.finditer(event)]
    return b"\n".join(lines).decode("utf-8", "surrogateescape") if lines else None


def with_data(event: bytes, data: str) -> bytes:
    """The event with other data, which have as many lines."""
    lines = iter(data.encode("utf-8", "surrogateescape").split(b"\n"))
    return _DATA.sub(lambda found: found[1] + next(lines, b""), event)


_DATA = re.compile(rb"((?:^|(?<=[\r\n]))data:[ ]?)([^\r\n]*+)")
