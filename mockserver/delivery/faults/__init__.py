"""Faults: each turns the actions of an answer into those of an answer that went wrong; FAULTS names them all.

They know actions; of dialects, they know only where answers have their usage.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import tee
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.action import (
    NO_CLOSE_FRAME,
    Action,
    At,
    Cut,
    ErrorFrame,
    Fault,
    FaultContext,
    Faults,
    Flush,
    Head,
    Position,
    RawWrite,
    Settable,
    Wait,
    Write,
)
from mockserver.core.event_stream import MEDIA_TYPE, is_prelude, read_message
from mockserver.core.frames import Frame, write_comment, write_event
from mockserver.core.http import WITHOUT_BODY, Headers, read_media_type
from mockserver.core.json import Json, compact
from mockserver.delivery.faults.positions import (
    HERE,
    FlaggedAction,
    Marked,
    change_writes,
    find_target,
    flag_past,
    mark_behind_head,
    mark_from_start,
    mark_position,
    replace_header,
    state_length,
    state_true_length,
)


def apply_faults(
    actions: Iterable[Action],
    faults: Iterable[Fault],
    error: ErrorFrame,
    *,
    streamed: bool = True,
    live: bool = False,
    head: bool = False,
    on_unchanged: Callable[[], None] = lambda: None,
) -> Iterable[Action]:
    """Return the actions after all faults, each applied to what the one before it yields.

    `head`: only their head counts. `on_unchanged` is called at the end if the faults have changed nothing.
    """
    actions, intact = tee(actions)
    for fault in faults:
        if fault.change_actions is not None:
            random = fault.seed.stream("fault", fault.name)
            actions = fault.change_actions(actions, FaultContext(random, error, streamed=streamed, live=live))
    return _compare_with_intact(_drop_unsendable(actions, head=head), _drop_unsendable(intact, head=head), on_unchanged)


def _compare_with_intact(
    actions: Iterable[Action], intact: Iterator[Action], on_unchanged: Callable[[], None]
) -> Iterator[Action]:
    same = True
    for action in actions:
        if same and action != next(intact, None):
            same = False
            intact = iter(())  # frees what tee holds back
        yield action
    if same and next(intact, None) is None:
        on_unchanged()


def _drop_unsendable(actions: Iterable[Action], *, head: bool) -> Iterator[Action]:
    """Yield the actions without bytes that HTTP does not allow: behind some statuses, and in the answer to HEAD."""
    empty = head
    for action in actions:
        if isinstance(action, Head):
            empty = head or action.status in WITHOUT_BODY
        if not (empty and isinstance(action, Write | RawWrite)):
            yield action


class CutShort(Struct, frozen=True):
    """End the answer there as if it were complete; a stream lacks its terminator."""

    at: At = Position("before_done")

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return state_true_length(_cut_at_mark(mark_position(actions, self.at, context), Cut("end")))


class Disconnect(Struct, frozen=True):
    """Close the connection (FIN) in the middle of the answer."""

    at: At = Position("at_start")
    code: Annotated[int, Settable("close code", "over a WebSocket: the code of the close frame; 1006 sends none")] = (
        NO_CLOSE_FRAME
    )

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return _cut_at_mark(mark_from_start(actions, self.at, context), Cut("close", self.code))


class Reset(Struct, frozen=True):
    """Reset the connection (TCP RST) after the bytes before it have arrived."""

    at: At = Position("at_start")

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return _cut_at_mark(mark_from_start(actions, self.at, context), Cut("reset"))


class Stall(Struct, frozen=True):
    """Send nothing more, for a time or until the client disconnects."""

    at: At = Position("at_start")
    for_: Annotated[float, Settable("duration", "how long (default: until the client disconnects)")] = math.inf

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        for action in mark_from_start(actions, self.at, context):
            yield Wait(self.for_) if action is HERE else action


def _cut_at_mark(actions: Marked, cut: Cut) -> Iterator[Action]:
    for action in actions:
        if action is HERE:
            yield cut
            return
        yield action


class WrongContentType(Struct, frozen=True):
    """Send another Content-Type."""

    type_: Annotated[str, Settable("media type", "the type to send")] = "text/plain; charset=utf-8"

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        for action in actions:
            yield replace_header(action, "content-type", self.type_) if isinstance(action, Head) else action


class WrongContentLength(Struct, frozen=True):
    """Send a Content-Length that is too long or too short."""

    by: Annotated[
        int,
        Settable(
            "difference",
            "how many bytes more (they never come, and the connection closes) or fewer (the rest is excess)",
        ),
    ] = 10
    for_: Annotated[float, Settable("duration", "how long to wait before closing")] = 0.0

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        if context.live:  # nobody knows its length
            yield from actions
            return
        known = tuple(actions)
        size = sum(len(action.data) for action in known if isinstance(action, Write))
        stated = max(size + self.by, 0)
        ended = known and isinstance(known[-1], Cut)
        last = known[-1] if ended else Cut("end")
        for action in self._limit_to_stated_length(known[:-1] if ended else known, stated):
            yield state_length(action, stated) if isinstance(action, Head) else action
        if stated > size and last == Cut("end"):
            yield from (Wait(self.for_), Cut("close")) if self.for_ else (Cut("close"),)
        elif ended:
            yield last

    def _limit_to_stated_length(self, actions: Iterable[Action], size: int) -> Iterator[Action]:
        """Yield the actions, of whose bytes only the first `size` stay within the message."""
        left = size
        for action in actions:
            if isinstance(action, Write):
                inside = action.data[:left]
                outside = action.data[left:]
                left -= len(inside)
                yield replace(action, data=inside)
                if outside:
                    yield RawWrite(outside)
            else:
                yield action


class EmptyBody(Struct, frozen=True):
    """Send headers and an empty body."""

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return state_true_length(_cut_at_mark(mark_behind_head(actions), Cut("end")))


TICK = 0.05  # seconds between two pieces, where these are more than a byte
MAX_SIGNS = 100_000  # during one wait

BY_EVENT = ("at_start", "after_frames", "after_tokens", "before_done", "in_tool_arguments")
AtEvent = Annotated[Position, Settable("position", "", BY_EVENT)]


class Slow(Struct, frozen=True):
    """From there on, limit the speed."""

    at: At = Position("at_start")
    bytes_per_second: Annotated[float, Settable("speed", "the speed")] = 20.0

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return change_writes(flag_past(actions, self.at, context, exact=True), self._limit_speed)

    def _limit_speed(self, write: Write) -> Iterator[Action]:
        size = max(1, int(self.bytes_per_second * TICK))
        for start in range(0, len(write.data), size):
            piece = write.data[start : start + size]
            last = start + size >= len(write.data)
            yield Wait(len(piece) / self.bytes_per_second)
            yield replace(write, data=piece) if last else Write(piece)


class KeepAlive(Struct, frozen=True):
    """From there on, send keep-alives: comments before events or during waits; newlines in JSON."""

    at: AtEvent = Position("at_start")
    every: Annotated[float | None, Settable("duration", "the interval during waits (default: before each event)")] = (
        None
    )

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        sign = Write(write_comment("keepalive") if context.streamed else b"\n")
        ordered = actions if context.streamed else _put_head_first(actions)
        return state_true_length(self._keep_alive(flag_past(ordered, self.at, context), sign))

    def _keep_alive(self, actions: Iterable[FlaggedAction], sign: Write) -> Iterator[Action]:
        silent = False  # in a stream of messages, which has no comments
        for action, past in actions:
            if isinstance(action, Head):
                silent = _has_type(action.headers, MEDIA_TYPE)
            if isinstance(action, Head) and _has_type(action.headers, *_JSON_MEDIA_TYPES):
                sign = Write(b"\n")
            if not past or silent:
                yield action
            elif isinstance(action, Wait) and self.every:
                yield from self._keep_alive_for(action.seconds, self.every, sign)
            elif isinstance(action, Write) and self.every is None:
                yield from (sign, action)
            else:
                yield action

    def _keep_alive_for(self, seconds: float, every: float, sign: Write) -> Iterator[Action]:
        signs = MAX_SIGNS if math.isinf(seconds) else min(math.ceil(seconds / every) - 1, MAX_SIGNS)
        for _ in range(signs):
            yield from (Wait(every), sign)
        yield Wait(seconds - signs * every)


def _has_type(headers: Headers, *media: str) -> bool:
    return any(name == "content-type" and read_media_type(value) in media for name, value in headers)


_JSON_MEDIA_TYPES = ("application/json", "application/x-ndjson")


def _put_head_first(actions: Iterable[Action]) -> Iterator[Action]:
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


Steps = tuple[str, ...]


class ErrorEvent(Struct, frozen=True):
    """Send the provider's error after a 200; it replaces a plain body."""

    at: AtEvent = Position("after_tokens", 1)
    reason: Annotated[str, Settable("reason", "the short form of an error")] = "server_error"

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return state_true_length(self._replace(actions, context))

    def _replace(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        marked = (
            mark_position(actions, self.at, context, exact=False) if context.streamed else mark_behind_head(actions)
        )
        last = b""
        for action in marked:
            if action is HERE:
                frame = context.error(self.reason, last)
                yield Write(write_event(frame), frame=frame) if context.streamed else Write(frame.data)
                yield Cut("end")
                return
            if isinstance(action, Write) and action.frame is not None:
                last = action.data
            yield action


class MissingField(Struct, frozen=True):
    """From there on, remove a field."""

    at: At = Position("at_start")
    field: Annotated[str, Settable("pointer", "the field, as a JSON Pointer; `*` is every item of a list")] = "/id"

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in self.field.removeprefix("/").split("/"))
        return _change_json(flag_past(actions, self.at, context), lambda value: _remove_at(value, steps))


