"""Content codings that are taken off as the pieces come."""

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd

from mockserver.server.snapshot import Decoding

PLAIN = bytes(range(256)) * 40
LIMIT = len(PLAIN)


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


CODED: dict[str, tuple[tuple[str, ...], Callable[[bytes], bytes]]] = {
    "none": ((), bytes),
    "gzip": (("gzip",), gzip.compress),
    "x-gzip": (("x-gzip",), gzip.compress),
    "two members": (("gzip",), lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
    "deflate": (("deflate",), zlib.compress),
    "bare deflate": (("deflate",), bare),
    "br": (("br",), brotli.compress),
    "zstd": (("zstd",), zstd.compress),
    "two frames": (("zstd",), lambda data: zstd.compress(data[:9]) + zstd.compress(data[9:])),
    "stacked": (("gzip", "br"), lambda data: brotli.compress(gzip.compress(data))),
}


@pytest.mark.parametrize("size", [1, 2, 7, 100_000])
@pytest.mark.parametrize("name", CODED)
def test_pieces_of_any_size(name: str, size: int) -> None:
    codings, encode = CODED[name]
    coded, decoding = encode(PLAIN), Decoding(codings, LIMIT)
    assert b"".join(decoding.feed(coded[at : at + size]) for at in range(0, len(coded), size)) == PLAIN
    assert decoding.whole


@pytest.mark.parametrize("name", [name for name in CODED if name != "none"])
def test_what_ends_too_early_is_not_whole(name: str) -> None:
    codings, encode = CODED[name]
    decoding = Decoding(codings, LIMIT)
    decoding.feed(encode(PLAIN)[:-1])
    assert not decoding.whole


@pytest.mark.parametrize("name", [name for name in CODED if name != "none"])
def test_nothing_is_whole(name: str) -> None:
    decoding = Decoding(CODED[name][0], LIMIT)
    assert decoding.feed(b"") == b""
    assert decoding.whole


@pytest.mark.parametrize("name", ["gzip", "deflate", "bare deflate", "br", "zstd", "stacked"])
def test_more_than_there_is_room_for(name: str) -> None:
    codings, encode = CODED[name]
    with pytest.raises(ValueError, match="too large"):
        Decoding(codings, LIMIT).feed(encode(bytes(50_000_000)))


@pytest.mark.parametrize(
    ("name", "body"), [("gzip", b"{}"), ("deflate", b"{}{}{}"), ("br", b"{}{}{}"), ("zstd", b"{}{}")]
)
def test_what_is_not_so_coded(name: str, body: bytes) -> None:
    with pytest.raises(Exception, match=r"."):
        assert not Decoding((name,), LIMIT).feed(body)


def test_something_after_the_end() -> None:
    for name, coded in (("br", brotli.compress(PLAIN)), ("deflate", zlib.compress(PLAIN))):
        decoding = Decoding((name,), LIMIT)
        decoding.feed(coded)
        with pytest.raises(ValueError, match="after"):
            decoding.feed(b"more of it")


def test_each_flush_comes_out_at_once() -> None:
    packer = zlib.compressobj(wbits=31)
    decoding = Decoding(("gzip",), LIMIT)
    for number in range(20):
        event = b"data: %d\n\n" % number
        assert decoding.feed(packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)) == event


def test_a_coding_that_nobody_knows() -> None:
    with pytest.raises(KeyError):
        Decoding(("compress",), LIMIT)
