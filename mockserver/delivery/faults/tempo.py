"""Answers that come slowly, or with signs of life in between."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mockserver.core.action import Action, Head, Scene, Wait, Write
from mockserver.core.faults import Position, option, position
from mockserver.delivery.faults.length import truthful
from mockserver.delivery.faults.places import since
from mockserver.delivery.script import comment

TICK = 0.05  # seconds between two pieces, where these are more than a byte
MOST_SIGNS = 100_000  # during one wait

BY_EVENT = ("at_start", "after_frames", "after_tokens", "before_done", "in_tool_arguments")


@dataclass(frozen=True, slots=True)
class Slow:
    """From there on, bytes come no faster than this."""

    at: Position = position("at_start")
    bytes_per_second: float = option(20.0, "speed", "how fast")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions, whose bytes come piece by piece."""
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
    """From there on, signs of life: comments before each event or during waits; newlines before a plain body."""

    at: Position = position("at_start", among=BY_EVENT)
    every: float | None = option(None, "duration", "a sign as often as this during waits; absent: before each event")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions with comments or white space between them."""
        sign = Write(comment("keepalive") if scene.streamed else b"\n")
        ordered = actions if scene.streamed else _head_first(actions)
        return truthful(self._alive(since(ordered, self.at, scene), sign))

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
    """The head before the waits that stand before it."""
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
