"""The transport: answers the requests of httpx and httpx2 without a connection."""

import asyncio
import errno
import math
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from email.utils import formatdate
from functools import cache, lru_cache
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote
from weakref import WeakSet

from anyio import sleep_forever, to_thread
from anyio.lowlevel import checkpoint
from msgspec import Struct, field
from starlette.types import ASGIApp, Message, Scope

from mockserver.cassettes.addresses import DialectRoutes, find_dialect, find_local_target
from mockserver.config.errors import ConfigError
from mockserver.core.action import Action, Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.exchange import COMPLETE
from mockserver.core.http import WITHOUT_BODY, is_loopback, is_stream_type, tabulate
from mockserver.core.seed import monotonic, wall
from mockserver.delivery.connection import CUT, IN_PROCESS, ClientConnection, Note, encode_header
from mockserver.dialects import discover_all
from mockserver.engine.offload import IN_PROCESS_DRIVER, Work
from mockserver.server.routes import find_operation_name, list_endpoints
from mockserver.server.snapshot import ClientLeftError

if TYPE_CHECKING:
    from mockserver.server.app import FoundResponder

_QUIET = 5  # turns of the event loop without an earlier waiter


class Clock:
    """Real time plus skipped time; used by rate limits and by the transport."""

    def __init__(self) -> None:
        self._skipped, self._lock = 0.0, Lock()
        self._due: list[float] = []  # of waiters in event loops

    def now(self) -> float:
        """Return monotonic seconds."""
        return monotonic() + self._skipped

    def advance(self, seconds: float) -> None:
        """Skip time, in seconds: `advance(60)` refills rate limits per minute."""
        if not 0 <= seconds < math.inf:
            raise ConfigError(f"advance takes a number of seconds, 0 or more, not {seconds!r}")
        with self._lock:
            self._skipped += seconds

    def reach(self, moment: float) -> None:
        """Skip the time until a moment, if it is in the future."""
        with self._lock:
            self._skipped += max(0.0, moment - self.now())

    async def wait_for(self, moment: float) -> None:
        """Skip the time until a moment, after all waiters of this event loop with earlier ones."""
        self._due.append(moment)
        quiet = 0
        try:
            while quiet < _QUIET:
                await checkpoint()
                quiet = 0 if min(self._due) < moment else quiet + 1
        finally:
            self._due.remove(moment)
        self.reach(moment)


class EndlessError(AssertionError):
    """A client without a timeout waits for data that is never sent."""


async def meet_here(clock: Clock, need: object) -> object:
    """Meet a need (a moment to wait for, or an application's) at once. Raises EndlessError for a wait without end."""
    match need:
        case math.inf:
            raise EndlessError(_ENDLESS)
        case float():
            clock.reach(need)
        case Work(work=work):
            return work()
        case None:  # a turn for others, of which there are none
            pass
        case _:
            raise RuntimeError("this request needs an event loop; use an asynchronous client, or a socket")
    return None


async def meet_in_loop(clock: Clock, need: object) -> object:
    """Meet a need in an event loop, where others run meanwhile; an endless wait is really waited for."""
    match need:
        case math.inf:
            await sleep_forever()
        case float():
            await clock.wait_for(need)
        case Work(work=work):
            return await to_thread.run_sync(work, abandon_on_cancel=True)
        case None:
            await checkpoint()
        case _:
            return await _PassOn(need)
    return None


class _PassOn:
    """Awaiting it passes a value to whoever runs the coroutine: an action, or the need of an event loop."""

    __slots__ = ("_what",)

    def __init__(self, what: object) -> None:
        self._what = what

    def __await__(self) -> Any:
        return (yield self._what)


_ENDLESS = "this answer never continues, and its client has no read timeout; over a socket it would wait forever"


Step = Action | Work | object


END = object()  # no more steps


class SharedApplication(Struct, frozen=True):
    """An application, of which one request at a time makes a step, on any thread.

    `find` returns what answers at a path, if it can be called without the application.
    """

    app: ASGIApp
    find: "Callable[[str], FoundResponder | None]" = lambda path: None
    lock: RLock = field(default_factory=RLock)


