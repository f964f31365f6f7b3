"""Finds positions among actions: a mark is put where a fault begins, at most once, as the answer is being made.

A stream is looked at frame by frame, and never kept; a plain body is one Write and has all its places known at once.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import chain
from typing import Literal, NamedTuple

from msgspec.structs import replace

from mockserver.core.action import Action, Cut, FaultContext, Head, Position, RawWrite, Wait, Write
from mockserver.core.frames import Frame
from mockserver.core.http import Headers

LENGTH = "content-length"


def state_true_length(actions: Iterable[Action]) -> Iterator[Action]:
    """Yield the actions, whose head states the body's new length if it stated one; a cut body keeps the old promise."""
    coming = iter(actions)
    for action in coming:
        promised = find_stated_length(action.headers) if isinstance(action, Head) else None
        if isinstance(action, Head) and promised is not None:
            rest = tuple(coming)
            size = sum(len(each.data) for each in rest if isinstance(each, Write))
            whole = not any(map(_is_broken, rest))
            yield state_length(action, size if whole else max(size, promised))
            yield from rest
        else:
            yield action


def find_stated_length(headers: Headers) -> int | None:
    """Return the length that the headers promise; None if they promise none that can be read."""
    stated = next((value for name, value in headers if name.lower() == LENGTH), "")
    return int(stated) if stated.isdecimal() else None


def state_length(head: Head, size: int) -> Head:
    """Return the head with this Content-Length, in bytes."""
    return replace_header(head, LENGTH, str(size))


def replace_header(head: Head, wanted: str, value: str) -> Head:
    """Return the head with this value of a header, whose name is in lower case."""
    headers = tuple((name, value if name.lower() == wanted else old) for name, old in head.headers)
    there = any(name.lower() == wanted for name, _ in headers)
    return replace(head, headers=headers if there else (*headers, (wanted, value)))


def _is_broken(action: Action) -> bool:
    match action:
        case Cut(how):
            return how != "end"
        case Wait(seconds):
            return math.isinf(seconds)
    return isinstance(action, RawWrite)


BYTES_OF_TOKEN = 4  # of a body that does not say how many tokens it has


class Mark(Enum):
    """Stands among actions where a fault begins."""

    HERE = "here"


HERE: Literal[Mark.HERE] = Mark.HERE
Marked = Iterator[Action | Literal[Mark.HERE]]


class FlaggedAction(NamedTuple):
    """An action, and whether it is one that the fault is for."""

    action: Action
    flag: bool


def mark_position(actions: Iterable[Action], at: Position, context: FaultContext, *, exact: bool = True) -> Marked:
    """Return the actions, with HERE at the position if they reach it; it parts a Write only if it must be `exact`."""
    if at.where == "at_start":
        return mark_behind_head(actions)
    if not context.streamed:
        return _mark_in_body(tuple(actions), at, exact=exact)
    if context.live and at.where == "before_done":
        return _mark_before_finish(actions)
    return _IN_STREAM[at.where](actions, at.count, exact)


def flag_past(
    actions: Iterable[Action], at: Position, context: FaultContext, *, exact: bool = False
) -> Iterator[FlaggedAction]:
    """Yield each action; flagged are those behind the position."""
    past = False
    for action in mark_position(actions, at, context, exact=exact):
        if action is HERE:
            past = True
        else:
            yield FlaggedAction(action, past)


def find_target(actions: Iterable[Action], at: Position, context: FaultContext) -> Iterator[FlaggedAction]:
    """Yield each action; flagged is the first Write behind the position."""
    done = False
    for action, past in flag_past(actions, at, context):
        strikes = past and not done and isinstance(action, Write)
        done = done or strikes
        yield FlaggedAction(action, strikes)


def change_writes(actions: Iterable[FlaggedAction], change: Callable[[Write], Iterable[Action]]) -> Iterator[Action]:
    """Yield the actions with what `change` returns in place of each flagged Write."""
    for action, flag in actions:
        if flag and isinstance(action, Write):
            yield from change(action)
        else:
            yield action


def mark_from_start(actions: Iterable[Action], at: Position, context: FaultContext) -> Marked:
    """Mark a position as `mark_position` does, but the start is before the head: nothing at all is sent before it."""
    return chain((HERE,), actions) if at.where == "at_start" else mark_position(actions, at, context)


def mark_behind_head(actions: Iterable[Action]) -> Marked:
    """Yield the actions, with HERE behind their head."""
    for action in actions:
        yield action
        if isinstance(action, Head):
            yield HERE


def _mark_after_count(actions: Iterable[Action], count: int, weight: Callable[[Write], int]) -> Marked:
    left = count
    met = False
    for action in actions:
        yield action
        if isinstance(action, Write):
            left -= weight(action)
        if not met and left <= 0 and isinstance(action, Head | Write):
            met = True
            yield HERE


def _mark_after_bytes(actions: Iterable[Action], count: int, exact: bool) -> Marked:
    left = count
    met = False
    for action in actions:
        size = len(action.data) if isinstance(action, Write) else 0
        if isinstance(action, Write) and not met and (left < size or (left == size and exact)):
            met = True
            yield from _split_write(action, left if exact else 0)
            continue
        left -= size
        yield action
        if isinstance(action, Head) and not left:
            met = True
            yield HERE


