"""What a head must be beyond what llhttp sees to, as values."""

import pytest

from mockserver.core.plan import Failure
from mockserver.server.http.parser import origin, oversized, path_of, size, vet, without_upgrade

HOST = (b"host", b"x")
Field = tuple[bytes, bytes]


@pytest.mark.parametrize(
    ("version", "telling"),
    [
        ("1.1", [HOST]),
        ("1.1", [(b"host", b"")]),
        ("1.1", [(b"host", b"[::1]:8000")]),
        ("1.1", [(b"transfer-encoding", b"Chunked"), HOST, (b"expect", b"100-Continue")]),
        ("1.0", []),
        ("1.0", [HOST, (b"expect", b"what an old server does not know")]),
    ],
)
def test_a_clear_head_passes(version: str, telling: list[Field]) -> None:
    vet(version, telling)


@pytest.mark.parametrize(
    ("version", "telling", "status", "why"),
    [
        ("2.0", [HOST], 400, "This server speaks HTTP/1.1 and 1.0."),
        ("0.9", [], 400, "This server speaks HTTP/1.1 and 1.0."),
        ("1.1", [], 400, "No Host header."),
        ("1.1", [HOST, HOST], 400, "More than one Host header."),
        ("1.0", [HOST, HOST], 400, "More than one Host header."),
        ("1.1", [(b"host", b"a/b")], 400, "The Host header names no host."),
        ("1.1", [(b"host", b"a@b")], 400, "The Host header names no host."),
        ("1.1", [HOST, (b"transfer-encoding", b"gzip, chunked")], 400, "Transfer-Encoding can be nothing but chunked."),
        ("1.0", [HOST, (b"transfer-encoding", b"chunked")], 400, "HTTP/1.0 knows no Transfer-Encoding."),
        ("1.1", [HOST, (b"expect", b"more")], 417, "Nothing can be expected but 100-continue."),
        ("1.1", [HOST, *[(b"expect", b"100-continue")] * 2], 417, "Nothing can be expected but 100-continue."),
    ],
)
def test_an_unclear_head_is_refused(version: str, telling: list[Field], status: int, why: str) -> None:
    with pytest.raises(Failure) as refused:
        vet(version, telling)
    assert (refused.value.status, refused.value.message) == (status, why)


@pytest.mark.parametrize(
    ("method", "target", "found", "host"),
    [
        ("GET", b"/a?b", b"/a?b", b"x"),
        ("OPTIONS", b"*", b"*", b"x"),
        ("GET", b"http://y:1/a", b"/a", b"y:1"),
        ("GET", b"HTTPS://y?a", b"/?a", b"y"),
        ("GET", b"http://y", b"/", b"y"),
    ],
)
def test_a_target_has_a_path(method: str, target: bytes, found: bytes, host: bytes) -> None:
    headers = [(b"a", b"b"), HOST]
    assert origin(method, target, headers) == found
    assert headers == [(b"a", b"b"), (b"host", host)]


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("CONNECT", b"x:443", None),
        ("GET", b"*", 400),
        ("GET", b"a", 400),
        ("GET", b"/a#b", 400),
        ("GET", b"ftp://y/a", 400),
        ("GET", b"http:///a", 400),
        ("GET", b"http://a@y/", 400),
    ],
)
def test_a_target_without_a_path_is_refused(method: str, target: bytes, status: int | None) -> None:
    with pytest.raises(Failure) as refused:
        origin(method, target, [HOST])
    assert refused.value.status == status


@pytest.mark.parametrize(
    ("target", "headers", "arrived", "status"),
    [
        (b"/" * 32_768, [HOST] * 100, 65_536, None),
        (b"/" * 32_769, [], 0, 414),
        (b"/", [HOST] * 101, 0, 431),
        (b"/", [HOST], 65_537, 431),
    ],
)
def test_a_head_has_a_size(target: bytes, headers: list[Field], arrived: int, status: int | None) -> None:
    failure = oversized(target, headers, arrived)
    assert (failure and failure.status) == status


def test_the_size_of_a_head_is_what_it_takes_on_the_wire() -> None:
    assert size(b"/a", [(b"a", b"b"), HOST]) == len("/a" + "a: b\r\n" + "host: x\r\n")


def test_a_head_without_what_would_change_protocols() -> None:
    headers = [
        HOST,
        (b"connection", b"Upgrade, close, http2-settings"),
        (b"upgrade", b"h2c"),
        (b"http2-settings", b"A"),
    ]
    rebuilt = without_upgrade(b"POST", b"/a?b", "1.1", [*headers, (b"content-length", b"3")])
    assert rebuilt == b"POST /a?b HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 3\r\n\r\n"


KEY = b"sk-proj-0a1b2c3d"


@pytest.mark.parametrize(
    ("target", "headers", "path"),
    [
        (b"/v1/models?a=b", [], "/v1/models"),
        (b"/v1/%6dodels", [], "/v1/models"),
        (b"//v1//models", [], "//v1//models"),
        (b"http://user:%b@host/v1/models" % KEY, [], "/v1/models"),
        (b"http://user:%b@host" % KEY, [], "/"),
        (b"user:%b@host:443" % KEY, [], "/"),
        (b"*", [], "/"),
        (b"", [], "/"),
        (b"/v1/" + KEY, [(b"authorization", b"Bearer " + KEY)], "/v1/sk-p...(masked)"),
        (b"/v1/%b?key=%b" % (KEY, KEY), [], "/v1/sk-p...(masked)"),
    ],
)
def test_the_path_that_is_told_of_a_refused_head(target: bytes, headers: list[Field], path: str) -> None:
    assert path_of(target, headers) == path
