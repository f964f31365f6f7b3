"""Accept connections as fast as they come."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

AT_ONCE = 1000  # connections that are accepted in one turn of the loop


class Acceptor:
    """Accepts the connections that wait at a listener, beside the server that listens there.

    uvloop accepts one in each turn of the loop. A turn of a busy server is long, and the system drops connections that
    wait in great numbers: their clients try again after seconds.
    """

    def __init__(self, listener: socket.socket, make_protocol: Callable[[], asyncio.Protocol]) -> None:
        self._make_protocol = make_protocol
        self._listener = listener.dup()  # a loop takes each file once
        self._listener.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._beginning = set[asyncio.Task[object]]()
        with suppress(NotImplementedError):  # on Windows
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def close(self) -> None:
        with suppress(NotImplementedError):
            self._loop.remove_reader(self._listener.fileno())
        self._listener.close()

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                accepted, _ = self._listener.accept()
            except OSError:  # the server accepted it
                return
            accepted.setblocking(False)
            task = self._loop.create_task(self._loop.connect_accepted_socket(self._make_protocol, accepted))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)
