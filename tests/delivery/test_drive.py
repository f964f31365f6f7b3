"""The driver on an ASGI connection of the test's own."""

import asyncio
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from mockserver.core.action import Action, Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.http import HeaderLines, Parts, Reply
from mockserver.core.row import COMPLETE, Row
from mockserver.core.seed import monotonic
from mockserver.delivery.connection import (
    CLIENT_LEFT,
    MAX_WRITE,
    ClientConnection,
    encode_header,
    frame_body,
    join_headers,
)
from mockserver.delivery.drive import drive
from mockserver.delivery.paced import SHORT_TURN, TICKS, PacedStream, Wheel
from tests.kit.clock import HandClock

HEAD = Head(200, (("a", "b"),))
START = {"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]}


def body(content: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": content, "more_body": more}


class Connection:
    """Notes what is sent, and when; the client leaves when told to."""

    def __init__(self, *, slow: float = 0.0) -> None:
        self.slow = slow  # seconds on the test's clock that a send takes
        self.clock: HandClock | None = None
        self.sent: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.left = asyncio.Event()

    @property
    def line(self) -> ClientConnection:
        return ClientConnection(self.receive, self.send)

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if self.clock is not None:
            self.times.append(self.clock.now)
            self.clock.now += self.slow

    async def receive(self) -> Any:
        await self.left.wait()
        return {"type": "http.disconnect"}


class Beneath:
    """A wire that notes what is done to it."""

    def __init__(self, unsent: int = 0) -> None:
        self.gone, self.unsent, self.written, self.was_reset = False, unsent, b"", False

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        raise AssertionError("nobody asked for this")

    def reset(self) -> None:
        self.was_reset = True

    def deliver(self) -> None:
        self.unsent = 0


class Way:
    """A connection that notes the pieces it takes, while it is open."""

    def __init__(self, *, open: bool = True) -> None:
        self.open, self.went = open, list[Any]()

    gone = False

    def send_piece(self, data: bytes) -> bool:
        self.went += [data] * self.open
        return self.open


async def test_what_stands_together_leaves_together() -> None:
    connection = Connection()
    ended = await drive([HEAD, Write(b"1"), Write(b"2"), Write(b"3")], connection.line)
    assert (ended, connection.sent) == (COMPLETE, [START, body(b"123")])


async def test_what_is_flushed_leaves_apart() -> None:
    connection = Connection()
    await drive([HEAD, Write(b"1"), Flush(), Flush(), Write(b"2")], connection.line)
    assert connection.sent == [START, body(b"1", more=True), body(b"2")]


async def test_what_spills_goes_past_the_message() -> None:
    connection, wire = Connection(), Beneath()
    line = ClientConnection(connection.receive, connection.send, wire)
    assert await drive([HEAD, Write(b"1"), RawWrite(b"2")], line) == COMPLETE
    assert (connection.sent, wire.written) == ([START, body(b"1", more=True), body(b"")], b"2")


async def test_a_reset_waits_until_the_client_has_what_was_sent() -> None:
    connection, wire = Connection(), Beneath(unsent=3)
    line = ClientConnection(connection.receive, connection.send, wire)
    asyncio.get_running_loop().call_later(0.05, wire.deliver)
    began = asyncio.get_running_loop().time()
    assert await drive([HEAD, Write(b"123"), Cut("reset")], line) == "reset"
    assert wire.was_reset
    assert asyncio.get_running_loop().time() - began >= 0.05


async def test_a_huge_body_is_handed_over_in_pieces() -> None:
    connection = Connection()
    huge = bytes(2 * MAX_WRITE + 5)
    await drive([HEAD, Write(huge)], connection.line)
    assert [len(message["body"]) for message in connection.sent[1:]] == [MAX_WRITE, MAX_WRITE, 5]
    assert [message["more_body"] for message in connection.sent[1:]] == [True, True, False]


async def played(actions: Sequence[Action], connection: "Connection", wire: Any = None) -> str:
    """Drive on a clock that goes by itself whenever all wait."""
    clock = HandClock()
    connection.clock = clock
    line = ClientConnection(connection.receive, connection.send, wire)
    task = asyncio.create_task(drive(actions, line, clock=clock))
    while not task.done():
        for _ in range(5):
            await asyncio.sleep(0)
        if clock.alarms:
            clock.step()
    return await task


async def test_a_wait_before_the_head_sends_nothing_early() -> None:
    connection = Connection()
    await played([Wait(60), HEAD, Write(b"1")], connection)
    assert connection.sent == [START, body(b"1")]
    assert connection.times == [pytest.approx(60, abs=1e-9)] * 2


async def test_waits_run_on_an_absolute_schedule() -> None:
    connection = Connection(slow=0.7)  # each send takes most of the time until the next is due
    actions = [HEAD, *[action for _ in range(100) for action in (Wait(1), Write(b"x"))]]
    await played(actions, connection)
    late = [time - number for number, time in enumerate(connection.times)]
    assert all(each == pytest.approx(0, abs=1e-9) for each in late[1:])


@pytest.mark.parametrize("open", [True, False])
async def test_pieces_between_waits_go_past_asgi_while_the_wire_takes_them(open: bool) -> None:
    connection, way = Connection(), Way(open=open)
    pieces = [action for number in range(3) for action in (Wait(1), Write(b"%d" % number))]
    assert await played([HEAD, *pieces], connection, way) == COMPLETE
    assert way.went == ([b"0", b"1"] if open else [])
    sent = [message["body"] for message in connection.sent[1:]]
    assert [body for body in sent if body] == ([b"2"] if open else [b"0", b"1", b"2"])


class Chunks:
    """What a paced stream writes to; notes each chunk with its time, and has the stream's row of the journal."""

    def __init__(self, clock: HandClock, *, took: float = 0.0) -> None:
        self.clock, self.took = clock, took
        self.moved, self.flow = False, SimpleNamespace(write_paused=False)
        self.failure: Exception | None = None
        self.sent, self.row = (
            list[tuple[float, bytes]](),
            Row(1, "POST", "/", "openai", "default", began=clock.now),
        )

    def write(self, chunk: bytes) -> None:
        size, _, data = chunk.partition(b"\r\n")
        assert data[int(size, 16) :] in (b"\r\n", b"\r\n$")
        if self.failure is not None:
            raise self.failure
        self.sent.append((self.clock.now, data.replace(b"\r\n", b"")))
        self.clock.now += self.took

    def end(self, chunk: bytes) -> None:
        self.write(chunk + b"$")

    @property
    def noted(self) -> list[bytes]:
        assert all(at <= self.clock.now for at, _ in self.row.sent)
        assert self.row.size == sum(len(data) for _, data in self.row.sent)
        return [data for _, data in self.row.sent]

    @property
    def ended(self) -> str:
        return self.row.ended

    def end_of(self, ended: str) -> None:
        assert self.row.ended == ""
        self.row.ended = ended

    def stream(self, body: bytes, *, each: float = 1.0, parts: Parts | None = None) -> PacedStream:
        """One byte of the body every so many seconds."""
        numbers = range(1, len(body) + 1)
        parts = parts or Parts(tuple(each * number for number in numbers), tuple(numbers), (b"1\r\n",) * len(body))
        stream = PacedStream(Reply(200, (), body, parts=parts), self.clock.now, self.row, self.end_of)
        stream.sink, stream.flow, stream.write = self, self.flow, self.write
        return stream


def turned(clock: HandClock) -> None:
    while clock.alarms:
        clock.step()


def test_the_parts_of_streams_leave_when_they_are_due() -> None:
    clock = HandClock()
    wheel, one, other = Wheel(clock), Chunks(clock), Chunks(clock)
    wheel.add(one.stream(b"abc"))
    wheel.add(other.stream(b"xyz", each=0.75))
    turned(clock)
    assert one.sent == [(1.0, b"a"), (2.0, b"b"), (3.0, b"c$")]
    assert other.sent == [(0.75, b"x"), (1.5, b"y"), (2.25, b"z$")]
    assert (one.noted, one.ended, other.ended) == ([b"a", b"b", b"c"], COMPLETE, COMPLETE)


def test_parts_leave_within_a_tick_of_their_time_and_never_before() -> None:
    clock = HandClock()
    wheel, all_of_them = Wheel(clock), [Chunks(clock) for _ in range(30)]
    for number, chunks in enumerate(all_of_them):
        clock.now = number * 0.00013
        wheel.add(chunks.stream(bytes(range(97, 117)), each=0.0037))
    turned(clock)
    for number, chunks in enumerate(all_of_them):
        late = [at - number * 0.00013 - 0.0037 * (part + 1) for part, (at, _) in enumerate(chunks.sent)]
        assert len(late) == 20
        assert -1e-12 < min(late) <= max(late) < 1 / TICKS
    assert clock.rings < 450  # what is due within a tick leaves together


def test_streams_that_are_late_are_evenly_so() -> None:
    clock = HandClock()
    wheel, all_of_them = Wheel(clock), [Chunks(clock, took=0.5) for _ in range(6)]
    for chunks in all_of_them:
        wheel.add(chunks.stream(b"abcdefghi"))
    turned(clock)
    assert {b"".join(data for _, data in chunks.sent) for chunks in all_of_them} == {b"abcdefghi$"}
    assert {len(chunks.sent) for chunks in all_of_them} <= {3, 4, 5}  # what is late leaves together
    for chunks in all_of_them:
        assert all(
            time >= sum(map(len, dict(chunks.sent[: at + 1]).values())) - 1 for at, (time, _) in enumerate(chunks.sent)
        )


def test_first_parts_go_before_others_that_are_later() -> None:
    clock = HandClock()
    wheel, old, new = Wheel(clock), Chunks(clock), Chunks(clock)
    wheel.add(old.stream(b"abc"))
    clock.step()
    clock.now = 1.9
    wheel.add(new.stream(b"xyz"))
    clock.now = 3.0  # when the second part of one is later than the first of the other
    clock.alarms[0].when = 3.0
    new.took = 1.0
    turned(clock)
    assert new.sent[0] == (3.0, b"x")
    assert old.sent == [(1.0, b"a"), (4.0, b"bc$")]


def test_streams_that_have_begun_get_little_time_while_others_wait() -> None:
    clock, crowded = HandClock(), True
    wheel, all_of_them = Wheel(clock, is_crowded=lambda: crowded), [Chunks(clock) for _ in range(20)]
    for number, chunks in enumerate(all_of_them):
        clock.now = number / TICKS  # so that each goes on by itself
        wheel.add(chunks.stream(b"ab"))
    clock.alarms[0].when = 1.5
    clock.step()
    assert all(len(chunks.sent) == 1 for chunks in all_of_them)
    for chunks in all_of_them:
        chunks.took = SHORT_TURN * 0.6
    clock.alarms[0].when = 2.5
    clock.step()
    assert sum(len(chunks.sent) == 2 for chunks in all_of_them) == 2
    crowded = False
    clock.step()
    assert sum(len(chunks.sent) == 2 for chunks in all_of_them) == 19


def test_a_stream_that_fails_stops_no_other() -> None:
    clock = HandClock()
    wheel, one, other = Wheel(clock), Chunks(clock), Chunks(clock)
    failing = one.stream(b"ab")
    one.failure = ValueError("full")
    wheel.add(failing)
    wheel.add(other.stream(b"xyz"))
    with pytest.raises(ValueError, match="full"):
        turned(clock)
    turned(clock)
    assert (failing.over, other.ended, one.sent) == (True, COMPLETE, [])


def test_a_stream_waits_for_a_client_that_does_not_read_and_stops_when_it_leaves() -> None:
    clock = HandClock()
    wheel, chunks = Wheel(clock), Chunks(clock)
    stream = chunks.stream(b"abcd")
    wheel.add(stream)
    clock.step()
    chunks.flow.write_paused = True
    clock.step()
    assert (stream.stalled, clock.alarms) == (True, [])
    clock.now, chunks.flow.write_paused = 3.5, False
    wheel.add(stream)
    clock.step()
    assert chunks.sent == [(1.0, b"a"), (3.5, b"bc")]
    stream.stop(CLIENT_LEFT)
    turned(clock)
    assert (chunks.sent[2:], chunks.noted, chunks.ended) == ([], [b"a", b"bc"], CLIENT_LEFT)


def test_streams_that_go_on_together_do_not_depend_on_each_other() -> None:
    clock = HandClock()
    wheel, together = Wheel(clock), [Chunks(clock) for _ in range(5)]
    parts = together[0].stream(b"abcd").parts
    streams = [chunks.stream(body, parts=parts) for chunks, body in zip(together, BODIES, strict=True)]
    for stream in streams:
        wheel.add(stream)
    clock.step()
    assert clock.alarms[0].when == 2.0
    assert [chunks.sent for chunks in together] == [[(1.0, body[:1])] for body in BODIES]
    together[0].failure, together[1].flow.write_paused = ValueError("full"), True
    streams[2].stop(CLIENT_LEFT)
    with pytest.raises(ValueError, match="full"):
        clock.step()
    clock.now, together[1].flow.write_paused = 2.5, False
    wheel.add(streams[1])
    turned(clock)
    assert [chunks.noted for chunks in together[:3]] == [[b"a"], [b"e", b"f", b"g", b"h"], [b"i"]]
    assert together[1].sent == [(1.0, b"e"), (2.5, b"f"), (3.0, b"g"), (4.0, b"h$")]
    for chunks, body in zip(together[3:], BODIES[3:], strict=True):
        assert chunks.sent == [(1.0 + at, body[at : at + 1] + b"$" * (at == 3)) for at in range(4)]
    assert [chunks.ended for chunks in together] == ["", COMPLETE, CLIENT_LEFT, COMPLETE, COMPLETE]
    assert {chunks.row.first for chunks in together} == {1.0}


BODIES = (b"abcd", b"efgh", b"ijkl", b"mnop", b"mnop")


async def test_the_timers_of_the_loop_are_never_early() -> None:
    began = monotonic()
    await drive([HEAD, *[Wait(0.0037)] * 3], Connection().line)
    assert monotonic() - began >= 3 * 0.0037


async def test_what_is_late_already_leaves_together() -> None:
    connection = Connection(slow=2.5)
    actions = [HEAD, *[action for number in range(9) for action in (Wait(1), Write(b"%d" % number))]]
    await played(actions, connection)
    assert [message["body"] for message in connection.sent[1:]] == [b"01", b"234", b"56", b"78"]


async def test_a_wait_for_ever_ends_when_the_server_stops() -> None:
    connection, clock = Connection(), HandClock()
    for seconds in (math.inf, 5.0):
        task = asyncio.create_task(drive([HEAD, Wait(seconds)], connection.line, clock=clock))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert clock.alarms == []


async def test_a_client_that_leaves_ends_the_script_at_once() -> None:
    connection = Connection()
    asyncio.get_running_loop().call_later(0.02, connection.left.set)
    async with asyncio.timeout(5):
        ended = await drive([HEAD, Write(b"1"), Wait(3600), Write(b"2")], connection.line)
    assert (ended, connection.sent) == (CLIENT_LEFT, [START, body(b"1", more=True)])


async def test_what_is_written_without_a_wait_does_not_pile_up() -> None:
    connection, half = Connection(), bytes(MAX_WRITE // 2 + 1)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    ended = await drive([HEAD, *[Write(half)] * 8], connection.line)
    task.cancel()
    sizes = [len(message["body"]) for message in connection.sent[1:]]
    assert (ended, sum(sizes), max(sizes) <= MAX_WRITE) == (COMPLETE, 8 * len(half), True)
    assert [message["more_body"] for message in connection.sent[1:]] == [True] * (len(sizes) - 1) + [False]
    assert turns > 3


@pytest.mark.parametrize(
    ("headers", "more", "body"),
    [
        ((("content-length", "2"), ("x", "é")), (("x-more", "1"),), b"{}"),
        ((("x", "1"), ("connection", "keep-alive")), (), b"2\r\n{}\r\n0\r\n\r\n"),
        ((("content-length", "3"),), (), None),
        ((("connection", "close"),), (), None),
        ((("transfer-encoding", "chunked"),), (), None),
        ((("content-length", "2"),), (("x", "a\nb"),), None),
        ((("content-length", "2"),), (("x", "a\0"),), None),
    ],
)
def test_only_clear_headers_that_suit_the_body_are_joined(headers: Any, more: Any, body: bytes | None) -> None:
    stated = "".join(f"{name}: {value}\r\n" for name, value in (*headers, *more)).encode("latin-1")
    framing = b"" if body == b"{}" else b"transfer-encoding: chunked\r\n"
    lines = join_headers(Reply(201, headers, b"{}"), more)
    assert lines == (None if body is None else stated + framing)
    assert lines is None or frame_body(lines, b"{}") == body


def test_a_header_never_breaks_the_connection() -> None:
    stated = HeaderLines("x: €\r\n", sized=True)
    assert join_headers(Reply(200, stated, b""), HeaderLines()) == b"x: ?\r\n"
    assert (join_headers(Reply(200, (("x", "€"),), b""), ()) or b"").startswith(b"x: ?\r\n")
    assert encode_header(("X-€", "€")) == (b"x-?", b"?")


def test_an_empty_body_in_chunks_is_the_last_chunk() -> None:
    assert frame_body(join_headers(Reply(200, (("x", "1"),)), ()) or b"", b"") == b"0\r\n\r\n"


@pytest.mark.parametrize(
    "reply", [Reply(200, (), frames=(b"x",)), Reply(204, ()), Reply(304, ()), Reply(200, (), b"x" * (MAX_WRITE + 1))]
)
def test_what_is_not_one_small_body_is_not_handed_over(reply: Reply) -> None:
    assert join_headers(reply, ()) is None


def test_a_stream_that_ends_before_its_first_part_keeps_no_body() -> None:
    clock = HandClock()
    wheel, chunks = Wheel(clock), Chunks(clock)
    stream = chunks.stream(b"abcd")
    wheel.add(stream)
    stream.stop(CLIENT_LEFT)
    assert (chunks.row.sent, chunks.row.written, chunks.ended) == ([], 0, CLIENT_LEFT)


def test_what_is_written_of_an_open_stream_is_known() -> None:
    clock = HandClock()
    wheel, chunks = Wheel(clock), Chunks(clock)
    wheel.add(chunks.stream(b"abcd"))
    found = []
    while clock.alarms:
        clock.step()
        found.append((chunks.row.written, len(chunks.row.sent)))
    assert found == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_stream_whose_row_cannot_be_closed_was_sent_all_the_same() -> None:
    clock = HandClock()
    wheel, chunks = Wheel(clock), Chunks(clock)
    stream = chunks.stream(b"ab")
    stream._on_end = lambda ended: chunks.write(b"?")  # no chunk: raises
    wheel.add(stream)
    clock.step()
    with pytest.raises(ValueError, match="invalid literal"):
        clock.step()
    assert (chunks.noted, stream.over) == ([b"a", b"b"], True)
