"""Cassettes on disk. An appended episode is durable, and a crash leaves nothing half-written.

Several processes may write one file. A process that dies while appending leaves a note, with which the next one repairs
the file. Files are locked themselves, so nothing else remains. filelock locks another file next to it, and portalocker
takes 0.2 s to import to replace some twenty lines.

Large cassettes have an index in a folder next to them: their episodes as JSON, which loads many times faster than YAML.
A stale, broken or missing index is made again; if it cannot be written, cassettes are read as YAML. One that came with
a checkout is not believed, as nobody has reviewed it: it could hold other episodes than the cassette.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from shutil import copymode
from tempfile import NamedTemporaryFile
from threading import Event, Lock
from typing import NamedTuple

from msgspec import Struct
from msgspec.json import decode, encode

from mockserver.cassettes.format import HEAD, EpisodeDocument, ReadPosition, document, entries, episodes, following
from mockserver.config.errors import CassetteError
from mockserver.config.source import did_you_mean
from mockserver.config.yaml_reader import collector_at_rest
from mockserver.core.episode import SUFFIX, Episode
from mockserver.core.json import try_parse
from mockserver.core.seed import monotonic, wall

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FILE_MODE, FOLDER_MODE = 0o600, 0o700
LOCK_TIMEOUT = 10  # seconds to wait for a lock
MAX_TRIES = 1000  # to lock a file that others keep replacing
PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class Stamp(NamedTuple):
    """The identity and state of a file, which changes with every write."""

    file: tuple[int, int] = (0, 0)
    size: int = 0
    changed: int = 0

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        return cls((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


class LockedFile:
    """An open, locked file."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._open, self._process = True, os.getpid()

    @property
    def status(self) -> os.stat_result:
        return os.fstat(self.descriptor)

    def read(self, start: int) -> bytes:
        os.lseek(self.descriptor, max(0, start), os.SEEK_SET)
        pieces = iter(lambda: os.read(self.descriptor, _PIECE), b"")
        return b"".join(pieces)

    def write(self, start: int, data: bytes) -> None:
        os.lseek(self.descriptor, start, os.SEEK_SET)
        write_all(self.descriptor, data)
        os.fsync(self.descriptor)

    def truncate(self, size: int) -> None:
        os.ftruncate(self.descriptor, size)
        os.fsync(self.descriptor)

    def close(self) -> None:
        if self._open:
            self._open = False
            if fcntl is not None and os.getpid() == self._process:
                fcntl.flock(self.descriptor, fcntl.LOCK_UN)  # a process forked meanwhile would keep it locked
            os.close(self.descriptor)


@contextmanager
def locked(path: Path, *, alone: bool) -> Iterator[LockedFile]:
    """Lock an existing file: exclusively to write it (`alone`), else shared. Raises CassetteError."""
    for _ in range(MAX_TRIES):
        held = LockedFile(_opened(path, os.O_RDWR if alone else os.O_RDONLY))
        try:
            _lock(held.descriptor, path, alone=alone)
            if _same(held, path):
                yield held
                return
        finally:
            held.close()
    raise CassetteError(f"{path}: gave up, as another program keeps replacing this file")


def write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def system_error(path: Path, doing: str, error: OSError) -> CassetteError:
    """An error of the system, for people."""
    harmless = "" if doing == "read" else "; its content is unchanged"
    return CassetteError(f"{path}: cannot be {doing}: {error.strerror or error}{harmless}")


def _opened(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | PLAIN)
    except FileNotFoundError:
        raise CassetteError(f"{path}: there is no such cassette") from None
    except OSError as error:
        raise system_error(path, "written" if flags & os.O_RDWR else "read", error) from None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise CassetteError(f"{path}: not a regular file, as a cassette must be")


def _same(held: LockedFile, path: Path) -> bool:
    """Whether the file still has its name: it may have been replaced while we waited for the lock."""
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
        told = f"{path}: another program has locked it for over {LOCK_TIMEOUT} s; wait for it, or stop it"
        raise CassetteError(told) from None
    except OSError as error:
        if alone:  # readers can do without
            raise system_error(path, "locked", error) from None


def _wait_for(descriptor: int, kind: int) -> None:
    """Lock as soon as others unlock. Raises BlockingIOError after a time, which the system itself would not."""
    until, turn = monotonic() + LOCK_TIMEOUT, Event()
    while True:
        try:
            return fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > until:
                raise
            turn.wait(_PAUSE)  # blocks this thread only, not the event loop


