"""The journal: the latest exchanges, numbered in order of arrival, in bounded memory."""

from collections import deque
from collections.abc import Callable, Iterator

from mockserver.core.exchange import Exchange
from mockserver.core.seed import monotonic

MAX_EXCHANGES = 1000


class Journal:
    """Opens an exchange when a request arrives and closes it when the answer has gone out.

    `on_close` is told of each closed exchange: a log line, for one.
    """

    def __init__(self, *, limit: int = MAX_EXCHANGES, on_close: Callable[[Exchange], None] | None = None) -> None:
        self._rows: deque[Exchange] = deque(maxlen=limit)
        self._count = 0
        self._on_close = on_close

    def open(self, method: str, path: str, dialect: str, namespace: str) -> Exchange:
        """A new row with the next number, the first being 1; its `elapsed` holds the start until it is closed."""
        self._count += 1
        exchange = Exchange(self._count, method, path, dialect, namespace, elapsed=monotonic())
        self._rows.append(exchange)
        return exchange

    def close(self, exchange: Exchange, ended: str) -> None:
        """Note how it ended and how long it took."""
        exchange.ended = ended
        exchange.elapsed = monotonic() - exchange.elapsed
        if self._on_close is not None:
            self._on_close(exchange)

    def __iter__(self) -> Iterator[Exchange]:
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        return len(self._rows)