class DropUsage(Struct, frozen=True):
    """Remove `usage`."""

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        others = (FlaggedAction(action, True) for action in actions if not _is_usage(action))
        return _change_json(others, lambda value: _remove_all(value, _USAGE))


_USAGE: tuple[Steps, ...] = (
    ("usage",),
    ("response", "usage"),
    ("message", "usage"),
    ("delta", "usage"),
    ("usageMetadata",),
    ("metadata", "usage"),
    ("amazon-bedrock-invocationMetrics",),
    ("prompt_eval_count",),
    ("eval_count",),
)


def _is_usage(action: Action) -> bool:
    frame = action.frame if isinstance(action, Write) else None
    return isinstance(frame, Frame) and frame.part == "usage"


def _change_json(actions: Iterable[FlaggedAction], change: Callable[[Json], bool]) -> Iterator[Action]:
    """Yield the actions, the JSON of whose Writes was changed in place, where `change` says that it was.

    What stands around JSON stays, and so do Writes without JSON.
    """

    def rewrite(data: bytes) -> bytes:
        start = data.find(b"{")
        end = data.rfind(b"}") + 1
        try:
            value = json.loads(data[start:end])
        except (ValueError, RecursionError):
            return data
        if not change(value):
            return data
        return data[:start] + compact(value).encode("utf-8", "surrogatepass") + data[end:]

    return state_true_length(change_writes(actions, lambda write: (_edit(write, rewrite),)))


