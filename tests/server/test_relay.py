"""What a client, an upstream and a recorder see of a relay, over real sockets, with the upstream in its own process."""

import gzip
import json
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import brotli
import pytest
from backports import zstd

from mockserver.core.episode import Recorded
from mockserver.server.upstreams import Patience
from tests.kit.raw import GET, Heard, Raw, post
from tests.kit.raw import HI as BODY
from tests.kit.raw import STREAM as STREAMED
from tests.kit.relaying import Relaying, relaying
from tests.kit.upstream import Upstream, chunk, opened, plain, stream, upstream

HI, STREAM = post(BODY), post(STREAMED)
AZURE = "/azure/chat/completions?api-version=2024-05-01-preview"
HELLO = b'data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n'
THERE = b'data: {"choices":[{"delta":{"content":" there"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
EVENTS = HELLO + THERE + DONE
ANSWER = b'{"id":"chatcmpl-1","choices":[]}'
HUGE = b'{"filler":"' + b"x" * 20_000_000 + b'"}'
ECHO = b'{"you sent":"{{authorization}} {{cookie}}"}'
ENDLESS = opened("content-type: text/event-stream", "transfer-encoding: chunked") + chunk(HELLO)
LONGER = chunk(b"data: " + b"y" * 1000)


def flushed(coding: str) -> list[bytes]:
    """The events as a coded stream, flushed after each."""
    if coding == "br":
        packer = brotli.Compressor()
        pieces = [packer.process(event) + packer.flush() for event in (HELLO, THERE, DONE)]
        return [*pieces[:-1], pieces[-1] + packer.finish()]
    if coding == "zstd":
        coder = zstd.ZstdCompressor()
        block = zstd.ZstdCompressor.FLUSH_BLOCK
        pieces = [coder.compress(event, block) for event in (HELLO, THERE, DONE)]
        return [*pieces[:-1], pieces[-1] + coder.flush()]
    zipper = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    pieces = [zipper.compress(event) + zipper.flush(zlib.Z_SYNC_FLUSH) for event in (HELLO, THERE, DONE)]
    return [*pieces[:-1], pieces[-1] + zipper.flush()]


ENCODE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}
SCRIPTS: dict[str, Any] = {
    "plain": plain(ANSWER),
    "stream": stream(HELLO, THERE, DONE, gap=0.15),
    "chunked": (opened("transfer-encoding: chunked") + chunk(ANSWER[:9]), 0.1, chunk(ANSWER[9:]) + b"0\r\n\r\n"),
    "to the close": (opened("connection: close") + ANSWER, "close"),
    "too short": (opened("content-length: 100") + ANSWER, "close"),
    "too long": (opened(f"content-length: {len(ANSWER)}") + ANSWER + b" and more", "close"),
    "dropped": (ENDLESS, 0.1, "close"),
    "reset": (ENDLESS, 0.1, "reset"),
    "dropped at the end": (*stream(HELLO, DONE, end=False), "close"),
    "unterminated": stream(HELLO, THERE),
    "slow to close": (*stream(HELLO, DONE, end=False), 1.0, b"0\r\n\r\n"),
    "endless": (ENDLESS, *([0.05, chunk(THERE)] * 2000)),
    "left at the end": (*stream(HELLO, DONE, end=False), 30.0),
    "silent": (30.0,),
    "stalled": (ENDLESS, 30.0),
    "hung up": ("close",),
    "limited": plain(
        *(b'{"error":{"message":"slow down"}}', "retry-after: 7", "x-ratelimit-remaining-requests: 0"),
        status="429 Too Many Requests",
    ),
    "failing": plain(b"<h1>502</h1>", "content-type: text/html", status="502 Bad Gateway"),
    "elsewhere": plain(b"", "location: http://127.0.0.1:1/", status="307 Temporary Redirect"),
    "nothing": (opened(status="204 No Content"),),
    "models": plain(b'{"object":"list","data":[]}'),
    "head": (opened("content-length: 27"),),
    "huge": plain(HUGE),
    "echo": (opened("connection: close") + ECHO, "close"),
    "odd heads": plain(
        *(ANSWER, "Date: Mon, 01 Jan 2001 00:00:00 GMT", "Connection: keep-alive, x-hop", "x-hop: 1"),
        *("Keep-Alive: timeout=5", "Proxy-Authenticate: Basic", "X-Mockserver-Source: another", "X-Request-Id: Req_1"),
    ),
    "no http": (b"220 mail.example ESMTP\r\n", "close"),
}
for name, encode in ENCODE.items():
    coded = f"content-encoding: {name}"
    SCRIPTS[name] = plain(encode(ANSWER), coded)
    SCRIPTS[f"{name} stream"] = stream(*flushed(name), gap=0.05, headers=(coded,))


