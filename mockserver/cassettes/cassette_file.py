"""A cassette on disk. An appended episode is durable, and a crash leaves nothing half-written.

Several processes may write one file: it is locked itself, so that no lock file remains. (filelock locks another file
next to it, and portalocker takes 0.2 s to import to replace some twenty lines.) The lock and fsync alone are not enough
for an append: the next process could not tell what one that was killed has left from what a user is writing by hand,
which must stay. So a note beside the file says what is being appended, until that is on the disk.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from shutil import copymode
from threading import Event, Lock
from typing import Annotated, NamedTuple

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import decode, encode

from mockserver.cassettes.bodies import HASH_DIGITS, NewAttachments, belongs_in_file
from mockserver.cassettes.format import HEAD, EpisodeDocument, read_documents, write_document
from mockserver.config.errors import CassetteError
from mockserver.config.source import did_you_mean
from mockserver.core.episode import SUFFIX, Episode
from mockserver.core.seed import monotonic

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MAX_SIZE = 50_000_000  # bytes of a cassette
LOCK_TIMEOUT = 10  # seconds to wait for a lock


class CassetteFile:
    """One cassette, which threads and processes may use concurrently."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written_stamp = Stamp()  # the state of the file after the last write here
        self._count = 0  # of its episodes at that time
        self._note = AppendNote(path)
        self.attachments = AttachedFiles(path)
        self._turn = Lock()

    @property
    def exists(self) -> bool:
        try:
            return self.path.exists()
        except OSError as error:
            raise explain_system_error(self.path, "read", error) from None

    @property
    def stamp(self) -> "Stamp | None":
        try:
            return Stamp.from_status(self.path.stat())
        except OSError:
            return None

    def load(self) -> tuple[Episode, ...]:
        """Read all episodes. Raises CassetteError."""
        return tuple(document.episode for document in self.load_documents())

    def load_documents(self) -> tuple[EpisodeDocument, ...]:
        """Read all episodes with their documents. Raises CassetteError."""
        with open_locked(self.path, exclusive=False) as file:
            self._check_size(file.status.st_size)
            data, pending = file.read(0), self._note.read()
            return self._parse(pending.cut_off(data) if pending else data)

    def append(self, episode: Episode) -> int:
        """Append an episode durably and return its number, from 1. Raises CassetteError."""
        attached = NewAttachments()
        added = write_document(episode, attached).encode("utf-8")
        with self._turn, self._open_exclusively() as file:
            count, size = self._count_episodes(file), file.status.st_size
            if size == 0:
                added = HEAD.encode() + added
            elif file.read(size - 1) != b"\n":
                added = b"\n" + added
            self._check_size(size + len(added))
            self.attachments.save(attached)
            self._append(file, PendingAppend(size, added))
            self._count, self.written_stamp = count + 1, Stamp.from_status(file.status)
            return self._count

    def rewrite(self, change: Callable[[tuple[Episode, ...]], tuple[Episode, ...]]) -> tuple[Episode, ...]:
        """Replace its episodes atomically and return them; unchanged ones keep their documents byte for byte.

        Raises CassetteError, and then nothing has changed.
        """
        with self._turn, self._open_exclusively() as file:
            self._repair(file)
            self._check_size(file.status.st_size)
            data = file.read(0)
            found = self._parse(data)
            wanted = change(tuple(document.episode for document in found))
            attached = NewAttachments()
            documents = _write_documents(found, wanted, attached)
            fresh = "".join((_find_head(data, found), *documents)).encode("utf-8")
            self._check_size(len(fresh))
            self.attachments.save(attached)
            try:
                self.written_stamp = replace_file(self.path, fresh, file)
            except OSError as error:
                raise explain_system_error(self.path, "replaced", error) from None
            _sync_folder(self.path.parent)
            self._count = len(wanted)
            self.attachments.keep_only([episode.reply.body for episode in wanted])
            return wanted

    def _parse(self, data: bytes) -> tuple[EpisodeDocument, ...]:
        if not data:
            return ()
        known = _remember_documents(self.path)
        found = read_documents(data, str(self.path), known, self.attachments)
        known.clear()
        known.update((document.text, document) for document in found)
        return found

    @contextmanager
    def _open_exclusively(self) -> Iterator["LockedFile"]:
        if not self.exists:
            try:
                _create(self.path)
            except OSError as error:
                raise explain_system_error(self.path, "created", error) from None
        with open_locked(self.path, exclusive=True) as file:
            yield file

    def _count_episodes(self, file: "LockedFile") -> int:
        """Check and repair the file before anything is appended, and return the number of its episodes."""
        self._check_size(file.status.st_size)
        self._repair(file)
        if Stamp.from_status(file.status) == self.written_stamp:
            return self._count
        return len(self._parse(file.read(0)))

    def _repair(self, file: "LockedFile") -> None:
        """Remove what a process left that died while appending."""
        if pending := self._note.read():
            data = file.read(0)
            if len(whole := pending.cut_off(data)) < len(data):
                try:
                    file.truncate(len(whole))
                except OSError as error:
                    raise explain_system_error(self.path, "repaired", error) from None
            self._note.remove()

    def _append(self, file: "LockedFile", added: "PendingAppend") -> None:
        try:
            self._note.write(added)
            file.write(added.start, added.document)
        except OSError as error:
            with suppress(OSError):  # else the note remains for the next process
                file.truncate(added.start)
                self._note.remove()
            raise explain_system_error(self.path, "written", error) from None
        self._note.remove()

    def _check_size(self, size: int) -> None:
        if size > MAX_SIZE:
            raise CassetteError(
                f"{self.path}: {size:,} bytes are more than the limit for a cassette ({MAX_SIZE:,}); "
                "split it, or remove episodes"
            )


