"""The cassette that a test plays: what it held when the test began, and what has been played of it since."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mockserver.reports.unplayed import Tape
from mockserver.server.live import Live
from mockserver.testing.calls import Call
from mockserver.testing.places import near


@dataclass(frozen=True, slots=True)
class Held:
    """What a cassette held: its name among calls, its file, how many episodes."""

    name: str
    file: Path
    size: int

    @classmethod
    def of(cls, live: Live) -> "Held | None":
        """What the cassette of the settings holds now; None where there is none, or all is recorded anew."""
        library = live.player.loaded
        if library is None or live.player.choice.record == "all":
            return None
        return cls(library.file, Path(live.settings.cassettes, library.file), library.size)

    def played(self, calls: Iterable[Call]) -> Tape:
        """What these calls have played of it."""
        head = f"cassette {self.name}#"
        numbers = {int(call.source.removeprefix(head)) for call in calls if call.source.startswith(head)}
        return Tape(near(self.file), self.size, tuple(sorted(numbers)))
