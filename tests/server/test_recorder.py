# size: what can befall an answer on its way is many small things
"""What a recorder makes of an answer that it hears piece by piece."""

import asyncio
import gzip
import zlib
from collections.abc import Iterable, Sequence

import pytest
from backports import zstd

from mockserver.config.errors import CassetteError
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Sent
from mockserver.core.exchange import Exchange
from mockserver.core.http import HttpRequest
from mockserver.server.recorder import Recorder, Take

JSON = (b"content-type", b"application/json")
STREAM = (b"content-type", b"text/event-stream; charset=utf-8")
EVENT = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
SENT = Sent("POST", "/v1/chat/completions", "", (("accept", "*/*"),), b"{}")


class Kept(list[Episode]):
    """What has been saved; a stand-in for a cassette's file, which has tests of its own."""

    hindrance: Exception | None = None
    row: Exchange  # of the answer that is heard

    async def save(self, episode: Episode) -> str:
        await asyncio.sleep(0)
        if self.hindrance is not None:
            raise self.hindrance
        self.append(episode)
        return f"cassette chat.yaml#{len(self)}"


@pytest.fixture
def kept() -> Kept:
    return Kept()


def recorder(kept: Kept, operation: str = "chat", *, errors: bool = True) -> Recorder:
    call = Call("openai", operation, "gpt-4o", HttpRequest("POST", "/v1/chat/completions"), meaning={}, stream=True)
    kept.row = Exchange(1, "POST", "/v1/chat/completions", "openai", "default")
    return Recorder(Take("chat.yaml", "openai", call, SENT, errors), kept.save, kept.row)


async def heard(
    kept: Kept, pieces: Iterable[bytes], *headers: tuple[bytes, bytes], status: int = 200, operation: str = "chat"
) -> Recorder:
    """A recorder that has heard a whole answer, and was told so."""
    listener = recorder(kept, operation)
    listener.open(status, headers)
    for piece in pieces:
        listener.hear(piece)
    await listener.keep()
    return listener


def by_size(data: bytes, size: int) -> Sequence[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


async def test_a_plain_answer(kept: Kept) -> None:
    await heard(kept, [b'{"a"', b":1}"], JSON, (b"content-length", b"7"))
    (episode,) = kept
    assert (episode.dialect, episode.operation, episode.model) == ("openai", "chat", "gpt-4o")
    assert episode.request is SENT
    assert episode.reply.status == 200
    assert episode.reply.body == b'{"a":1}'
    assert episode.reply.frames is None
    assert episode.reply.headers == (("content-type", "application/json"), ("content-length", "7"))
    assert episode.reply.took > 0
    assert episode.at > 1_700_000_000
    assert (kept.row.recorded, kept.row.unrecorded) == ("cassette chat.yaml#1", "")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
async def test_a_stream_is_kept_by_its_events(kept: Kept, size: int, end: bytes) -> None:
    text = (EVENT * 3 + b": a comment\n\n" + DONE).replace(b"\n\n", end)
    await heard(kept, by_size(text, size), STREAM)
    (episode,) = kept
    assert episode.reply.frames is not None
    events = [data for _, data in episode.reply.frames]
    assert b"".join(events) == episode.reply.bytes == text
    assert events == [*[EVENT.replace(b"\n\n", end)] * 3, b": a comment" + end, b"data: [DONE]" + end]
    moments = [at for at, _ in episode.reply.frames]
    assert moments == sorted(moments)
    assert moments[-1] <= episode.reply.took


async def test_the_moment_of_an_event_is_that_of_its_last_byte(kept: Kept) -> None:
    listener = recorder(kept)
    listener.open(200, [STREAM])
    for piece in (EVENT[:5], EVENT[5:] + EVENT, DONE):
        await asyncio.sleep(0.02)
        listener.hear(piece)
    await listener.keep()
    assert kept[0].reply.frames is not None
    first, second, last = [at for at, _ in kept[0].reply.frames]
    assert first == second
    assert 0.03 < first < last


@pytest.mark.parametrize(
    ("name", "encode"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstd.compress)]
)
async def test_what_is_coded_is_kept_in_plain(kept: Kept, name: str, encode: object) -> None:
    assert callable(encode)
    coding = (b"content-encoding", name.encode())
    coded = encode(b'{"a":1}')
    await heard(kept, by_size(coded, 4), JSON, coding, (b"content-length", b"%d" % len(coded)))
    await heard(kept, by_size(encode(EVENT + DONE), 4), STREAM, coding)
    assert [episode.reply.bytes for episode in kept] == [b'{"a":1}', EVENT + DONE]
    assert [episode.reply.headers for episode in kept] == [
        (("content-type", "application/json"),),
        (("content-type", "text/event-stream; charset=utf-8"),),
    ]


