"""A clock that goes when the test lets it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False)
class Ring:
    clock: "HandClock"
    when: float
    callback: Callable[[], None]

    def cancel(self) -> None:
        self.clock.alarms.remove(self)


class HandClock:
    """Time that stands still between two calls; `early`: by how much its alarms may ring too early."""

    def __init__(self, *, early: float = 0.0) -> None:
        self.now = 0.0
        self.early = early
        self.alarms: list[Ring] = []
        self.rings = 0

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None], /) -> Ring:
        self.alarms.append(Ring(self, when, callback))
        return self.alarms[-1]

    def step(self) -> None:
        """Go on to the next alarm; one that is set to ring at once by one that rang too early rings in time."""
        ring = min(self.alarms, key=lambda alarm: alarm.when)
        moment = ring.when - self.early
        self._ring(ring, moment if moment > self.now else max(ring.when, self.now))

    def go(self, until: float) -> None:
        while self.alarms and min(alarm.when for alarm in self.alarms) <= until:
            self.step()
        self.now = max(self.now, until)

    def _ring(self, ring: Ring, now: float) -> None:
        self.now = now
        self.alarms.remove(ring)
        self.rings += 1
        ring.callback()
