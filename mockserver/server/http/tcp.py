"""What the system knows of a TCP connection, how fast bytes come and go, and how it is ended at once."""

import asyncio
import select
import socket
import struct
import sys
from typing import Any

from mockserver.delivery.connection import MAX_WRITE
from mockserver.server.limits import Unsent

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ

MAX_DRAINED = 1 << 27  # bytes of a refused request that are read and dropped: a reset would overtake the answer
MAX_BUFFERED = 16_384  # bytes that wait in a connection before nothing more is written
MAX_HELD = 2 * MAX_WRITE  # bytes of an answer that exist before they are written, at most


class FlowControl:
    """Whether a connection is read from, and whether its client takes what is written.

    While it does not, what waits for it counts among the bytes of `max_unsent`.
    """

    def __init__(self, transport: asyncio.Transport, unsent: Unsent) -> None:
        self.read_paused = False
        self.write_paused = False
        self.held = 0  # bytes that it takes of `max_unsent`
        self._transport = transport
        self._unsent = unsent
        self._writable = asyncio.Event()
        self._writable.set()
        transport.set_write_buffer_limits(high=MAX_BUFFERED)

    def pause_reading(self) -> None:
        if not self.read_paused:
            self.read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self.read_paused:
            self.read_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        self._unsent.settle(self, self._transport.get_write_buffer_size() + MAX_HELD)
        self.write_paused = True
        self._writable.clear()

    def resume_writing(self) -> None:
        """Write on, or wake who waits for that, as the client has left."""
        self._unsent.release(self)
        self.write_paused = False
        self._writable.set()

    async def drain(self) -> None:
        """Return when something can be written, or the client has left."""
        await self._writable.wait()


def find_addresses(transport: asyncio.Transport) -> dict[str, Any]:
    """Return the addresses of both ends, and the scheme, as ASGI has them."""
    ours = transport.get_extra_info("sockname")
    theirs = transport.get_extra_info("peername")  # None if the client has left already
    scheme = "http" if transport.get_extra_info("sslcontext") is None else "https"
    return {"server": ours and tuple(ours[:2]), "client": theirs and tuple(theirs[:2]), "scheme": scheme}


def count_unsent(transport: asyncio.Transport) -> int:
    """Return how many bytes were written and have not reached the client, as far as the system reports."""
    waiting = transport.get_write_buffer_size()
    if waiting or sys.platform != "linux" or transport.is_closing():
        return waiting
    return int.from_bytes(ioctl(_get_socket(transport).fileno(), TIOCOUTQ, bytes(4)), sys.byteorder)


def is_abandoned(transport: asyncio.Transport) -> bool:
    """Return whether the client has stopped sending, although bytes may stand unread before its end."""
    if transport.is_closing() or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(_get_socket(transport).fileno(), getattr(select, "POLLRDHUP", 0))
    return bool(poll.poll(0))


def reset(transport: asyncio.Transport) -> None:
    """End the connection by TCP RST; what has not reached the client is lost."""
    if not transport.is_closing():
        _get_socket(transport).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()


def _get_socket(transport: asyncio.Transport) -> socket.socket:
    held: socket.socket = transport.get_extra_info("socket")
    return held
