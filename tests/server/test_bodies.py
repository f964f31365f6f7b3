"""Content codings: taken off, refused, bounded."""

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.server.snapshot import decoded

PLAIN = b'{"model": "m", "messages": []}' * 50
LIMIT = 100_000


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "X-GZip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def plain(body: bytes, *codings: str) -> bytes:
    headers = tuple((b"content-encoding", coding.encode("latin-1")) for coding in codings)
    return decoded(HttpRequest("POST", "/", headers=headers, body=body), LIMIT).body


def refusal(body: bytes, *codings: str) -> tuple[str, str]:
    with pytest.raises(Failure) as refused:
        plain(body, *codings)
    return refused.value.reason, refused.value.message or ""


@pytest.mark.parametrize("coding", CODINGS)
def test_a_coding_is_taken_off(coding: str) -> None:
    assert plain(CODINGS[coding](PLAIN), coding) == PLAIN
    assert plain(CODINGS[coding](b""), coding) == b""


@pytest.mark.parametrize("codings", [("identity",), ("",), ("identity, ", "IDENTITY"), ()])
def test_none_is_none(codings: tuple[str, ...]) -> None:
    assert plain(PLAIN, *codings) == PLAIN


def test_codings_are_stacked_in_the_order_in_which_they_were_applied() -> None:
    body = brotli.compress(zstd.compress(gzip.compress(PLAIN)))
    assert plain(body, "gzip, identity , zstd", "br") == PLAIN
    assert refusal(body, "br, zstd, gzip")[0] == "bad_json"
    assert refusal(gzip.compress(body), "gzip, zstd, br, gzip")[0] == "unsupported_media_type"


def test_members_follow_each_other() -> None:
    for coding in ("gzip", "zstd"):
        pack = CODINGS[coding]
        assert plain(pack(b"a") + pack(b"") + pack(PLAIN), coding) == b"a" + PLAIN


@pytest.mark.parametrize("coding", ["compress", "exi", "gzip;q=1", "gz ip", "é", "aws-chunked"])
def test_an_unknown_coding_is_refused(coding: str) -> None:
    assert refusal(PLAIN, coding)[0] == "unsupported_media_type"


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize(
    "wrong", [lambda b: b[:-1], lambda b: b"xx" + b, lambda b: b + b"x", lambda b: b[: len(b) // 2]]
)
def test_what_is_broken_is_refused(coding: str, wrong: Callable[[bytes], bytes]) -> None:
    reason, message = refusal(wrong(CODINGS[coding](PLAIN)), coding)
    assert (reason, message.startswith("The request body is not valid ")) == ("bad_json", True)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_goes_off_within_the_limit(coding: str) -> None:
    assert plain(CODINGS[coding](bytes(LIMIT)), coding) == bytes(LIMIT)
    for size in (LIMIT + 1, 200 * LIMIT):
        assert refusal(CODINGS[coding](bytes(size)), coding)[0] == "too_large"


def test_a_bomb_in_a_bomb_goes_off_within_the_limit() -> None:
    assert refusal(gzip.compress(gzip.compress(bytes(100_000_000))), "gzip, gzip")[0] == "too_large"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_members_without_number_are_refused(coding: str) -> None:
    assert refusal(CODINGS[coding](b"") * 100_000, coding)[0] == "bad_json"


def test_a_window_that_would_fill_the_memory_is_refused() -> None:
    options: dict[int, int] = {zstd.CompressionParameter.window_log: 27}
    packer = zstd.ZstdCompressor(options=options)
    assert refusal(packer.compress(PLAIN) + packer.flush(), "zstd")[0] == "bad_json"
