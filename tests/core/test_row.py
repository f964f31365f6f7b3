"""The journal's row is filled while the answer goes out, and keeps a bounded part of it."""

from collections.abc import Iterator

import pytest

from mockserver.core.plan import Cause, Plan
from mockserver.core.row import MAX_KEPT, PIECE, UNWEIGHED, Row
from mockserver.core.sent_body import Piece, SentParts, split_frames
from mockserver.rules.match.conditions import ConditionResult

STREAM = (("Content-Type", "text/event-stream; charset=utf-8"),)


class Page:
    """Weighs what it is told of."""

    def __init__(self) -> None:
        self.total = 0

    def weigh(self, row: Row) -> None:
        self.total += row.unweighed
        row.unweighed = 0


@pytest.fixture
def row() -> Row:
    return Row(1, "POST", "/v1/chat/completions", "openai", "default", Page())


def test_a_row_tells_of_a_defect(row: Row) -> None:
    assert (row.cause, row.defect) == (None, "")
    row.note_defect("a bug")
    assert (row.source, row.cause, row.defect, row.usage) == ("crashed", Cause("server_error", "a bug"), "a bug", None)
    row.plan = Plan(None, "rule a")
    row.note_defect("another")
    assert (row.source, row.defect) == ("rule a", "another")


def test_a_row_is_filled_later(row: Row) -> None:
    assert (row.source, row.status, row.ended, row.ending) == ("", 0, "", "open")
    row.note_body(b"{}", 0.0)
    row.note_sent(b"data: 1\n\n")
    ((at, sent),) = row.sent
    assert (row.body, row.received, sent, row.size) == (b"{}", 2, b"data: 1\n\n", 9)
    assert 0 <= row.first == at - row.began
    row.ended = "complete"
    assert row.ending == "complete"


@pytest.mark.parametrize(
    ("headers", "sent", "ended", "told"),
    [
        (STREAM, [b"data: 1\n\ndata: 2\n\n", b"data: 3\n\n"], "client left", "client left after 3 frames"),
        (STREAM, [b"data: 1\n\n", b"data: "], "cut short", "cut short after 2 frames"),
        (STREAM, [b"data: 1\n\n"], "server stopped", "server stopped after 1 frame"),
        ((), [b"{}"], "reset", "reset after 2 bytes"),
        ((), [], "client left", "client left after 0 bytes"),
        (STREAM, [b"data: 1\n\n"], "complete", "complete"),
    ],
)
def test_it_says_how_far_it_came(
    row: Row, headers: tuple[tuple[str, str], ...], sent: list[bytes], ended: str, told: str
) -> None:
    row.reply_headers, row.ended = headers, ended
    for piece in sent:
        row.note_sent(piece)
    assert row.ending == told


def test_of_a_huge_stream_the_beginning_is_kept_and_all_is_counted(row: Row) -> None:
    frame = b"data: " + b"x" * 992 + b"\n\n"
    row.reply_headers, row.ended = STREAM, "client left"
    for _ in range(3_000):
        row.note_sent(frame)
    assert sum(len(data) for _, data in row.sent) == MAX_KEPT
    assert row.size == 3_000_000
    assert row.ending == "client left after 3000 frames"


def test_one_huge_piece_is_cut(row: Row) -> None:
    row.note_sent(b"x" * (MAX_KEPT + 5))
    row.note_body(b"y" * (MAX_KEPT + 7), 0.0)
    assert [len(data) for _, data in row.sent] == [MAX_KEPT]
    assert (len(row.body), row.received) == (MAX_KEPT, MAX_KEPT + 7)


def test_the_page_hears_of_much_at_once_and_of_little_later(row: Row) -> None:
    page = row.page
    assert isinstance(page, Page)
    row.note_sent(b"x" * 10)
    assert (page.total, row.unweighed) == (0, 10 + PIECE)
    row.note_sent(b"x" * UNWEIGHED)
    assert (page.total, row.unweighed) == (UNWEIGHED + 10 + 2 * PIECE, 0)


def test_what_is_let_go_while_it_is_open_keeps_nothing_more(row: Row) -> None:
    row.reply_headers = STREAM
    row.note_body(b"body", 0.0)
    row.note_sent(b"data: 1\n\n")
    row.kept = False
    row.drop_contents()
    row.note_sent(b"data: 2\n\n")
    row.note_body(b"body", 0.0)
    row.ended = "client left"
    assert (row.body, row.sent, row.ending) == (b"", [], "client left after 2 frames")


def test_findings_are_values() -> None:
    assert ConditionResult("model", "equals", "a", "b", ok=False) == ConditionResult(
        "model", "equals", "a", "b", ok=False
    )


def test_sent_parts_are_cut_out_of_the_body() -> None:
    log = [(1.0, 0, 2), (2.0, 2, 5)]
    sent = SentParts(b"abcdefgh", log, [(0.5, 0, 0)])
    assert list(sent) == [(0.5, b""), (1.0, b"ab"), (2.0, b"cde")]
    assert (len(sent), sent.size, sent[-1], sent[:2]) == (3, 5, (2.0, b"cde"), [(0.5, b""), (1.0, b"ab")])
    sent.detach(unsent_last=True)
    log.append((3.0, 5, 8))
    assert ([*sent], sent.size) == ([(0.5, b""), (1.0, b"ab")], 2)


def test_frames_are_read_once_however_they_are_kept() -> None:
    class Counted(SentParts):
        read = 0

        def __iter__(self) -> Iterator[Piece]:
            Counted.read += 1
            return super().__iter__()

    body = b"data: x\n\n" * 500
    parts = Counted(body, [(float(at), at, at + 1) for at in range(len(body))])
    assert (len(split_frames(parts)), Counted.read) == (500, 1)
