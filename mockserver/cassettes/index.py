"""An index of large cassettes: their episodes as JSON, which loads many times faster than YAML.

It is kept in a folder next to the cassettes, which git ignores. A stale, broken or missing index is made again; if it
cannot be written, cassettes are read as YAML.
"""

import os
from base64 import b64decode, b64encode
from contextlib import suppress
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path, PurePath
from tempfile import NamedTemporaryFile
from typing import Any

from pydantic_core import from_json, to_json

from mockserver.cassettes.format import ReadPosition, episodes, following
from mockserver.config.yaml_reader import collector_at_rest
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent
from mockserver.core.json import Json

FORMAT = 1  # increases when the reading of files or this format changes
FOLDER = ".index"
MIN_SIZE = 50_000  # bytes of a cassette


def indexed(path: Path, data: bytes, file: str) -> tuple[Episode, ...]:
    """The episodes of a file with these bytes. Raises CassetteError."""
    if len(data) < MIN_SIZE:
        return episodes(data, file)
    index = index_of(path)
    found, size, lines = _read(index, data, file)
    if size == len(data):
        return found
    if size:
        found += tuple(entry.episode for entry in following(data[size:], file, ReadPosition(len(found), lines)))
    else:
        found = episodes(data, file)
    with suppress(OSError):
        _write(index, data, found)
    return found


def index_of(path: Path) -> Path:
    """The path of the index of a cassette."""
    return path.parent / FOLDER / f"{path.name}.json"


def _read(index: Path, data: bytes, file: str) -> tuple[tuple[Episode, ...], int, int]:
    """The episodes that an index has of the start of a file, and where they end: byte and line."""
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError, AttributeError), collector_at_rest():
        kept = from_json(index.read_bytes(), cache_strings="none")
        size = kept["size"]
        if kept["format"] == FORMAT and kept["sha256"] == _hash(data[:size]) and _continues(data, size):
            name = PurePath(file).name
            rows = enumerate(kept["episodes"], 1)
            return tuple(_episode(row, f"cassette {name}#{number}") for number, row in rows), size, kept["lines"]
    return (), 0, 0


def _continues(data: bytes, size: int) -> bool:
    """Whether only whole documents follow the first bytes of a file, if anything."""
    return size == len(data) or (0 < size < len(data) and data[size - 1] == 10 and data[size : size + 4] == b"---\n")


def _write(index: Path, data: bytes, found: tuple[Episode, ...]) -> None:
    content = {
        "format": FORMAT,
        "size": len(data),
        "lines": data.count(b"\n"),
        "sha256": _hash(data),
        "episodes": [_row(episode) for episode in found],
    }
    folder = index.parent
    if not folder.exists():
        folder.mkdir(0o700)
    with suppress(FileExistsError), open(folder / ".gitignore", "xb", opener=_private) as ignored:
        ignored.write(b"*\n")
    with NamedTemporaryFile(dir=folder, prefix=f".{index.name}.", delete=False) as fresh:
        try:
            fresh.write(to_json(content))
            fresh.close()
            os.replace(fresh.name, index)
        except BaseException:
            Path(fresh.name).unlink(missing_ok=True)
            raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _row(episode: Episode) -> Json:
    """An episode as a list; a stream is one text with the lengths and times of its events."""
    sent, reply = episode.request, episode.reply
    frames = reply.frames
    return [
        [episode.dialect, episode.operation, episode.model, episode.at],
        [sent.method, sent.path, sent.query, sent.headers, _text(sent.body)],
        [reply.status, reply.headers, _text(reply.body), reply.took],
        frames and _text(reply.bytes),
        None if frames is None else [len(data) for _, data in frames],
        None if frames is None else [at for at, _ in frames],
    ]


def _episode(row: Any, source: str) -> Episode:
    (dialect, operation, model, at), (method, path, query, headers, body), reply, text, lengths, times = row
    status, answered, answer, took = reply
    frames = None if lengths is None else _events(_bytes(text), lengths, times)
    return Episode(
        dialect,
        operation,
        model,
        Sent(method, path, query, _pairs(headers), _bytes(body)),
        Recorded(status, _pairs(answered), _bytes(answer), frames, took, source),
        at,
    )


def _events(data: bytes, lengths: list[int], times: list[float]) -> tuple[RecordedEvent, ...]:
    pieces = [data[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]
    return tuple(zip(times, pieces, strict=True))


def _pairs(headers: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in headers)


def _text(data: bytes) -> Json:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return [b64encode(data).decode("ascii")]


def _bytes(text: Json) -> bytes:
    return text.encode("utf-8") if isinstance(text, str) else b64decode(text[0]) if text else b""


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()