def _edit(write: Write, change: Callable[[bytes], bytes]) -> Write:
    """Return the Write with other bytes; a message of Amazon's event streams gets new lengths and checksums."""
    message = read_message(write.data)
    if message is None:
        return replace(write, data=change(write.data))
    changed = change(message.text.encode("utf-8", "surrogateescape"))
    return replace(write, data=message.replace_text(changed.decode("utf-8", "surrogateescape")).write())


def _remove_all(value: Json, fields: Iterable[Steps]) -> bool:
    return sum([_remove_at(value, steps) for steps in fields]) > 0


def _remove_at(value: Json, steps: Steps) -> bool:
    first, *rest = steps
    if isinstance(value, list) and first == "*":
        return _remove_all(value, [(str(at), *rest) for at in reversed(range(len(value)))])
    key: str | int = int(first) if isinstance(value, list) and first.isdecimal() and len(first) < 9 else first
    there = key in value if isinstance(value, dict) else isinstance(key, int) and key < len(value)
    if not there:
        return False
    if rest:
        return _remove_at(value[key], tuple(rest))
    del value[key]
    return True


class WrongChecksum(Struct, frozen=True):
    """Send that message of Amazon's event streams with a wrong checksum; other streams and plain bodies have none."""

    at: At = Position("after_tokens", 1)

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return change_writes(find_target(actions, self.at, context), _spoil_checksum)