@pytest.mark.parametrize("kind", [JSON, STREAM])
@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (b"gzip", b"this is no gzip at all" * 9),
        (b"gzip", gzip.compress(EVENT + DONE, mtime=0)[:-3]),
        (b"compress", b"\x1f\x9d\x90 and so on"),
        (b"gzip, gzip, gzip, gzip", b"\x1f\x8b"),
    ],
)
async def test_what_cannot_be_decoded_is_not_kept_as_nobody_knows_what_is_in_it(
    kept: Kept, kind: tuple[bytes, bytes], coding: bytes, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await heard(kept, by_size(body, 5), kind, (b"content-encoding", coding))
    assert list(kept) == []
    assert "its content coding cannot be undone" in caplog.text


ENDS = {
    "chat": [DONE, b"data:[DONE]\r\n\r\n", b'data: {"error":{"message":"no"}}\n\n', b"event: error\ndata: {}\n\n"],
    "completions": [DONE],
    "responses": [
        b'event: response.completed\ndata: {"type":"response.completed","response":{}}\n\n',
        b'data: {"type": "response.incomplete", "response": {}}\n\n',
        b'data: {"sequence_number":4,"type":"response.failed"}\n\n',
        b'data: {"type":"error","code":"x"}\n\n',
    ],
}
NO_ENDS = {
    "chat": [
        b'data: {"choices":[{"delta":{"content":"data: [DONE]"}}]}\n\n',
        b"data: [DONE]",
        b'data: {"error":null,"choices":[]}\n\n',
        b": [DONE]\n\n",
    ],
    "responses": [
        DONE,
        b'data: {"type":"response.output_text.delta","delta":"\\"type\\":\\"response.completed\\""}\n\n',
        b'data: {"type":"response.created"}\n\n',
    ],
}


@pytest.mark.parametrize(("operation", "end"), [(name, end) for name, ends in ENDS.items() for end in ends])
async def test_the_event_that_ends_a_stream(kept: Kept, operation: str, end: bytes) -> None:
    listener = recorder(kept, operation)
    listener.open(200, [STREAM])
    listener.hear(EVENT + end[:-1])
    assert not listener.ripe
    listener.hear(end[-1:])
    assert listener.ripe
    await listener.keep()
    assert not listener.ripe
    assert kept[0].reply.bytes == EVENT + end


@pytest.mark.parametrize(("operation", "end"), [(name, end) for name, ends in NO_ENDS.items() for end in ends])
async def test_a_stream_without_its_last_event_is_not_kept(
    kept: Kept, operation: str, end: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    listener = await heard(kept, [EVENT, end], STREAM, operation=operation)
    assert not listener.ripe
    assert kept == []
    assert "cassette chat.yaml: an answer is not recorded: the stream ended without the event" in caplog.text


async def test_a_length_that_is_reached(kept: Kept) -> None:
    listener = recorder(kept)
    listener.open(200, [JSON, (b"content-length", b"3")])
    listener.hear(b"{ ")
    assert not listener.ripe
    listener.hear(b"}")
    assert listener.ripe


async def test_who_stops_waiting_does_not_stop_the_saving(kept: Kept) -> None:
    listener = recorder(kept)
    listener.open(200, [JSON])
    listener.hear(b"{}")
    waiting = asyncio.create_task(listener.keep())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    await listener.keep()
    assert len(kept) == 1


@pytest.mark.parametrize(
    ("hindrance", "told"),
    [
        (CassetteError("it would hold a key at reply.body: sk-1\nx"), "it would hold a key at reply.body: sk-1\\x0ax"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (KeyError(), "KeyError"),
    ],
)
async def test_the_log_tells_what_hinders_it(
    kept: Kept, hindrance: Exception, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept.hindrance = hindrance
    await heard(kept, [b"{}"], JSON)
    assert caplog.messages == [f"cassette chat.yaml: an answer is not recorded: {told}"]
    assert (kept.row.recorded, kept.row.unrecorded) == ("", told)


async def test_what_is_not_whole_is_noted(kept: Kept) -> None:
    listener = recorder(kept)
    listener.open(200, [STREAM])
    listener.hear(EVENT)
    await listener.settle()
    assert (list(kept), kept.row.unrecorded) == ([], "it ended before it was whole")


async def test_json_that_ends_with_its_connection_too_early(kept: Kept) -> None:
    await heard(kept, [b'{"a": [1'], JSON)
    assert (list(kept), kept.row.unrecorded) == ([], "it told no length, and its JSON ended before it was whole")


async def test_what_breaks_off_once_it_is_saved_is_no_matter(kept: Kept) -> None:
    listener = await heard(kept, [EVENT, DONE], STREAM)
    listener.forget("it broke off")
    await listener.settle()
    assert (len(kept), kept.row.unrecorded) == (1, "")


async def test_too_large_answers_are_not_kept(
    kept: Kept, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockserver.server.recorder.MAX_RECORDED", 5)
    await heard(kept, [b"123", b"456"], JSON)
    assert kept == []
    assert caplog.messages == ["cassette chat.yaml: an answer is not recorded: the answer is larger than 5 bytes"]
