"""The socket beneath a transport, over real sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mockserver.server.http import connection_deadlines


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[asyncio.Transport, socket.socket]]:
    """A transport and the client at its other end, which reads nothing by itself."""
    made = asyncio.get_running_loop().create_future()

    class Protocol(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.set_result(transport)

    server = await asyncio.get_running_loop().create_server(Protocol, "127.0.0.1", 0)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(server.sockets[0].getsockname())
        transport = await made
        yield transport, client
        transport.abort()
    server.close()


async def test_what_a_client_has_not_taken_is_unsent() -> None:
    async with connected() as (transport, client):
        assert connection_deadlines.unsent(transport) == 0
        transport.write(b"x" * 1_000_000)
        assert connection_deadlines.unsent(transport) > 500_000
        client.settimeout(10)
        while connection_deadlines.unsent(transport):
            await asyncio.to_thread(client.recv, 65536)


async def test_who_stops_sending_is_seen_before_all_is_read() -> None:
    async with connected() as (transport, client):
        transport.pause_reading()
        client.sendall(b"unread")
        assert not connection_deadlines.abandoned(transport)
        client.shutdown(socket.SHUT_WR)
        assert connection_deadlines.abandoned(transport)


async def test_a_reset_is_one() -> None:
    async with connected() as (transport, client):
        connection_deadlines.reset(transport)
        connection_deadlines.reset(transport)  # and once is enough
        await asyncio.sleep(0)
        with pytest.raises(ConnectionResetError):
            await asyncio.to_thread(client.recv, 1)
        assert not connection_deadlines.abandoned(transport)