def _spoil_checksum(write: Write) -> Iterator[Action]:
    data = write.data
    yield write if read_message(data) is None else replace(write, data=data[:-1] + bytes((data[-1] ^ 0xFF,)))


_PAUSE = "the pause between pieces"


class MalformedJson(Struct, frozen=True):
    """Break the JSON of that event, or of a plain body: its last bracket is missing."""

    at: At = Position("after_tokens", 1)

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        target = find_target(actions, self.at, context)
        return state_true_length(change_writes(target, lambda write: (_edit(write, _drop_last_bracket),)))


def _drop_last_bracket(data: bytes) -> bytes:
    """Return JSON without its last bracket; other data gets a bracket that nothing closes."""
    at = max(data.rfind(b"}"), data.rfind(b"]"))
    return data[:at] + data[at + 1 :] if at >= 0 else b"{" + data


class SplitFrame(Struct, frozen=True):
    """From there on, send each event (or a plain body) in two pieces."""

    at: At = Position("at_start")
    pause: Annotated[float, Settable("duration", _PAUSE)] = 0.01

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return change_writes(
            flag_past(actions, self.at, context), lambda write: _split(write, _find_middle, self.pause)
        )


def _split(write: Write, place: Callable[[bytes], int], pause: float) -> Iterator[Action]:
    """Yield a Write in two pieces, each followed by a pause; a single byte stays whole."""
    at = place(write.data) if len(write.data) > 1 else 0
    if at:
        yield from (Write(write.data[:at]), Flush(), Wait(pause))
        yield from (replace(write, data=write.data[at:]), Flush(), Wait(pause))
    else:
        yield write


def _find_middle(data: bytes) -> int:
    return len(data) // 2


class SplitUtf8(Struct, frozen=True):
    """From there on, split each event in the middle of a multi-byte character, if it has one."""

    at: At = Position("at_start")
    pause: Annotated[float, Settable("duration", _PAUSE)] = 0.01

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        past = flag_past(actions, self.at, context)
        return change_writes(past, lambda write: _split(write, _find_within_character, self.pause))


def _find_within_character(data: bytes) -> int:
    """Return the place behind the first byte of a character that has several; the middle, where none has."""
    if is_prelude(data):  # a message, which has numbers before and after its text
        start = data.find(b"{") + 1
        text = data[start:-4]
    else:
        start = 1
        text = data[1:]
    return next((at for at, byte in enumerate(text, start) if byte & 0xC0 == 0x80), _find_middle(data))


class JoinFrames(Struct, frozen=True):
    """From there on, send several events at once."""

    at: At = Position("at_start")
    count: Annotated[int, Settable("count", "how many")] = 2

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        held = list[Write]()
        for action, past in flag_past(actions, self.at, context):
            if past and isinstance(action, Write) and context.streamed and not context.live:
                held.append(action)
                if len(held) == self.count:
                    yield from (_join_writes(held), Flush())
                    held = []
            elif held and not isinstance(action, Wait | Flush):
                yield from (_join_writes(held), Flush(), action)
                held = []
            else:
                yield action
        yield from (_join_writes(held), Flush()) if held else ()


