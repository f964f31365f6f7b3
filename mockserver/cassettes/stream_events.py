"""The events of a recorded stream, and how it ended."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mockserver.cassettes.parsed_response import ParsedResponse, Table, read_table
from mockserver.core.episode import RecordedEvent
from mockserver.core.event_stream import is_prelude
from mockserver.core.json import Json, try_parse
from mockserver.core.sent_body import split_frames

DONE = "[DONE]"


class Event(Struct, frozen=True):
    """An event of a stream; `json` is None if its text is not JSON."""

    at: float
    name: str
    text: str
    json: Json

    @property
    def table(self) -> Table:
        return read_table(self.json)

    @property
    def error(self) -> Json:
        """The error that the event reports, if any."""
        if self.name.endswith("Exception"):
            return self.json or self.text
        if self.name == "error" or self.table.get("type") == "error":
            return self.table.get("error") or self.json or self.text
        return self.table.get("error") if "choices" not in self.table and "response" not in self.table else None


def parse_events(recorded: Sequence[RecordedEvent]) -> tuple[Event, ...]:
    """Return the events of a stream, without comments; its lines of JSON; or the messages of Amazon's streams."""
    return tuple(
        Event(frame.at, frame.event or "", frame.text, try_parse(frame.text))
        for frame in split_frames(recorded)
        if b"data:" in frame.raw or frame.raw[:1] == b"{" or is_prelude(frame.raw)
    )


def end_stream(read: ParsedResponse, found: Sequence[Event], *, complete: bool, error: Json = None) -> ParsedResponse:
    """Return an answer that was read from a stream with how that ended: with an error, complete, or broken off."""
    error = error or find_error(found)
    return replace(read, error=error, broken=error is not None, complete=complete)


def find_error(found: Sequence[Event]) -> Json:
    """Return the first error that events report."""
    return next((event.error for event in found if event.error is not None), None)
