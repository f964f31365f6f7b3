"""Requests that two readers could read in two ways, or that no reader should, are refused as JSON.

Most are known from request smuggling: what stands behind such a head must never be read as a request.
"""

from collections.abc import Iterator

import pytest

from tests.kit.raw import HI, Raw, post, write_chunked
from tests.kit.served import Served, served

P = b"POST /v1/chat/completions HTTP/1.1\r\n"
H = b"host: x\r\n"
J = b"content-type: application/json\r\n"
L = b"content-length: %d\r\n" % len(HI)
C = b"transfer-encoding: chunked\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n"


def _head(*lines: bytes, first: bytes = P) -> bytes:
    return first + H + b"".join(lines) + b"\r\n"


def _get(target: bytes, version: bytes = b"HTTP/1.1", method: bytes = b"GET") -> bytes:
    return method + b" " + target + b" " + version + b"\r\n" + H + b"\r\n"


HEADS: dict[str, tuple[bytes, int]] = {
    "both lengths": (_head(L, C) + HI, 400),
    "both lengths, the other way round": (_head(C, L) + write_chunked(HI), 400),
    "two lengths": (_head(L, b"content-length: 5\r\n") + HI, 400),
    "the same length twice": (_head(L, L) + HI, 400),
    "a list of lengths": (_head(b"content-length: 5, 5\r\n") + HI, 400),
    "a length with a plus": (_head(b"content-length: +5\r\n") + HI, 400),
    "a length below zero": (_head(b"content-length: -1\r\n") + HI, 400),
    "a length in hex": (_head(b"content-length: 0x5\r\n") + HI, 400),
    "a length with an underscore": (_head(b"content-length: 1_0\r\n") + HI, 400),
    "a length with a fraction": (_head(b"content-length: 5.0\r\n") + HI, 400),
    "a length of other digits": (_head("content-length: ٥\r\n".encode()) + HI, 400),
    "a length without digits": (_head(b"content-length:\r\n") + HI, 400),
    "a length beyond all bounds": (_head(b"content-length: " + b"9" * 30 + b"\r\n") + HI, 400),
    "another coding": (_head(b"transfer-encoding: gzip\r\n") + HI, 400),
    "another coding before chunked": (_head(b"transfer-encoding: gzip, chunked\r\n") + write_chunked(HI), 400),
    "chunked before another coding": (_head(b"transfer-encoding: chunked, gzip\r\n") + write_chunked(HI), 400),
    "chunked and identity": (_head(b"transfer-encoding: chunked, identity\r\n") + write_chunked(HI), 400),
    "identity": (_head(b"transfer-encoding: identity\r\n") + HI, 400),
    "chunked twice": (_head(C, C) + write_chunked(HI), 400),
    "something like chunked": (_head(b"transfer-encoding: xchunked\r\n") + write_chunked(HI), 400),
    "chunked in quotes": (_head(b'transfer-encoding: "chunked"\r\n') + write_chunked(HI), 400),
    "chunked after a vertical tab": (_head(b"transfer-encoding: \x0bchunked\r\n") + write_chunked(HI), 400),
    "chunked with a parameter": (_head(b"transfer-encoding: chunked;a=b\r\n") + write_chunked(HI), 400),
    "chunked in HTTP/1.0": (P.replace(b"1.1", b"1.0") + H + C + b"\r\n" + write_chunked(HI), 400),
    "white space before the colon": (_head(b"transfer-encoding : chunked\r\n") + write_chunked(HI), 400),
    "a tab before the colon": (_head(b"content-length\t: 5\r\n") + HI, 400),
    "a folded header": (_head(b"x-a: b\r\n c\r\n", L) + HI, 400),
    "a folded coding": (_head(b"transfer-encoding:\r\n chunked\r\n") + write_chunked(HI), 400),
    "a first header with white space before it": (P + b" host: x\r\n" + L + b"\r\n" + HI, 400),
    "a header without a colon": (_head(b"what is this\r\n", L) + HI, 400),
    "a header without a name": (_head(b": a\r\n", L) + HI, 400),
    "a name in parentheses": (_head(b"x(a): b\r\n", L) + HI, 400),
    "a name beyond ASCII": (_head("é: b\r\n".encode(), L) + HI, 400),
    "NUL in a value": (_head(b"x-a: b\x00c\r\n", L) + HI, 400),
    "NUL in a name": (_head(b"x\x00a: b\r\n", L) + HI, 400),
    "CR in a value": (_head(b"x-a: b\rcontent-length: 0\r\n", L) + HI, 400),
    "LF in a value": (_head(b"x-a: b\ncontent-length: 0\r\n", L) + HI, 400),
    "lines that end with LF": (_head(L).replace(b"\r\n", b"\n") + HI, 400),
    "an empty line of LF": (P + H + L + b"\n" + HI, 400),
    "a control character in a value": (_head(b"x-a: \x1b[31m\r\n", L) + HI, 400),
    "DEL in a value": (_head(b"x-a: \x7f\r\n", L) + HI, 400),
    "no host": (P + L + b"\r\n" + HI, 400),
    "two hosts": (_head(b"host: y\r\n", L) + HI, 400),
    "the same host twice": (_head(H, L) + HI, 400),
    "two names as one host": (P + b"host: x, y\r\n" + L + b"\r\n" + HI, 400),
    "a host with a path": (P + b"host: x/y\r\n" + L + b"\r\n" + HI, 400),
    "a host with a user": (P + b"host: a@x\r\n" + L + b"\r\n" + HI, 400),
    "a host with white space": (P + b"host: x y\r\n" + L + b"\r\n" + HI, 400),
    "a host with a port that is none": (P + b"host: x:y\r\n" + L + b"\r\n" + HI, 400),
    "a host beyond ASCII": (P + "host: é\r\n".encode() + L + b"\r\n" + HI, 400),
    "a tab in the first line": (_get(b"/v1/models").replace(b"GET ", b"GET\t"), 400),
    "white space after the version": (_get(b"/v1/models", b"HTTP/1.1 "), 400),
    "no version": (b"GET /v1/models\r\n" + H + b"\r\n", 400),
    "HTTP/0.9": (_get(b"/v1/models", b"HTTP/0.9"), 400),
    "HTTP/1.10": (_get(b"/v1/models", b"HTTP/1.10"), 400),
    "a version in lower case": (_get(b"/v1/models", b"http/1.1"), 400),
    "a method with a bracket": (_get(b"/v1/models", method=b"G[T"), 400),
    "an endless method": (_get(b"/v1/models", method=b"G" * 100), 400),
    "a TLS handshake": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(64)), 400),
    "white space before the first line": (b" " + _get(b"/v1/models"), 400),
    "a target beyond ASCII": (_get("/v1/modèles".encode()), 400),
    "a target with a fragment": (_get(b"/v1/models#part"), 400),
    "a target with NUL": (_get(b"/v1/\x00"), 400),
    "a target with DEL": (_get(b"/v1/\x7f"), 400),
    "a target that is no path": (_get(b"v1/models"), 400),
    "a target of another scheme": (_get(b"ftp://x/v1/models"), 400),
    "a whole URL with a user": (_get(b"http://a@x/v1/models"), 400),
    "a whole URL without a host": (_get(b"http:///v1/models"), 400),
    "an asterisk": (_get(b"*"), 400),
    "CONNECT": (_get(b"x:443", method=b"CONNECT"), 405),
    "CONNECT to a path": (_get(b"/v1/models", method=b"CONNECT"), 405),
    "a first line without end": (b"GET /" + b"a" * 32_768, 414),
    "a first line that is too long": (_get(b"/" + b"a" * 32_768), 414),
    "a header that is too long": (_head(b"x-a: " + b"a" * 65_536 + b"\r\n"), 431),
    "a header without end": (P + b"x-a: " + b"a" * 65_536, 431),
    "too many headers": (_head(b"x: y\r\n" * 100), 431),
    "too many headers without end": (P + b"x: y\r\n" * 110, 431),
    "an expectation": (_head(b"expect: 200-ok\r\n", L) + HI, 417),
    "two expectations": (_head(b"expect: 100-continue\r\n" * 2, L) + HI, 417),
}

