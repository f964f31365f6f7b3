"""Faults of the connection: stalls, slow answers, keep-alives, cuts, resets, wrong lengths and types."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from mockserver.core.action import Action, Cut, FaultContext, Head, Position, RawWrite, Wait, Write, option, position
from mockserver.delivery.faults.positions import (
    HERE,
    Marked,
    from_start,
    marked,
    since,
    with_header,
    with_length,
    with_true_length,
)
from mockserver.delivery.script import comment


@dataclass(frozen=True, slots=True)
class CutShort:
    """End the answer there as if it were complete; a stream lacks its terminator."""

    at: Position = position("before_done")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        return with_true_length(_until(marked(actions, self.at, scene), "end"))


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the connection (FIN) in the middle of the answer."""

    at: Position = position("at_start")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        return _until(from_start(actions, self.at, scene), "close")


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection (TCP RST) after the bytes before it have arrived."""

    at: Position = position("at_start")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        return _until(from_start(actions, self.at, scene), "reset")


@dataclass(frozen=True, slots=True)
class Stall:
    """Send nothing more, for a time or until the client disconnects."""

    at: Position = position("at_start")
    for_: float = option(math.inf, "duration", "how long (default: until the client disconnects)")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        for action in from_start(actions, self.at, scene):
            yield Wait(self.for_) if action is HERE else action


def _until(actions: Marked, how: Literal["end", "close", "reset"]) -> Iterator[Action]:
    for action in actions:
        if action is HERE:
            yield Cut(how)
            return
        yield action


@dataclass(frozen=True, slots=True)
class WrongContentType:
    """Send another Content-Type."""

    type_: str = option("text/plain; charset=utf-8", "media type", "the type to send")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        for action in actions:
            yield with_header(action, "content-type", self.type_) if isinstance(action, Head) else action


@dataclass(frozen=True, slots=True)
class WrongContentLength:
    """Send a Content-Length that is too long or too short."""

    by: int = option(
        10, "difference", "how many bytes more (they never come, and the connection closes) or less (they are excess)"
    )
    for_: float = option(0.0, "duration", "how long to wait before closing")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        known = tuple(actions)
        size = sum(len(action.data) for action in known if isinstance(action, Write))
        stated = max(size + self.by, 0)
        ended = known and isinstance(known[-1], Cut)
        last = known[-1] if ended else Cut("end")
        for action in self._stated(known[:-1] if ended else known, stated):
            yield with_length(action, stated) if isinstance(action, Head) else action
        if stated > size and last == Cut("end"):
            yield from (Wait(self.for_), Cut("close")) if self.for_ else (Cut("close"),)
        elif ended:
            yield last

    def _stated(self, actions: Iterable[Action], size: int) -> Iterator[Action]:
        """The actions, of which only so many bytes stay within the message."""
        left = size
        for action in actions:
            if isinstance(action, Write):
                inside, outside = action.data[:left], action.data[left:]
                left -= len(inside)
                yield replace(action, data=inside)
                if outside:
                    yield RawWrite(outside)
            else:
                yield action


@dataclass(frozen=True, slots=True)
class EmptyBody:
    """Send headers and an empty body."""

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        return with_true_length(self._head(actions))

    def _head(self, actions: Iterable[Action]) -> Iterator[Action]:
        for action in actions:
            yield action
            if isinstance(action, Head):
                yield Cut("end")
                return


TICK = 0.05  # seconds between two pieces, where these are more than a byte
MOST_SIGNS = 100_000  # during one wait

BY_EVENT = ("at_start", "after_frames", "after_tokens", "before_done", "in_tool_arguments")


@dataclass(frozen=True, slots=True)
class Slow:
    """From there on, limit the speed."""

    at: Position = position("at_start")
    bytes_per_second: float = option(20.0, "speed", "the speed")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        for action, past in since(actions, self.at, scene, exact=True):
            if past and isinstance(action, Write):
                yield from self._pieces(action)
            else:
                yield action

    def _pieces(self, write: Write) -> Iterator[Action]:
        size = max(1, int(self.bytes_per_second * TICK))
        for start in range(0, len(write.data), size):
            piece = write.data[start : start + size]
            last = start + size >= len(write.data)
            yield Wait(len(piece) / self.bytes_per_second)
            yield replace(write, data=piece) if last else Write(piece)


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """From there on, send keep-alives: comments before events or during waits; newlines before a plain body."""

    at: Position = position("at_start", among=BY_EVENT)
    every: float | None = option(None, "duration", "the interval during waits (default: before each event)")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        sign = Write(comment("keepalive") if scene.streamed else b"\n")
        ordered = actions if scene.streamed else _head_first(actions)
        return with_true_length(self._alive(since(ordered, self.at, scene), sign))

    def _alive(self, actions: Iterable[tuple[Action, bool]], sign: Write) -> Iterator[Action]:
        for action, past in actions:
            if not past:
                yield action
            elif isinstance(action, Wait) and self.every:
                yield from self._during(action.seconds, self.every, sign)
            elif isinstance(action, Write) and self.every is None:
                yield from (sign, action)
            else:
                yield action

    def _during(self, seconds: float, every: float, sign: Write) -> Iterator[Action]:
        signs = MOST_SIGNS if math.isinf(seconds) else min(math.ceil(seconds / every) - 1, MOST_SIGNS)
        for _ in range(signs):
            yield from (Wait(every), sign)
        yield Wait(seconds - signs * every)


def _head_first(actions: Iterable[Action]) -> Iterator[Action]:
    waits = list[Action]()
    for action in actions:
        if isinstance(action, Head):
            yield from (action, *waits)
            waits = []
        elif waits or isinstance(action, Wait):
            waits.append(action)
        else:
            yield action
    yield from waits
