"""What a transport does not tell of the socket beneath it."""

import asyncio
import select
import socket
import struct
import sys

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ


def unsent(transport: asyncio.Transport) -> int:
    """How many bytes were written and have not reached the client, as far as this system tells."""
    waiting = transport.get_write_buffer_size()
    if waiting or sys.platform != "linux" or transport.is_closing():
        return waiting
    return int.from_bytes(ioctl(_socket(transport).fileno(), TIOCOUTQ, bytes(4)), sys.byteorder)


def abandoned(transport: asyncio.Transport) -> bool:
    """Whether the client has stopped sending, although bytes may stand unread before its end."""
    if transport.is_closing() or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(_socket(transport).fileno(), getattr(select, "POLLRDHUP", 0))
    return bool(poll.poll(0))


def reset(transport: asyncio.Transport) -> None:
    """End the connection by TCP RST; what has not reached the client is lost."""
    if not transport.is_closing():
        _socket(transport).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()


def _socket(transport: asyncio.Transport) -> socket.socket:
    held: socket.socket = transport.get_extra_info("socket")
    return held
