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
    """An answer without these credentials and without what these rules leave out."""
    headers = tuple((name, rules.text(away.text(value))) for name, value in REPLY.of(reply.headers))
    if reply.frames is not None:
        return replace(reply, headers=headers, frames=_frames(reply.frames, away, rules))
    body = rules.body(away.data(reply.body))
    was = body.decode("utf-8", "surrogateescape")
    (now,) = _ruled(as_told((was,), away), rules)
    return replace(reply, headers=headers, body=body if now == was or now is None else _bytes(now))


def _frames(frames: Sequence[Beat], away: Credentials, rules: Scrubs) -> tuple[Beat, ...]:
    plain = [away.data(frame) for _, frame in frames]
    was = tuple(map(data_of, plain))
    each = tuple(data if data in (None, _DONE) else rules.either(data) for data in was) if rules.rules else was
    now = _ruled(as_told(each, away), rules)
    return tuple(
        (at, frame if new is None or new == old else with_data(frame, new))
        for (at, _), frame, old, new in zip(frames, plain, was, now, strict=True)
    )


def as_told(events: Data, away: Credentials) -> Data:
    """The events without those credentials that no one of them holds, but several together."""
    return _edited(events, lambda text: _credentials(text, away)) if away.values else events


def _ruled(events: Data, rules: Scrubs) -> Data:
    return _edited(events, lambda text: tuple(rules.spans(text))) if rules.rules else events


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


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


_DONE = "[DONE]"  # what ends a stream says nothing