def _lock_on_windows(descriptor: int) -> None:
    """Lock one byte far beyond the end, as locked bytes cannot be read."""
    os.lseek(descriptor, _FAR, os.SEEK_SET)
    with suppress(ImportError):
        locking = import_module("msvcrt")
        locking.locking(descriptor, locking.LK_LOCK, 1)


_PAUSE = 0.005  # seconds
_FAR = 0x7FFFFFFE
_PIECE = 1 << 20


class PendingAppend(Struct, frozen=True):
    """A document to be appended to a file at `start`."""

    start: int
    document: bytes

    def whole(self, data: bytes) -> bytes:
        """The content of a file without an incomplete copy of the document at its end."""
        tail = data[self.start :]
        if self.start > len(data) or tail == self.document or not _is_part(tail, self.document):
            return data
        return data[: self.start]


def note_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.pending")


def write_note(path: Path, pending: PendingAppend) -> None:
    head = {"start": pending.start, "length": len(pending.document), "sha256": _hash(pending.document)}
    write_file(note_path(path), json.dumps(head).encode() + b"\n" + pending.document)


def read_note(path: Path) -> PendingAppend | None:
    """The note for a file; None if there is no complete one, as the file is then untouched."""
    try:
        head, _, document = read_regular(note_path(path))[0].partition(b"\n")
    except OSError:
        return None
    said = try_parse(head.decode("latin-1"))
    whole = {"length": len(document), "sha256": _hash(document)}
    if not isinstance(said, dict) or not isinstance(said.get("start"), int) or whole.items() - said.items():
        return None
    return PendingAppend(said["start"], document)


def drop_note(path: Path) -> None:
    with suppress(OSError):
        note_path(path).unlink(missing_ok=True)


def read_regular(path: Path) -> tuple[bytes, os.stat_result]:
    """The content and state of a file of ours. Raises OSError for a link, which may lead to a file without end."""
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | PLAIN), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no file")
        return file.read(), status


