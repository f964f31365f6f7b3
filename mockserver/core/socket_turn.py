"""What a request on a WebSocket says beside its body, and the answers that its client may go on from."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct


class SocketAnswers:
    """The last answers on one WebSocket, by their ids: its client may go on from them, even if nothing is stored."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, Any]] = {}  # with the lane of each
        self._sizes: dict[str, int] = {}

    def keep(self, name: str, lane: str, answer: Any, *, size: int) -> None:
        """Keep an answer of about `size` bytes; of too many, or too large ones, the oldest are forgotten."""
        self._kept[name] = (lane, answer)
        self._sizes[name] = size
        while len(self._kept) > MAX_SOCKET_ANSWERS or (
            len(self._kept) > 1 and sum(self._sizes.values()) > MAX_SOCKET_BYTES
        ):
            oldest = next(iter(self._kept))
            del self._kept[oldest], self._sizes[oldest]

    def get(self, name: str) -> Any:
        """Return an answer, or None."""
        return self._kept.get(name, ("", None))[1]

    def find_last(self, lane: str) -> str | None:
        """Return the id of the last answer of a lane."""
        return next((name for name, (kept, _) in reversed(self._kept.items()) if kept == lane), None)

    def forget(self, name: str, lane: str) -> None:
        """Forget an answer, if it is of this lane."""
        if self._kept.get(name, (None,))[0] == lane:
            del self._kept[name], self._sizes[name]


MAX_SOCKET_ANSWERS = 256
MAX_SOCKET_BYTES = 16_000_000


class SocketTurn(Struct, frozen=True, eq=False):
    """What a request on a WebSocket says beside its body: its lane, and whether anything is to be written for it.

    `write_frame` returns the request as the provider knows it, over `upstream`, the WebSocket behind this one.
    """

    answers: SocketAnswers
    lane: str = ""
    writes: bool = True
    write_frame: Callable[[], bytes] = bytes
    upstream: Any = None  # an UpstreamSocket