def _join_writes(writes: Iterable[Write]) -> Write:
    several = tuple(writes)
    frame = next((write.frame for write in reversed(several) if write.frame is not None), None)
    return Write(b"".join(write.data for write in several), sum(write.tokens for write in several), frame)


class Duplicate(Struct, frozen=True):
    """Send that event, or a plain body, twice."""

    at: At = Position("after_tokens", 1)

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return state_true_length(change_writes(find_target(actions, self.at, context), lambda write: (write, write)))


class Reorder(Struct, frozen=True):
    """Swap that event and the next."""

    at: At = Position("after_tokens", 1)

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        first: Write | None = None
        for action, strikes in find_target(actions, self.at, context):
            if strikes and isinstance(action, Write):
                first = action
            elif first is not None and not isinstance(action, Wait | Flush):
                yield from (action, first) if isinstance(action, Write) else (first, action)
                first = None
            else:
                yield action
        yield from () if first is None else (first,)


class Crlf(Struct, frozen=True):
    """From there on, end lines with CR LF."""

    at: At = Position("at_start")

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return state_true_length(change_writes(flag_past(actions, self.at, context), _end_lines_with_crlf))


def _end_lines_with_crlf(write: Write) -> Iterator[Action]:
    data = write.data
    is_message = is_prelude(data)  # a binary message, without lines
    yield write if is_message else replace(write, data=data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


class WrongId(Struct, frozen=True):
    """Answer with the `id` of another message (MCP)."""

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return _change_json((FlaggedAction(action, True) for action in actions), _change_id)


def _change_id(value: Json) -> bool:
    if not isinstance(value, dict) or "method" in value or value.get("id") is None:
        return False
    name = value["id"]
    value["id"] = name + 1 if isinstance(name, int | float) and not isinstance(name, bool) else f"{name}-other"
    return True


class Twice(Struct, frozen=True):
    """Send the answer to a message twice, on a stream (MCP)."""

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        return state_true_length(self._repeat(actions, streamed=context.streamed))

    def _repeat(self, actions: Iterable[Action], *, streamed: bool) -> Iterator[Action]:
        for action in actions:
            if isinstance(action, Head) and not streamed:
                yield replace_header(action, "content-type", "text/event-stream; charset=utf-8")
            elif isinstance(action, Write) and not streamed and action.data:
                event = write_event(Frame(action.data, "message"))
                yield from (replace(action, data=event), Write(event))
            elif isinstance(action, Write) and isinstance(action.frame, Frame) and action.frame.part == "finish":
                yield from (action, action)
            else:
                yield action


class SessionLost(Struct, frozen=True):
    """Refuse the request with a 404, as its session is over (MCP)."""

    def __call__(self, actions: Iterable[Action], context: FaultContext) -> Iterator[Action]:
        yield from actions  # the server itself does it


# Over a WebSocket, where each event is a frame, there is nothing that these could change.
ONLY_OVER_HTTP = frozenset(
    (
        "keepalive",
        "split_frame",
        "split_utf8",
        "join_frames",
        "crlf",
        "wrong_content_type",
        "wrong_content_length",
    )
)

FAULTS: Faults = {
    "cut": CutShort,
    "disconnect": Disconnect,
    "reset": Reset,
    "stall": Stall,
    "slow": Slow,
    "keepalive": KeepAlive,
    "malformed_json": MalformedJson,
    "split_frame": SplitFrame,
    "split_utf8": SplitUtf8,
    "join_frames": JoinFrames,
    "duplicate": Duplicate,
    "reorder": Reorder,
    "crlf": Crlf,
    "wrong_content_type": WrongContentType,
    "wrong_content_length": WrongContentLength,
    "empty_body": EmptyBody,
    "error_event": ErrorEvent,
    "missing_field": MissingField,
    "drop_usage": DropUsage,
    "wrong_id": WrongId,
    "twice": Twice,
    "session_lost": SessionLost,
    "wrong_checksum": WrongChecksum,
}
