"""A server in a thread of this process, for what starts one and ends with it. Takes no signal and says nothing."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from threading import Event, Thread
from types import TracebackType
from typing import TypeVar

import uvicorn
from starlette.routing import Router

from mockserver.core.addresses import is_everywhere
from mockserver.core.errors import ConfigError
from mockserver.server.door import Door
from mockserver.server.live import Live, Sources
from mockserver.server.run import bind, configured, watching

GRACE = 1  # seconds that open streams get at the end
_PATIENCE = 30  # seconds that a start may take on a machine that is very busy
_TURNS = 5  # of the loop, within which an answer that has left is noted

T = TypeVar("T")


class Running:
    """A server that runs from `start` to `stop`, or as long as a `with` block.

    `address` is where it listens (`http://127.0.0.1:49152`), known as soon as the object is made.
    """

    def __init__(self, live: Live, sources: Sources | None = None, *, say: Callable[[str], None] | None = None) -> None:
        """Bind the socket. Raises ConfigError where that cannot be."""
        self.live = live
        self._listener = bind(live.settings.host, live.settings.port)
        self.address = _address(self._listener)
        self._ready, self._process = Event(), os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watching = watching(live, sources or Sources(), say or (lambda _: None))
        self._server = _Prompt(configured(live, self._lifespan, GRACE))
        self._thread = Thread(target=self._run, name="mockserver", daemon=True)

    def start(self) -> None:
        """Return when the server answers. Raises ConfigError where it does not."""
        self._thread.start()
        self._ready.wait(_PATIENCE)
        if not self._thread.is_alive():
            raise ConfigError("the server did not start; its log says why")

    def check_here(self) -> None:
        """Raise ConfigError in a fork of the process that serves."""
        if os.getpid() != self._process:
            raise ConfigError(
                "the server runs in the process that this one was forked from: requests reach it from here, but declare"
                " rules and look at calls there"
            )

    def stop(self) -> None:
        """Return when nothing of the server runs any more: within a second, unless streams are open."""
        if os.getpid() != self._process:  # a fork: the thread has stayed behind, and so has all that it holds
            return
        self._server.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._server.over.set)
        if self._thread.ident is not None:
            self._thread.join()
        self._listener.close()

    def settle(self) -> None:
        """Return once it is noted in the journal which answers have left by now, and which clients."""
        if self.live.journal.tally.open:
            self.hang_up(all_of_them=False)

    def hang_up(self, *, all_of_them: bool = True) -> None:
        """End the connections on which an answer is still going out; the idle ones stay.

        Not `all_of_them`: those whose clients have said goodbye. A server would wait a while for what they may mean.
        """
        if os.getpid() == self._process:
            self.wait_for(self._hung_up(all_of_them=all_of_them))

    def wait_for(self, work: Coroutine[object, object, T]) -> T:
        """What some work on the server's own loop comes to. Raises what it raises."""
        assert self._loop is not None  # noqa: S101  # `start` has returned
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    async def _settled(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def _hung_up(self, *, all_of_them: bool) -> None:
        await self._settled()
        for door in tuple(self._server.server_state.connections):
            if isinstance(door, Door) and door.busy and (all_of_them or door.half):
                door.transport.abort()
        await self._settled()

    def __enter__(self) -> "Running":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._listener])
        except BaseException:
            logging.getLogger("mockserver").exception("the server has failed")
        finally:
            self._ready.set()

    @asynccontextmanager
    async def _lifespan(self, app: Router) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        async with self._watching(app):
            self._ready.set()
            yield


class _Prompt(uvicorn.Server):
    """uvicorn's, but it need not look ten times a second whether it is to stop, and stops at once if nobody waits."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.over = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait for the end, with the date of answers set once a second."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), 1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let idle connections go; where none is busy that was all."""
        if self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for door in tuple(self.server_state.connections):
            door.shutdown()
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        await self.lifespan.shutdown()


def _address(listener: socket.socket) -> str:
    """Where to reach it from this machine."""
    host, port = listener.getsockname()[:2]
    if is_everywhere(host):
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
