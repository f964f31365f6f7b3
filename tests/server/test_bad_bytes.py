"""Bad input over a real socket: the dialect's own 4xx arrives whole, and the server lives on."""

import json
import re
import socket
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import pytest

from tests.dialects.features import URLS
from tests.dialects.invariants import has_shape
from tests.kit.served import Served, served

HI = b'{"model":"m","messages":[{"role":"user","content":"Hello"}]}'
LIMIT = 300_000


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(f"version: 1\nsettings: {{max_body: {LIMIT}}}\n") as running:
        yield running


def talk(server: Served, *pieces: bytes, ends: bool = True) -> bytes:
    """All that the server answers until it closes the connection; `ends`: the client says that it has said all."""
    url = urlsplit(server.address)
    with socket.create_connection((url.hostname, url.port), timeout=10) as connection:
        for piece in pieces:
            connection.sendall(piece)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        heard = b""
        while piece := connection.recv(65536):
            heard += piece
    return heard


def post(path: str, body: bytes, *headers: bytes) -> bytes:
    """A request as its bytes; the server closes the connection after it."""
    lines = [b"POST %s HTTP/1.1" % path.encode(), b"host: x", b"connection: close", *headers]
    if not any(header.startswith(b"transfer-encoding") for header in headers):
        lines.append(b"content-length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def parsed(answer: bytes) -> tuple[int, Mapping[str, str], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert len(body) == int(headers["content-length"])
    return int(status.split()[1]), headers, body


BODIES: Mapping[str, tuple[bytes, int]] = {
    "nothing": (b"", 400),
    "cut": (HI[:-5], 400),
    "NaN": (HI[:-1] + b',"temperature":NaN}', 400),
    "1e400": (HI[:-1] + b',"temperature":1e400}', 400),
    "a lone surrogate": (HI.replace(b"Hello", b"\\ud800"), 400),
    "invalid UTF-8": (HI.replace(b"Hello", b"\xff\xfe"), 400),
    "a duplicate key": (HI[:-1] + b',"model":"n"}', 400),
    "depth 100000": (b"[" * 100_000 + b"]" * 100_000, 400),
    "an array": (b"[" + HI + b"]", 400),
    "over the limit": (HI.replace(b"Hello", b"x" * LIMIT), 413),
    "far over the limit": (HI.replace(b"Hello", b"x" * LIMIT * 9), 413),
}


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize(("body", "status"), BODIES.values(), ids=BODIES)
def test_a_bad_body(server: Served, dialect: str, body: bytes, status: int) -> None:
    got, headers, told = parsed(talk(server, post(URLS[dialect], body)))
    assert got == (422 if (status, dialect) == (400, "fireworks") else status)
    assert headers["content-type"] == "application/json"
    assert headers["x-mockserver-source"] == "invalid"
    has_shape(json.loads(told), dialect, "error")


def test_a_body_in_chunks_has_the_same_limit(server: Served) -> None:
    chunk = b"%x\r\n%s\r\n" % (50_000, b" " * 50_000)
    whole = post(URLS["openai"], chunk * 7 + b"0\r\n\r\n", b"transfer-encoding: chunked")
    assert parsed(talk(server, whole))[0] == 413
    sound = b"%x\r\n%s\r\n" % (len(HI), HI)
    whole = post(URLS["openai"], chunk * 5 + sound + b"0\r\n\r\n", b"transfer-encoding: chunked")
    assert parsed(talk(server, whole, ends=False))[0] == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("//v1///chat/completions//", 200),
        ("/ns/mine/v1/chat/completions", 200),
        ("/ns/%F0%9F%8C%8A/v1/chat/completions?x=%ff&&=", 200),
        ("/v1/%00%0d%0aset-cookie:%20x", 404),
        ("/v1/%ff%fe", 404),
        ("/v1/chat/completion?" + "x" * 15_000, 404),
        ("/skytells/" + "a/" * 5_000, 404),
        ("/v1/models", 405),
    ],
)
def test_an_odd_path(server: Served, path: str, status: int) -> None:
    got, headers, told = parsed(talk(server, post(path, HI)))
    assert got == status
    assert "set-cookie" not in headers
    if status == 404:
        assert "Invalid URL" in json.loads(told)["error"]["message"]
    if status == 405:
        assert headers["allow"] == "GET"


@pytest.mark.parametrize(
    "header",
    [
        b"authorization: Bearer \xff\xfe",
        b"authorization:",
        b"x-stainless-retry-count: " + b"9" * 5_000,
        b"x-ms-client-request-id: \xff",
        b"cookie: " + b"c" * 30_000,
    ],
)
@pytest.mark.parametrize("dialect", URLS)
def test_an_odd_header(server: Served, dialect: str, header: bytes) -> None:
    assert parsed(talk(server, post(URLS[dialect], HI, header)))[0] == 200


@pytest.mark.parametrize(
    "noise",
    [
        b"",
        b"\r\n\r\n",
        b"\x00\xff" * 500,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /v1/\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: minus\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 60\r\n\r\n" + HI[:20],
        b"POST /v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # the beginning of TLS
    ],
)
def test_noise_ends_the_connection_and_harms_nobody(server: Served, noise: bytes) -> None:
    heard = talk(server, noise)
    assert heard == b"" or heard.startswith(b"HTTP/1.1 4"), heard
    assert parsed(talk(server, post("/v1/chat/completions", HI)))[0] == 200


def test_a_refusal_keeps_the_connection(server: Served) -> None:
    bad = post(URLS["openai"], b"{").replace(b"connection: close", b"x: y")
    heard = talk(server, bad + post(URLS["openai"], HI), ends=False)
    assert re.findall(rb"HTTP/1\.1 (\d+)", heard) == [b"400", b"200"]
