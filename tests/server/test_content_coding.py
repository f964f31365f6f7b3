"""Content codings: taken off whole or piece by piece, refused if broken, bounded."""

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.server.snapshot import Decoding, decode_body

PLAIN = bytes(range(256)) * 40
LIMIT = len(PLAIN)


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


CODED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "two members": ("gzip", lambda data: gzip.compress(data[:9]) + gzip.compress(b"") + gzip.compress(data[9:])),
    "deflate": ("deflate", zlib.compress),
    "bare deflate": ("Deflate", bare),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "two frames": ("zstd", lambda data: zstd.compress(data[:9]) + zstd.compress(data[9:])),
    "stacked": ("gzip, identity , zstd,br", lambda data: brotli.compress(zstd.compress(gzip.compress(data)))),
}
each_coding = pytest.mark.parametrize(("names", "encode"), CODED.values(), ids=CODED)
Encode = Callable[[bytes], bytes]


def plain(body: bytes, *codings: str) -> bytes:
    headers = tuple((b"content-encoding", coding.encode("latin-1")) for coding in codings)
    return decode_body(HttpRequest("POST", "/", headers=headers, body=body), LIMIT).body


def refusal(body: bytes, *codings: str) -> str:
    with pytest.raises(Failure) as refused:
        plain(body, *codings)
    return refused.value.reason


def decoding(names: str) -> Decoding:
    return Decoding([name.strip().lower() for name in names.split(",") if "identity" not in name], LIMIT)


@each_coding
def test_a_coding_is_taken_off(names: str, encode: Encode) -> None:
    assert plain(encode(PLAIN), *names.split(",")) == PLAIN
    assert plain(encode(b""), names) == b""


@each_coding
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_pieces_of_any_size(names: str, encode: Encode, size: int) -> None:
    coded, stages = encode(PLAIN), decoding(names)
    assert stages.feed(b"") == b""
    assert stages.whole
    assert b"".join(stages.feed(coded[at : at + size]) for at in range(0, len(coded), size)) == PLAIN
    assert stages.whole


@pytest.mark.parametrize("codings", [("identity",), ("",), ("identity, ", "IDENTITY"), ()])
def test_no_coding(codings: tuple[str, ...]) -> None:
    assert plain(PLAIN, *codings) == PLAIN


@pytest.mark.parametrize("names", ["compress", "gzip;q=1", "é", "gzip, zstd, br, gzip"])
def test_unknown_codings_and_too_many_are_refused(names: str) -> None:
    assert refusal(PLAIN, names) == "unsupported_media_type"


@each_coding
@pytest.mark.parametrize(
    "wrong", [lambda b: b[:-1], lambda b: b"xx" + b, lambda b: b + b"x", lambda b: b[: len(b) // 2]]
)
def test_broken_bodies_are_refused(names: str, encode: Encode, wrong: Encode) -> None:
    assert refusal(wrong(encode(PLAIN)), names) == "bad_json"


@each_coding
def test_a_bomb_goes_off_within_the_limit(names: str, encode: Encode) -> None:
    assert plain(encode(bytes(LIMIT)), names) == bytes(LIMIT)
    assert refusal(encode(bytes(LIMIT + 1)), names) == "too_large"
    bomb = encode(bytes(5_000_000))
    assert refusal(bomb, names) == "too_large"
    with pytest.raises(ValueError, match="too large"):
        decoding(names).feed(bomb)


@pytest.mark.parametrize("names", ["gzip", "zstd"])
def test_members_without_number_are_refused(names: str) -> None:
    assert refusal(CODED[names][1](b"") * 100_000, names) == "bad_json"


def test_a_window_that_would_fill_the_memory_is_refused() -> None:
    options: dict[int, int] = {zstd.CompressionParameter.window_log: 27}
    packer = zstd.ZstdCompressor(options=options)
    assert refusal(packer.compress(PLAIN) + packer.flush(), "zstd") == "bad_json"


def test_each_flush_comes_out_at_once() -> None:
    packer, stages = zlib.compressobj(wbits=31), decoding("gzip")
    for number in range(20):
        event = b"data: %d\n\n" % number
        assert stages.feed(packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)) == event
