"""Accept connections as fast as they come, on uvloop."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

AT_ONCE = 1000  # connections that are accepted in one turn of the loop


class Acceptor:
    """Makes the protocols of a server's connections; whenever its loop has accepted one, it accepts all others.

    uvloop accepts one in each turn. A turn of a busy loop is long, and the system drops connections that wait in great
    numbers: their clients try again after seconds.
    """

    def __init__(self, listeners: Sequence[socket.socket], make_protocol: Callable[..., asyncio.Protocol]) -> None:
        self._listeners, self._make_protocol = listeners, make_protocol
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
            for _ in range(AT_ONCE):
                try:
                    accepted, _ = listener.accept()
                except OSError:  # none is left, or no more files may be open, of which the loop takes care
                    break
                task = loop.create_task(loop.connect_accepted_socket(make_protocol, accepted))
                self._openings.add(task)
                task.add_done_callback(self._openings.discard)