def _split_write(write: Write, at: int) -> Marked:
    """Return the Write in two, and the mark between them; its frame is whole when the second part is out."""
    if 0 < at < len(write.data):
        yield from (Write(write.data[:at]), HERE, replace(write, data=write.data[at:]))
    else:
        yield from (HERE, write) if at <= 0 else (write, HERE)


def _mark_before_done(actions: Iterable[Action], _count: int, _exact: bool) -> Marked:
    """Yield the mark before the last frame, or before the first of those that end the stream."""
    held = list[Action]()  # the latest frame, and what led to it; then those that end the stream
    for action in actions:
        if isinstance(action, Cut):
            held.append(action)
            break
        if (
            _is_whole_frame(action)
            and any(map(_is_whole_frame, held))
            and not (_ends(action) and any(map(_ends, held)))
        ):
            ends = max(at for at, one in enumerate(held) if _is_whole_frame(one)) + 1
            yield from held[:ends]
            held = held[ends:]
        held.append(action)
    first = next((at for at, action in enumerate(held) if isinstance(action, Write)), len(held))
    yield from (*held[:first], HERE, *held[first:])


def _mark_before_finish(actions: Iterable[Action]) -> Marked:
    """Yield the mark before the frame that says it is the last one."""
    for action in actions:
        if isinstance(action, Write) and isinstance(action.frame, Frame) and action.frame.part == "finish":
            yield HERE
        yield action


def _is_whole_frame(action: Action) -> bool:
    return isinstance(action, Write) and action.frame is not None


def _ends(action: Action) -> bool:
    frame = action.frame if isinstance(action, Write) else None
    return isinstance(frame, Frame) and frame.part == "end"


def _mark_in_tool_arguments(actions: Iterable[Action], _count: int, exact: bool) -> Marked:
    """Find the place between two pieces of arguments; inside the one that is alone, or before it."""
    held = list[Action]()  # the first piece and what stands behind it
    met = False
    for action in actions:
        if held and isinstance(action, Write):
            met = True
            alone = not _is_piece(action)
            first, *rest = held
            held = []
            if isinstance(first, Write) and alone:
                yield from (*_split_write(first, _find_middle_of_arguments(first.data) if exact else 0), *rest, action)
            else:
                yield from (first, HERE, *rest, action)
        elif held or (not met and _is_piece(action)):
            held.append(action)
        else:
            yield action
    yield from held


def _is_piece(action: Action) -> bool:
    frame = action.frame if isinstance(action, Write) else None
    return isinstance(frame, Frame) and frame.part == "arguments" and frame.tokens > 0


def _find_middle_of_arguments(data: bytes) -> int:
    """Return the middle of the arguments in the JSON of a frame or a body; else of all of it."""
    found = _ARGUMENTS.search(data)
    return sum(found.span(found.lastgroup or 0)) // 2 if found else len(data) // 2


def _mark_in_body(actions: tuple[Action, ...], at: Position, *, exact: bool) -> Marked:
    writes = [action for action in actions if isinstance(action, Write)]
    body = b"".join(write.data for write in writes)
    offset = _find_offset(at, body, sum(write.tokens for write in writes))
    if offset is None or (not exact and at.where == "after_frames" and at.count):
        return iter(actions)
    return _mark_after_bytes(actions, offset, True) if exact else mark_behind_head(actions)


def _find_offset(at: Position, body: bytes, tokens: int) -> int | None:
    size = len(body)
    match at.where:
        case "after_bytes":
            offset = at.count
        case "after_frames":
            offset = size * at.count if size else at.count
        case "after_tokens":
            offset = size * at.count // tokens if tokens else at.count * BYTES_OF_TOKEN
        case "in_tool_arguments":
            offset = _find_middle_of_arguments(body) if _ARGUMENTS.search(body) else size + 1
        case _:
            offset = max(len(body.rstrip()) - 1, 0)  # a line feed at the end would not be missed
    return offset if offset <= size else None


# The arguments of a call as the provider writes them: a JSON string, or a table.
_ARGUMENTS = re.compile(
    rb'"(?:arguments|input|delta|partial_json)":"(?P<text>(?:[^"\\]|\\.)+)"|"(?:input|args|arguments)":\s*\{(?P<table>[^}]+)\}',
    re.DOTALL,
)

# By kind of position: the actions, how much stands before it, and whether it must be met to the byte.
_IN_STREAM: Mapping[str, Callable[[Iterable[Action], int, bool], Marked]] = {
    "after_frames": lambda actions, count, _: _mark_after_count(
        actions, count, lambda write: int(write.frame is not None)
    ),
    "after_tokens": lambda actions, count, _: _mark_after_count(actions, count, lambda write: write.tokens),
    "after_bytes": _mark_after_bytes,
    "before_done": _mark_before_done,
    "in_tool_arguments": _mark_in_tool_arguments,
}
