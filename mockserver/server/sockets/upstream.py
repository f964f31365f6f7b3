"""The provider's WebSocket behind a client's: what is passed on goes over it, as only there the chain is known.

A request gets the answer that it would get over HTTP: each frame is an event of a stream, with its time, and a first
frame that is an error is an answer with its status. So it is relayed, recorded and replayed like any other.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.frames import Frame, fold_lines, write_event
from mockserver.core.json import Json, compact, find_table, try_parse
from mockserver.core.socket_turn import SocketTurn
from mockserver.core.text import escape_line
from mockserver.server.socket_frames import LAST_TYPES, find_type

if TYPE_CHECKING:
    from httpx2 import Request, Response
    from websockets.asyncio.client import ClientConnection

MAX_UNREAD = 64  # frames of a lane that nobody has taken; more are not read meanwhile
CLOSE_WITHIN = 1.0  # seconds for the provider to answer a close frame

log = logging.getLogger("mockserver")


class UpstreamSocket:
    """The provider's end of one client's WebSocket, opened for the first request that is passed on."""

    def __init__(self) -> None:
        self.close_code = NO_CLOSE_FRAME  # the provider's code for closing it
        self._connection: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._is_refused = False
        self._lanes: dict[str, asyncio.Queue[bytes | None]] = {}  # of requests that wait for frames; None: the end

    async def send(self, request: "Request", turn: SocketTurn, on_sent: Callable[[], None]) -> "Response | None":
        """Pass a request on, and return its answer once that begins; None: the provider has to be asked over HTTP.

        Raises what httpx2 raises when a connection breaks.
        """
        frames: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_UNREAD)
        self._lanes[turn.lane] = frames
        try:
            if not await self._send_frame(request, turn.write_frame().decode("utf-8", "replace")):
                self._forget(frames, turn)
                return None
            on_sent()
            first = await self._receive(frames, turn)
        except BaseException:
            self._forget(frames, turn)
            await self.close()
            raise
        return self._make_answer(first, frames, turn=turn, request=request)

    async def _send_frame(self, request: "Request", frame: str) -> bool:
        """Send a frame, over another connection if this one was closed meanwhile; return whether there is any."""
        from httpx2 import RemoteProtocolError
        from websockets.exceptions import ConnectionClosed

        for _ in range(2):
            async with self._opening:
                connection = self._connection or await self._open(request)
            if connection is None:
                return False
            try:
                await connection.send(frame)
            except ConnectionClosed:
                if self._connection is connection:
                    self._connection = None
            else:
                return True
        raise RemoteProtocolError("the WebSocket was closed at once")

    async def close(self) -> None:
        """Close it; the next request opens another one."""
        connection = self._connection
        reader = self._reader
        self._connection = None
        self._reader = None
        if connection is not None and reader is not None:
            reader.cancel()
            for frames in self._lanes.values():
                if frames.full():
                    frames.get_nowait()
                frames.put_nowait(None)
            with suppress(Exception):
                await connection.close()

    async def _open(self, request: "Request") -> "ClientConnection | None":
        from websockets.exceptions import InvalidStatus, WebSocketException

        if self._is_refused:
            return None
        try:
            self._connection = await connect_upstream(request)
        except InvalidStatus:
            self._is_refused = True
            return None
        except (WebSocketException, OSError, ImportError) as error:  # over HTTP, it will fail or get there
            log.info("no WebSocket to %s: %s", request.url.host, escape_line(str(error)))
            return None
        self.close_code = NO_CLOSE_FRAME
        self._reader = asyncio.create_task(self._read(self._connection))
        return self._connection

    async def _read(self, connection: "ClientConnection") -> None:
        """Hand each frame to the request that it answers."""
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                data = await connection.recv(decode=False)
                lane = _find_lane(data)
                takers = [self._lanes[lane]] if lane in self._lanes else [*self._lanes.values()]
                for frames in takers:
                    await frames.put(data)
        except ConnectionClosed as closed:
            if closed.rcvd is not None and closed.rcvd.code not in _NEVER_SENT:
                self.close_code = closed.rcvd.code
        if self._connection is connection:
            self._connection = None
        for frames in [*self._lanes.values()]:
            await frames.put(None)

    async def _receive(self, frames: "asyncio.Queue[bytes | None]", turn: SocketTurn) -> bytes:
        """Return the next frame, without the name of its lane."""
        from httpx2 import RemoteProtocolError

        data = await frames.get()
        if data is None:
            raise RemoteProtocolError(f"the WebSocket was closed with code {self.close_code}")
        return _drop_lane(data, turn.lane)

    async def _receive_in_time(
        self, frames: "asyncio.Queue[bytes | None]", turn: SocketTurn, request: "Request"
    ) -> bytes:
        from httpx2 import ReadTimeout

        try:
            async with asyncio.timeout(find_read_timeout(request)):
                return await self._receive(frames, turn)
        except TimeoutError:
            raise ReadTimeout("the WebSocket is silent") from None

    def _make_answer(
        self, first: bytes, frames: "asyncio.Queue[bytes | None]", *, turn: SocketTurn, request: "Request"
    ) -> "Response":
        event = try_parse(first.decode("utf-8", "replace"))
        if isinstance(event, dict) and event.get("type") == "error" and isinstance(event.get("error"), dict):
            self._forget(frames, turn)
            status = event.get("status")
            body = to_json({"error": _drop_headers(event["error"])})
            if not (isinstance(status, int) and 400 <= status <= 599):
                status = 500
            return make_refusal(status, body, request, headers=_find_headers(event))

        async def release(is_over: bool) -> None:
            self._forget(frames, turn)
            if not is_over:  # what still comes would be taken for the next answer
                await self.close()

        receive = partial(self._receive_in_time, frames, turn, request)
        return make_event_stream(request, first, last_types=LAST_TYPES, receive=receive, release=release)

    def _forget(self, frames: "asyncio.Queue[bytes | None]", turn: SocketTurn) -> None:
        if self._lanes.get(turn.lane) is frames:
            del self._lanes[turn.lane]


def make_refusal(status: int, body: bytes, request: "Request", headers: Sequence[tuple[str, str]] = ()) -> "Response":
    """Return an answer that is not a stream but JSON."""
    from httpx2 import AsyncByteStream, Response

    class Whole(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield body

    own = [("content-type", "application/json"), *headers, ("content-length", str(len(body)))]
    return Response(status, headers=own, stream=Whole(), request=request)


def make_event_stream(
    request: "Request",
    first: bytes,
    *,
    last_types: Container[object],
    receive: Callable[[], Awaitable[bytes]],
    release: Callable[[bool], Awaitable[None]],
) -> "Response":
    """Return an answer that is a stream of frames: the first, and what `receive` returns until a type is a last one.

    `release` is told at its end whether it was whole.
    """
    from httpx2 import AsyncByteStream, Response

    class Events(AsyncByteStream):
        is_over = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            data = first
            while True:
                self.is_over = find_type(data) in last_types
                yield _write_frame(data)
                if self.is_over:
                    return
                data = await receive()

        async def aclose(self) -> None:
            await release(self.is_over)

    return Response(200, headers=[("content-type", EVENTS)], stream=Events(), request=request)


async def connect_upstream(request: "Request") -> "ClientConnection":
    """Open a WebSocket where a request would go. Raises WebSocketException, OSError, ImportError."""
    from websockets.asyncio.client import connect

    class Connect(connect):
        """Follows no redirect, which might take the key elsewhere."""

        def process_redirect(self, exc: Exception) -> Exception | str:
            return exc

    url = request.url.copy_with(scheme="wss" if request.url.scheme == "https" else "ws")
    headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() not in _HTTP_HEADERS]
    return await Connect(
        str(url),
        additional_headers=headers,
        user_agent_header=None,
        open_timeout=None,  # the request has one
        close_timeout=CLOSE_WITHIN,
        max_size=None,
        **_find_tls(request),
    )


def _find_tls(request: "Request") -> dict[str, Any]:
    """Return how TLS trusts the provider: as over HTTP."""
    from httpx2 import create_ssl_context

    return {"ssl": create_ssl_context()} if request.url.scheme == "https" else {}


def find_read_timeout(request: "Request") -> float | None:
    """Return for how many seconds an upstream may be silent."""
    seconds: float | None = request.extensions.get("timeout", {}).get("read")
    return seconds


def _find_lane(data: bytes) -> str:
    event = try_parse(data.decode("utf-8", "replace")) if b'"stream_id"' in data else None
    lane = event.get("stream_id") if isinstance(event, dict) else None
    return lane if isinstance(lane, str) else ""


def _drop_lane(data: bytes, lane: str) -> bytes:
    if not lane:
        return data
    end = b',"stream_id":%b}' % to_json(lane)
    if data.endswith(end):
        return data[: -len(end)] + b"}"
    event = try_parse(data.decode("utf-8", "replace"))
    if not isinstance(event, dict) or event.pop("stream_id", None) is None:
        return data
    return compact(event).encode()


def _write_frame(data: bytes) -> bytes:
    """Return a frame as an event of a stream."""
    kind = find_type(data)
    name = kind if isinstance(kind, str) and kind.isprintable() else None
    return write_event(Frame(fold_lines(data), name))


def _find_headers(event: dict[str, Json]) -> list[tuple[str, str]]:
    """Return the headers that an error states."""
    fields = (find_table(event, "headers") or find_table(event, "error", "headers")).items()
    return [(name, value) for name, value in fields if isinstance(value, str) and name.lower().startswith(_HEEDED)]


def _drop_headers(error: Json) -> Json:
    return {name: value for name, value in error.items() if name != "headers"} if isinstance(error, dict) else error


EVENTS = "text/event-stream; charset=utf-8"
_HEEDED = ("retry-after", "x-ratelimit-")  # headers of errors that clients heed
_HTTP_HEADERS = frozenset(("host", "connection", "content-length", "content-type", "accept", "accept-encoding"))
_NEVER_SENT = (1005, 1006, 1015)  # codes that clients make up (RFC 6455, 7.4.1)