CHUNKS: dict[str, bytes] = {
    "no size": b"\r\n",
    "a size that is no number": b"zz\r\n",
    "a size with a sign": b"+5\r\nhello\r\n",
    "a size below zero": b"-5\r\nhello\r\n",
    "a size with 0x": b"0x5\r\nhello\r\n",
    "a size with an underscore": b"0_5\r\nhello\r\n",
    "a size after white space": b" 5\r\nhello\r\n",
    "a size before white space": b"5 \r\nhello\r\n",
    "a size that is too long": b"0000000005\r\nhello\r\n",
    "a size beyond 64 bits": b"f" * 17 + b"\r\n",
    "a size that ends with LF": b"5\nhello\r\n",
    "a size that ends with CR": b"5\rhello\r\n",
    "more than its size": b"5\r\nhelloo\r\n",
    "less than its size": b"5\r\nhell\r\n0\r\n\r\n",
    "a chunk that ends with LF": b"5\r\nhello\n0\r\n\r\n",
    "no end of a chunk": b"5\r\nhello0\r\n\r\n",
    "an extension without a name": b"5;\r\nhello\r\n",
    "an extension with LF": b"5;a\nb\r\nhello\r\n",
    "an extension with NUL": b"5;a=\x00\r\nhello\r\n",
    "an extension that is too long": b"5;a=" + b"b" * 9000 + b"\r\nhello\r\n",
    "an extension without end": b"5;a=" + b"b" * 9000,
    "many extensions": b"".join(b"1;a=%b\r\nx\r\n" % (b"b" * 800) for _ in range(12)),
    "a trailer with a length": b"0\r\ncontent-length: 5\r\n\r\n",
    "a trailer without a colon": b"0\r\nwhat\r\n\r\n",
    "a folded trailer": b"0\r\na: b\r\n c\r\n\r\n",
    "trailers that are too long": b"0\r\n" + b"a: %b\r\n" % (b"b" * 900) * 10 + b"\r\n",
    "a trailer without end": b"0\r\na: " + b"b" * 9000,
    "an end with LF": b"0\r\n\n",
}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture(params=["fresh", "used"])
def line(request: pytest.FixtureRequest, server: Served) -> Iterator[Raw]:
    with Raw(server.port) as connection:
        if request.param == "used":
            assert connection.is_open()
            assert connection.send(post(HI)).receive().status == 200
        yield connection


