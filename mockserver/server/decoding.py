"""Takes content codings off a body as it comes, piece by piece, for what listens to an answer on its way."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from mockserver.server.bodies import MOST_MEMBERS, Member, deflate_member, gzip_member, zstd_member


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


def _gzip() -> _Stage:
    return _Members(lambda _: gzip_member())


def _zstd() -> _Stage:
    return _Members(lambda _: zstd_member())


def _deflate() -> _Stage:
    return _Members(deflate_member, most=1, begins=2)


_STAGES: Mapping[str, Callable[[], _Stage]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _Brotli,
    "zstd": _zstd,
}
