"""What upstreams of tests say, and how a relay to one of them is asked."""

import gzip
import time
import zlib
from collections.abc import Callable
from typing import Any

import brotli
from backports import zstd

from tests.kit.raw import HI as BODY
from tests.kit.raw import STREAM as STREAMED
from tests.kit.raw import Raw, RawResponse, post
from tests.kit.relaying import Relaying
from tests.kit.upstream import Upstream, chunk, plain, stream, write_response_head

HI, STREAM = post(BODY), post(STREAMED)
AZURE = "/azure/chat/completions?api-version=2024-05-01-preview"
HELLO = b'data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n'
THERE = b'data: {"choices":[{"delta":{"content":" there"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
EVENTS = HELLO + THERE + DONE
ANSWER = b'{"id":"chatcmpl-1","choices":[]}'
HUGE = b'{"filler":"' + b"x" * 20_000_000 + b'"}'
ECHO = b'{"you sent":"{{authorization}} {{cookie}}"}'
ENDLESS = write_response_head("content-type: text/event-stream", "transfer-encoding: chunked") + chunk(HELLO)
LONGER = chunk(b"data: " + b"y" * 1000)


def flush_events(coding: str) -> list[bytes]:
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
    "chunked": (
        write_response_head("transfer-encoding: chunked") + chunk(ANSWER[:9]),
        0.1,
        chunk(ANSWER[9:]) + b"0\r\n\r\n",
    ),
    "to the close": (write_response_head("connection: close") + ANSWER, "close"),
    "too short": (write_response_head("content-length: 100") + ANSWER, "close"),
    "too long": (write_response_head(f"content-length: {len(ANSWER)}") + ANSWER + b" and more", "close"),
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
        b'{"error":{"message":"slow down"}}', "retry-after: 7", "x-ratelimit-remaining-requests: 0",
        status="429 Too Many Requests",
    ),
    "failing": plain(b"<h1>502</h1>", "content-type: text/html", status="502 Bad Gateway"),
    "no key": plain(b'{"error":{"message":"Incorrect API key provided"}}', status="401 Unauthorized"),
    "elsewhere": plain(b"", "location: http://127.0.0.1:1/", status="307 Temporary Redirect"),
    "nothing": (write_response_head(status="204 No Content"),),
    "models": plain(b'{"object":"list","data":[]}'),
    "head": (write_response_head("content-length: 27"),),
    "huge": plain(HUGE),
    "echo": (write_response_head("connection: close") + ECHO, "close"),
    "odd heads": plain(
        ANSWER, "Date: Mon, 01 Jan 2001 00:00:00 GMT", "Connection: keep-alive, x-hop", "x-hop: 1",
        "Keep-Alive: timeout=5", "Proxy-Authenticate: Basic", "X-Mockserver-Source: another", "X-Request-Id: Req_1",
    ),
    "odd status": plain(ANSWER, status="999 Odd"),
    "no http": (b"220 mail.example ESMTP\r\n", "close"),
}  # fmt: skip
for name, encode in ENCODE.items():
    coded = f"content-encoding: {name}"
    SCRIPTS[name] = plain(encode(ANSWER), coded)
    SCRIPTS[f"{name} stream"] = stream(*flush_events(name), gap=0.05, headers=(coded,))


def base(up: Upstream, script: str) -> str:
    assert script in SCRIPTS
    return up.base(script)


def received(relay: Relaying, *requests: bytes, to: str = "POST") -> RawResponse:
    with Raw(relay.port) as raw:
        return raw.send(*requests).receive(to=to)


def ended(relay: Relaying) -> str:
    deadline = time.monotonic() + 10
    while not (row := relay.live.journal.list_rows("default")[-1]).ended:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return row.ending


def failed(got: RawResponse) -> str:
    message: str = got.json["error"]["message"]
    return message
