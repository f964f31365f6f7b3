"""A server of this process: it listens in a thread, or answers a transport, and knows which calls it received."""

from threading import RLock
from typing import TYPE_CHECKING

from mockserver.config.errors import ConfigError
from mockserver.core.call import Call
from mockserver.core.eager import run_at_once
from mockserver.core.row import Row
from mockserver.core.seed import monotonic, pause
from mockserver.server.live import Live
from mockserver.testing.assertions import Calls
from mockserver.testing.clock import Clock

if TYPE_CHECKING:
    from mockserver.server.run import Running
    from mockserver.testing.transport import Transport

__tracebackhide__ = True  # pytest shows the line of the test instead


class LocalServer:
    """Serves what is `live`, on its own clock. In a fork of the process that serves, calls raise ConfigError."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.clock = Clock()
        live.now = self.clock.now
        self._running: Running | None = None
        self._transport: Transport | None = None
        self._starting = RLock()  # a transport may be used on any thread

    def start(self) -> None:
        """Listen on a free port of this machine until `stop`. Raises ConfigError, also if it is running."""
        with self._starting:
            if self._running is not None:
                raise ConfigError(
                    f"this server is already running at {self.address}; stop it first, or create another MockServer"
                )
            from mockserver.server.run import Running  # uvicorn is slow to import

            running = Running(self.live)
            running.start()
            self._running = running

    def stop(self) -> None:
        """Stop listening; answers that are still being sent are aborted."""
        running = self._running
        self._running = None
        if running is not None:
            running.hang_up()
            running.stop()

    @property
    def is_running(self) -> bool:
        """Whether it listens."""
        return self._running is not None

    @property
    def address(self) -> str:
        """Where it listens, such as http://127.0.0.1:49152. Raises ConfigError if it is not running."""
        return self._require_running().address

    def find_address(self) -> str:
        """Return where it listens; it is started if need be."""
        with self._starting:
            if self._running is None:
                self.start()
            return self.address

    def open_transport(self) -> "Transport":
        """Return the one transport to it."""
        if self._transport is None:
            from mockserver.server.app import Site  # slow: Starlette
            from mockserver.testing.transport import Transport

            self._transport = Transport(Site(self.live), self.clock, self.find_address)
        return self._transport

    @property
    def calls(self) -> Calls:
        """All calls since the last reset in order of arrival, except those that service rules answered."""
        return Calls.from_rows(self._list_settled_rows(), recall=self._recall)

    @property
    def service_calls(self) -> Calls:
        """The calls that service rules answered; and whole Realtime sessions."""
        return Calls.from_rows(self._list_settled_rows(), service=True)

    def check_here(self) -> None:
        """Raise ConfigError in a fork of the process that serves."""
        if self._running is not None:
            self._running.check_here()

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until no answer is being sent to a connected client, at most so many seconds."""
        end = monotonic() + seconds
        while self.live.journal.open_calls and monotonic() < end:
            self._require_running().hang_up(all_of_them=False)
            pause(_POLL)

    def abort_answers(self) -> Calls:
        """Abort the answers that are still being sent, and return their calls."""
        if not self.live.journal.open_calls:
            return Calls(())
        left = self.calls.of(lambda call: call.ended == "open")
        if left and self._running is not None:
            self._running.hang_up()
        if left and self._transport is not None:
            self._transport.hang_up()
        return left

    def _require_running(self) -> "Running":
        if self._running is None:
            raise ConfigError("this server is not running; use it in a with block, or call start()")
        return self._running

    def _list_settled_rows(self) -> tuple[Row, ...]:
        self.check_here()
        if self._running is not None:
            self._running.wait_for_rows()
        return tuple(self.live.journal)

    def _recall(self, call: Call) -> Call:
        """Return a request after the conversation that it continues."""
        from mockserver.server.explain import recall_conversation  # few tests need these

        # what a fixture's server keeps is in memory: nothing is awaited
        return run_at_once(recall_conversation(self.live.find_engine(call.http.namespace), call))


_POLL = 0.01  # seconds
