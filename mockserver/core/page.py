"""Which part of a list a client wants to see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Page:
    """At most `limit` entries, those that follow the one named `after`; `backwards`: the last entry comes first."""

    after: str | None = None
    limit: int = 20
    backwards: bool = False

    def of(self, entries: Sequence[Entry], name: Callable[[Entry], str]) -> tuple[tuple[Entry, ...], bool]:
        """The entries of this page, and whether others follow. Nothing follows a name that is not there."""
        ordered = entries[::-1] if self.backwards else entries
        start = 0
        if self.after is not None:
            start = next((at + 1 for at, entry in enumerate(ordered) if name(entry) == self.after), len(ordered))
        end = start + self.limit
        return tuple(ordered[start:end]), len(ordered) > end


FIRST_PAGE = Page()
