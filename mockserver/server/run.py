"""Run a server: for a command, until a signal; or in a thread of this process."""

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from threading import Event, Thread
from types import FrameType
from typing import Any, TypeVar

import uvicorn
from starlette.routing import Router
from starlette.types import Lifespan

from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.core.origins import is_everywhere
from mockserver.server.access import add_cors
from mockserver.server.app import Site
from mockserver.server.http.deadlines import Deadlines
from mockserver.server.http.protocol import ProtocolFactory
from mockserver.server.live import Live
from mockserver.server.reload import watch
from mockserver.server.sources import Sources

BACKLOG = 65_535  # connections that wait to be accepted; systems allow less, and reset those that are too many
GRACE = 3  # seconds that open streams get once the server is told to stop
DRAIN = 0.5  # seconds that quiet connections get then


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 picks a free one. Raises ConfigError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # on Windows, it would share a port that another program uses
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        unknown = isinstance(error, socket.gaierror)
        why = _UNKNOWN_HOST if unknown else _REASONS.get(error.errno or 0) or error.strerror or str(error)
        raise ConfigError(f"cannot listen on {host}:{port}: {why}") from error
    except (TypeError, ValueError) as error:
        listener.close()
        raise ConfigError(f"cannot listen on {host}:{port}: this is not a valid host name") from error
    return listener


def check_certificate(settings: Settings) -> None:
    """Raise ConfigError for a certificate, or a key, with which the server could not speak TLS."""
    if settings.tls_cert is None:
        if settings.tls_key is not None:
            raise ConfigError("tls_key is of no use without tls_cert; set both, or neither")
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.tls_cert, settings.tls_key, password="")
    except OSError as error:  # also what is no certificate
        is_lost = isinstance(error, FileNotFoundError)
        files = " and ".join(filter(None, (settings.tls_cert, settings.tls_key)))
        why = "there is no such file" if is_lost else f"no certificate with its key: {error.strerror or error}"
        raise ConfigError(f"cannot speak TLS with {files}: {why}") from None


def allow_open_files() -> None:
    """Let this process, and those that it starts, open as many files as the system permits: shells permit fewer.

    Each connection is one, and a connection too many is closed without a word.
    """
    with suppress(ImportError, OSError, ValueError):  # no such limit on Windows; macOS permits fewer than it says
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


_UNKNOWN_HOST = "this is no address of this machine; write 127.0.0.1, or 0.0.0.0 to listen on all"
_REASONS = {
    errno.EADDRNOTAVAIL: _UNKNOWN_HOST,
    errno.EADDRINUSE: "another program uses this port; stop it, or choose another (0 picks a free one)",
    errno.EACCES: "this port needs more privileges; choose one above 1023",
}


def _is_fault(record: logging.LogRecord) -> bool:
    """Return whether a record of uvicorn is worth a line; its words for answers that a stop cut off become ours."""
    if str(record.msg).startswith("Cancel %s running task"):
        if record.args == (0,):
            record.msg = "stopped, although clients had not read all that was sent to them"
            record.args = ()
        else:
            record.msg = "stopped; answers cut off because they were still being sent: %s"
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


ACCEPTED_AT_ONCE = 1000  # connections that are accepted in one turn of the loop


class Acceptor:
    """Makes the protocols of a server's connections; whenever its loop has accepted one, it accepts all others.

    uvloop accepts one in each turn. A turn of a busy loop is long, and the system drops connections that wait in great
    numbers: their clients try again after seconds.
    """

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        make_protocol: Callable[..., asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._listeners = listeners
        self._make_protocol = make_protocol
        self._tls = tls
        self._is_called = False  # in this turn
        self._openings = set[asyncio.Task[object]]()

    def __call__(self, **uvicorn: Any) -> asyncio.Protocol:
        if not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._accept_others, partial(self._make_protocol, **uvicorn))
        return self._make_protocol(**uvicorn)

    def _accept_others(self, make_protocol: Callable[[], asyncio.Protocol]) -> None:
        self._is_called = False
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            for _ in range(ACCEPTED_AT_ONCE):
                try:
                    accepted, _ = listener.accept()
                except OSError:  # none is left, or no more files may be open, of which the loop takes care
                    break
                task = loop.create_task(self._open(make_protocol, accepted))
                self._openings.add(task)
                task.add_done_callback(self._openings.discard)

    async def _open(self, make_protocol: Callable[[], asyncio.Protocol], accepted: socket.socket) -> None:
        with suppress(OSError):  # a handshake of TLS that failed
            await asyncio.get_running_loop().connect_accepted_socket(make_protocol, accepted, ssl=self._tls)


class AcceptingServer(uvicorn.Server):
    """uvicorn's, except that it accepts connections as fast as they come."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):  # asyncio's own accepts all that wait
            acceptor = Acceptor(sockets or (), self.config.http_protocol_class, self.config.ssl)
            self.config.http_protocol_class = acceptor  # type: ignore[assignment]  # a factory instead of a class
        if self.config.ssl is not None:
            self.config.ssl.set_alpn_protocols(["http/1.1", "h2"])  # the first is chosen of those that a client offers
        await super().startup(sockets)


class _CommandServer(AcceptingServer):
    """The server of a command: a second signal also ends what is still open."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            asyncio.get_running_loop().call_soon_threadsafe(self._end)
        else:
            super().handle_exit(sig, frame)

    def _end(self) -> None:
        for connection in tuple(self.server_state.connections):
            connection.shutdown()
        for task in tuple(self.server_state.tasks):
            task.cancel()


# When the collector looks for garbage, which is rare: it costs every request a little each time.
COLLECT = (10_000, 20, 50)