class AttachedFiles:
    """The files beside a cassette, in a folder of its name: `speech.files/0123456789abcdef.mp3` of `speech.yaml`.

    Each is named by the hash of what is in it. They are saved, read and removed while the cassette is locked.
    """

    def __init__(self, cassette: Path) -> None:
        self.folder = cassette.with_suffix(".files")

    def save(self, attached: NewAttachments) -> None:
        """Write those files that are not there yet. Raises CassetteError."""
        for name, data in attached.items():
            path = self.folder / name
            try:
                self.folder.mkdir(FOLDER_MODE, exist_ok=True)
                if path.exists():
                    self.load(name)
                else:
                    replace_file(path, data)
            except OSError as error:
                raise explain_system_error(path, "written", error) from None
            except ValueError as error:
                raise CassetteError(f"{self.folder.parent}/{error}") from None

    def load(self, name: str) -> bytes:
        """Return what is in a file. Raises ValueError that says what is wrong."""
        if not _ATTACHED.fullmatch(name):
            raise ValueError(f"write the name of a file in {self.folder.name}, such as 0123456789abcdef.mp3")
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            raise ValueError(f"{self.folder.name}/{name} cannot be read: {error.strerror}; {_RESTORE}") from None
        if data.startswith(_POINTER):
            raise ValueError(f"{self.folder.name}/{name} is a pointer of Git LFS; fetch the file: git lfs pull")
        if not sha256(data).hexdigest().startswith(name.partition(".")[0]):
            raise ValueError(f"{self.folder.name}/{name} was changed: it no longer matches its hash; {_RESTORE}")
        return data

    def keep_only(self, bodies: Sequence[bytes]) -> None:
        """Remove the files with none of these bodies."""
        if self.folder.is_dir():
            kept = {sha256(body).hexdigest()[:HASH_DIGITS] for body in bodies if belongs_in_file(body)}
            for file in self.folder.iterdir():
                if _ATTACHED.fullmatch(file.name) and file.stem not in kept:
                    file.unlink(missing_ok=True)


_RESTORE = "restore it, or remove the episode"
_POINTER = b"version https://git-lfs.github.com/spec/"  # the beginning of a file that Git LFS has not fetched
_ATTACHED = re.compile(rf"[0-9a-f]{{{HASH_DIGITS}}}\.[a-z0-9]+")


