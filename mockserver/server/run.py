"""Binds the socket and runs uvicorn on it."""

import asyncio
import errno
import gc
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import FrameType

import uvicorn
from starlette.routing import Router
from starlette.types import Lifespan

from mockserver.core.errors import ConfigError
from mockserver.server.app import Spoken
from mockserver.server.cors import opened
from mockserver.server.door import doors
from mockserver.server.live import Live, Sources
from mockserver.server.refusals import refusal
from mockserver.server.watch import watch

GRACE = 3  # seconds that open streams get once the server is told to stop


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free one. Raises ConfigError naming what stands in the way."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, TypeError, ValueError) as error:  # the latter two: a name that no host can have
        listener.close()
        why = _why(error) if isinstance(error, OSError) else "this is not the name of a host"
        raise ConfigError(f"cannot listen on {host}:{port}: {why}") from error
    return listener


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program uses this port; stop it, or choose another with --port (0 picks a free one)"
    if error.errno == errno.EACCES:
        return "this port needs more rights; choose one above 1023 with --port"
    return error.strerror or str(error)


def _is_fault(record: logging.LogRecord) -> bool:
    """Whether a log line tells of a fault: a request that ends because the server stops is none."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class _Server(uvicorn.Server):
    """uvicorn's, but for who will not wait: a second signal ends what is still open."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        if self.should_exit:
            asyncio.get_running_loop().call_soon_threadsafe(self._end)
        else:
            super().handle_exit(sig, frame)

    def _end(self) -> None:
        for connection in tuple(self.server_state.connections):
            connection.shutdown()
        for task in tuple(self.server_state.tasks):
            task.cancel()


def serve(live: Live, sources: Sources, listener: socket.socket, say: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM."""
    server = _Server(configured(live, watching(live, sources, say), GRACE))

    def stop(*_: object) -> None:
        server.should_exit = True

    # uvicorn stops in good order on these signals and then raises them again: without handlers that would be a crash;
    # and until it listens to them, one must not be lost
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    gc.collect()
    gc.freeze()  # what was made by now stays; to look through it again and again would cost every request
    server.run(sockets=[listener])


def configured(live: Live, lifespan: Lifespan[Router], grace: int) -> uvicorn.Config:
    """How uvicorn is to serve; open streams get so many seconds once it is told to stop."""
    logging.getLogger("uvicorn.error").addFilter(_is_fault)
    return uvicorn.Config(
        opened(Spoken(live, lifespan), live.settings.cors),
        http=doors(refusal(live)),  # type: ignore[arg-type]  # what makes protocols will do as well as a class
        ws="none",
        lifespan="on",
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=grace,
    )


def watching(live: Live, sources: Sources, say: Callable[[str], None]) -> Lifespan[Router]:
    """While the server runs, its rules files and its cassette are watched, where that is set; then its upstreams are

    let go.
    """

    @asynccontextmanager
    async def lifespan(_: Router) -> AsyncIterator[None]:
        watched = live.settings.reload and (sources.files or live.settings.cassette)
        task = asyncio.create_task(watch(live, sources, say)) if watched else None
        yield
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await live.upstreams.close()

    return lifespan
