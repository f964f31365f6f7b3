"""Slots for work: so many requests of a namespace have one at once, the others wait in order of arrival.

Knows neither what the work is nor what is said to those who may not even wait.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from mockserver.core.rates import Limits

_Place = asyncio.Future[None]  # in the queue


class CrowdedError(Exception):
    """A request may not wait for a slot, or no longer."""


class GoneError(Exception):
    """The client has left while its request waited for a slot."""


@dataclass(slots=True)
class Slots:
    """Who is at work and who waits, in each namespace; `limits` may change meanwhile."""

    limits: Limits
    _at_work: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, dict[_Place, None]] = field(default_factory=dict)  # in order of arrival

    def begin(self, namespace: str) -> bool:
        """Take a slot if one is free and nobody waits for it; `end` gives it back."""
        count = self._at_work.get(namespace, 0)
        if count >= self._most() or namespace in self._waiting:
            return False
        self._at_work[namespace] = count + 1
        return True

    def full(self, namespace: str) -> bool:
        """Whether a request that comes now may not even wait."""
        if self._at_work.get(namespace, 0) < self._most() and namespace not in self._waiting:
            return False
        return len(self._waiting.get(namespace, ())) >= self.limits.queue

    async def wait(self, namespace: str, gone: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for a slot behind those who wait already; `end` gives it back.

        Raises CrowdedError and GoneError (`gone()` is over), and then there is no slot to give back.
        """
        if self.begin(namespace):  # one has become free since the caller asked
            return
        if self.full(namespace):
            raise CrowdedError
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(namespace, {})[place] = None
        left = asyncio.create_task(gone())
        try:
            await asyncio.wait({place, left}, timeout=self.limits.patience, return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                raise GoneError
            if not place.done():
                raise CrowdedError
        except BaseException:
            self._give_up(namespace, place)
            raise
        finally:
            left.cancel()

    def end(self, namespace: str) -> None:
        """Give a slot back, to whoever has waited longest."""
        count = self._at_work[namespace] - 1
        waiting = self._waiting.get(namespace)
        while waiting and count < self._most():
            place = next(iter(waiting))
            self._forget(namespace, place)
            place.set_result(None)
            count += 1
        if count:
            self._at_work[namespace] = count
        else:
            del self._at_work[namespace]

    def _give_up(self, namespace: str, place: _Place) -> None:
        """Leave the queue, or give back the slot that came just then."""
        if place.done():
            self.end(namespace)
        else:
            self._forget(namespace, place)

    def _forget(self, namespace: str, place: _Place) -> None:
        waiting = self._waiting[namespace]
        del waiting[place]
        if not waiting:
            del self._waiting[namespace]

    def _most(self) -> float:
        return math.inf if self.limits.concurrent is None else self.limits.concurrent
