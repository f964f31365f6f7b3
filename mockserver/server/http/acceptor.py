"""Accept connections as fast as they come, on uvloop."""

import asyncio
import socket
from collections.abc import Callable

AT_ONCE = 1000  # connections that are accepted in one turn of the loop


class Acceptor:
    """Accepts the connections that wait at a listener, beside the server that listens there.

    uvloop's server accepts one in each turn of the loop. A turn of a busy loop is long, and the system drops
    connections that wait in great numbers: their clients try again after seconds.
    """

    def __init__(self, listener: socket.socket, make_protocol: Callable[[], asyncio.Protocol]) -> None:
        self._make_protocol = make_protocol
        self._listener = listener.dup()  # a loop watches each file once
        self._loop = asyncio.get_running_loop()
        self._openings = set[asyncio.Task[object]]()
        self._loop.add_reader(self._listener.fileno(), self._accept)

    def close(self) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._listener.close()

    async def wait_closed(self) -> None:
        """Return at once: `close` leaves nothing open."""

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                accepted, _ = self._listener.accept()
            except OSError:  # none is left, or no more files may be open, of which the server takes care
                return
            task = self._loop.create_task(self._loop.connect_accepted_socket(self._make_protocol, accepted))
            self._openings.add(task)
            task.add_done_callback(self._openings.discard)
