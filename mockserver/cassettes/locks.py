"""Files that one process at a time writes. Locked on the file itself, so nothing is left beside it."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import NamedTuple

from mockserver.core.errors import CassetteError
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