def check_refused(line: Raw, status: int) -> None:
    received = line.receive()
    assert (received.status, received.headers["content-type"]) == (status, "application/json")
    assert received.headers["connection"] == "close"
    assert set(received.json["error"]) == {"message", "type", "param", "code"}
    assert line.rest() == b""


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_refused(name: str, line: Raw) -> None:
    sent, status = HEADS[name]
    line.send(sent + SMUGGLED)
    check_refused(line, status)


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_refused_however_it_is_cut(name: str, server: Served) -> None:
    sent, status = HEADS[name]
    with Raw(server.port) as line:
        for at in range(min(len(sent), 150)):
            try:
                line.send(sent[at : at + 1])
            except OSError:  # it was refused before its end, and that is well
                break
        else:
            line.send(sent[150:] + SMUGGLED)
        check_refused(line, status)


@pytest.mark.parametrize("name", CHUNKS)
def test_a_chunked_body_is_refused(name: str, line: Raw) -> None:
    line.send(post(CHUNKS[name], "transfer-encoding: chunked") + SMUGGLED)
    check_refused(line, 400)


def test_chunks_beyond_number_are_refused(line: Raw) -> None:
    line.send(post(b"1\r\n \r\n" * 200_001, "transfer-encoding: chunked"))
    check_refused(line, 400)
