"""Heads that do not tell the truth of what follows, or that nothing follows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mockserver.core.action import Action, Cut, Head, Scene, Spill, Wait, Write
from mockserver.core.faults import option
from mockserver.delivery.faults.length import truthful, with_header, with_length


@dataclass(frozen=True, slots=True)
class WrongContentType:
    """The answer says that it is of another type."""

    type_: str = option("text/plain; charset=utf-8", "media type", "the type that it states")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions with another head."""
        for action in actions:
            yield with_header(action, "content-type", self.type_) if isinstance(action, Head) else action


@dataclass(frozen=True, slots=True)
class WrongContentLength:
    """The answer says that it is longer or shorter than it is."""

    by: int = option(
        10, "difference", "how many bytes more: these never come, and the connection closes; or less: these spill"
    )
    for_: float = option(0.0, "duration", "how long the connection stays open for bytes that do not come")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions with a length in their head that is not theirs."""
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
                    yield Spill(outside)
            else:
                yield action


@dataclass(frozen=True, slots=True)
class EmptyBody:
    """The answer has a head, and nothing in it."""

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions without their bytes, and without what would come between these."""
        return truthful(self._head(actions))

    def _head(self, actions: Iterable[Action]) -> Iterator[Action]:
        for action in actions:
            yield action
            if isinstance(action, Head):
                yield Cut("end")
                return
