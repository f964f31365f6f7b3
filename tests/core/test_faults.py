"""What faults say of themselves."""

from dataclasses import dataclass

from mockserver.core.action import POSITIONS, Option, Position, counts, option, options, position


@dataclass(frozen=True)
class Late:
    """Comes late."""

    at: Position = position("after_tokens", 3, among=("after_tokens", "at_start"))
    for_: float = option(1.5, "duration", "how late")
    inner: int = 0


def test_options_are_the_fields_that_may_be_set() -> None:
    assert options(Late) == (
        Option("at", "at", "position", "", Position("after_tokens", 3), ("after_tokens", "at_start")),
        Option("for_", "for", "duration", "how late", 1.5),
    )
    assert Late().at == Position("after_tokens", 3)


def test_some_positions_are_said_with_a_number() -> None:
    assert [where for where in POSITIONS if counts(where)] == ["after_tokens", "after_frames", "after_bytes"]
