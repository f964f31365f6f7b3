"""Bytes that come otherwise than a client may expect: broken, in other pieces, twice, out of order."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from mockserver.core.action import Action, Cut, FaultContext, Flush, Head, Position, Wait, Write, option, position
from mockserver.core.http import Frame
from mockserver.core.json import Json, compact
from mockserver.delivery.faults.connection import BY_EVENT
from mockserver.delivery.faults.positions import HERE, marked, since, with_target, with_true_length
from mockserver.delivery.script import sse

Steps = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """Send the provider's error after a 200; it replaces a plain body."""

    at: Position = position("after_tokens", 1, among=BY_EVENT)
    reason: str = option("server_error", "reason", "the short form of an error")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        told = self._in_stream if scene.streamed else self._in_place
        return with_true_length(told(actions, scene))

    def _in_stream(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        frames = 0
        for action in marked(actions, self.at, scene, exact=False):
            if action is HERE:
                frame = scene.error(self.reason, frames)
                yield from (Write(sse(frame), frame=frame), Cut("end"))
                return
            frames += isinstance(action, Write) and action.frame is not None
            yield action

    def _in_place(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        for action in actions:
            yield action
            if isinstance(action, Head):
                yield from (Write(scene.error(self.reason, 0).data), Cut("end"))
                return


@dataclass(frozen=True, slots=True)
class MissingField:
    """From there on, remove a field."""

    at: Position = position("at_start")
    field: str = option("/id", "pointer", "the field, as a JSON Pointer; `*` is every item of a list")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in self.field.removeprefix("/").split("/"))
        return with_true_length(_changed(since(actions, self.at, scene), lambda value: _removed(value, steps)))


@dataclass(frozen=True, slots=True)
class DropUsage:
    """Remove `usage`."""

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        told = ((action, True) for action in actions if not _is_usage(action))
        return with_true_length(_changed(told, lambda value: _all_removed(value, _USAGE)))


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
    return sum([_removed(value, steps) for steps in fields]) > 0


def _removed(value: Json, steps: Steps) -> bool:
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


_PAUSE = "the pause between pieces"


@dataclass(frozen=True, slots=True)
class MalformedJson:
    """Break the JSON of that event, or of a plain body: its last bracket is missing."""

    at: Position = position("after_tokens", 1)

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        strikes = with_target(actions, self.at, scene)
        return with_true_length(_opened(action) if struck else action for action, struck in strikes)


@dataclass(frozen=True, slots=True)
class SplitFrame:
    """From there on, send each event (or a plain body) in two pieces."""

    at: Position = position("at_start")
    pause: float = option(0.01, "duration", _PAUSE)

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        return _split(since(actions, self.at, scene), _middle, self.pause)


@dataclass(frozen=True, slots=True)
class SplitUtf8:
    """The same, split within a multi-byte character if there is one."""

    at: Position = position("at_start")
    pause: float = option(0.01, "duration", _PAUSE)

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        return _split(since(actions, self.at, scene), _in_character, self.pause)


@dataclass(frozen=True, slots=True)
class JoinFrames:
    """From there on, send several events at once."""

    at: Position = position("at_start")
    count: int = option(2, "count", "how many")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        held = list[Write]()
        for action, past in since(actions, self.at, scene):
            if past and isinstance(action, Write) and scene.streamed:
                held.append(action)
                if len(held) == self.count:
                    yield from (_joined(held), Flush())
                    held = []
            elif held and not isinstance(action, Wait | Flush):
                yield from (_joined(held), Flush(), action)
                held = []
            else:
                yield action
        yield from (_joined(held), Flush()) if held else ()


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Send that event, or a plain body, twice."""

    at: Position = position("after_tokens", 1)

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        return with_true_length(
            each
            for action, strikes in with_target(actions, self.at, scene)
            for each in ((action, action) if strikes else (action,))
        )


@dataclass(frozen=True, slots=True)
class Reorder:
    """Swap that event and the next."""

    at: Position = position("after_tokens", 1)

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        first: Write | None = None
        for action, strikes in with_target(actions, self.at, scene):
            if strikes and isinstance(action, Write):
                first = action
            elif first is not None and not isinstance(action, Wait | Flush):
                yield from (action, first) if isinstance(action, Write) else (first, action)
                first = None
            else:
                yield action
        yield from () if first is None else (first,)


@dataclass(frozen=True, slots=True)
class Crlf:
    """From there on, end lines with CR LF."""

    at: Position = position("at_start")

    def __call__(self, actions: Iterable[Action], scene: FaultContext) -> Iterator[Action]:
        return with_true_length(
            replace(action, data=action.data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
            if past and isinstance(action, Write)
            else action
            for action, past in since(actions, self.at, scene)
        )


def _opened(action: Action) -> Action:
    """A Write without its last bracket; one that has none gets one that nothing closes."""
    if not isinstance(action, Write):
        return action
    at = max(action.data.rfind(b"}"), action.data.rfind(b"]"))
    return replace(action, data=action.data[:at] + action.data[at + 1 :] if at >= 0 else b"{" + action.data)


def _split(actions: Iterable[tuple[Action, bool]], place: Callable[[bytes], int], pause: float) -> Iterator[Action]:
    for action, past in actions:
        if past and isinstance(action, Write) and len(action.data) > 1:
            at = place(action.data)
            yield from (Write(action.data[:at]), Flush(), Wait(pause), replace(action, data=action.data[at:]))
            yield from (Flush(), Wait(pause))
        else:
            yield action


def _middle(data: bytes) -> int:
    return len(data) // 2


def _in_character(data: bytes) -> int:
    """Behind the first byte of the first character that has several; the middle, where none has."""
    return next((at for at, byte in enumerate(data[1:], start=1) if byte & 0xC0 == 0x80), _middle(data))


def _joined(writes: Iterable[Write]) -> Write:
    several = tuple(writes)
    frame = next((write.frame for write in reversed(several) if write.frame is not None), None)
    return Write(b"".join(write.data for write in several), sum(write.tokens for write in several), frame)