@lru_cache(maxsize=4)
def _remember_documents(path: Path) -> dict[str, EpisodeDocument]:
    """Return the documents that were last read from a file, by their texts, for whoever reads it to keep up to date.

    They need not be parsed again when another process has appended to the file, when it is rewritten, or when the next
    test of this process plays it: parsing takes 0.2 ms an episode, finding it here 0.01 ms.
    """
    return {}


def _write_documents(
    found: Sequence[EpisodeDocument], wanted: Sequence[Episode], attached: NewAttachments
) -> Iterator[str]:
    existing = {id(document.episode): document.text for document in found if not document.is_edited}
    for episode in wanted:
        text = existing.get(id(episode)) or write_document(episode, attached)
        yield text if text.endswith("\n") else text + "\n"


def _find_head(data: bytes, found: Sequence[EpisodeDocument]) -> str:
    text = data.decode("utf-8").removeprefix("\ufeff")
    head = text[: len(text) - sum(len(document.text) for document in found)] or HEAD
    return head if head.endswith("\n") else head + "\n"


# The names of cassettes in a folder.


def find_path(folder: Path, name: str) -> Path:
    """Return the path of a cassette in a folder. Raises CassetteError for an invalid name."""
    parts = name.removesuffix(SUFFIX).split("/")
    if len(name) > _MAX_NAME or not all(map(_may_be_part, parts)):
        raise CassetteError(
            f"{name[:100]!a} is not a valid cassette name: use letters, digits and characters such as - _ . [ ], "
            f"and / for folders within {folder}"
        )
    path = folder.joinpath(*parts[:-1], parts[-1] + SUFFIX)
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        raise CassetteError(f"{path}: {error}") from None
    if not is_inside:
        raise CassetteError(f"{path}: this link leads out of {folder}, where cassettes must be")
    return path


def list_names(folder: Path) -> tuple[str, ...]:
    """Return the cassettes of a folder, in alphabetical order; none if the folder does not exist."""
    found = (path.relative_to(folder) for path in folder.rglob(f"*{SUFFIX}") if path.is_file())
    visible = (path for path in found if not any(part.startswith(".") for part in path.parts))
    return tuple(sorted(path.as_posix().removesuffix(SUFFIX) for path in visible))


def describe_missing(folder: Path, name: str) -> str:
    """Return the message that a cassette does not exist, with those that do."""
    existing, plain = list_names(folder), name.removeprefix(f"{folder}/").removesuffix(SUFFIX)
    words = f'there is no cassette "{name[:120]}" in {folder}'
    listed = f"; there are {', '.join(existing[:_MAX_LISTED])}" if existing else ""
    return words + (did_you_mean(plain, existing) or listed)


def _may_be_part(part: str) -> bool:
    return _PART.fullmatch(part) is not None and len(part.encode("utf-8", "replace")) <= _MAX_PART


_PART = re.compile(r"[\w\[](?:[\w .@+=,()\[\]~-]*+(?<![ .]))?")
_MAX_PART = 200  # bytes, which leaves room for the names of related files
_MAX_NAME = 1000  # characters
_MAX_LISTED = 10  # cassettes in a message


# What is being appended.


class PendingAppend(Struct, frozen=True, forbid_unknown_fields=True):
    """A document that is being appended to a file at `start`."""

    start: Annotated[int, Meta(ge=0)]
    document: bytes

    def cut_off(self, data: bytes) -> bytes:
        """Return the content of a file without an incomplete copy of the document at its end."""
        tail = data[self.start :]
        if self.start > len(data) or tail == self.document or not self._begins_with(tail):
            return data
        return data[: self.start]

    def _begins_with(self, tail: bytes) -> bool:
        if len(tail) > len(self.document):
            return False
        # after a crash of the machine, some of it may be zeros
        return self.document.startswith(tail) or all(a in (b, 0) for a, b in zip(tail, self.document, strict=False))


