"""The provider's WebSocket behind a client's: each turn that is passed on is a response out of band there.

It has the whole conversation, and needs nothing that an earlier turn has left there. Its answer is the stream that
another turn would get over HTTP, so it is relayed, recorded and replayed like any other.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pydantic_core import to_json

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.json import find_in, try_parse
from mockserver.core.socket_turn import SocketTurn
from mockserver.server.socket_frames import find_type
from mockserver.server.sockets.realtime_turn import LAST_TYPES
from mockserver.server.sockets.upstream import connect_upstream, find_read_timeout, make_event_stream, make_refusal

if TYPE_CHECKING:
    from httpx2 import Request, Response
    from websockets.asyncio.client import ClientConnection


class RealtimeUpstream:
    """The provider's end of one session: a connection for each turn that is passed on, used again after it."""

    def __init__(self) -> None:
        self.close_code = NO_CLOSE_FRAME  # the provider's code for closing the last connection
        self._free: list[ClientConnection] = []

    async def send(self, request: "Request", turn: SocketTurn, on_sent: Callable[[], None]) -> "Response":
        """Pass a turn on, and return its answer once that begins.

        Raises what httpx2 raises when a connection breaks, and OSError.
        """
        from httpx2 import ConnectError
        from websockets.exceptions import InvalidStatus, WebSocketException

        try:
            connection = await self._send_frame(request, turn.write_frame().decode("utf-8", "replace"))
        except InvalidStatus as refused:
            return make_refusal(refused.response.status_code, bytes(refused.response.body), request)
        except (WebSocketException, ImportError) as error:
            raise ConnectError(str(error)) from None
        on_sent()
        try:
            first = await self._receive(connection, request)
            while find_type(first) not in ("response.created", *LAST_TYPES):  # of the session, or of the last turn
                first = await self._receive(connection, request)
        except BaseException:
            await _close(connection)
            raise
        if find_type(first) == "error":
            await _close(connection)  # the provider may have closed it
            return _refuse(first, request)
        return self._make_answer(first, connection, request)

    async def _send_frame(self, request: "Request", frame: str) -> "ClientConnection":
        """Send a frame over a connection that is free and still open, or over another one."""
        from websockets.exceptions import ConnectionClosed

        while self._free:
            connection = self._free.pop()
            try:
                await connection.send(frame)
            except ConnectionClosed:
                continue
            return connection
        connection = await connect_upstream(request)
        await connection.send(frame)
        return connection

    async def close(self) -> None:
        """Close all connections."""
        free = self._free
        self._free = []
        await asyncio.gather(*map(_close, free))

    async def _receive(self, connection: "ClientConnection", request: "Request") -> bytes:
        from httpx2 import ReadTimeout, RemoteProtocolError
        from websockets.exceptions import ConnectionClosed

        try:
            async with asyncio.timeout(find_read_timeout(request)):
                return await connection.recv(decode=False)
        except TimeoutError:
            raise ReadTimeout("the WebSocket is silent") from None
        except ConnectionClosed as closed:
            self.close_code = NO_CLOSE_FRAME if closed.rcvd is None else closed.rcvd.code
            raise RemoteProtocolError(f"the WebSocket was closed with code {self.close_code}") from None

    def _make_answer(self, first: bytes, connection: "ClientConnection", request: "Request") -> "Response":
        async def release(is_over: bool) -> None:
            if is_over:
                self._free.append(connection)
            else:
                await _close(connection)

        receive = partial(self._receive, connection, request)
        return make_event_stream(request, first, last_types=LAST_TYPES, receive=receive, release=release)


async def _close(connection: "ClientConnection") -> None:
    with suppress(Exception):
        await connection.close()


def _refuse(event: bytes, request: "Request") -> "Response":
    """Return the answer over HTTP that an event of type `error` stands for."""
    error = find_in(try_parse(event.decode("utf-8", "replace")), "error")
    code = find_in(error, "code")
    status = _STATUS.get(code, 400) if isinstance(code, str) else 400
    return make_refusal(status, to_json({"error": error}), request)


_STATUS = {"invalid_api_key": 401, "model_not_found": 404, "rate_limit_exceeded": 429, "insufficient_quota": 429}
