"""Stored answers: the operations that look up, change or delete the answers to earlier calls."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Failure, Stored
from mockserver.kinds.objects import LookUp

BARE_SIZE = 3500  # bytes of an answer without any text


class FoundAnswer(Struct, frozen=True):
    """The result of a look-up, and the answer to store from now on; None leaves it as it is."""

    seen: Stored
    kept: Stored | None = None


Act = Callable[[Call, Stored], FoundAnswer | Failure]


class AnswerLookUp(LookUp, frozen=True, kw_only=True):
    """An operation on stored answers. `act` is its effect on one; None: it lists them in the order of their creation.

    Where answers are generated, an unknown one is invented; if the operation `ends` one, as one still in progress.
    """

    act: Act | None = None
    ends: bool = False


def show(call: Call, stored: Stored) -> FoundAnswer:
    """Show an answer unchanged."""
    if stored.polls:
        stored = replace(stored, answer=replace(stored.answer, phase="in_progress"))
    return FoundAnswer(stored)


def delete(call: Call, stored: Stored) -> FoundAnswer:
    """Delete an answer; later look-ups learn that it is gone."""
    made = replace(stored.call, raw={}, messages=())
    gone = Stored(made, replace(stored.answer, choices=()), gone=True, size=BARE_SIZE)
    return FoundAnswer(gone, gone)