@pytest.fixture(scope="module")
def running() -> Iterator[Upstream]:
    with upstream({name.replace(" ", "-"): script for name, script in SCRIPTS.items()}) as process:
        yield process


@pytest.fixture
def up(running: Upstream) -> Upstream:
    running.forget()
    return running


def base(up: Upstream, script: str) -> str:
    assert script in SCRIPTS
    return up.base(script.replace(" ", "-"))


def heard(relay: Relaying, *requests: bytes, to: str = "POST") -> Heard:
    with Raw(relay.port) as raw:
        return raw.send(*requests).hear(to=to)


def ended(relay: Relaying) -> str:
    """How the last call ended, by the journal."""
    deadline = time.monotonic() + 10
    while not (row := relay.live.journal.rows("default")[-1]).ended:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return row.ending


def test_a_plain_answer(up: Upstream) -> None:
    with relaying(base(up, "plain")) as relay:
        got = heard(relay, HI)
    assert got.status == 200
    assert got.body == ANSWER
    assert got.headers["x-mockserver-source"] == "forwarded"
    assert got.headers["x-mockserver-call"] == "1"
    assert up.asked().body == BODY
    assert relay.episode.reply == Recorded(
        200, (("content-type", "application/json"), ("content-length", "32")), ANSWER, took=relay.episode.reply.took
    )


def test_a_stream_comes_as_it_is_sent(up: Upstream) -> None:
    moments, came = list[float](), b""
    with relaying(base(up, "stream")) as relay, Raw(relay.port) as raw:
        raw.send(STREAM)
        while not came.endswith(b"0\r\n\r\n"):
            came += raw.socket.recv(65536)
            moments.append(time.monotonic())
        assert ended(relay) == "complete"
        (row,) = relay.live.journal.rows("default")
    assert len(moments) >= 3
    assert all(0.1 < later - earlier < 1 for earlier, later in pairwise(moments[:4]))
    assert chunk(HELLO) in came
    frames = relay.episode.reply.frames
    assert frames is not None
    assert [data for _, data in frames] == [HELLO, THERE, DONE]
    assert [round(at / 0.15) for at, _ in frames] == [1, 2, 3]
    assert row.source == "forwarded"
    assert b"".join(data for _, data in row.sent) == EVENTS
    assert row.status == 200


@pytest.mark.parametrize("script", ["chunked", "to the close", "too long"])
def test_ends_of_every_kind(up: Upstream, script: str) -> None:
    with relaying(base(up, script)) as relay:
        assert heard(relay, HI).body == ANSWER
    assert relay.episode.reply.body == ANSWER


@pytest.mark.parametrize("coding", ENCODE)
def test_codings_stay_on_towards_the_client_and_off_in_what_is_recorded(up: Upstream, coding: str) -> None:
    with relaying(base(up, coding)) as relay:
        whole = heard(relay, HI)
    with relaying(base(up, f"{coding} stream")) as streaming:
        streamed = heard(streaming, STREAM)
    assert whole.body == ENCODE[coding](ANSWER)
    assert whole.headers["content-encoding"] == streamed.headers["content-encoding"] == coding
    assert streamed.body == b"".join(flushed(coding))
    assert relay.episode.reply.body == ANSWER
    assert relay.episode.reply.headers == (("content-type", "application/json"),)
    frames = streaming.episode.reply.frames
    assert frames is not None
    assert [data for _, data in frames] == [HELLO, THERE, DONE]
    assert frames[0][0] < frames[1][0] < frames[2][0]
    assert streaming.episode.reply.headers == (("content-type", "text/event-stream"),)
    assert {up.asked().script, up.asked().script} == {coding, f"{coding}-stream"}


