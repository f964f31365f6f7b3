"""The bytes of uploads: many of them are in a file of a private folder, which is gone when the server ends."""

import errno
import io
import os
import weakref
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import BinaryIO

from mockserver.core.kept_objects import Data
from mockserver.core.plan import Failure

LARGEST_IN_MEMORY = 1_000_000  # bytes, beyond which they are not kept in memory
MAX_LINE = 10_000_000  # bytes of a line that is read
_PIECE = 262_144  # bytes that are read at once


class DataOnDisk:
    """Bytes in a file of their own, which is removed as soon as nobody refers to them."""

    __slots__ = ("__weakref__", "_path", "_size", "sha256")

    def __init__(self, path: str, size: int, sha256: str) -> None:
        self._path = path
        self._size = size
        self.sha256 = sha256
        weakref.finalize(self, _remove, path)

    def __len__(self) -> int:
        return self._size

    def open(self) -> BinaryIO:
        """Open the bytes for reading."""
        return Path(self._path).open("rb")


class DataWriter:
    """Takes bytes piece by piece, and keeps them in memory until they are more than `most`."""

    def __init__(self, most: int = LARGEST_IN_MEMORY) -> None:
        self._most = most
        self._held = bytearray()
        self._file: BinaryIO | None = None
        self._path = ""
        self._size = 0
        self._hash = sha256()

    @property
    def held(self) -> int:
        """How many bytes are in memory."""
        return len(self._held)

    @property
    def size(self) -> int:
        """How many bytes were taken."""
        return self._size

    def write(self, piece: bytes | memoryview) -> None:
        """Take a piece. Raises Failure (507) if the disk does not take it; then all is forgotten."""
        self._size += len(piece)
        if self._file is None:
            self._held += piece
            if self._size <= self._most:
                return
            piece = bytes(self._held)
            self._held = bytearray()
        self._hash.update(piece)
        try:
            if self._file is None:
                self._path = os.path.join(find_folder(), f"{os.getpid()}-{next(_numbers)}")
                self._file = Path(self._path).open("xb")  # noqa: SIM115  # `finish` closes it
            self._file.write(piece)
        except OSError as error:
            self.discard()
            raise _refuse_upload(error) from None

    def finish(self) -> Data:
        """Return what was taken. Raises like `write`."""
        if self._file is None:
            return bytes(self._held)
        try:
            self._file.close()
        except OSError as error:
            self.discard()
            raise _refuse_upload(error) from None
        return DataOnDisk(self._path, self._size, self._hash.hexdigest())

    def discard(self) -> None:
        """Forget what was taken."""
        if self._file is not None:
            with suppress(OSError):  # what is still to be written may find no space
                self._file.close()
            _remove(self._path)


def _refuse_upload(error: OSError) -> Failure:
    if error.errno in _FULL:
        message = f"There is no space left in {gettempdir()} for this upload; set TMPDIR or lower max_upload."
    else:
        message = f"This upload cannot be kept on disk ({error.strerror or error}); set TMPDIR to another folder."
    return Failure("server_error", message, status=507)


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def open_data(data: Data) -> BinaryIO:
    """Open bytes for reading, wherever they are."""
    return io.BytesIO(data) if isinstance(data, bytes) else data.open()


def read_data(data: Data, most: int | None = None) -> bytes:
    """Return bytes, wherever they are, or the first of them."""
    if isinstance(data, bytes):
        return data if most is None else data[:most]
    with data.open() as file:
        return file.read(-1 if most is None else most)


def join_data(*parts: Data) -> Data:
    """Return bytes one behind the other. Raises like `DataWriter.write`."""
    writer = DataWriter()
    for part in parts:
        for piece in split_data(part):
            writer.write(piece)
    return writer.finish()


def cut_data(data: Data, size: int) -> Data:
    """Return the first bytes of some. Raises like `DataWriter.write`."""
    if size == len(data):
        return data
    writer = DataWriter()
    for piece in split_data(data):
        writer.write(piece[: size - writer.size])
    return writer.finish()


def split_data(data: Data) -> Iterator[bytes]:
    """Yield bytes in pieces."""
    with open_data(data) as file:
        while piece := file.read(_PIECE):
            yield piece


def list_lines(data: Data) -> Iterator[bytes]:
    """Yield the lines of a text; of one that is far too long, only the start, so that memory stays bounded."""
    with open_data(data) as file:
        while line := file.readline(MAX_LINE):
            yield line
            while len(line) == MAX_LINE and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)


def count_on_disk(data: Data) -> int:
    """Return how many bytes are not in memory."""
    return 0 if isinstance(data, bytes) else len(data)


def hash_data(data: Data) -> str:
    """Return the SHA-256 of bytes."""
    return sha256(data).hexdigest() if isinstance(data, bytes) else data.sha256


@cache
def _make_folder(process: int) -> "TemporaryDirectory[str]":
    """Return the folder of a process, which only its user can open."""
    return TemporaryDirectory(prefix="mockserver-uploads-", ignore_cleanup_errors=True)


def find_folder() -> str:
    """Return the folder of this process, or the one that it shares."""
    return _shared or _make_folder(os.getpid()).name


def share_folder(path: str) -> None:
    """Have this process keep its files in the folder of another one, which removes it: a signal may end this one."""
    global _shared
    _shared = path


_shared = ""
_numbers = count()


def _remove(path: str) -> None:
    with suppress(PermissionError):  # Windows keeps a file that is open somewhere; it goes with its folder
        Path(path).unlink(missing_ok=True)
