"""Coded bodies over real sockets: the same answer as in plain, and bombs that cost little."""

import gzip
import zlib
from collections.abc import Callable, Iterator

import brotli
import pytest
from backports import zstd

from tests.kit.raw import HI, Raw, chunked, post
from tests.kit.served import Served, served

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
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
        body, headers = chunked(body[:5], body[5:]), [*headers, "transfer-encoding: chunked"]
    with Raw(server.port) as line:
        plain = line.send(post(HI)).hear()
        for _ in range(2):  # the second time it is remembered
            assert line.send(post(body, *headers)).hear().body == plain.body
