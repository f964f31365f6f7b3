"""Answers that say something else: an error after all, or less than they should."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from mockserver.core.action import Action, Cut, Head, Scene, Write
from mockserver.core.call import Json
from mockserver.core.faults import Position, option, position
from mockserver.core.http import Frame
from mockserver.core.json_text import compact
from mockserver.delivery.faults.length import truthful
from mockserver.delivery.faults.places import HERE, marked, since
from mockserver.delivery.faults.tempo import BY_EVENT
from mockserver.delivery.script import sse

Steps = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """After the status of a success an error follows, as the provider tells it; in place of a plain body."""

    at: Position = position("after_tokens", 1, among=BY_EVENT)
    reason: str = option("server_error", "reason", "the short form of an error")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions up to the position, then the error."""
        told = self._in_stream if scene.streamed else self._in_place
        return truthful(told(actions, scene))

    def _in_stream(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        frames = 0
        for action in marked(actions, self.at, scene, exact=False):
            if action is HERE:
                frame = scene.error(self.reason, frames)
                yield from (Write(sse(frame), frame=frame), Cut("end"))
                return
            frames += isinstance(action, Write) and action.frame is not None
            yield action

    def _in_place(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        for action in actions:
            yield action
            if isinstance(action, Head):
                yield from (Write(scene.error(self.reason, 0).data), Cut("end"))
                return


@dataclass(frozen=True, slots=True)
class MissingField:
    """From there on, a field is not there."""

    at: Position = position("at_start")
    field: str = option("/id", "pointer", "which one, as a JSON Pointer; `*` stands for every item of a list")

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions, the JSON in whose Writes lacks the field."""
        steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in self.field.removeprefix("/").split("/"))
        return truthful(_changed(since(actions, self.at, scene), lambda value: _removed(value, steps)))


@dataclass(frozen=True, slots=True)
class DropUsage:
    """The tokens that the answer took are not told."""

    def __call__(self, actions: Iterable[Action], scene: Scene) -> Iterator[Action]:
        """The actions without usage, and without the event that tells nothing else."""
        told = ((action, True) for action in actions if not _is_usage(action))
        return truthful(_changed(told, lambda value: _all_removed(value, _USAGE)))


_USAGE: tuple[Steps, ...] = (("usage",), ("response", "usage"))


def _is_usage(action: Action) -> bool:
    frame = action.frame if isinstance(action, Write) else None
    return isinstance(frame, Frame) and frame.part == "usage"


def _changed(actions: Iterable[tuple[Action, bool]], change: Callable[[Json], bool]) -> Iterator[Action]:
    """The actions, the JSON of whose Writes has been changed in place, where `change` says that it was."""
    for action, wanted in actions:
        yield _rewritten(action, change) if wanted and isinstance(action, Write) else action


def _rewritten(write: Write, change: Callable[[Json], bool]) -> Write:
    """The Write with other JSON in it; what stands around that, and what is no JSON, stays."""
    start, end = write.data.find(b"{"), write.data.rfind(b"}") + 1
    try:
        value = json.loads(write.data[start:end])
    except (ValueError, RecursionError):
        return write
    if not change(value):
        return write
    return replace(write, data=write.data[:start] + compact(value).encode("utf-8", "surrogatepass") + write.data[end:])


def _all_removed(value: Json, fields: Iterable[Steps]) -> bool:
    """Whether any of the fields was there; none is any more."""
    return sum([_removed(value, steps) for steps in fields]) > 0


def _removed(value: Json, steps: Steps) -> bool:
    """Whether the field was there, and is not any more."""
    first, *rest = steps
    if isinstance(value, list) and first == "*":
        return _all_removed(value, [(str(at), *rest) for at in reversed(range(len(value)))])
    key: str | int = int(first) if isinstance(value, list) and first.isdecimal() and len(first) < 9 else first
    there = key in value if isinstance(value, dict) else isinstance(key, int) and key < len(value)
    if not there:
        return False
    if rest:
        return _removed(value[key], tuple(rest))
    del value[key]
    return True
