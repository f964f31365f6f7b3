"""Files that one process at a time writes. Locked on the file itself, so nothing is left beside it."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import NamedTuple

from mockserver.config.errors import CassetteError
from mockserver.core.json import parsed
from mockserver.core.seed import monotonic

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FILE_MODE, FOLDER_MODE = 0o600, 0o700
PATIENCE = 10  # seconds that others may hold a file
MAX_TRIES = 1000  # of a file that others replace all the while
PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class Stamp(NamedTuple):
    """Which file it is and how it stands: another one once anybody has written to it."""

    file: tuple[int, int] = (0, 0)
    size: int = 0
    changed: int = 0

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """The stamp of a file of this status."""
        return cls((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


class Held:
    """A file that is open and locked."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._open = True

    @property
    def status(self) -> os.stat_result:
        """Its size, when it was changed and the like."""
        return os.fstat(self.descriptor)

    def read(self, start: int) -> bytes:
        """All bytes from one on; none before the first."""
        os.lseek(self.descriptor, max(0, start), os.SEEK_SET)
        pieces = iter(lambda: os.read(self.descriptor, _PIECE), b"")
        return b"".join(pieces)

    def write(self, start: int, data: bytes) -> None:
        """Puts bytes there, and has them on disk."""
        os.lseek(self.descriptor, start, os.SEEK_SET)
        write_all(self.descriptor, data)
        os.fsync(self.descriptor)

    def cut(self, size: int) -> None:
        """Leaves so many bytes."""
        os.ftruncate(self.descriptor, size)
        os.fsync(self.descriptor)

    def close(self) -> None:
        """Lets others have it."""
        if self._open:
            self._open = False
            os.close(self.descriptor)


@contextmanager
def locked(path: Path, *, alone: bool) -> Iterator[Held]:
    """A file that is there: alone to write it, or together with others to read it.

    Raises CassetteError where it cannot be had.
    """
    for _ in range(MAX_TRIES):
        held = Held(_opened(path, os.O_RDWR if alone else os.O_RDONLY))
        try:
            _lock(held.descriptor, path, alone=alone)
            if _same(held, path):
                yield held
                return
        finally:
            held.close()
    raise CassetteError(f"{path}: it is replaced all the time; let nobody else write it")


def write_all(descriptor: int, data: bytes) -> None:
    """Every byte, however many at a time the system takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def trouble(path: Path, doing: str, error: OSError) -> CassetteError:
    """What the system says, for people."""
    harmless = "" if doing == "read" else "; what was there before is unharmed"
    return CassetteError(f"{path}: cannot be {doing}: {error.strerror or error}{harmless}")


def _opened(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | PLAIN)
    except FileNotFoundError:
        raise CassetteError(f"{path}: there is no such cassette") from None
    except OSError as error:
        raise trouble(path, "written" if flags & os.O_RDWR else "read", error) from None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise CassetteError(f"{path}: a cassette is a file, and this is none")


def _same(held: Held, path: Path) -> bool:
    """Whether the file still goes by its name: who waited for the lock may have one that was replaced."""
    try:
        return os.path.samestat(held.status, os.stat(path))
    except FileNotFoundError:
        return False


def _lock(descriptor: int, path: Path, *, alone: bool) -> None:
    try:
        if fcntl is not None:
            _wait_for(descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        elif alone:
            _lock_on_windows(descriptor)
    except BlockingIOError:
        told = f"{path}: another program holds it locked for {PATIENCE} s; let that go on, or end it"
        raise CassetteError(told) from None
    except OSError as error:
        if alone:  # who only reads can do without
            raise trouble(path, "locked", error) from None


def _wait_for(descriptor: int, kind: int) -> None:
    """Lock, as soon as others let go. Raises BlockingIOError where they never do: the system itself would wait on."""
    until, turn = monotonic() + PATIENCE, Event()
    while True:
        try:
            return fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > until:
                raise
            turn.wait(_PAUSE)  # of this thread, which writes for others: the loop goes on


def _lock_on_windows(descriptor: int) -> None:
    """Locks one byte far beyond the end, since nobody could read those that are locked."""
    os.lseek(descriptor, _FAR, os.SEEK_SET)
    with suppress(ImportError):
        locking = import_module("msvcrt")
        locking.locking(descriptor, locking.LK_LOCK, 1)


_PAUSE = 0.005  # seconds
_FAR = 0x7FFFFFFE
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Pending:
    """These bytes are to stand in the file from `start` on."""

    start: int
    document: bytes

    def whole(self, data: bytes) -> bytes:
        """What a file holds, without a part of these bytes at its end."""
        tail = data[self.start :]
        if self.start > len(data) or tail == self.document or not _is_part(tail, self.document):
            return data
        return data[: self.start]


def path_of(path: Path) -> Path:
    """Where the note for a file stands."""
    return path.with_name(f".{path.name}.pending")


def note(path: Path, pending: Pending) -> None:
    """Writes the note, and has it on disk."""
    head = {"start": pending.start, "length": len(pending.document), "sha256": _hash(pending.document)}
    write(path_of(path), json.dumps(head).encode() + b"\n" + pending.document)


def noted(path: Path) -> Pending | None:
    """The note for a file; None where there is none that is whole: then the file was not touched yet."""
    try:
        head, _, document = path_of(path).read_bytes().partition(b"\n")
    except OSError:
        return None
    said = parsed(head.decode("latin-1"))
    whole = {"length": len(document), "sha256": _hash(document)}
    if not isinstance(said, dict) or not isinstance(said.get("start"), int) or whole.items() - said.items():
        return None
    return Pending(said["start"], document)


def drop(path: Path) -> None:
    """Takes the note away."""
    with suppress(OSError):
        path_of(path).unlink(missing_ok=True)


def write(path: Path, data: bytes) -> None:
    """A file of its user alone that holds this, on disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | PLAIN
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hash(document: bytes) -> str:
    return sha256(document).hexdigest()


def _is_part(tail: bytes, document: bytes) -> bool:
    """Whether a tail is the beginning of a document; where the machine crashed, zeros may stand for some of it."""
    if len(tail) > len(document):
        return False
    return document.startswith(tail) or all(a in (b, 0) for a, b in zip(tail, document, strict=False))