class AppendNote:
    """The note beside a file of what is being appended, with which the next process repairs the file."""

    def __init__(self, file: Path) -> None:
        self.path = file.with_name(f".{file.name}.pending")

    def write(self, pending: PendingAppend) -> None:
        write_file(self.path, encode(pending))

    def read(self) -> PendingAppend | None:
        """Return what is noted; None if there is no complete note, as the file is then untouched."""
        try:
            return decode(_read_own(self.path), type=PendingAppend)
        except (OSError, MsgspecError):
            return None

    def remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


# Files.


class Stamp(NamedTuple):
    """The identity and state of a file, which changes with every write."""

    file: tuple[int, int] = (0, 0)
    size: int = 0
    changed: int = 0

    @classmethod
    def from_status(cls, status: os.stat_result) -> "Stamp":
        return cls((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


class LockedFile:
    """An open, locked file."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._is_open, self._process = True, os.getpid()

    @property
    def status(self) -> os.stat_result:
        return os.fstat(self.descriptor)

    def read(self, start: int) -> bytes:
        os.lseek(self.descriptor, max(0, start), os.SEEK_SET)
        pieces = iter(lambda: os.read(self.descriptor, _PIECE), b"")
        return b"".join(pieces)

    def write(self, start: int, data: bytes) -> None:
        os.lseek(self.descriptor, start, os.SEEK_SET)
        _write_all(self.descriptor, data)
        os.fsync(self.descriptor)

    def truncate(self, size: int) -> None:
        os.ftruncate(self.descriptor, size)
        os.fsync(self.descriptor)

    def is_at(self, path: Path) -> bool:
        """Return whether it still has this name: it may have been replaced while we waited for the lock."""
        try:
            return os.path.samestat(self.status, os.stat(path))
        except FileNotFoundError:
            return False

    def close(self) -> None:
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


def write_file(path: Path, data: bytes) -> None:
    """Write a file, durably and for its owner only. Raises OSError, also for a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OWN_FLAGS
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        _write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, locked: LockedFile | None = None) -> Stamp:
    """Write a file, which may be locked, completely or not at all. Raises OSError.

    It has the mode that it had, else it is for its owner only.
    """
    path = path.resolve()
    fresh = path.with_name(f".{path.name}.new")
    try:
        write_file(fresh, data)
        if path.exists():
            copymode(path, fresh)
        stamp = Stamp.from_status(fresh.stat())
        if locked is not None and os.name == "nt":  # where an open file cannot be replaced
            locked.close()
        os.replace(fresh, path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    return stamp


def explain_system_error(path: Path, doing: str, error: OSError) -> CassetteError:
    """Return an error of the system in words for people; `doing` is what failed, such as `read`."""
    consequence = "" if doing == "read" else "; its content is unchanged"
    return CassetteError(f"{path}: cannot be {doing}: {error.strerror or error}{consequence}")


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
    until, pause = monotonic() + LOCK_TIMEOUT, Event()
    while True:
        try:
            return fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > until:
                raise
            pause.wait(_PAUSE)  # blocks this thread only, not the event loop


def _lock_on_windows(descriptor: int) -> None:
    """Lock one byte far beyond the end, as locked bytes cannot be read."""
    os.lseek(descriptor, _FAR, os.SEEK_SET)
    with suppress(ImportError):
        locking = import_module("msvcrt")
        locking.locking(descriptor, locking.LK_LOCK, 1)


def _read_own(path: Path) -> bytes:
    """Return the content of a file of ours. Raises OSError for a link, which may lead to a file without end."""
    with open(os.open(path, os.O_RDONLY | _OWN_FLAGS), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is not a regular file")
        return file.read()


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _create(path: Path) -> None:
    """Create an empty file, which is an empty cassette, unless another process has just done so."""
    for folder in (*reversed(path.parent.parents), path.parent):
        if not folder.exists():
            folder.mkdir(FOLDER_MODE, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, FILE_MODE))
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


FILE_MODE, FOLDER_MODE = 0o600, 0o700
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_OWN_FLAGS = _FLAGS | getattr(os, "O_NOFOLLOW", 0)
_MAX_TRIES = 1000  # to lock a file that others keep replacing
_PAUSE = 0.005  # seconds
_FAR = 0x7FFFFFFE
_PIECE = 1 << 20
