"""An index of large cassettes: their episodes as JSON, which loads many times faster than YAML.

It is kept in a folder next to the cassettes, which git ignores. A stale, broken or missing index is made again; if it
cannot be written, cassettes are read as YAML.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import ConfigDict, TypeAdapter

from mockserver.cassettes.format import ReadPosition, episodes, following
from mockserver.config.yaml_reader import collector_at_rest
from mockserver.core.episode import Episode

FORMAT = 2  # increases when the reading of files or this format changes
FOLDER = ".index"
MIN_SIZE = 50_000  # bytes of a cassette


@dataclass(frozen=True, slots=True)
class Index:
    """The episodes of a file, or of its start, and the length and hash of that."""

    format: int
    size: int
    lines: int
    sha256: str
    episodes: tuple[Episode, ...]

    @classmethod
    def of(cls, data: bytes, found: tuple[Episode, ...]) -> "Index":
        """The index of a file with these bytes."""
        return cls(FORMAT, len(data), data.count(b"\n"), sha256(data).hexdigest(), found)

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
        _write(place, _adapter().dump_json((Index.of(data, found),)))
    return found


def index_of(path: Path) -> Path:
    """The path of the index of a cassette."""
    return path.parent / FOLDER / f"{path.name}.json"


def _read(index: Path) -> Index | None:
    with suppress(OSError, ValueError), collector_at_rest():
        return _adapter().validate_json(index.read_bytes())[0]
    return None


def _write(index: Path, content: bytes) -> None:
    folder = index.parent
    if not folder.exists():
        folder.mkdir(0o700)
    with suppress(FileExistsError), open(folder / ".gitignore", "xb", opener=_private) as ignored:
        ignored.write(b"*\n")
    with NamedTemporaryFile(dir=folder, prefix=f".{index.name}.", delete=False) as fresh:
        try:
            fresh.write(content)
            fresh.close()
            os.replace(fresh.name, index)
        except BaseException:
            Path(fresh.name).unlink(missing_ok=True)
            raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@cache
def _adapter() -> TypeAdapter[tuple[Index]]:
    return TypeAdapter(tuple[Index], config=ConfigDict(ser_json_bytes="base64", val_json_bytes="base64"))