def write_file(path: Path, data: bytes, mode: int = os.O_TRUNC) -> None:
    """Write a file, durably and for its owner only."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | mode | getattr(os, "O_NOFOLLOW", 0) | PLAIN, FILE_MODE)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, held: LockedFile | None = None) -> Stamp:
    """Write a file, which may be locked, completely or not at all. Raises OSError.

    It has the mode that it had, else it is for its owner only.
    """
    path = path.resolve()
    fresh = path.with_name(f".{path.name}.new")
    try:
        write_file(fresh, data)
        if path.exists():
            copymode(path, fresh)
        stamp = Stamp.of(fresh.stat())
        if held is not None and os.name == "nt":  # where an open file cannot be replaced
            held.close()
        os.replace(fresh, path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    return stamp


def _hash(document: bytes) -> str:
    return sha256(document).hexdigest()


def _is_part(tail: bytes, document: bytes) -> bool:
    """Whether a tail is the start of a document; after a crash of the machine, some of it may be zeros."""
    if len(tail) > len(document):
        return False
    return document.startswith(tail) or all(a in (b, 0) for a, b in zip(tail, document, strict=False))


MAX_SIZE = 50_000_000  # bytes of a cassette
_MAX_NAMES = 10  # of cassettes in a message


def named(folder: Path, name: str) -> Path:
    """The path of a cassette in a folder. Raises CassetteError for an invalid name."""
    shown = ascii(name[:100])
    parts = name.removesuffix(SUFFIX).split("/")
    if len(name) > _LONGEST_NAME or not all(map(_may_be_part, parts)):
        raise CassetteError(
            f"{shown} is not a valid cassette name: use letters, digits and characters such as - _ . [ ], "
            f"and / for folders within {folder}"
        )
    path = folder.joinpath(*parts[:-1], parts[-1] + SUFFIX)
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        raise CassetteError(f"{path}: {error}") from None
    if not inside:
        raise CassetteError(f"{path}: this link leads out of {folder}, where cassettes must be")
    return path


def names(folder: Path) -> tuple[str, ...]:
    """The cassettes of a folder, in alphabetical order; none if the folder does not exist."""
    found = (path.relative_to(folder) for path in folder.rglob(f"*{SUFFIX}") if path.is_file())
    seen = (path for path in found if not any(part.startswith(".") for part in path.parts))
    return tuple(sorted(str(path).removesuffix(SUFFIX) for path in seen))


def absent(folder: Path, name: str) -> str:
    """The message that a cassette does not exist, with those that do."""
    there, plain = names(folder), name.removeprefix(f"{folder}/").removesuffix(SUFFIX)
    words = f'there is no cassette "{name[:120]}" in {folder}'
    return words + (did_you_mean(plain, there) or (f"; there are {', '.join(there[:_MAX_NAMES])}" if there else ""))


class CassetteFile:
    """One cassette, which threads and processes may use concurrently."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left = Stamp()  # its state after the last write here
        self._count = 0  # of its episodes at that time
        self._known: Mapping[str, EpisodeDocument] = {}  # documents of the last rewrite, by text
        self._turn = Lock()

    @property
    def exists(self) -> bool:
        try:
            return self.path.exists()
        except OSError as error:
            raise system_error(self.path, "read", error) from None

    @property
    def stamp(self) -> Stamp | None:
        try:
            return Stamp.of(self.path.stat())
        except OSError:
            return None

    def load(self) -> tuple[Episode, ...]:
        return self._episodes(self._read())

    def _episodes(self, data: bytes) -> tuple[Episode, ...]:
        return indexed(self.path, data, str(self.path)) if data else ()

    def documents(self) -> tuple[EpisodeDocument, ...]:
        data = self._read()
        return entries(data, str(self.path)) if data else ()

    def append(self, episode: Episode) -> int:
        """Append an episode durably and return its number. Raises CassetteError."""
        added = document(episode).encode("utf-8")
        with self._turn, self._alone() as held:
            count, size = self._checked_count(held), held.status.st_size
            if size == 0:
                added = HEAD.encode() + added
            elif held.read(size - 1) != b"\n":
                added = b"\n" + added
            self._check_size(size + len(added))
            self._add(held, PendingAppend(size, added))
            self._count, self.left = count + 1, Stamp.of(held.status)
            return self._count

    def rewrite(self, change: Callable[[tuple[Episode, ...]], tuple[Episode, ...]]) -> tuple[Episode, ...]:
        """Replace its episodes atomically and return them; unchanged ones keep their documents byte for byte.

        Raises CassetteError, and then nothing has changed.
        """
        with self._turn, self._alone() as held:
            self._repair(held)
            self._check_size(held.status.st_size)
            data = held.read(0)
            found = entries(data, str(self.path), self._known) if data else ()
            self._known = {entry.text: entry for entry in found}
            wanted = change(tuple(entry.episode for entry in found))
            fresh = (_head(data, found) + "".join(_documents(found, wanted))).encode("utf-8")
            self._check_size(len(fresh))
            try:
                self.left = replace_file(self.path, fresh, held)
            except OSError as error:
                raise system_error(self.path, "replaced", error) from None
            _sync_folder(self.path.parent)
            self._count = len(wanted)
            return wanted

    def _read(self) -> bytes:
        with locked(self.path, alone=False) as held:
            self._check_size(held.status.st_size)
            data, half = held.read(0), read_note(self.path)
            return half.whole(data) if half else data

    @contextmanager
    def _alone(self) -> Iterator[LockedFile]:
        if not self.exists:
            try:
                _create(self.path)
            except OSError as error:
                raise system_error(self.path, "created", error) from None
        with locked(self.path, alone=True) as held:
            yield held

    def _checked_count(self, held: LockedFile) -> int:
        """Check and repair the file before anything is appended, and return the number of its episodes."""
        self._check_size(held.status.st_size)
        self._repair(held)
        stamp = Stamp.of(held.status)
        if stamp == self.left:
            return self._count
        if stamp.file == self.left.file and 0 < self.left.size < stamp.size:
            rest = held.read(self.left.size - 1)  # what others have appended
            with suppress(CassetteError):  # the whole file is read for the line of a mistake
                if rest.startswith(b"\n---\n"):
                    return self._count + len(following(rest[1:], self.path.name, ReadPosition(self._count)))
        return len(self._episodes(held.read(0)))

    def _repair(self, held: LockedFile) -> None:
        """Remove what a process left that died while appending."""
        if half := read_note(self.path):
            data = held.read(0)
            if len(whole := half.whole(data)) < len(data):
                try:
                    held.truncate(len(whole))
                except OSError as error:
                    raise system_error(self.path, "repaired", error) from None
            drop_note(self.path)

    def _add(self, held: LockedFile, added: PendingAppend) -> None:
        try:
            write_note(self.path, added)
            held.write(added.start, added.document)
        except OSError as error:
            with suppress(OSError):  # else the note remains for the next process
                held.truncate(added.start)
                drop_note(self.path)
            raise system_error(self.path, "written", error) from None
        drop_note(self.path)

    def _check_size(self, size: int) -> None:
        if size > MAX_SIZE:
            raise CassetteError(
                f"{self.path}: {size:,} bytes are more than a cassette may have ({MAX_SIZE:,}); "
                "split it, or remove episodes"
            )


