"""Files that several processes use: locked while one reads or writes them, and replaced as a whole.

A file is locked itself, so that no lock file remains. (filelock locks another file next to it, and portalocker takes
0.2 s to import to replace some twenty lines.)
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from shutil import copymode
from typing import NamedTuple

from mockserver.config.errors import CassetteError
from mockserver.core.seed import monotonic, pause

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK_TIMEOUT = 10  # seconds to wait for a lock


class Stamp(NamedTuple):
    """The identity and state of a file, which changes with every write."""

    device: int = 0
    file: int = 0  # its number there
    size: int = 0
    changed: int = 0  # in nanoseconds


def make_stamp(status: os.stat_result) -> Stamp:
    """Return the stamp of a file with this status."""
    return Stamp(status.st_dev, status.st_ino, size=status.st_size, changed=status.st_mtime_ns)


class LockedFile:
    """An open, locked file."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._is_open = True
        self._process = os.getpid()

    @property
    def stamp(self) -> Stamp:
        """Its identity and state now."""
        return make_stamp(os.fstat(self.descriptor))

    def read(self) -> bytes:
        """Return all bytes of the file."""
        with open(self.descriptor, "rb", buffering=0, closefd=False) as file:
            file.seek(0)
            return file.read()

    def is_at(self, path: Path) -> bool:
        """Return whether it is still at this path: it may have been replaced while the lock was awaited."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), os.stat(path))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Unlock and close the file."""
        if self._is_open:
            self._is_open = False
            if fcntl is not None and os.getpid() == self._process:
                fcntl.flock(self.descriptor, fcntl.LOCK_UN)  # a process forked meanwhile would keep it locked
            os.close(self.descriptor)


@contextmanager
def open_locked(path: Path, *, exclusive: bool) -> Iterator[LockedFile]:
    """Open and lock an existing file: `exclusive` to write it, else shared with other readers. Raises CassetteError."""
    for _ in range(_MAX_TRIES):
        file = LockedFile(_open_regular(path, os.O_RDWR if exclusive else os.O_RDONLY))
        try:
            _lock(file.descriptor, path, exclusive=exclusive)
            if file.is_at(path):
                yield file
                return
        finally:
            file.close()
    raise CassetteError(f"{path}: gave up: another program keeps replacing this file")


def create_file(path: Path) -> None:
    """Create an empty file and its folders, unless another process has just done so. Raises OSError."""
    for folder in (*reversed(path.parent.parents), path.parent):
        if not folder.exists():
            folder.mkdir(FOLDER_MODE, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, FILE_MODE))


def replace_file(path: Path, data: bytes, locked: LockedFile | None = None) -> Stamp:
    """Write a file, which may be locked, completely or not at all, so that a crash cannot undo it. Raises OSError.

    It has the mode that it had, else it is for its owner only.
    """
    path = path.resolve()
    fresh = path.with_name(f".{path.name}.new")
    try:
        _write_durably(fresh, data)
        if path.exists():
            copymode(path, fresh)
        stamp = make_stamp(fresh.stat())
        if locked is not None and os.name == "nt":  # Windows does not replace an open file
            locked.close()
        os.replace(fresh, path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return stamp


def explain_system_error(path: Path, doing: str, error: OSError) -> CassetteError:
    """Return an error of the system as one of ours; `doing` is what failed: `read`, `written`, `created`, `locked`."""
    consequence = "" if doing == "read" else "; its content is unchanged"
    return CassetteError(f"{path}: cannot be {doing}: {error.strerror or error}{consequence}")


def _write_durably(path: Path, data: bytes) -> None:
    """Write a file of ours for its owner only. Raises OSError, also for a link that somebody has put there."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | _FLAGS
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_regular(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | _FLAGS)
    except FileNotFoundError:
        raise CassetteError(f"{path}: there is no such cassette") from None
    except OSError as error:
        raise explain_system_error(path, "written" if flags & os.O_RDWR else "read", error) from None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise CassetteError(f"{path}: a cassette must be a regular file")


def _lock(descriptor: int, path: Path, *, exclusive: bool) -> None:
    try:
        if fcntl is not None:
            _lock_on_posix(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        elif exclusive:
            _lock_on_windows(descriptor)
    except BlockingIOError:
        words = f"{path}: another program has locked it for over {LOCK_TIMEOUT} s; wait for it, or stop it"
        raise CassetteError(words) from None
    except OSError as error:
        if exclusive:  # readers can do without
            raise explain_system_error(path, "locked", error) from None


def _lock_on_posix(descriptor: int, kind: int) -> None:
    """Lock as soon as others unlock. Raises BlockingIOError after a time, which the system itself would not."""
    until = monotonic() + LOCK_TIMEOUT
    while True:
        try:
            return fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > until:
                raise
            pause(_PAUSE)  # blocks this thread only, not the event loop


def _lock_on_windows(descriptor: int) -> None:
    """Lock one byte far beyond the end, as locked bytes cannot be read."""
    os.lseek(descriptor, _FAR, os.SEEK_SET)
    with suppress(ImportError):
        locking = import_module("msvcrt")
        locking.locking(descriptor, locking.LK_LOCK, 1)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


FILE_MODE = 0o600
FOLDER_MODE = 0o700
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_MAX_TRIES = 1000  # to lock a file that others keep replacing
_PAUSE = 0.005  # seconds
_FAR = 0x7FFFFFFE
