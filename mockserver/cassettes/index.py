"""The episodes of a large cassette, compiled: read many times faster than the YAML that they come from.

Kept in a folder of its own beside the cassettes, which git ignores. It is only ever an aid: one that is stale, broken
or not there is made anew, and where it cannot be written all goes on without.
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

FORMAT = 1  # goes up with every change of what is read from a file, or of how it is kept here
FOLDER = ".index"
SMALLEST = 50_000  # bytes of a cassette for which it pays


def indexed(path: Path, data: bytes, file: str) -> tuple[Episode, ...]:
    """The episodes of a file that holds these bytes. Raises CassetteError."""
    if len(data) < SMALLEST:
        return episodes(data, file)
    index = index_of(path)
    found, size, lines = _kept(index, data, file)
    if size == len(data):
        return found
    if size:
        found += tuple(entry.episode for entry in following(data[size:], file, ReadPosition(len(found), lines)))
    else:
        found = episodes(data, file)
    with suppress(OSError):
        _keep(index, data, found)
    return found


def index_of(path: Path) -> Path:
    """Where the index of a cassette stands."""
    return path.parent / FOLDER / f"{path.name}.json"


def _kept(index: Path, data: bytes, file: str) -> tuple[tuple[Episode, ...], int, int]:
    """What an index holds of the beginning of a file: the episodes, and up to which byte and line they reach."""
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError, AttributeError), collector_at_rest():
        kept = from_json(index.read_bytes(), cache_strings="none")
        size = kept["size"]
        if kept["format"] == FORMAT and kept["sha256"] == _hash(data[:size]) and _goes_on(data, size):
            name = PurePath(file).name
            rows = enumerate(kept["episodes"], 1)
            return tuple(_episode(row, f"cassette {name}#{number}") for number, row in rows), size, kept["lines"]
    return (), 0, 0


def _goes_on(data: bytes, size: int) -> bool:
    """Whether a file has nothing behind its first bytes, or further documents."""
    return size == len(data) or (0 < size < len(data) and data[size - 1] == 10 and data[size : size + 4] == b"---\n")


def _keep(index: Path, data: bytes, found: tuple[Episode, ...]) -> None:
    kept = {
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
            fresh.write(to_json(kept))
            fresh.close()
            os.replace(fresh.name, index)
        except BaseException:
            Path(fresh.name).unlink(missing_ok=True)
            raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _row(episode: Episode) -> Json:
    """An episode as a list. Of a stream all bytes are one text, with the lengths of its events and their times."""
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
    frames = None if lengths is None else _beats(_bytes(text), lengths, times)
    return Episode(
        dialect,
        operation,
        model,
        Sent(method, path, query, _pairs(headers), _bytes(body)),
        Recorded(status, _pairs(answered), _bytes(answer), frames, took, source),
        at,
    )


def _beats(data: bytes, lengths: list[int], times: list[float]) -> tuple[RecordedEvent, ...]:
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
