"""The events of a recorded stream: when each came, its name, what it carries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mockserver.cassettes.told.told import table
from mockserver.core.episode import Beat
from mockserver.core.frames import frames
from mockserver.core.json_text import Json, parsed

DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `json` is None where its data are none."""

    at: float
    name: str
    text: str
    json: Json

    @property
    def table(self) -> Mapping[str, Json]:
        """The data as a table; an empty one where they are none."""
        return table(self.json)

    @property
    def error(self) -> Json:
        """What the event says went wrong, if it is for that."""
        if self.name == "error" or self.table.get("type") == "error":
            return self.table.get("error") or self.json or self.text
        return self.table.get("error") if "choices" not in self.table and "response" not in self.table else None


def events(beats: Sequence[Beat]) -> tuple[Event, ...]:
    """The events in the beats of a stream, but for comments."""
    found = (frame for frame in frames(beats) if b"data:" in frame.raw)
    return tuple(Event(frame.at, frame.event or "", frame.text, parsed(frame.text)) for frame in found)
