"""Cassettes on disk: an episode that was appended is there whatever happens next, and nothing is ever half there.

Several processes may write one file. Of a process that dies within an append, the next one takes away what it left.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock

from mockserver.cassettes import locks
from mockserver.cassettes.index import indexed
from mockserver.cassettes.locks import FILE_MODE, FOLDER_MODE, PLAIN, Held, Pending, Stamp, locked, trouble, write_all
from mockserver.cassettes.read import Entry, Mark, entries, following, mismatches
from mockserver.cassettes.write import HEAD, document
from mockserver.config.errors import CassetteError, Mistake
from mockserver.config.source import did_you_mean
from mockserver.core.episode import Episode

MAX_SIZE = 50_000_000  # bytes of a cassette
SUFFIX = ".yaml"
_MOST_TOLD = 10  # names of cassettes


def named(folder: Path, name: str) -> Path:
    """Where the cassette of a name stands, in its folder or one within. Raises CassetteError where there is none."""
    shown = ascii(name[:100])
    parts = name.removesuffix(SUFFIX).split("/")
    if len(name) > _LONGEST_NAME or not all(map(_may_be_part, parts)):
        raise CassetteError(
            f"{shown} is no name of a cassette: it has letters, digits and signs such as - _ . [ ], "
            f"and / for a folder within {folder}"
        )
    path = folder.joinpath(*parts[:-1], parts[-1] + SUFFIX)
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        raise CassetteError(f"{path}: {error}") from None
    if not inside:
        raise CassetteError(f"{path}: a link leads out of {folder}; cassettes are kept within it")
    return path


def names(folder: Path) -> tuple[str, ...]:
    """The cassettes of a folder, in alphabetical order; those of a folder that is not there are none."""
    found = (path.relative_to(folder) for path in folder.rglob(f"*{SUFFIX}") if path.is_file())
    return tuple(sorted(str(path).removesuffix(SUFFIX) for path in found if not _is_hidden(path)))


def absent(folder: Path, name: str) -> str:
    """That there is no cassette of this name, and which there are."""
    there, plain = names(folder), name.removeprefix(f"{folder}/").removesuffix(SUFFIX)
    told = f'there is no cassette "{name[:120]}" in {folder}'
    return told + (did_you_mean(plain, there) or (f"; there are {', '.join(there[:_MOST_TOLD])}" if there else ""))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


class CassetteFile:
    """One cassette. Any number of threads and processes may use it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left = Stamp()  # how it stood when it was last written here
        self._mark = Mark()  # how much it held then
        self._known: Mapping[str, Entry] = {}  # what was rewritten here, by its text
        self._turn = Lock()

    @property
    def exists(self) -> bool:
        """Whether it was begun. Raises CassetteError where nobody may look."""
        try:
            return self.path.exists()
        except OSError as error:
            raise trouble(self.path, "read", error) from None

    @property
    def stamp(self) -> Stamp | None:
        """How it stands now; None: it is not there."""
        try:
            return Stamp.of(self.path.stat())
        except OSError:
            return None

    def load(self) -> tuple[Episode, ...]:
        """Its episodes. Raises CassetteError where it is not there, or not in order."""
        return indexed(self.path, self._read(), str(self.path))

    def mismatches(self) -> tuple[Mistake, ...]:
        """Its episodes whose answers were edited after they were recorded."""
        return mismatches(self._read(), str(self.path))

    def append(self, episode: Episode) -> int:
        """Adds an episode and gives its number; when this returns, it is on disk. Raises CassetteError."""
        added = document(episode).encode("utf-8")
        with self._turn, self._alone() as held:
            mark, size = self._surveyed(held), held.status.st_size
            added = added if held.read(size - 1) == b"\n" else b"\n" + added
            self._check_size(size + len(added))
            self._add(held, Pending(size, added))
            self._mark = Mark(mark.episodes + 1, mark.lines + added.count(b"\n"))
            self.left = Stamp.of(held.status)
            return self._mark.episodes

    def rewrite(self, change: Callable[[tuple[Episode, ...]], tuple[Episode, ...]]) -> tuple[Episode, ...]:
        """Puts other episodes in place of its own, all at once; those that stay keep their documents as they are.

        Gives what it holds now. Raises CassetteError, and then nothing is changed.
        """
        with self._turn, self._alone() as held:
            self._mend(held)
            self._check_size(held.status.st_size)
            data = held.read(0)
            found = entries(data, str(self.path), self._known)
            self._known = {entry.text: entry for entry in found}
            wanted = change(tuple(entry.episode for entry in found))
            fresh = (_head(data, found) + "".join(_documents(found, wanted))).encode("utf-8")
            self._check_size(len(fresh))
            self.left = self._replace(held, fresh)
            self._mark = Mark(len(wanted), fresh.count(b"\n"))
            return wanted

    def _read(self) -> bytes:
        with locked(self.path, alone=False) as held:
            self._check_size(held.status.st_size)
            data, half = held.read(0), locks.noted(self.path)
            return half.whole(data) if half else data

    @contextmanager
    def _alone(self) -> Iterator[Held]:
        """The file, there and locked."""
        if not self.exists:
            try:
                _begin(self.path)
            except OSError as error:
                raise trouble(self.path, "begun", error) from None
        with locked(self.path, alone=True) as held:
            yield held

    def _surveyed(self, held: Held) -> Mark:
        """Sees to it that the file is in order before anything is added, and says how much it holds."""
        self._check_size(held.status.st_size)
        self._mend(held)
        now, left, mark = Stamp.of(held.status), self.left, self._mark
        if now == left:
            return mark
        if now.file == left.file and now.size > left.size:
            tail = held.read(left.size)
            if tail.startswith(b"---"):
                count = len(following(tail, str(self.path), mark))
                return Mark(mark.episodes + count, mark.lines + tail.count(b"\n"))
        data = held.read(0)
        return Mark(len(indexed(self.path, data, str(self.path))), data.count(b"\n"))

    def _mend(self, held: Held) -> None:
        """Takes away what a process left that died while it appended."""
        if half := locks.noted(self.path):
            data = held.read(0)
            if len(whole := half.whole(data)) < len(data):
                try:
                    held.cut(len(whole))
                except OSError as error:
                    raise trouble(self.path, "mended", error) from None
            locks.drop(self.path)

    def _add(self, held: Held, added: Pending) -> None:
        try:
            locks.note(self.path, added)
            held.write(added.start, added.document)
        except OSError as error:
            with suppress(OSError):  # else the note stays, for who comes next
                held.cut(added.start)
                locks.drop(self.path)
            raise trouble(self.path, "written", error) from None
        locks.drop(self.path)

    def _replace(self, held: Held, data: bytes) -> Stamp:
        fresh = self.path.with_name(f".{self.path.name}.new")
        try:
            locks.write(fresh, data)
            os.chmod(fresh, stat.S_IMODE(held.status.st_mode))
            stamp = Stamp.of(fresh.stat())
            if os.name == "nt":  # where nobody replaces what is open
                held.close()
            os.replace(fresh, self.path.resolve())
            _settle(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise trouble(self.path, "replaced", error) from None
        return stamp

    def _check_size(self, size: int) -> None:
        if size > MAX_SIZE:
            raise CassetteError(
                f"{self.path}: {size:,} bytes are more than a cassette may have, which is {MAX_SIZE:,}; "
                "part it in two, or leave out what is not needed"
            )


def _documents(found: Sequence[Entry], wanted: Sequence[Episode]) -> Iterator[str]:
    """The documents of the wanted episodes: those that stand there, and new ones."""
    there = {id(entry.episode): entry.text for entry in found if not entry.altered}
    for episode in wanted:
        text = there.get(id(episode)) or document(episode)
        yield text if text.endswith("\n") else text + "\n"


def _head(data: bytes, found: Sequence[Entry]) -> str:
    """What stands in a file before its episodes."""
    text = data.decode("utf-8").removeprefix("\ufeff")
    head = text[: len(text) - sum(len(entry.text) for entry in found)]
    return head if head.endswith("\n") else head + "\n"


def _begin(path: Path) -> None:
    """A cassette without episodes, there as a whole or not at all; one that another process began stays as it is."""
    for folder in (*reversed(path.parent.parents), path.parent):
        if not folder.exists():
            folder.mkdir(FOLDER_MODE, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.") as fresh:
        fresh.write(HEAD.encode())
        fresh.flush()
        os.fsync(fresh.fileno())
        with suppress(FileExistsError):
            _give_name(fresh.name, path)
    _settle(path.parent)


def _give_name(fresh: str, path: Path) -> None:
    try:
        os.link(fresh, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, FILE_MODE)
        try:
            write_all(descriptor, HEAD.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _settle(folder: Path) -> None:
    """Has the names of a folder on disk, where the system lets one ask for that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _may_be_part(part: str) -> bool:
    return _PART.fullmatch(part) is not None and len(part.encode("utf-8", "replace")) <= _LONGEST_PART


_PART = re.compile(r"[\w\[](?:[\w .@+=,()\[\]~-]*+(?<![ .]))?")
_LONGEST_PART = 200  # bytes, so that the names of what stands beside it fit too
_LONGEST_NAME = 1000