def _documents(found: Sequence[EpisodeDocument], wanted: Sequence[Episode]) -> Iterator[str]:
    there = {id(entry.episode): entry.text for entry in found if not entry.is_edited}
    for episode in wanted:
        text = there.get(id(episode)) or document(episode)
        yield text if text.endswith("\n") else text + "\n"


def _head(data: bytes, found: Sequence[EpisodeDocument]) -> str:
    text = data.decode("utf-8").removeprefix("\ufeff")
    head = text[: len(text) - sum(len(entry.text) for entry in found)] or HEAD
    return head if head.endswith("\n") else head + "\n"


def _create(path: Path) -> None:
    """Create an empty file, which is an empty cassette, unless another process has just done so."""
    for folder in (*reversed(path.parent.parents), path.parent):
        if not folder.exists():
            folder.mkdir(FOLDER_MODE, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, FILE_MODE))
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _may_be_part(part: str) -> bool:
    return _PART.fullmatch(part) is not None and len(part.encode("utf-8", "replace")) <= _LONGEST_PART


_PART = re.compile(r"[\w\[](?:[\w .@+=,()\[\]~-]*+(?<![ .]))?")
_LONGEST_PART = 200  # bytes, which leaves room for the names of related files
_LONGEST_NAME = 1000


FORMAT = 4  # increases when the reading of files or this format changes
FOLDER = ".index"
MIN_SIZE = 50_000  # bytes of a cassette


class Index(Struct, frozen=True):
    """The episodes of a file, or of its start, and the length and hash of that.

    `written` is the time in nanoseconds that the index file has, which no checkout can give it.
    """

    format: int
    size: int
    lines: int
    sha256: str
    episodes: tuple[Episode, ...]
    written: int = 0

    @classmethod
    def of(cls, data: bytes, found: tuple[Episode, ...], written: int = 0) -> "Index":
        return cls(FORMAT, len(data), data.count(b"\n"), sha256(data).hexdigest(), found, written)

    def begins(self, data: bytes) -> bool:
        """Whether it is of the start of a file with these bytes, which whole documents follow, if anything."""
        if self.format != FORMAT or not 0 < self.size <= len(data):
            return False
        rest = data[self.size - 1 : self.size + 4]
        return self.sha256 == sha256(data[: self.size]).hexdigest() and (rest == b"\n---\n" or self.size == len(data))


def indexed(path: Path, data: bytes, file: str) -> tuple[Episode, ...]:
    """The episodes of a file with these bytes. Raises CassetteError."""
    if len(data) < MIN_SIZE:
        return episodes(data, file)
    place = index_of(path)
    index = _read(place)
    if index is None or not index.begins(data):
        found = episodes(data, file)
    elif index.size == len(data):
        return index.episodes
    else:
        position = ReadPosition(len(index.episodes), index.lines)
        found = (*index.episodes, *(entry.episode for entry in following(data[index.size :], file, position)))
    with suppress(OSError, ValueError):
        written = int(wall() * 1e6) * 1000
        _write(place, encode(Index.of(data, found, written)), written)
    return found


def index_of(path: Path) -> Path:
    """The path of the index of a cassette."""
    return path.parent / FOLDER / f"{path.name}.json"


def _read(index: Path) -> Index | None:
    with suppress(OSError, ValueError), collector_at_rest():
        content, status = read_regular(index)
        found = decode(content, type=Index)
        return found if found.written == status.st_mtime_ns else None
    return None


def _write(index: Path, content: bytes, written: int) -> None:
    folder = index.parent
    if folder.is_symlink():
        return
    if not folder.exists():
        folder.mkdir(0o700)
    with suppress(FileExistsError):
        write_file(folder / ".gitignore", b"*\n", os.O_EXCL)
    with NamedTemporaryFile(dir=folder, prefix=f".{index.name}.", delete=False) as fresh:
        try:
            fresh.write(content)
            fresh.close()
            os.utime(fresh.name, ns=(written, written))
            os.replace(fresh.name, index)
        except BaseException:
            Path(fresh.name).unlink(missing_ok=True)
            raise
