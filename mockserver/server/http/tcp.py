"""What the system knows of a TCP connection, and how it is ended at once."""

import asyncio
import select
import socket
import struct
import sys

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ

MAX_DRAINED = 1 << 27  # bytes of a refused request that are read and dropped: a reset would overtake the answer


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