@pytest.mark.parametrize("script", ["dropped", "reset", "too short", "dropped at the end"])
def test_what_breaks_off_is_broken_off(up: Upstream, script: str, caplog: pytest.LogCaptureFixture) -> None:
    with relaying(base(up, script)) as relay, Raw(relay.port) as raw:
        raw.send(STREAM)
        came = raw.rest()
        assert ended(relay).startswith("disconnected after ")
    assert came.startswith(b"HTTP/1.1 200")
    assert not came.endswith(b"0\r\n\r\n")
    assert (ANSWER if script == "too short" else HELLO) in came
    assert relay.episodes == []
    assert f"The upstream of openai, 127.0.0.1:{up.port}, broke its answer off: " in caplog.text


def test_to_a_client_that_knows_no_chunks_it_is_reset(up: Upstream) -> None:
    with relaying(base(up, "dropped")) as relay, Raw(relay.port) as raw:
        raw.send(STREAM.replace(b"HTTP/1.1", b"HTTP/1.0"))
        with pytest.raises(ConnectionResetError):
            raw.rest()
    assert relay.episodes == []


def test_a_stream_without_its_last_event_reaches_the_client_and_is_not_recorded(
    up: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    with relaying(base(up, "unterminated")) as relay:
        assert heard(relay, STREAM).body == HELLO + THERE
    assert relay.episodes == []
    assert "cassette chat.yaml: an answer is not recorded: the stream ended without" in caplog.text


def test_the_last_event_does_not_wait_long_for_the_end(up: Upstream) -> None:
    with relaying(base(up, "slow to close")) as relay, Raw(relay.port) as raw:
        raw.send(STREAM)
        began, came = time.monotonic(), b""
        while DONE not in came:
            came += raw.socket.recv(65536)
        assert relay.episode.reply.bytes == HELLO + DONE
        assert time.monotonic() - began < 0.8
        assert not came.endswith(b"0\r\n\r\n")
        while not came.endswith(b"0\r\n\r\n"):
            came += raw.socket.recv(65536)
    assert len(relay.episodes) == 1


@pytest.mark.parametrize("script", ["plain", "chunked", "stream", "to the close"])
def test_it_is_saved_before_the_client_sees_the_end(up: Upstream, script: str) -> None:
    with relaying(base(up, script)) as relay, Raw(relay.port) as raw:
        relay.kept.takes, came = 0.3, b""
        raw.send(STREAM if script == "stream" else HI)
        whole = DONE if script == "stream" else b"0\r\n\r\n" if script != "plain" else ANSWER
        while whole not in came:
            came += raw.socket.recv(65536)
        assert len(relay.episodes) == 1


def test_who_cannot_save_still_relays(up: Upstream, caplog: pytest.LogCaptureFixture) -> None:
    with relaying(base(up, "plain")) as relay:
        relay.kept.hindrance = OSError(28, "No space left on device")
        assert heard(relay, HI).body == ANSWER
    assert "cassette chat.yaml: an answer is not recorded: [Errno 28] No space left on device" in caplog.text


def test_without_a_cassette_nothing_is_recorded(up: Upstream) -> None:
    with relaying(base(up, "plain"), cassette=None) as relay:
        assert heard(relay, HI).body == ANSWER
    with relaying(base(up, "stream"), cassette=None) as relay:
        assert heard(relay, STREAM).body == EVENTS
    assert relay.episodes == []
    assert {up.asked().script, up.asked().script} == {"plain", "stream"}


@pytest.mark.parametrize("script", ["endless", "stalled", "silent"])
def test_a_client_that_leaves(up: Upstream, script: str) -> None:
    with relaying(base(up, script)) as relay:
        with Raw(relay.port) as raw:
            raw.send(STREAM)
            up.asked()
            if script != "silent":
                assert raw.socket.recv(65536)
        assert up.left() == script
        assert ended(relay).startswith("client left")
    assert relay.episodes == []


def test_a_client_that_leaves_once_all_was_said(up: Upstream) -> None:
    with relaying(base(up, "left at the end")) as relay:
        relay.kept.takes = 0.2
        with Raw(relay.port) as raw:
            raw.send(STREAM)
            up.asked()
            assert raw.socket.recv(65536)
            time.sleep(0.1)
        assert up.left() == "left-at-the-end"
        ended(relay)
        assert relay.episode.reply.bytes == HELLO + DONE


def test_errors_are_relayed_and_recorded(up: Upstream) -> None:
    with relaying(base(up, "limited")) as relay:
        got = heard(relay, HI)
    with relaying(base(up, "failing")) as failing:
        assert heard(failing, HI).body == b"<h1>502</h1>"
    assert got.status == 429
    assert got.headers["retry-after"] == "7"
    assert got.headers["x-ratelimit-remaining-requests"] == "0"
    assert got.json["error"]["message"] == "slow down"
    assert relay.episode.reply.status == 429
    assert dict(relay.episode.reply.headers)["retry-after"] == "7"
    assert failing.episode.reply.status == 502
    assert {up.asked().script, up.asked().script} == {"limited", "failing"}


def test_errors_are_not_recorded_where_that_is_said(up: Upstream) -> None:
    with relaying(base(up, "limited"), record_errors=False) as relay:
        assert heard(relay, HI).status == 429
    assert relay.episodes == []


def test_redirects_are_not_followed(up: Upstream) -> None:
    with relaying(base(up, "elsewhere")) as relay:
        got = heard(relay, HI)
    assert (got.status, got.headers["location"]) == (307, "http://127.0.0.1:1/")


def test_an_answer_without_a_body(up: Upstream) -> None:
    with relaying(base(up, "nothing")) as relay, Raw(relay.port) as raw:
        assert raw.send(HI).hear().status == 204
        assert raw.send(HI).hear().status == 204
    assert [episode.reply.body for episode in relay.episodes] == [b"", b""]
    assert up.asked().script == up.asked().script == "nothing"


def test_look_ups(up: Upstream) -> None:
    with relaying(base(up, "models")) as relay:
        assert heard(relay, GET).body == b'{"object":"list","data":[]}'
    asked = up.asked()
    assert (asked.method, asked.target, asked.body) == ("GET", "/models", b"")
    assert asked.header("content-length") is None
    with relaying(base(up, "head")) as relay:
        got = heard(relay, GET.replace(b"GET", b"HEAD"), to="HEAD")
    assert (got.status, got.headers["content-length"]) == (200, "27")
    assert up.asked().method == "HEAD"
    assert relay.episode.operation == "models"
    assert relay.episode.request.method == "HEAD"


def test_a_huge_answer(up: Upstream) -> None:
    with relaying(base(up, "huge")) as relay:
        assert heard(relay, HI).body == HUGE
    assert relay.episode.reply.body == HUGE


def test_what_an_upstream_echoes_reaches_the_client(up: Upstream) -> None:
    with relaying(base(up, "echo")) as relay:
        got = heard(relay, post(BODY, "authorization: Bearer sk-1234567890", "cookie: a=b"))
    assert got.json == {"you sent": "Bearer sk-1234567890 a=b"}
    assert relay.episode.reply.body == got.body  # to leave it out is the business of who saves it
    assert ("authorization", "Bearer sk-1234567890") in relay.episode.request.headers


def test_headers_of_an_answer(up: Upstream) -> None:
    with relaying(base(up, "odd heads")) as relay:
        got = heard(relay, HI)  # which takes no header twice
    assert got.headers["x-request-id"] == "Req_1"
    assert got.headers["x-mockserver-source"] == "forwarded"
    assert "2001" not in got.headers["date"]
    assert not {"x-hop", "keep-alive", "proxy-authenticate", "connection"} & set(got.headers)
    names = [name for name, _ in relay.episode.reply.headers]
    assert names == ["content-type", "x-request-id", "content-length"]


def test_headers_of_a_request(up: Upstream) -> None:
    body = BODY
    sent = ("Authorization: Bearer sk-1", "Connection: keep-alive, X-Hop", "X-Hop: 1", "TE: trailers")
    more = ("X-Mockserver-Timing: off", "User-Agent: Test/1", "X-Tenant: a", "Proxy-Authorization: Basic eA==")
    with relaying(base(up, "plain")) as relay:
        heard(relay, post(body, *sent, *more))
    asked = up.asked()
    assert asked.header("authorization") == "Bearer sk-1"
    assert asked.header("user-agent") == "Test/1"
    assert asked.header("x-tenant") == "a"
    assert asked.header("host") == f"127.0.0.1:{up.port}"
    assert asked.header("content-length") == str(len(body))
    names = {name.lower() for name, _ in asked.headers}
    assert names == {
        *("authorization", "user-agent", "x-tenant", "host", "content-length", "content-type", "x-mockserver-relay")
    }
    recorded = [name for name, _ in relay.episode.request.headers]
    assert recorded == ["content-type", "authorization", "user-agent", "x-tenant"]


def test_a_coded_request_goes_on_as_it_came(up: Upstream) -> None:
    body = BODY
    with relaying(base(up, "plain")) as relay:
        heard(relay, post(gzip.compress(body), "content-encoding: gzip"))
    asked = up.asked()
    assert asked.header("content-encoding") == "gzip"
    assert gzip.decompress(asked.body) == body
    assert relay.episode.request.body == body
    assert "content-encoding" not in dict(relay.episode.request.headers)


def test_namespaces_and_queries(up: Upstream) -> None:
    with relaying(base(up, "plain")) as relay:
        heard(relay, post(BODY, path="/ns/a%20b/openai/v1/chat/completions?a=%2F&b[]=c"))
        heard(relay, b"GET /v1/models/ft%3Agpt%2F1 HTTP/1.1\r\nhost: x\r\n\r\n")
    first, second = up.asked(), up.asked()
    assert first.target == "/chat/completions?a=%2F&b[]=c"
    assert second.target == "/models/ft%3Agpt%2F1"
    assert relay.episodes[0].request.path == "/openai/v1/chat/completions"
    assert relay.episodes[0].request.query == "a=%2F&b[]=c"


def test_connections_are_used_again(up: Upstream) -> None:
    with relaying(base(up, "plain")) as relay, Raw(relay.port) as raw:
        for _ in range(3):
            assert raw.send(HI).hear().body == ANSWER
    assert len({up.connection() for _ in range(3)}) == 1


def test_the_key_of_an_upstream_stands_in_for_the_client_s(up: Upstream) -> None:
    environ = {"MOCKSERVER_UPSTREAM_KEY_OPENAI": "sk-true", "MOCKSERVER_UPSTREAM_KEY_AZURE": "azure-true"}
    addresses = {"openai": base(up, "plain"), "azure": base(up, "chunked"), "tzafon": base(up, "echo")}
    body = BODY
    with relaying(addresses, environ=environ) as relay:
        heard(relay, post(body, "authorization: Bearer sk-mine"))
        heard(
            relay,
            post(
                body,
                "authorization: Bearer mine",
                "api-key: mine",
                path="/azure/chat/completions?api-version=2024-05-01-preview",
            ),
        )
        heard(relay, post(body, "authorization: Bearer mine", path="/tzafon/v1/chat/completions"))
    openai, azure, tzafon = up.asked(), up.asked(), up.asked()
    assert openai.header("authorization") == "Bearer sk-true"
    assert (azure.header("api-key"), azure.header("authorization")) == ("azure-true", None)
    assert (tzafon.script, tzafon.header("authorization")) == ("echo", "Bearer mine")
    assert "sk-true" not in repr(relay.episodes)


def failed(got: Heard) -> str:
    message: str = got.json["error"]["message"]
    return message


def test_an_upstream_that_does_not_listen() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with relaying(f"http://127.0.0.1:{port}/v1") as relay:
            got = heard(relay, post(BODY, "authorization: Bearer sk-secret-one"))
    assert got.status == 502
    assert failed(got) == f"The upstream of openai, 127.0.0.1:{port}, refuses connections."
    assert got.headers["x-mockserver-source"] == "forwarded"
    assert relay.episodes == []


@pytest.mark.parametrize(
    ("scheme", "script", "told"),
    [
        ("https", "plain", ""),
        ("http", "hung up", "gave no answer: Server disconnected without sending a response"),
        ("http", "no http", "gave no answer: "),
    ],
)
def test_an_upstream_that_does_not_answer(
    up: Upstream, scheme: str, script: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    with relaying(base(up, script).replace("http", scheme, 1)) as relay:
        got = heard(relay, HI)
    assert got.status == 502
    assert failed(got).startswith(f"The upstream of openai, 127.0.0.1:{up.port}, {told}")
    assert failed(got) in caplog.messages
    assert relay.episodes == []


def test_an_upstream_that_nobody_finds() -> None:
    with relaying("http://nowhere.invalid/v1") as relay:
        got = heard(relay, HI)
    assert got.status == 502
    assert failed(got).startswith("The upstream of openai, nowhere.invalid, cannot be found: ")


def test_an_upstream_that_takes_too_long(up: Upstream) -> None:
    with relaying(base(up, "silent"), patience=Patience(head=0.2)) as relay:
        got = heard(relay, HI)
        assert up.left() == "silent"
    assert got.status == 504
    assert failed(got) == f"The upstream of openai, 127.0.0.1:{up.port}, did not answer in time."
    assert relay.episodes == []


def test_an_upstream_that_stalls(up: Upstream) -> None:
    with relaying(base(up, "stalled"), patience=Patience(piece=0.2)) as relay, Raw(relay.port) as raw:
        came = raw.send(STREAM).rest()
        assert up.left() == "stalled"
    assert HELLO in came
    assert not came.endswith(b"0\r\n\r\n")
    assert relay.episodes == []


def test_no_upstream_is_known() -> None:
    with relaying({"azure": "http://127.0.0.1:1"}) as relay:
        got = heard(relay, HI)
    assert got.status == 502
    assert failed(got) == "No upstream is known for openai: name it, as in --upstream openai=https://..."


def test_each_dialect_says_it_in_its_own_words(up: Upstream) -> None:
    with relaying({"azure": base(up, "hung up")}) as relay:
        got = heard(relay, post(BODY, path=AZURE))
    assert got.status == 502
    assert (got.json["error"], got.json["code"]) == ("Bad Gateway", "BadGateway")
    assert got.json["message"].startswith(f"The upstream of azure, 127.0.0.1:{up.port}, gave no answer")


def test_an_upstream_that_is_the_server_itself() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with relaying(f"http://127.0.0.1:{port}/v1", port=port) as relay:
        got = heard(relay, HI)
    assert got.status == 502
    assert failed(got).startswith("This request has passed this server before: the upstream is the server itself")
    assert relay.episodes == []


def test_one_relay_behind_another(up: Upstream) -> None:
    with relaying(base(up, "plain")) as second, relaying(f"{second.address}/v1") as first:
        got = heard(first, HI)
    assert got.body == ANSWER
    assert got.headers["x-mockserver-call"] == "1"
    assert first.episode.reply == second.episode.reply or first.episode.reply.body == ANSWER
    assert len((up.asked().header("x-mockserver-relay") or "").split(", ")) == 2


def test_limits_count_what_is_relayed(up: Upstream) -> None:
    with relaying(base(up, "plain"), limits={"requests_per_minute": 1}) as relay:
        assert heard(relay, HI).status == 200
        assert heard(relay, HI).status == 429


def test_no_headers_of_our_own_where_none_are_wanted(up: Upstream) -> None:
    with relaying(base(up, "odd heads"), source_headers=False) as relay:
        assert not [name for name in heard(relay, HI).headers if name.startswith("x-mockserver")]


def test_many_at_once(up: Upstream) -> None:
    with relaying(base(up, "stream")) as relay:
        lines = [Raw(relay.port).send(STREAM) for _ in range(40)]
        assert [line.hear().body for line in lines] == [EVENTS] * 40
        for line in lines:
            line.socket.close()
    assert [episode.reply.bytes for episode in relay.episodes] == [EVENTS] * 40
    assert all(up.asked().script == "stream" for _ in range(40))


def test_a_body_is_relayed_byte_for_byte(up: Upstream) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "ünï \u2028"}]}, indent=3).encode()
    with relaying(base(up, "plain")) as relay:
        heard(relay, post(body))
    assert up.asked().body == body == relay.episode.request.body
