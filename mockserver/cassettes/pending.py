"""What is about to be appended to a file, noted beside it until it is: of a process that dies in the middle, the next

one knows which bytes at the end are half of something. Only ever takes away what is the beginning of what is noted.
"""

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mockserver.cassettes.locks import FILE_MODE, PLAIN, write_all
from mockserver.core.json_text import parsed


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