class SteppedRequest:
    """A request that an application answers step by step, with its actions; a `patient` one can wait for others."""

    def __init__(self, application: SharedApplication, scope: Scope, body: bytes, *, patient: bool) -> None:
        self.patient, self.over = patient, False
        self._lock = application.lock
        self._note: Note | None = None
        self._body: bytes | None = body
        found = application.find(scope["path"]) if "path" in scope else None
        if found is not None and len(body) <= found.responder.live.settings.max_body:
            self._coroutine: Any = self._answer(found, scope, body)
        else:
            self._coroutine = application.app({**scope, "extensions": {IN_PROCESS: self}}, self._receive, self._send)

    def next(self, result: object = None, error: BaseException | None = None) -> Step:
        """Run to the next step, with the result of the last one. Raises what the application raises."""
        with self._lock:
            if self.over:  # ended by another thread
                return END
            before = IN_PROCESS_DRIVER.set(True)
            try:
                step: Step = self._coroutine.send(result) if error is None else self._coroutine.throw(error)
                return step
            except StopIteration:
                self.over = True
                return END
            except BaseException:
                self.over = True
                raise
            finally:
                IN_PROCESS_DRIVER.reset(before)

    def leave(self) -> None:
        """Tell the application that the client left."""
        if not self.over:
            with suppress(ClientLeftError):
                self.next(error=ClientLeftError())
            self.over = True
            self._coroutine.close()

    def note(self, data: bytes) -> None:
        """Note in the journal that the client received bytes of the body."""
        if self._note is not None:
            self._note(data)

    async def perform(self, actions: Iterable[Action], note: Note) -> str:
        """Hand each action to the caller of `next`."""
        self._note = note
        for action in actions:
            await _PassOn(action)
            if isinstance(action, Cut):
                return CUT[action.how]
        return COMPLETE

    async def _answer(self, found: "FoundResponder", scope: Scope, body: bytes) -> None:
        from mockserver.server.deliver import serve  # slow: Starlette

        request, visit = found.admit(scope["method"], scope["query_string"], tabulate(scope["headers"]), body)
        visit.in_process, visit.patient, self._body = True, self.patient, None
        visit.receive = self._receive
        client = ClientConnection(self._receive, self._send, in_process=self)
        await serve(found.responder, found.responder.respond(request, visit), visit, client, scope)

    async def _receive(self) -> Message:
        """Return the body of the request, then nothing: `leave` raises if the client leaves."""
        body, self._body = self._body, None
        if body is None:
            await asyncio.get_running_loop().create_future()
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, message: Message) -> None:
        """Send a response of an endpoint that does not use `perform`."""
        if message["type"] == "http.response.start":
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"])
            await _PassOn(Head(message["status"], headers))
        elif data := message.get("body"):
            await _PassOn(Write(data))


MakeError = Callable[[str, str], Exception]  # from the name of an error of the client's library, and a message
Received = Head | bytes | None  # None: the answer is over
Meet = Callable[[Clock, object], Awaitable[object]]


