"""What is kept of an answer: its listed headers, and its body or events without secrets, even such as are told in
pieces.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from mockserver.cassettes.credentials import Credentials
from mockserver.cassettes.events import data_of, with_data
from mockserver.cassettes.headers import REPLY
from mockserver.cassettes.lanes import Piece, changed, lanes
from mockserver.cassettes.places import Edit
from mockserver.cassettes.scrubs import Scrubs
from mockserver.core.episode import Beat, Recorded

Data = tuple[str | None, ...]  # of each event


def scrubbed(reply: Recorded, away: Credentials, rules: Scrubs) -> Recorded:
    """An answer without these credentials and without what these rules leave out.

    What is told in pieces goes first: of a piece alone a rule may find a part, and leave the rest behind.
    """
    headers = tuple((name, rules.text(away.text(value))) for name, value in REPLY.of(reply.headers))
    if reply.frames is not None:
        return replace(reply, headers=headers, frames=_frames(reply.frames, away, rules))
    was = reply.body.decode("utf-8", "surrogateescape")
    (told,) = _together((was,), away, rules)
    body = reply.body if told == was or told is None else told.encode("utf-8", "surrogateescape")
    return replace(reply, headers=headers, body=rules.body(away.data(body)))


def _frames(frames: Sequence[Beat], away: Credentials, rules: Scrubs) -> tuple[Beat, ...]:
    was = tuple(data_of(frame) for _, frame in frames)
    told = zip(frames, was, _together(was, away, rules), strict=True)
    left = ((at, away.data(_with(frame, old, new))) for (at, frame), old, new in told)
    return tuple((at, _ruled(frame, rules)) for at, frame in left) if rules.rules else tuple(left)


def _ruled(frame: bytes, rules: Scrubs) -> bytes:
    data = data_of(frame)
    return frame if data in (None, _DONE) else _with(frame, data, rules.either(data))


def _with(frame: bytes, old: str | None, new: str | None) -> bytes:
    return frame if new is None or new == old else with_data(frame, new)


def _together(events: Data, away: Credentials, rules: Scrubs) -> Data:
    """The events without what they tell together and is to be left out."""
    events = as_told(events, away)
    return _edited(events, lambda text: tuple(rules.spans(text))) if rules.rules else events


def as_told(events: Data, away: Credentials) -> Data:
    """The events without those credentials that no one of them holds, but several together."""
    return _edited(events, lambda text: _credentials(text, away)) if away.values else events


def _edited(events: Data, find: Callable[[str], Sequence[Edit]]) -> Data:
    pieces: dict[int, list[Piece]] = defaultdict(list)
    for lane in lanes(events):
        for piece in lane.without(edits) if (edits := find(lane.text)) else ():
            pieces[piece.event].append(piece)
    return tuple(
        changed(data, pieces[number]) if data is not None and number in pieces else data
        for number, data in enumerate(events)
    )


def _credentials(text: str, away: Credentials) -> Sequence[Edit]:
    data = text.encode("utf-8", "surrogatepass")
    edits, letters, reached = list[Edit](), 0, 0
    for start, end, instead in away.edits(data):
        before, within = (_letters(data[left:right]) for left, right in ((reached, start), (start, end)))
        edits.append((letters + before, letters + before + within, instead))
        letters, reached = letters + before + within, end
    return edits


def _letters(data: bytes) -> int:
    return len(data) if data.isascii() else sum(byte & 0xC0 != 0x80 for byte in data)


_DONE = "[DONE]"  # what ends a stream says nothing
