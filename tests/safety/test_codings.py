"""Coded bodies over real sockets: the same answer as in plain, and bombs that cost little."""

import gzip
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial

import brotli
import pytest
from backports import zstd

from tests.kit.raw import HI, Raw, post, write_chunked
from tests.kit.served import Served, served

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": partial(brotli.compress, quality=1),  # the highest, which is usual, takes 20 s for a bomb
    "zstd": zstd.compress,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.mark.parametrize("coding", PACK)
@pytest.mark.parametrize("in_chunks", [False, True])
def test_a_coded_body_is_answered_as_in_plain(coding: str, in_chunks: bool, server: Served) -> None:
    body, headers = PACK[coding](HI), [f"content-encoding: {coding}"]
    if in_chunks:
        body, headers = write_chunked(body[:5], body[5:]), [*headers, "transfer-encoding: chunked"]
    with Raw(server.port) as line:
        plain = line.send(post(HI)).receive()
        for _ in range(2):  # the second time it is remembered
            assert line.send(post(body, *headers)).receive().body == plain.body


@pytest.mark.parametrize(
    ("coding", "body", "status"),
    [
        ("compress", HI, 415),
        ("gzip", HI, 400),
        ("gzip", gzip.compress(HI)[:-9], 400),
        ("zstd, zstd, zstd, zstd", HI, 415),
        ("gzip", gzip.compress(b" " * 10_000_001), 413),
        ("gzip", gzip.compress(HI + b" " * 9_000_000), 200),
    ],
    ids=["unknown", "none", "cut", "too many", "too large", "large"],
)
def test_what_cannot_be_decoded_is_refused(coding: str, body: bytes, status: int, server: Served) -> None:
    with Raw(server.port) as line:
        received = line.send(post(body, f"content-encoding: {coding}")).receive()
        assert received.status == status
        assert (received.headers.get("accept-encoding") == "gzip, deflate, br, zstd") is (coding == "compress")
        assert line.is_open()


@pytest.mark.slow
@pytest.mark.parametrize("coding", PACK)
def test_a_bomb_costs_next_to_nothing(coding: str, server: Served) -> None:
    bomb = PACK[coding](bytes(500_000_000))
    with Raw(server.port) as line:
        assert line.send(post(PACK[coding](bytes(9_000_000)), f"content-encoding: {coding}")).receive().status == 400
        before, began = server.memory("VmRSS"), time.monotonic()
        assert line.send(post(bomb, f"content-encoding: {coding}")).receive().status == 413
        assert line.is_open()
    assert server.memory("VmRSS") - before < 60_000_000
    assert time.monotonic() - began < 5