class ClientResponse:
    """An answer that a client receives, waiting at most `read_timeout` seconds for each piece."""

    def __init__(self, steps: SteppedRequest, clock: Clock, make_error: MakeError, read_timeout: float | None) -> None:
        self._steps, self._clock, self._make_error = steps, clock, make_error
        self._read_timeout = math.inf if read_timeout is None else read_timeout
        self._due = clock.now()
        self._pieces: deque[bytes] = deque()
        self._begun = self._events = False
        self._length = self._left = math.inf  # bytes of the body by its head, and those still to come
        self._cut: str | None = None

    def begin(self, head: Head, *, bare: bool = False, last: bool = False) -> list[tuple[bytes, bytes]]:
        """Start with a head; return the headers as on the wire.

        `bare`: the answer to HEAD, without a body. `last`: the client closes the connection afterwards.
        """
        self._begun, headers = True, list(map(encode_header, head.headers))
        if last:
            headers = [*(header for header in headers if header[0] != b"connection"), (b"connection", b"close")]
        for name, value in headers:
            if name == b"content-length":
                self._length = int(value)
            elif name == b"content-type":
                self._events = is_stream_type(value.decode("latin-1"))
        if bare or head.status in WITHOUT_BODY:
            self._length = 0
        elif self._length == math.inf:
            headers.append((b"transfer-encoding", b"chunked"))
        self._left = self._length
        return headers

    def next(self) -> Received:
        """Return what the client receives next. Raises the error that it gets instead."""
        try:
            self._receive(meet_here).send(None)  # which never suspends it
        except StopIteration as end:
            received: Received = end.value
        return received

    async def next_async(self) -> Received:
        """Return what an asynchronous client receives next."""
        return await self._receive(meet_in_loop)

    def close(self) -> None:
        """Stop reading. What would have been sent by now counts as sent; of a stream, only what was read."""
        if not self._pieces:
            self._run_on(0.0)
        self._pieces.clear()
        self._steps.leave()

    def abort(self) -> None:
        """Reset the connection after what was sent."""
        if not self._steps.over:
            self._cut = "reset"
            self._steps.leave()

    async def _receive(self, meet: Meet) -> Received:
        if self._pieces:
            return self._hand_over()
        if self._left == 0:  # the client has the advertised length, whatever follows
            self._run_on(math.inf)
            self._steps.leave()
            return None
        try:
            return await self._run_to_piece(meet)
        except BaseException:
            self._steps.leave()
            raise

    async def _run_to_piece(self, meet: Meet) -> Received:
        since, step = self._clock.now(), self._steps.next()
        while step is not END:
            match step:
                case Head():
                    return step
                case Write():
                    if self._take(step):
                        return self._hand_over()
                case Wait(seconds=seconds):
                    await self._wait(seconds, since, meet)
                case Cut(how=how):
                    self._cut = how
                case Flush() | RawWrite():  # data after the end is not received
                    pass
                case _:
                    step = await self._meet(meet, step)
                    continue
            step = self._steps.next()
        self._check()
        return None

    async def _meet(self, meet: Meet, need: object) -> Step:
        try:
            result = await meet(self._clock, need)
        except Exception as error:
            return self._steps.next(error=error)
        return self._steps.next(result)

    async def _wait(self, seconds: float, since: float, meet: Meet) -> None:
        """Wait, at most until the timeout of the client, which waits since a moment."""
        self._due += seconds
        if self._due <= self._clock.now():
            return
        if self._due - since > self._read_timeout:
            await meet(self._clock, since + self._read_timeout)
            raise self._make_error("ReadTimeout", "timed out")
        await meet(self._clock, self._due)

    def _take(self, write: Write) -> bool:
        """Take the bytes of a Write, each event of a stream separately; return whether there are any."""
        data = write.data
        if len(data) > self._left:
            data = data[: int(self._left)]
        self._left -= len(data)
        if self._events and write.frame is None:
            self._pieces.extend(_split_events(data))
        elif data:
            self._pieces.append(data)
        return bool(self._pieces)

    def _hand_over(self) -> bytes:
        piece = self._pieces.popleft()
        self._steps.note(piece)
        return piece

    def _check(self) -> None:
        """Raise the client's error if the connection did not end properly."""
        if self._cut == "reset":
            raise self._make_error("ReadError", f"[Errno {errno.ECONNRESET}] {os.strerror(errno.ECONNRESET)}")
        if not self._begun:
            raise self._make_error("RemoteProtocolError", "Server disconnected without sending a response.")
        if self._length < math.inf:
            what = f"received {self._length - self._left:.0f} bytes, expected {self._length:.0f}"
        elif self._cut == "close":
            what = "incomplete chunked read"
        else:
            return
        message = f"peer closed connection without sending complete message body ({what})"
        raise self._make_error("RemoteProtocolError", message)

    def _run_on(self, seconds: float) -> None:
        """Continue without the client, up to a wait of at least this many seconds."""
        while not self._steps.over:
            match self._steps.next():
                case Write(data=data):
                    if self._events and data:
                        return
                    self._steps.note(data)
                case Wait(seconds=pause) if pause >= seconds:
                    return


def _split_events(data: bytes) -> Iterable[bytes]:
    blank = b"\r\n\r\n" if data.endswith(b"\r\n\r\n") else b"\n\n"
    end = b"\n" if data[:1] == b"{" else blank  # a line of JSON, or an event
    *events, rest = data.split(end)
    yield from (event + end for event in events)
    if rest:
        yield rest


def make_path_finder() -> Callable[[str, str, str], str]:
    """Return a function that maps the method, host and path of a provider's URL to a path of this server.

    The path of an unknown host stays as it is.
    """
    served = list_endpoints(discover_all(), "openai")
    mounts = {name: dialect.mounts for name, dialect in discover_all().items()}
    known = DialectRoutes(mounts, lambda method, path: find_operation_name(method, path, served), lambda _, body: body)

    @lru_cache(maxsize=1024)
    def path_of(method: str, host: str, path: str) -> str:
        url = f"https://{host}{path}"
        dialect = None if is_loopback(host) or not host else find_dialect(url, known)
        found = None if dialect is None else find_local_target(method, url, dialect=dialect, routes=known)
        return path if found is None else found.path

    return path_of


class ResponseBody:
    """The body of a response as a byte stream, synchronous and asynchronous."""

    def __init__(self, response: ClientResponse) -> None:  # whose head was received
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        while isinstance(piece := self._response.next(), bytes):
            yield piece

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self  # not a generator, as trio warns about unfinished ones

    async def __anext__(self) -> bytes:
        piece = await self._response.next_async()
        if not isinstance(piece, bytes):
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        """Stop reading."""
        self._response.close()

    async def aclose(self) -> None:
        """Stop reading asynchronously."""
        self._response.close()


def find_library(request: Any) -> Any:
    """Return the module of a request, httpx or httpx2; a user may have derived its class."""
    base = next(base for base in reversed(type(request).__mro__) if base.__name__ == "Request")
    return sys.modules[base.__module__.partition(".")[0]]


@cache
def make_body_class(library: Any) -> Any:
    """Return the class of response bodies for a library."""
    return type("Body", (ResponseBody, library.SyncByteStream, library.AsyncByteStream), {})


