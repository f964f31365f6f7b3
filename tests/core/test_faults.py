"""What faults say of themselves."""

from typing import Annotated

from msgspec import Struct

from mockserver.core.action import POSITIONS, Option, Position, Settable, is_counted, list_options


class Late(Struct, frozen=True):
    """Comes late."""

    at: Annotated[Position, Settable("position", "", ("after_tokens", "at_start"))] = Position("after_tokens", 3)
    for_: Annotated[float, Settable("duration", "how late")] = 1.5
    inner: int = 0


def test_options_are_the_fields_that_may_be_set() -> None:
    assert list_options(Late) == (
        Option("at", "at", "position", "", Position("after_tokens", 3), ("after_tokens", "at_start")),
        Option("for_", "for", "duration", "how late", 1.5),
    )
    assert Late().at == Position("after_tokens", 3)


def test_some_positions_are_said_with_a_number() -> None:
    assert [where for where in POSITIONS if is_counted(where)] == ["after_tokens", "after_frames", "after_bytes"]
