"""Answers that end before they are whole, or that do not go on."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from mockserver.core.action import Action, Cut, Scene, Wait
from mockserver.core.faults import Position, option, position
from mockserver.delivery.faults.length import truthful
from mockserver.delivery.faults.places import HERE, Marked, early, marked


@dataclass(frozen=True, slots=True)
class CutShort:
    """The answer ends there in good order, as if it were whole: without the terminator of a stream."""

    at: Position = position("before_done")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions up to the position."""
        return truthful(_until(marked(actions, self.at, scene), "end"))


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The connection is closed there (FIN), in the middle of the answer."""

    at: Position = position("at_start")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions up to the position."""
        return _until(early(actions, self.at, scene), "close")


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset there (TCP RST), once what was sent before has arrived."""

    at: Position = position("at_start")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions up to the position."""
        return _until(early(actions, self.at, scene), "reset")


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing more comes from there on, for a time or until the client leaves."""

    at: Position = position("at_start")
    for_: float = option(math.inf, "duration", "how long; absent: until the client leaves")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions with a wait among them."""
        for action in early(actions, self.at, scene):
            yield Wait(self.for_) if action is HERE else action


def _until(actions: Marked, how: Literal["end", "close", "reset"]) -> Iterator[Action]:
    for action in actions:
        if action is HERE:
            yield Cut(how)
            return
        yield action