if TYPE_CHECKING:
    import httpx
    import httpx2

    from mockserver.server.app import Site

    class _Base(  # type: ignore[misc]  # it takes the requests of both
        httpx.BaseTransport, httpx.AsyncBaseTransport, httpx2.BaseTransport, httpx2.AsyncBaseTransport
    ): ...
else:
    _Base = object


class Transport(_Base):
    """Connects any number of clients of httpx and httpx2 to a server of this process, without a socket.

    Handshakes of WebSockets alone go to the address of that server, which `find_address` returns: frames need a
    connection, which the client gets as the `network_stream` of the response. Closing the transport has no effect, so
    clients can share it.
    """

    def __init__(self, site: "Site", clock: Clock, find_address: Callable[[], str] | None = None) -> None:
        self._application, self._clock, self._path = SharedApplication(site, site.find), clock, make_path_finder()
        self._find_address = find_address
        self._answers = WeakSet[ClientResponse]()

    def handle_request(self, request: Any) -> Any:
        """Answer the request of a synchronous client."""
        if (handshake := self._send_on_handshake(request)) is not None:
            return _make_connector(request, "HTTPTransport").handle_request(handshake)
        answer = self._answer(request, request.read(), patient=False)
        return _make_response(request, answer.next(), answer)

    async def handle_async_request(self, request: Any) -> Any:
        """Answer the request of an asynchronous client."""
        if (handshake := self._send_on_handshake(request)) is not None:
            return await _make_connector(request, "AsyncHTTPTransport").handle_async_request(handshake)
        answer = self._answer(request, await request.aread(), patient=_is_in_asyncio())
        return _make_response(request, await answer.next_async(), answer)

    def hang_up(self) -> None:
        """Abort the answers that clients have not read to the end."""
        with self._application.lock:  # other threads can add answers
            for answer in tuple(self._answers):
                answer.abort()

    def close(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    def _send_on_handshake(self, request: Any) -> Any:
        """Return the handshake of a WebSocket as it goes to the running server; None for any other request."""
        if self._find_address is None:
            return None
        from mockserver.server.handshakes import asks_for_socket  # slow: Starlette

        if not asks_for_socket(request.method, request.headers.get("upgrade", "")):
            return None
        raw, mark, query = request.url.raw_path.partition(b"?")
        # a provider's WebSocket is where its clients POST otherwise
        path = quote(self._path("POST", request.url.host, unquote(raw.decode("latin-1"))))
        url = f"{self._find_address()}{path}{(mark + query).decode('latin-1')}"
        headers = [field for field in request.headers.multi_items() if field[0].lower() != "host"]
        return find_library(request).Request("GET", url, headers=headers, extensions=request.extensions)

    def _answer(self, request: Any, body: bytes, *, patient: bool) -> ClientResponse:
        url = request.url
        raw, _, query = url.raw_path.partition(b"?")
        path = self._path(request.method, url.host, unquote(raw.decode("latin-1")))
        scope: Scope = {
            **_SCOPE,
            "method": request.method,
            "path": path,
            "raw_path": raw,
            "query_string": query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }
        steps = SteppedRequest(self._application, scope, body, patient=patient)
        read_timeout = request.extensions.get("timeout", _NO_TIMEOUT).get("read")

        def make_error(name: str, message: str) -> Exception:
            error: Exception = getattr(find_library(request), name)(message, request=request)
            return error

        answer = ClientResponse(steps, self._clock, make_error=make_error, read_timeout=read_timeout)
        with self._application.lock:
            self._answers.add(answer)
        return answer


def _make_connector(request: Any, kind: str) -> Any:
    """Make a transport of the library of a request for one connection, which ends with its response."""
    library = find_library(request)
    return getattr(library, kind)(verify=False, limits=library.Limits(max_keepalive_connections=0))


def _make_response(request: Any, head: Received, answer: ClientResponse) -> Any:
    if not isinstance(head, Head):
        raise TypeError("an answer must start with its head")
    last = request.headers.get("connection", "").lower() == "close"
    headers = [(b"date", _write_date(int(wall()))), *answer.begin(head, bare=request.method == "HEAD", last=last)]
    library = find_library(request)
    return library.Response(head.status, headers=headers, stream=make_body_class(library)(answer))


def _is_in_asyncio() -> bool:
    """Return whether an asyncio loop runs, in which requests can wait for each other."""
    with suppress(RuntimeError):
        return asyncio.get_running_loop() is not None
    return False


@lru_cache(maxsize=1)
def _write_date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


_SCOPE: Scope = {
    "type": "http",
    "asgi": {"version": "3.0", "spec_version": "2.3"},
    "http_version": "1.1",
    "server": ("mockserver", 80),
    "client": ("in-process", 0),
    "scheme": "http",
    "root_path": "",
    "state": {},
}
_NO_TIMEOUT: Mapping[str, float] = {}
