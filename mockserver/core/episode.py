"""What was recorded: a request and the whole answer that it got. Knows no file."""

from dataclasses import dataclass, field

from mockserver.core.http import Headers

Beat = tuple[float, bytes]  # seconds since the request was sent, and one event of a stream with all that ends it


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it was sent, without its namespace; its body in plain, whatever coding it came in.

    `query` is as it stands behind the question mark; header names are lower case.
    """

    method: str
    path: str
    query: str = ""
    headers: Headers = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answer as it came, its body in plain: whole, or the events of a stream, each with its moment.

    `took`: seconds until all of it was there.
    """

    status: int
    headers: Headers = ()
    body: bytes = b""
    frames: tuple[Beat, ...] | None = None
    took: float = 0.0
    source: str = field(default="", compare=False)  # `cassette chat.yaml#3`, where it comes from a file

    @property
    def bytes(self) -> bytes:
        """All bytes of the body."""
        return self.body if self.frames is None else b"".join(data for _, data in self.frames)


@dataclass(frozen=True, slots=True)
class Episode:
    """A request to a dialect and its answer; `at` is the wall's time of the recording."""

    dialect: str
    operation: str
    model: str
    request: Sent
    reply: Recorded
    at: float = 0.0
