"""Answers to change, as actions: a stream of five frames, a plain body, and what faults make of them."""

from collections.abc import Iterable
from typing import Any

from mockserver.core.action import Action, Cut, FaultContext, Flush, Head, RawWrite, Wait, Write
from mockserver.core.frames import Frame, write_event
from mockserver.core.json import compact
from mockserver.core.seed import Seed

HEAD = Head(200, (("content-type", "text/event-stream"),))


def frame(words: str, tokens: int = 1, part: str = "text") -> Write:
    """One event."""
    made = Frame(f'{{"say":"{words}"}}'.encode(), tokens=tokens, part=part)
    return Write(write_event(made), tokens, made)


OPEN, ONE, TWO = frame("", 0, "open"), frame("one"), frame("two")
FINISH = frame(".", 0, "finish")
DONE = Write(b"data: [DONE]\n\n", 0, Frame(b"[DONE]", part="end"))
STREAM = (HEAD, OPEN, ONE, TWO, FINISH, DONE)
CALLS = tuple(
    Write(write_event(made), made.tokens, made)
    for made in (
        Frame(b'{"arguments":""}', part="arguments"),
        Frame(b'{"arguments":"{\\"a\\":"}', tokens=1, part="arguments"),
        Frame(b'{"arguments":" 1}"}', tokens=1, part="arguments"),
    )
)
CALLING = (HEAD, OPEN, *CALLS, FINISH, DONE)

BODY = b'{"id":"a","usage":{"n":4}}'  # 26 bytes
PLAIN_HEAD = Head(200, (("content-type", "application/json"), ("content-length", "26")))
PLAIN = (PLAIN_HEAD, Write(BODY, 4))


def make_context(*, streamed: bool = True) -> FaultContext:
    """A context with a provider whose errors say why they are, and where they stand."""

    def error(reason: str, last: bytes) -> Frame:
        return Frame(compact({"error": reason, "after": last.decode()}).encode())

    return FaultContext(Seed().stream("test"), error, streamed)


def streamed(fault: Any, actions: Iterable[Action] = STREAM) -> list[Action]:
    """What a fault makes of a stream."""
    return list(fault(actions, make_context()))


def plain(fault: Any, actions: Iterable[Action] = PLAIN) -> list[Action]:
    """What a fault makes of a plain body."""
    return list(fault(actions, make_context(streamed=False)))


def sized(size: int) -> Head:
    """The head of the plain body with another length."""
    return Head(200, (("content-type", "application/json"), ("content-length", str(size))))


def told(actions: Iterable[Action]) -> str:
    """Actions in short: `H`, the words of a frame or the bytes of what is none, seconds, `|`, and how it was cut."""
    return " ".join(map(_short, actions))


def _short(action: Action) -> str:
    match action:
        case Head():
            return "H"
        case Write(data):
            return data.decode("utf-8", "backslashreplace").removeprefix("data: ").strip() or "''"
        case Wait(seconds):
            return f"{seconds:g}s"
        case Flush():
            return "|"
        case RawWrite(data):
            return f"spill:{data.decode()}"
        case Cut(how):
            return how
