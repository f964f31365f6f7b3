"""A cassette on disk. An episode that was added is durable, and a crash leaves nothing half-written.

The file is replaced as a whole whenever an episode is added: of 300 KB, that takes as long as to append to the file
safely, which needs a note of what is being appended; of 5 MB, which hold a thousand calls, a twentieth of a second.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock

from mockserver.cassettes.attachments import AttachedFiles, NewAttachments
from mockserver.cassettes.format import HEAD, EpisodeDocument, read_documents, write_document
from mockserver.cassettes.locked_file import (
    LockedFile,
    Stamp,
    create_file,
    explain_system_error,
    make_stamp,
    open_locked,
    replace_file,
)
from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode

MAX_SIZE = 50_000_000  # bytes of a cassette


class CassetteFile:
    """One cassette, which threads and processes may use concurrently."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.attachments = AttachedFiles(path)
        self.written_stamp = Stamp()  # the state of the file after the last write here
        self._count = 0  # of its episodes at that time
        self._turn = Lock()

    @property
    def exists(self) -> bool:
        try:
            return self.path.exists()
        except OSError as error:
            raise explain_system_error(self.path, "read", error) from None

    @property
    def stamp(self) -> Stamp | None:
        try:
            return make_stamp(self.path.stat())
        except OSError:
            return None

    def load(self) -> tuple[Episode, ...]:
        """Read all episodes. Raises CassetteError."""
        return tuple(document.episode for document in self.load_documents())

    def load_documents(self) -> tuple[EpisodeDocument, ...]:
        """Read all episodes with their documents. Raises CassetteError."""
        with open_locked(self.path, exclusive=False) as file:
            return self._parse(self._read(file))

    def append(self, episode: Episode) -> int:
        """Add an episode durably and return its number, from 1. Raises CassetteError."""
        attached = NewAttachments()
        document = write_document(episode, attached).encode("utf-8")
        with self._turn, self._open_exclusively() as file:
            data = self._read(file)
            count = self._count if file.stamp == self.written_stamp else len(self._parse(data))
            parts = (data or HEAD.encode(), b"" if data.endswith(b"\n") or not data else b"\n", document)
            self._write(file, b"".join(parts), attached)
            self._count = count + 1
            return self._count

    def rewrite(self, change: Callable[[tuple[Episode, ...]], tuple[Episode, ...]]) -> tuple[Episode, ...]:
        """Replace its episodes atomically and return them; unchanged ones keep their documents byte for byte.

        Raises CassetteError, and then nothing has changed.
        """
        with self._turn, self._open_exclusively() as file:
            data = self._read(file)
            found = self._parse(data)
            wanted = change(tuple(document.episode for document in found))
            attached = NewAttachments()
            documents = _write_documents(found, wanted, attached)
            self._write(file, "".join((_find_head(data, found), *documents)).encode("utf-8"), attached)
            self._count = len(wanted)
            self.attachments.keep_only([episode.reply.body for episode in wanted])
            return wanted

    @contextmanager
    def _open_exclusively(self) -> Iterator[LockedFile]:
        is_new = not self.exists
        if is_new:
            try:
                create_file(self.path)
            except OSError as error:
                raise explain_system_error(self.path, "created", error) from None
        with open_locked(self.path, exclusive=True) as file:
            try:
                yield file
            except BaseException:
                if is_new and file.is_at(self.path):  # nothing was written, as on a full disk: it would count as played
                    with suppress(OSError):
                        self.path.unlink()
                raise

    def _read(self, file: LockedFile) -> bytes:
        self._check_size(file.stamp.size)
        return file.read()

    def _parse(self, data: bytes) -> tuple[EpisodeDocument, ...]:
        if not data:
            return ()
        known = _remember_documents(self.path)
        found = read_documents(data, str(self.path), known=known, load_file=self.attachments.load)
        known.clear()
        known.update((document.text, document) for document in found)
        return found

    def _write(self, file: LockedFile, data: bytes, attached: NewAttachments) -> None:
        self._check_size(len(data))
        self.attachments.save(attached)
        try:
            self.written_stamp = replace_file(self.path, data, file)
        except OSError as error:
            raise explain_system_error(self.path, "written", error) from None

    def _check_size(self, size: int) -> None:
        if size > MAX_SIZE:
            raise CassetteError(
                f"{self.path}: {size:,} bytes are more than the limit for a cassette ({MAX_SIZE:,}); "
                "split it, or remove episodes"
            )


@lru_cache(maxsize=4)
def _remember_documents(path: Path) -> dict[str, EpisodeDocument]:
    """Return the documents that were last read from a file, by their texts; a reader keeps this table up to date.

    They need not be parsed again when another process has added to the file, when it is rewritten, or when the next
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
