"""The bytes of uploads: many of them are in a file of a private folder, which is gone when the process ends."""

import io
import os
import weakref
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from mockserver.core.kept_objects import Data

LARGE = 1_000_000  # bytes, beyond which they are not kept in memory
MOST_LINE = 10_000_000  # bytes of a line that is read
_PIECE = 262_144  # bytes that are read at once


class DataOnDisk:
    """Bytes in a file of their own, which is removed as soon as nobody refers to them."""

    __slots__ = ("__weakref__", "_path", "_size", "sha256")

    def __init__(self, path: str, size: int, sha256: str) -> None:
        self._path, self._size, self.sha256 = path, size, sha256
        weakref.finalize(self, _remove, path)

    def __len__(self) -> int:
        return self._size

    def open(self) -> BinaryIO:
        """Open the bytes for reading."""
        return Path(self._path).open("rb")


class DataWriter:
    """Takes bytes piece by piece, and keeps them in memory until they are many."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._file: BinaryIO | None = None
        self._path, self._size = "", 0
        self._hash = sha256()

    def write(self, piece: bytes | memoryview) -> None:
        """Take a piece."""
        self._size += len(piece)
        if self._file is None:
            self._held += piece
            if self._size <= LARGE:
                return
            self._path = _make_path()
            self._file = Path(self._path).open("xb")  # noqa: SIM115  # `finish` closes it
            piece, self._held = bytes(self._held), bytearray()
        self._hash.update(piece)
        self._file.write(piece)

    def finish(self) -> Data:
        """Return what was taken."""
        if self._file is None:
            return bytes(self._held)
        self._file.close()
        return DataOnDisk(self._path, self._size, self._hash.hexdigest())

    def discard(self) -> None:
        """Forget what was taken."""
        if self._file is not None:
            self._file.close()
            _remove(self._path)


def open_data(data: Data) -> BinaryIO:
    """Open bytes for reading, wherever they are."""
    return io.BytesIO(data) if isinstance(data, bytes) else data.open()


def read_data(data: Data, most: int | None = None) -> bytes:
    """Return bytes, wherever they are, or the first of them."""
    if isinstance(data, bytes):
        return data if most is None else data[:most]
    with data.open() as file:
        return file.read(-1 if most is None else most)


def split_data(data: Data) -> Iterator[bytes]:
    """Yield bytes in pieces."""
    with open_data(data) as file:
        while piece := file.read(_PIECE):
            yield piece


def list_lines(data: Data) -> Iterator[bytes]:
    """Yield the lines of a text; of one that is far too long, only the start, so that memory stays bounded."""
    with open_data(data) as file:
        while line := file.readline(MOST_LINE):
            yield line
            while len(line) == MOST_LINE and not line.endswith(b"\n"):
                line = file.readline(MOST_LINE)


def hash_data(data: Data) -> str:
    """Return the SHA-256 of bytes."""
    return sha256(data).hexdigest() if isinstance(data, bytes) else data.sha256


@cache
def _make_folder(process: int) -> "TemporaryDirectory[str]":
    """Return the folder of a process, which only its user can open."""
    return TemporaryDirectory(prefix="mockserver-uploads-", ignore_cleanup_errors=True)


_numbers = count()


def _make_path() -> str:
    """Return the path of a new file in the folder of this process."""
    return os.path.join(_make_folder(os.getpid()).name, str(next(_numbers)))


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)
