"""Binds the socket and runs uvicorn on it."""

import asyncio
import errno
import gc
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import uvicorn
from starlette.routing import Router

from mockserver.core.errors import ConfigError
from mockserver.server.app import build_app
from mockserver.server.live import Live, Sources
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


def serve(live: Live, sources: Sources, listener: socket.socket, say: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM."""

    @asynccontextmanager
    async def lifespan(_: Router) -> AsyncIterator[None]:
        task = asyncio.create_task(watch(live, sources, say)) if live.settings.reload and sources.files else None
        yield
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    config = uvicorn.Config(
        build_app(live, lifespan),
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_fault)
    # uvicorn stops in good order on these signals and then raises them again: without handlers that would be a crash
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    gc.collect()
    gc.freeze()  # what was made by now stays; to look through it again and again would cost every request
    uvicorn.Server(config).run(sockets=[listener])