def serve(live: Live, sources: Sources, listener: socket.socket, say: Callable[[str], None]) -> None:
    """Serve on a socket until a signal; `say` gets the messages about reloads."""
    server = _CommandServer(configure_uvicorn(live, watch_sources(live, sources, say), grace=GRACE, drain=DRAIN))

    def stop(*_: object) -> None:
        server.should_exit = True

    # uvicorn stops on these signals and then raises them again, which without handlers would be a crash;
    # and none must be lost until uvicorn handles them
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    gc.freeze()  # what was made by now stays; scanning it again and again would cost every request
    gc.set_threshold(*COLLECT)
    gc.enable()
    server.run(sockets=[listener])


def configure_uvicorn(live: Live, lifespan: Lifespan[Router], *, grace: int, drain: float = 0) -> uvicorn.Config:
    """Return how uvicorn is to serve. When it stops, open streams get `grace` seconds, quiet connections `drain`."""
    logging.getLogger("uvicorn.error").addFilter(_is_fault)
    site = Site(live, lifespan)
    return uvicorn.Config(
        add_cors(site, live.settings.cors),
        http=ProtocolFactory(site.directory.refuse_unread, Deadlines(drain=drain), unsent=live.unsent, site=site),  # type: ignore[arg-type]  # a factory instead of a class
        ws="none",  # connections change the protocol by themselves
        ws_max_size=live.settings.max_body,
        ssl_certfile=live.settings.tls_cert,
        ssl_keyfile=live.settings.tls_key,
        lifespan="on",
        log_config=None,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=grace,
    )


def watch_sources(live: Live, sources: Sources, say: Callable[[str], None]) -> Lifespan[Router]:
    """Return the lifespan of a server: it watches files and cassettes if `reload` is on; then it closes upstreams."""

    @asynccontextmanager
    async def lifespan(_: Router) -> AsyncIterator[None]:
        watched = live.settings.reload and (sources.files or live.settings.cassette)
        task = asyncio.create_task(watch(live, sources, say)) if watched else None
        async with nullcontext() if live.fleet is None else live.fleet.take_part():
            yield
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await live.upstreams.close()
        if live.fleet is not None:
            await live.fleet.close()

    return lifespan


THREAD_GRACE = 1  # seconds that open streams get at the end
_PATIENCE = 30  # seconds that a start may take on a very busy machine

T = TypeVar("T")


async def _let_loop_turn() -> None:
    """Let the loop turn as often as it takes to note a sent answer."""
    for _ in range(5):
        await asyncio.sleep(0)


class Running:
    """A server that runs from `start` to `stop`, or as long as a `with` block.

    `address` is where it listens (`http://127.0.0.1:49152`), known as soon as the object is made.
    """

    def __init__(self, live: Live, sources: Sources | None = None, *, say: Callable[[str], None] | None = None) -> None:
        self.live = live
        check_certificate(live.settings)
        self._listener = bind(live.settings.host, live.settings.port)
        self.address = _format_address(self._listener, live.settings.scheme)
        self._ready = Event()
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watching = watch_sources(live, sources or Sources(), say or (lambda _: None))
        self._server = _PromptServer(configure_uvicorn(live, self._lifespan, grace=THREAD_GRACE))
        self._thread = Thread(target=self._run, name="mockserver", daemon=True)

    def start(self) -> None:
        """Return once the server answers. Raises ConfigError if it does not start."""
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
        """Return when the server has ended: within a second, unless streams are open."""
        if os.getpid() != self._process:  # a fork, in which the thread does not run
            return
        self._server.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._server.over.set)
        if self._thread.ident is not None:
            self._thread.join()
        self._listener.close()

    def wait_for_rows(self) -> None:
        """Return once the journal has noted which answers were sent by now, and which clients left."""
        journal = self.live.journal
        is_watched = journal.on_close is not None or journal.keeps_calls  # else rows may be entered after the answer
        if not is_watched or journal.open_calls:
            self.hang_up(all_of_them=False)

    def hang_up(self, *, all_of_them: bool = True) -> None:
        """End the connections on which an answer is being sent; else only those whose clients stopped sending."""
        if os.getpid() == self._process:
            self.wait_for(self._hang_up(all_of_them=all_of_them))

    def wait_for(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine in the loop of the server, and return its result."""
        assert self._loop is not None  # `start` has returned
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    async def _hang_up(self, *, all_of_them: bool) -> None:
        await _let_loop_turn()
        connections: set[Any] = self._server.server_state.connections
        for connection in tuple(connections):
            if connection.busy and (all_of_them or connection.half_closed):
                connection.transport.abort()
        await _let_loop_turn()

    def __enter__(self) -> "Running":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
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


class _PromptServer(AcceptingServer):
    """The server of a thread: it does not poll whether to stop, and stops at once if nothing is being sent."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.over = asyncio.Event()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), 1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        connections: set[Any] = self.server_state.connections
        is_sending = any(connection.transport.get_write_buffer_size() for connection in connections)
        if self.server_state.tasks or is_sending:
            await super().shutdown(sockets)
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    while self.server_state.tasks:  # they are cancelled, and say so to their clients
                        await asyncio.sleep(0.001)
            await self._end_connections()  # those whose clients do not read
            return
        await self._end_connections()
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        await self.lifespan.shutdown()

    async def _end_connections(self) -> None:
        for connection in tuple(self.server_state.connections):
            connection.shutdown()
        await _let_loop_turn()


def _format_address(listener: socket.socket, scheme: str) -> str:
    host, port = listener.getsockname()[:2]
    if is_everywhere(host):
        host = "::1" if ":" in host else "127.0.0.1"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
