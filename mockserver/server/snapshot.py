"""An ASGI request becomes an HttpRequest within a limit of size, and its body is decoded: gzip, deflate, br, zstd.

A small body can decode to a huge one, or to a hundred thousand empty ones: neither may cost more than the limit.
"""

import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure


class ClientLeftError(Exception):
    """The client went away before its request was complete."""


def snapshot(scope: Scope, body: bytes, namespace: str) -> HttpRequest:
    """The request as a value; `path` is the full path without the namespace in front."""
    return HttpRequest(
        method=scope["method"],
        path=path_of(scope),
        query=query_from(scope["query_string"]),
        headers=scope["headers"],
        body=body,
        namespace=namespace,
        path_params=scope["path_params"],
    )


def query_from(query: bytes) -> Mapping[str, str]:
    """A query string as names and values."""
    return _query(query.decode("latin-1")) if query else _NO_QUERY


_NO_QUERY: Mapping[str, str] = {}


def _query(text: str) -> Mapping[str, str]:
    """The pairs of a query, the last of each name; values of a list (`include[]=a&include[]=b`) stand in one text."""
    query: dict[str, str] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        query[key] = f"{query[key]},{value}" if key.endswith("[]") and key in query else value
    return query


def path_of(scope: Scope) -> str:
    """The path without what Starlette has already taken off in front."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


async def read_body(receive: Receive, limit: int, headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The whole body. Raises Failure (`too_large`) as soon as it is known to be, ClientLeftError when it never ends.

    Where the headers tell that it is too large, nothing of it is asked for; the door drains what comes nevertheless.
    """
    if _told(headers) > limit:
        raise _too_large(limit)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        whole: bytes = message.get("body", b"")  # nearly every body comes in one piece
        if len(whole) > limit:
            raise _too_large(limit)
        return whole
    pieces, size = list[bytes](), 0
    while message["type"] != "http.disconnect":
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body"):
            return b"".join(pieces)
        message = await receive()
    raise ClientLeftError


def _told(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """How long a body is by its headers; 0 if they do not say."""
    for name, value in headers:
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) < 20 else 0
    return 0


def _too_large(limit: int) -> Failure:
    return Failure("too_large", f"The request body is larger than {limit} bytes.")


MOST_CODINGS = 3  # stacked on one body
MOST_MEMBERS = 1000  # gzip members or zstd frames, one after another in one body
_PIECE = 65_536  # bytes that go in at once
_ZSTD_WINDOW = 23  # 8 MB: what RFC 9659 allows a sender

Decoder = Callable[[bytes, int], bytes]  # a coded body and a limit; at most one byte more than that comes back


def decoded(http: HttpRequest, limit: int) -> HttpRequest:
    """The request with its body in plain.

    Raises Failure for a coding that is not known (415), a body that is broken (400) or larger than the limit (413).
    """
    codings = codings_of(http.headers) if http.body else []
    if not codings:
        return http
    body = http.body
    for name in reversed(codings):
        decode = _DECODERS.get(name)
        if decode is None:
            raise Failure("unsupported_media_type", _UNKNOWN, headers=(("accept-encoding", ", ".join(_OFFERED)),))
        body = _checked(decode, name, body, limit)
    return replace(http, body=body)


