"""What comes in and what goes out, as values: a request snapshot, a reply, a frame.

Knows HTTP's nouns, not the server that speaks it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A frozen snapshot of one request; parsing it needs no server.

    `path` is decoded and relative to the dialect's mount; header names are lower-case bytes, as ASGI gives them.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    namespace: str = "default"
    path_params: Mapping[str, str] = field(default_factory=dict)

    def header(self, name: str) -> str | None:
        """The first value of a header (any case), or None."""
        wanted = name.lower().encode("latin-1")
        for key, value in self.headers:
            if key == wanted:
                return value.decode("latin-1")
        return None


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of a stream: JSON bytes, its weight in tokens, and which part of the answer it carries."""

    data: bytes
    event: str | None = None
    tokens: int = 0
    part: str = "text"  # open | text | arguments | finish | usage | end


@dataclass(frozen=True, slots=True)
class Reply:
    """What a dialect puts on the wire: a body, or frames when it streams; bytes among them go out as they are."""

    status: int
    headers: Headers
    body: bytes = b""
    frames: Iterable[Frame | bytes] | None = None
    tokens: int = 0  # weight of a plain body, so that it can wait as long as its stream would
    beats: tuple[float, ...] = ()  # seconds since the start at which each frame leaves, or the body, if it was recorded
