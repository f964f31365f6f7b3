"""Answers that are not text, in files beside a cassette: `speech.files/0123456789abcdef.mp3` of `speech.yaml`.

Each file is named by the hash of what is in it. They are saved, read and removed while the cassette is locked.
"""

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from mockserver.cassettes.locked_file import FOLDER_MODE, explain_system_error, replace_file
from mockserver.config.errors import CassetteError

FEWEST_ATTACHED = 4_096  # bytes of an answer that is not text, from which on it has a file of its own

LoadFile = Callable[[str], bytes]  # from the name of a file; raises ValueError that says what is wrong


def is_text(body: bytes) -> bool:
    """Return whether a body is a text that YAML can hold."""
    try:
        return not _ODD.search(body.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def belongs_in_file(body: bytes) -> bool:
    """Return whether the body of an answer is large and not a text."""
    return len(body) >= FEWEST_ATTACHED and not is_text(body)


class NewAttachments(dict[str, bytes]):
    """Files that are to be saved beside a cassette, by name."""

    def add(self, data: bytes, media_type: str) -> str:
        """Have bytes kept in a file, and return its name."""
        ending = _ENDINGS.get(media_type.partition(";")[0].strip().lower(), "bin")
        name = f"{_hash_name(data)}.{ending}"
        self[name] = data
        return name


class AttachedFiles:
    """The files beside a cassette."""

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
        """Return the bytes of a file. Raises ValueError that says what is wrong."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"write the name of a file in {self.folder.name}, such as 0123456789abcdef.mp3")
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            raise ValueError(f"{self.folder.name}/{name} cannot be read: {error.strerror}; {_RESTORE}") from None
        if data.startswith(_POINTER):
            raise ValueError(f"{self.folder.name}/{name} is a pointer of Git LFS; fetch the file: git lfs pull")
        if not name.startswith(_hash_name(data)):
            raise ValueError(f"{self.folder.name}/{name} was changed: it no longer matches its hash; {_RESTORE}")
        return data

    def keep_only(self, bodies: Sequence[bytes]) -> None:
        """Remove the files with none of these bodies."""
        if self.folder.is_dir():
            kept = {_hash_name(body) for body in bodies if belongs_in_file(body)}
            for file in self.folder.iterdir():
                if _NAME.fullmatch(file.name) and file.stem not in kept:
                    file.unlink(missing_ok=True)


def _hash_name(data: bytes) -> str:
    return sha256(data).hexdigest()[:_DIGITS]


_DIGITS = 16
_NAME = re.compile(rf"[0-9a-f]{{{_DIGITS}}}\.[a-z0-9]+")
_RESTORE = "restore it, or remove the episode"
_POINTER = b"version https://git-lfs.github.com/spec/"  # the beginning of a file that Git LFS has not fetched
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_ENDINGS = {
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/flac": "flac",
    "audio/aac": "aac",
    "audio/opus": "opus",
    "audio/pcm": "pcm",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "application/zip": "zip",
    "application/pdf": "pdf",
}