def codings_of(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """The codings of a body, in the order in which they were put on. Raises Failure where they are too many."""
    values = b",".join([value for name, value in headers if name == b"content-encoding"]).decode("latin-1")
    names = [name.strip().lower() for name in values.split(",")]
    found = [name for name in names if name not in ("", "identity")]
    if len(found) > MOST_CODINGS:
        raise Failure("unsupported_media_type", f"At most {MOST_CODINGS} content codings can be stacked.")
    return found


def _checked(decode: Decoder, name: str, body: bytes, limit: int) -> bytes:
    try:
        plain = decode(body, limit)
    except Exception:  # each library has its own
        message = f"The request body is not valid {name}, as its Content-Encoding says it is."
        raise Failure("bad_json", message) from None
    if len(plain) > limit:
        raise Failure("too_large", f"The request body is larger than {limit} bytes once it is decoded.")
    return plain


class Member(Protocol):
    """A decoder as zlib and zstd have them, for one member of a body."""

    @property
    def eof(self) -> bool:
        """Whether this was all of it."""

    @property
    def unused_data(self) -> bytes:
        """What stands after it."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """At most so much of what the bytes hold."""


def gzip_member() -> Member:
    """A decoder of one member of gzip."""
    return zlib.decompressobj(31)


def deflate_member(beginning: bytes) -> Member:
    """A decoder of the zlib format, as is meant by `deflate`; or of bare deflate, as many send."""
    wrapped = beginning[0] & 15 == 8 and int.from_bytes(beginning[:2], "big") % 31 == 0
    return zlib.decompressobj(15 if wrapped else -15)


def zstd_member() -> Member:
    """A decoder of one frame of zstd."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW}
    return zstd.ZstdDecompressor(options=options)


def _gzip(body: bytes, limit: int) -> bytes:
    return _members(body, limit, gzip_member)


def _deflate(body: bytes, limit: int) -> bytes:
    return _members(body, limit, lambda: deflate_member(body), most=1)


def _zstd(body: bytes, limit: int) -> bytes:
    return _members(body, limit, zstd_member)


def _members(body: bytes, limit: int, fresh: Callable[[], Member], *, most: int = MOST_MEMBERS) -> bytes:
    """One member after another; what a member leaves over of a piece goes to the next."""
    plain, at = bytearray(), 0
    for _ in range(most):
        member = fresh()
        while not member.eof:
            piece = body[at : at + _PIECE]
            if not piece:
                raise ValueError("the body ends too early")
            at += len(piece)
            plain += member.decompress(piece, limit + 1 - len(plain))
            if len(plain) > limit:
                return bytes(plain)
        at -= len(member.unused_data)
        if at == len(body):
            return bytes(plain)
    raise ValueError("too many members, or something after the last")


def _br(body: bytes, limit: int) -> bytes:
    import brotli

    decoder, plain = brotli.Decompressor(), bytearray()
    for at in range(0, len(body), _PIECE):
        if decoder.is_finished():
            raise ValueError("something stands after the end")
        plain += decoder.process(body[at : at + _PIECE], output_buffer_limit=limit + 1)
        while not decoder.can_accept_more_data() and len(plain) <= limit:
            plain += decoder.process(b"", output_buffer_limit=limit + 1)
        if len(plain) > limit:
            return bytes(plain)
    if not decoder.is_finished():
        raise ValueError("the body ends too early")
    return bytes(plain)


_UNKNOWN = "Unsupported Content-Encoding; this server takes gzip, deflate, br and zstd."
_OFFERED: tuple[str, ...] = ("gzip", "deflate", "br", "zstd")
_DECODERS: Mapping[str, Decoder] = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate, "br": _br, "zstd": _zstd}


class Decoding:
    """Codings that are taken off, the last first; nowhere may more than `limit` bytes come out.

    Raises ValueError, or what a library raises, for what is not so coded.
    """

    def __init__(self, codings: Sequence[str], limit: int) -> None:
        """Raises KeyError for a coding that is not known."""
        self._stages = [_STAGES[name]() for name in reversed(codings)]
        self._rooms = [limit] * len(codings)

    def feed(self, piece: bytes) -> bytes:
        """What the piece adds to the plain body."""
        for at, stage in enumerate(self._stages):
            piece = stage.feed(piece, self._rooms[at])
            self._rooms[at] -= len(piece)
            if self._rooms[at] < 0:
                raise ValueError("the body is too large once it is decoded")
        return piece

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of what was fed."""
        return all(stage.whole for stage in self._stages)


class _Stage(Protocol):
    """One coding, taken off."""

    @property
    def whole(self) -> bool:
        """Whether the body may end here."""

    def feed(self, piece: bytes, room: int) -> bytes:
        """What comes out, at most one byte more than there is room for."""


class _Members:
    """Members one after another, each with a decoder of its own."""

    def __init__(self, fresh: Callable[[bytes], Member], most: int = MOST_MEMBERS, begins: int = 1) -> None:
        self._fresh, self._left, self._begins = fresh, most, begins
        self._member: Member | None = None
        self._held = b""  # of a member that has just begun

    @property
    def whole(self) -> bool:
        return not self._held and (self._member is None or self._member.eof)

    def feed(self, piece: bytes, room: int) -> bytes:
        plain, piece = bytearray(), self._held + piece
        self._held = b""
        while piece and len(plain) <= room:
            if self._member is None or self._member.eof:
                if len(piece) < self._begins:
                    self._held = piece
                    break
                if not self._left:
                    raise ValueError("too many members, or something after the last")
                self._left -= 1
                self._member = self._fresh(piece)
            plain += self._member.decompress(piece, room + 1 - len(plain))
            piece = self._member.unused_data if self._member.eof else b""
        return bytes(plain)


class _Brotli:
    """Brotli, which has no members."""

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
            raise ValueError("something stands after the end")
        self._begun = True
        plain = bytearray(self._decoder.process(piece, output_buffer_limit=room + 1))
        while not self._decoder.can_accept_more_data() and len(plain) <= room:
            plain += self._decoder.process(b"", output_buffer_limit=room + 1)
        return bytes(plain)


def _decoding_gzip() -> _Stage:
    return _Members(lambda _: gzip_member())


def _decoding_zstd() -> _Stage:
    return _Members(lambda _: zstd_member())


def _decoding_deflate() -> _Stage:
    return _Members(deflate_member, most=1, begins=2)


_STAGES: Mapping[str, Callable[[], _Stage]] = {
    "gzip": _decoding_gzip,
    "x-gzip": _decoding_gzip,
    "deflate": _decoding_deflate,
    "br": _Brotli,
    "zstd": _decoding_zstd,
}
