"""What a recorder makes of an answer that it gets piece by piece; what is redacted, and what is no answer to keep."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Sequence

import pytest
from backports import zstd

from mockserver.config.errors import CassetteError
from mockserver.config.settings import Settings
from mockserver.config.spelling import FLAGS
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.http import HttpRequest
from mockserver.core.row import Row
from mockserver.server.recording.misconfiguration import find_misconfiguration
from mockserver.server.recording.recorder import Recorder, RecordingJob
from mockserver.server.recording.recording_policy import RecordingPolicy

Log = pytest.LogCaptureFixture
JSON = (b"content-type", b"application/json")
STREAM = (b"content-type", b"text/event-stream; charset=utf-8")
EVENT = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
SENT = Sent("POST", "/v1/chat/completions", "", (("accept", "*/*"),), b"{}")
NOT_RECORDED = "cassette chat.yaml: an answer is not recorded: "


def call(operation: str = "chat", dialect: str = "openai", model: str = "gpt-4o") -> Call:
    return Call(dialect, operation, model, HttpRequest("POST", "/v1/chat/completions"), meaning={}, stream=True)


class Kept(list[Episode]):
    """The saved episodes, in place of a cassette."""

    hindrance: Exception | None = None
    row: Row

    async def save(self, episode: Episode) -> str:
        await asyncio.sleep(0)
        if self.hindrance is not None:
            raise self.hindrance
        self.append(episode)
        return f"cassette chat.yaml#{len(self)}"

    def recorder(self, *headers: tuple[bytes, bytes], operation: str = "chat") -> Recorder:
        """A recorder that has the head of an answer."""
        self.row = Row(1, "POST", "/v1/chat/completions", "openai", "default")
        made = Recorder(RecordingJob("chat.yaml", call(operation), SENT, errors=True), self.save, self.row)
        made.open(200, headers)
        return made

    async def receive(
        self, pieces: Iterable[bytes], *headers: tuple[bytes, bytes], operation: str = "chat"
    ) -> Recorder:
        """A recorder that has a whole answer, which has ended."""
        made = self.recorder(*headers, operation=operation)
        for piece in pieces:
            made.receive(piece)
        await made.save()
        return made


@pytest.fixture
def kept() -> Kept:
    return Kept()


def by_size(data: bytes, size: int) -> Sequence[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def events(episode: Episode) -> list[bytes]:
    assert episode.reply.frames is not None
    return [data for _, data in episode.reply.frames]


async def test_a_plain_answer(kept: Kept) -> None:
    await kept.receive([b'{"a"', b":1}"], JSON, (b"content-length", b"7"))
    (episode,) = kept
    reply = episode.reply
    assert (episode.dialect, episode.operation, episode.model) == ("openai", "chat", "gpt-4o")
    assert (episode.request, reply.status, reply.body, reply.frames) == (SENT, 200, b'{"a":1}', None)
    assert reply.headers == (("content-type", "application/json"), ("content-length", "7"))
    assert (reply.took > 0, episode.at > 1_700_000_000) == (True, True)
    assert (kept.row.recorded, kept.row.unrecorded) == ("cassette chat.yaml#1", "")


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
async def test_a_stream_is_kept_by_its_events(kept: Kept, size: int, end: bytes) -> None:
    text = (EVENT * 3 + b": a comment\n\n" + DONE).replace(b"\n\n", end)
    await kept.receive(by_size(text, size), STREAM)
    assert b"".join(events(kept[0])) == kept[0].reply.bytes == text
    assert events(kept[0]) == [*[EVENT.replace(b"\n\n", end)] * 3, b": a comment" + end, b"data: [DONE]" + end]


async def test_an_event_has_the_time_of_its_last_byte(kept: Kept) -> None:
    made = kept.recorder(STREAM)
    for piece in (EVENT[:5], EVENT[5:] + EVENT, DONE):
        await asyncio.sleep(0.02)
        made.receive(piece)
    await made.save()
    first, second, last = [at for at, _ in kept[0].reply.frames or ()]
    assert 0.03 < first == second < last <= kept[0].reply.took


@pytest.mark.parametrize(
    ("name", "encode"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress), (b"zstd", zstd.compress)]
)
async def test_coded_answers_are_decoded(kept: Kept, name: bytes, encode: Callable[[bytes], bytes]) -> None:
    coding, coded = (b"content-encoding", name), encode(b'{"a":1}')
    await kept.receive(by_size(coded, 4), JSON, coding, (b"content-length", b"%d" % len(coded)))
    await kept.receive(by_size(encode(EVENT + DONE), 4), STREAM, coding)
    assert [episode.reply.bytes for episode in kept] == [b'{"a":1}', EVENT + DONE]
    assert [[name for name, _ in episode.reply.headers] for episode in kept] == [["content-type"]] * 2


@pytest.mark.parametrize("kind", [JSON, STREAM])
@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (b"gzip", b"this is no gzip at all" * 9),
        (b"gzip", gzip.compress(EVENT + DONE, mtime=0)[:-3]),
        (b"compress", b"\x1f\x9d\x90 and so on"),
    ],
)
async def test_undecodable_answers_are_not_kept(
    kept: Kept, kind: tuple[bytes, bytes], coding: bytes, body: bytes, caplog: Log
) -> None:
    await kept.receive(by_size(body, 5), kind, (b"content-encoding", coding))
    assert list(kept) == []
    assert "its content encoding cannot be decoded" in caplog.text


LAST: list[tuple[str, bytes, bool]] = [
    ("chat", DONE, True),
    ("chat", b"data:[DONE]\r\n\r\n", True),
    ("chat", b'data: {"error":{"message":"no"}}\n\n', True),
    ("chat", b"event: error\ndata: {}\n\n", True),
    ("responses", b'event: response.completed\ndata: {"type":"response.completed","response":{}}\n\n', True),
    ("responses", b'data: {"sequence_number":4,"type":"response.failed"}\n\n', True),
    ("chat", b'data: {"choices":[{"delta":{"content":"data: [DONE]"}}]}\n\n', False),
    ("chat", b'data: {"object": "chat.completion.done", "choices": []}\n\n', True),  # Perplexity
    ("chat", b"data: [DONE]", False),
    ("chat", b'data: {"error":null,"choices":[]}\n\n', False),
    ("responses", DONE, False),
    ("responses", b'data: {"type":"response.delta","delta":"\\"type\\":\\"response.completed\\""}\n\n', False),
]


@pytest.mark.parametrize(("operation", "last", "ends"), LAST)
async def test_a_stream_is_kept_if_its_last_event_came(
    kept: Kept, operation: str, last: bytes, ends: bool, caplog: Log
) -> None:
    made = kept.recorder(STREAM, operation=operation)
    made.receive(EVENT + last[:-1])
    assert not made.is_ready
    made.receive(last[-1:])
    assert made.is_ready is ends
    await made.save()
    assert [episode.reply.bytes for episode in kept] == [EVENT + last] * ends
    assert ends or f"{NOT_RECORDED}the stream ended without its final event" in caplog.text


async def test_an_announced_length_is_reached(kept: Kept) -> None:
    made = kept.recorder(JSON, (b"content-length", b"3"))
    made.receive(b"{ ")
    assert not made.is_ready
    made.receive(b"}")
    assert made.is_ready


async def test_cancelling_does_not_stop_the_saving(kept: Kept) -> None:
    made = kept.recorder(JSON)
    made.receive(b"{}")
    waiting = asyncio.create_task(made.save())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    await made.save()
    made.forget("it broke off")
    await made.conclude()
    assert (len(kept), kept.row.unrecorded) == (1, "")


@pytest.mark.parametrize(
    ("hindrance", "why"),
    [
        (CassetteError("it would hold a key at reply.body: sk-1\nx"), "it would hold a key at reply.body: sk-1\\x0ax"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (KeyError(), "KeyError"),
    ],
)
async def test_the_log_says_why_nothing_is_saved(kept: Kept, hindrance: Exception, why: str, caplog: Log) -> None:
    kept.hindrance = hindrance
    await kept.receive([b"{}"], JSON)
    assert caplog.messages == [NOT_RECORDED + why]
    assert (kept.row.recorded, kept.row.unrecorded) == ("", why)


async def test_incomplete_and_large_answers_are_not_kept(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kept.recorder(STREAM)
    made.receive(EVENT)
    await made.conclude()
    assert kept.row.unrecorded == "it ended before it was complete"
    await kept.receive([b'{"a": [1'], JSON)
    assert kept.row.unrecorded == "its length is unknown, and its JSON is incomplete"
    monkeypatch.setattr("mockserver.server.recording.recorder.MAX_RECORDED", 5)
    await kept.receive([b"123", b"456"], JSON)
    assert kept.row.unrecorded == "the answer is larger than 5 bytes"
    assert list(kept) == []


# --- errors of a wrong setup

ERRORS: dict[str, tuple[int, str, bool]] = {  # status, body, whether it is an answer to keep
    "a limit": (429, '{"error": {"message": "slow down"}}', True),
    "a broken server": (502, "<h1>502</h1>", True),
    "a model of OpenAI": (404, '{"error": {"message": "The model `lab/x` does not exist"}}', True),
    "a model by its code": (404, '{"error": {"code": "model_not_found"}}', True),
    "a deployment": (404, '{"error": {"code": "DeploymentNotFound", "message": "If you created ..."}}', True),
    "a response": (404, '{"error": {"message": "Response with id \'resp_1\' not found.", "code": null}}', True),
    "a response of Tzafon": (404, '{"error": {"message": "Not found", "param": "response_id", "code": 404}}', True),
    "a path of OpenAI": (404, '{"error": {"message": "Invalid URL (POST /chat/completions)"}}', False),
    "a path of Azure": (404, '{"error": {"code": "404", "message": "Resource not found"}}', False),
    "a path with deployments": (404, '{"error": {"message": "no route /openai/deployments/lab/x"}}', False),
    "a path of nginx": (404, '<html id="model"><h1>404 Not Found</h1></html>', False),
    "a path of Go": (404, "404 page not found", False),
}


@pytest.mark.parametrize(("status", "body", "keep"), ERRORS.values(), ids=ERRORS)
def test_a_404_of_a_wrong_url_is_no_answer(status: int, body: str, keep: bool) -> None:
    why = find_misconfiguration(Recorded(status, (), body.encode()), call(dialect="azure_openai", model="lab/x"), FLAGS)
    wrong = "404: the URL in --upstream azure_openai=URL looks wrong; give the base URL, without /v1"
    assert why == (None if keep else f"{wrong} (--record-errors records it too)")


def test_a_wrong_key_is_no_answer() -> None:
    body = b'{"error": {"message": "no model for this key"}}'
    assert find_misconfiguration(Recorded(403, (), body), call(dialect="azure_openai"), FLAGS) == (
        "403: the upstream rejected the API key; give the client a valid one, or set "
        "MOCKSERVER_UPSTREAM_KEY_AZURE_OPENAI (--record-errors records it too)"
    )


def test_google_answers_a_wrong_key_with_a_400() -> None:
    body = b'{"error": {"code": 400, "details": [{"reason": "API_KEY_INVALID"}], "status": "INVALID_ARGUMENT"}}'
    assert find_misconfiguration(Recorded(400, (), body), call(dialect="gemini"), FLAGS) is not None
    assert find_misconfiguration(Recorded(400, (), b'{"error": {"code": 400}}'), call(dialect="gemini"), FLAGS) is None


@pytest.mark.parametrize(
    "words",
    [
        "You do not have permission to access the File a or it may not exist.",
        "CachedContent not found (or permission denied)",
    ],
)
def test_google_answers_what_there_is_not_with_a_403(words: str) -> None:
    body = json.dumps({"error": {"code": 403, "message": words, "status": "PERMISSION_DENIED"}}).encode()
    assert find_misconfiguration(Recorded(403, (), body), call(dialect="gemini"), FLAGS) is None


# --- redaction

ENVIRON = {"MOCKSERVER_UPSTREAM_KEY_OPENAI": "sk-upstream-0123456789abcdef"}
LEAK = "sk-proj-8fK2qLmN0pR4sT6vX9zB1dF3"


def episode(answer: str, **headers: str) -> Episode:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    sent = Sent("POST", "/v1/chat/completions", "", tuple(headers.items()), body)
    return Episode("openai", "chat", "m", sent, Recorded(200, (), answer.encode()))


def test_credentials_of_the_request_and_the_environment_are_redacted() -> None:
    answer = f"{ENVIRON['MOCKSERVER_UPSTREAM_KEY_OPENAI']} abcdef-123456"
    found = RecordingPolicy(Settings(), ENVIRON).redact(episode(answer, authorization="Bearer abcdef-123456"))
    assert (found.reply.body, found.request.headers) == (b"<API_KEY> <API_KEY>", ())


def test_what_looks_like_a_secret_is_not_recorded_unless_allowed() -> None:
    with pytest.raises(CassetteError, match="allow_secrets"):
        RecordingPolicy(Settings(), {}).redact(episode(LEAK))
    allowing = RecordingPolicy(Settings(allow_secrets=("sk-proj-*",)), {})
    assert allowing.redact(episode(LEAK)).reply.body == LEAK.encode()


def test_headers_that_are_compared_are_kept() -> None:
    policy = RecordingPolicy(Settings(match={"also": ("header.X-Tenant",)}), {})
    found = policy.redact(episode("a", **{"x-tenant": "blue", "x-other": "red"}))
    assert found.request.headers == (("x-tenant", "blue"),)
