"""Faults: each turns the actions of an answer into those of an answer that went wrong.

The table at the bottom names them all; a rule says which of them befall its answers. They know actions, no dialect.
"""

from collections.abc import Iterable, Iterator

from mockserver.core.action import Action, ErrorFrame, Fault, FaultContext, Faults, Head, RawWrite, Write
from mockserver.delivery.faults.body import (
    Crlf,
    DropUsage,
    Duplicate,
    ErrorEvent,
    JoinFrames,
    MalformedJson,
    MissingField,
    Reorder,
    SplitFrame,
    SplitUtf8,
)
from mockserver.delivery.faults.connection import (
    CutShort,
    Disconnect,
    EmptyBody,
    KeepAlive,
    Reset,
    Slow,
    Stall,
    WrongContentLength,
    WrongContentType,
)
from mockserver.delivery.script import WITHOUT_BODY


def apply_faults(  # size: what is bent, and what it belongs to
    actions: Iterable[Action], faults: Iterable[Fault], error: ErrorFrame, *, streamed: bool = True, head: bool = False
) -> Iterable[Action]:
    """The actions after all faults, of which each bends what the one before it left; `head`: only their head counts."""
    for fault in faults:
        if fault.bend is not None:
            actions = fault.bend(actions, FaultContext(fault.seed.stream("fault", fault.name), error, streamed))
    return _sendable(actions, head=head)


def _sendable(actions: Iterable[Action], *, head: bool) -> Iterator[Action]:
    """The actions without bytes that HTTP does not allow: behind some statuses, and in the answer to HEAD."""
    empty = head
    for action in actions:
        if isinstance(action, Head):
            empty = head or action.status in WITHOUT_BODY
        if not (empty and isinstance(action, Write | RawWrite)):
            yield action


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
}
