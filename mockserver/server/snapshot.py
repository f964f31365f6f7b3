"""The body of an ASGI request is read within a limit of size, and decoded: gzip, deflate, br, zstd.

A small body can decode to a huge one, or to a hundred thousand empty ones: neither may cost more than the limit.
"""

import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from msgspec.structs import replace
from starlette.types import Receive, Scope

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure


class ClientLeftError(Exception):
    """The client went away before its request was complete."""


def parse_query(query: bytes, lists: frozenset[str] = frozenset()) -> Mapping[str, str]:
    """Return the last value of each name; values of a list (`include[]=a&include[]=b`) are joined.

    So are those of `lists`, which are repeated without brackets.
    """
    if not query:
        return {}
    return _read_repeated_query(query, lists) if len(query) <= _SHORT_QUERY else _read_query(query, lists)


def _read_query(query: bytes, lists: frozenset[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for key, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        is_list = key.endswith("[]") or key in lists
        found[key] = f"{found[key]},{value}" if is_list and key in found else value
    return found


_SHORT_QUERY = 200  # bytes
_read_repeated_query = lru_cache(maxsize=256)(_read_query)  # most clients send the same with each request


def find_path(scope: Scope) -> str:
    """Return the path of a request, without the one at which the application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


async def read_body(
    receive: Receive,
    limit: int,
    headers: Iterable[tuple[bytes, bytes]] = (),
    take: Callable[[int], None] = lambda size: None,
    *,
    setting: str = "max_body",
) -> bytes:
    """Return the whole body, up to a limit that a setting states; `take` is called with the size of each part.

    Raises Failure (`too_large`), ClientLeftError.
    """
    pieces = list[bytes]()
    async for piece in receive_pieces(receive, limit, headers, setting=setting):
        if pieces:
            take(len(pieces[-1]))
        pieces.append(piece)
    return b"".join(pieces) if len(pieces) > 1 else pieces[0]


async def receive_pieces(
    receive: Receive, limit: int, headers: Iterable[tuple[bytes, bytes]], *, setting: str
) -> AsyncIterator[bytes]:
    """Yield a body in the pieces in which it comes. Raises like `read_body`."""
    too_large = f"The request body is larger than {limit} bytes; the setting {setting} allows more."
    stated = find_length(headers)
    if stated is not None and stated > limit:
        raise Failure("too_large", too_large)
    size = 0
    while (message := await receive())["type"] != "http.disconnect":
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > limit:
            raise Failure("too_large", too_large)
        yield piece
        if not message.get("more_body"):
            return
    raise ClientLeftError


def find_length(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """Return the size of a body that its headers state."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and len(value) < 20:
            return int(value)
    return None


MAX_CODINGS = 3  # stacked on one body
MAX_MEMBERS = 1000  # gzip members or zstd frames, one after another in one body
_PIECE = 65_536  # bytes that go in at once
_ZSTD_WINDOW = 23  # 8 MB: what RFC 9659 allows a sender


def decode_body(http: HttpRequest, limit: int) -> HttpRequest:
    """Return the request, its body decoded.

    Raises Failure: an unknown coding (415), a broken body (400), too large (413).
    """
    codings = find_codings(http.headers) if http.body else []
    if not codings:
        return http
    unknown = "Unsupported Content-Encoding; this server takes gzip, deflate, br and zstd."
    if not all(name in _STAGES for name in codings):
        raise Failure("unsupported_media_type", unknown, headers=(("accept-encoding", "gzip, deflate, br, zstd"),))
    body = http.body
    decoding = Decoding(codings, limit)
    try:
        plain = b"".join([decoding.feed(body[at : at + _PIECE]) for at in range(0, len(body), _PIECE)])
        whole = decoding.whole
    except DecodedTooLargeError:
        message = f"The request body is larger than {limit} bytes once it is decoded; the setting max_body allows more."
        raise Failure("too_large", message) from None
    except Exception:  # each library has its own
        whole = False
    if not whole:
        names = ", ".join(codings)
        raise Failure("bad_json", f"The request body is not valid {names}, as its Content-Encoding says it is.")
    return replace(http, body=plain)


def find_codings(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """Return the content codings of a body in the order in which they were applied. Raises Failure if too many."""
    values = [value for name, value in headers if name == b"content-encoding"]
    if not values:
        return []
    names = [name.strip().lower() for name in b",".join(values).decode("latin-1").split(",")]
    found = [name for name in names if name not in ("", "identity")]
    if len(found) > MAX_CODINGS:
        raise Failure("unsupported_media_type", f"At most {MAX_CODINGS} content codings can be stacked.")
    return found


class DecodedTooLargeError(ValueError):
    """More came out of a coded body than its limit."""


class Decoding:
    """Takes codings off piece by piece; each may yield `limit` bytes. Raises ValueError, or what a library raises."""

    def __init__(self, codings: Sequence[str], limit: int) -> None:
        self.codings = codings
        self._stages = [_STAGES[name]() for name in reversed(codings)]
        self._rooms = [limit] * len(codings)

    def feed(self, piece: bytes) -> bytes:
        """Return what the next piece decodes to."""
        for at, stage in enumerate(self._stages):
            piece = stage.feed(piece, self._rooms[at])
            self._rooms[at] -= len(piece)
            if self._rooms[at] < 0:
                raise DecodedTooLargeError("the body is too large once it is decoded")
        return piece

    @property
    def whole(self) -> bool:
        """Whether the coded body is complete."""
        return all(stage.whole for stage in self._stages)


class _Members:
    """Members one after another, each with a decoder of its own, as zlib and zstd have them."""

    def __init__(self, begin: Callable[[bytes], Any], limit: int = MAX_MEMBERS, begins: int = 1) -> None:
        self._fresh = begin
        self._left = limit
        self._begins = begins
        self._member: Any = None
        self._held = b""  # of a member that has just begun

    @property
    def whole(self) -> bool:
        return not self._held and (self._member is None or self._member.eof)

    def feed(self, piece: bytes, room: int) -> bytes:
        """Return what comes out, at most one byte more than there is room for."""
        plain = bytearray()
        piece = self._held + piece
        self._held = b""
        while piece and len(plain) <= room:
            if self._member is None or self._member.eof:
                if len(piece) < self._begins:
                    self._held = piece
                    break
                if not self._left:
                    raise ValueError("too many members, or more data after the last one")
                self._left -= 1
                self._member = self._fresh(piece)
            plain += self._member.decompress(piece, room + 1 - len(plain))
            piece = self._member.unused_data if self._member.eof else b""
        return bytes(plain)


class _Brotli:
    def __init__(self) -> None:
        import brotli

        self._decoder = brotli.Decompressor()
        self._begun = False

    @property
    def whole(self) -> bool:
        return not self._begun or bool(self._decoder.is_finished())

    def feed(self, piece: bytes, room: int) -> bytes:
        if not piece:
            return b""
        if self._decoder.is_finished():
            raise ValueError("there is more data after the end")
        self._begun = True
        plain = bytearray(self._decoder.process(piece, output_buffer_limit=room + 1))
        while not self._decoder.can_accept_more_data() and len(plain) <= room:
            plain += self._decoder.process(b"", output_buffer_limit=room + 1)
        return bytes(plain)


def _make_deflate() -> _Members:
    """Return the zlib format, as is meant by `deflate`; or bare deflate, as many send."""

    def begin(beginning: bytes) -> Any:
        wrapped = beginning[0] & 15 == 8 and int.from_bytes(beginning[:2], "big") % 31 == 0
        return zlib.decompressobj(15 if wrapped else -15)

    return _Members(begin, limit=1, begins=2)


def _make_zstd() -> _Members:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW}
    return _Members(lambda _: zstd.ZstdDecompressor(options=options))


_STAGES: Mapping[str, Callable[[], _Members | _Brotli]] = {
    "gzip": lambda: _Members(lambda _: zlib.decompressobj(31)),
    "x-gzip": lambda: _Members(lambda _: zlib.decompressobj(31)),
    "deflate": _make_deflate,
    "br": _Brotli,
    "zstd": _make_zstd,
}
