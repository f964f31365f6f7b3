"""Find what looks like a secret in an episode before it is recorded, and say how to allow it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import islice
from urllib.parse import unquote_plus

from mockserver.cassettes.redaction.detect import DETECTORS
from mockserver.cassettes.redaction.find import mask
from mockserver.cassettes.redaction.json_edit import joined_deltas, path_of
from mockserver.cassettes.sse_yaml import data_of
from mockserver.config.errors import ConfigError
from mockserver.core.episode import Episode, RecordedEvent
from mockserver.core.json import parsed

HASH = "sha256:"
SHOWN, MIN_DIGITS = 16, 8  # hexadecimal digits of a hash that are suggested, and that are required


@dataclass(frozen=True, slots=True)
class AllowedSecrets:
    """What the setting allow_secrets allows: patterns with `*` as wildcard, and prefixes of SHA-256 hashes."""

    hashes: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()

    def __contains__(self, value: str) -> bool:
        if self.hashes and _hash(value).startswith(self.hashes):
            return True
        return any(pattern.fullmatch(value) for pattern in self.patterns)


def allowed(entries: tuple[str, ...]) -> AllowedSecrets:
    """Parse the setting allow_secrets. Raises ConfigError."""
    hashes = tuple(entry.removeprefix(HASH).lower() for entry in entries if entry.startswith(HASH))
    for digits in hashes:
        if not MIN_DIGITS <= len(digits) <= 64 or set(digits) - set("0123456789abcdef"):
            raise ConfigError(
                f"allow_secrets: {HASH}{digits} must have {MIN_DIGITS} to 64 hexadecimal digits after {HASH}, as the "
                "report of the secret shows them"
            )
    return AllowedSecrets(hashes, tuple(_pattern(entry) for entry in entries if not entry.startswith(HASH)))


def entry_of(value: str) -> str:
    """The entry of allow_secrets for a value, which does not reveal it."""
    return HASH + _hash(value)[:SHOWN]


def _hash(value: str) -> str:
    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def _pattern(entry: str) -> re.Pattern[str]:
    pieces = re.split(r"(?<!\\)\*", entry)
    first, *others = (re.escape(piece.replace("\\*", "*")) for piece in pieces)
    if not others:
        return re.compile(first)
    # The first place of each piece but the last will do: atomic groups keep the time linear.
    *inner, last = others
    return re.compile(first + "".join(f"(?>.*?{piece})" for piece in inner) + f".*{last}", re.DOTALL)


MAX_LEAKS = 20  # that are reported of one episode


@dataclass(frozen=True, slots=True)
class Leak:
    """What looks like a secret: its kind and place, its masked text, and the setting that allows it."""

    kind: str
    where: str
    shown: str
    how: str

    def __str__(self) -> str:
        return f"{self.where}: {self.shown} looks like a secret ({self.kind}); if it is not one, allow it: {self.how}"


def leaks(episode: Episode, allow: tuple[str, ...] = ()) -> tuple[Leak, ...]:
    """What looks like a secret, each value once; `allow` is the setting allow_secrets. Raises ConfigError for it."""
    return tuple(islice(_leaks(episode, allowed(allow)), MAX_LEAKS))


Surface = tuple[bytes, Callable[[bytes, bytes], str]]  # bytes to search, and how to name the place of a value in them


def _leaks(episode: Episode, allows: AllowedSecrets) -> Iterator[Leak]:
    seen = set[bytes]()
    for raw, where in _surfaces(episode):
        data = _unescaped(raw)
        small = data.lower()
        for detector in DETECTORS:
            for start, end in detector.found(data, small):
                found, value = data[start:end], data[start:end].decode("utf-8", "replace")
                if found not in seen and value not in allows:
                    seen.add(found)
                    yield Leak(detector.name, where(data, found), mask(value), f'allow_secrets: ["{entry_of(value)}"]')


def _surfaces(episode: Episode) -> Iterator[Surface]:
    sent, reply = episode.request, episode.reply
    yield _named(episode.model, "model")
    yield _named(sent.path, "request, path")
    for query in dict.fromkeys((sent.query, unquote_plus(sent.query))):
        yield _named(query, "request, query")
    for of, headers in (("request", sent.headers), ("answer", reply.headers)):
        yield from (_named(value, f"{of}, header {name}") for name, value in headers)
    yield sent.body, partial(_in_body, "request, body")
    if reply.frames is None:
        yield reply.body, partial(_in_body, "answer, body")
        yield from _joined((_text(reply.body),), "answer, body, in pieces")
    else:
        yield reply.bytes, partial(_in_frames, reply.frames)  # all at once, which is faster than one by one
        yield from _joined(tuple(data_of(frame) for _, frame in reply.frames), "answer, in pieces")


def _joined(events: tuple[str | None, ...], of: str) -> Iterator[Surface]:
    for joined in joined_deltas(events):
        first, last = joined.pieces[0], joined.pieces[-1]
        within = f", events {first.event + 1} to {last.event + 1}" if first.event != last.event else ""
        yield _named(joined.text, of + within)


def _named(text: str, where: str) -> Surface:
    return text.encode("utf-8", "surrogatepass"), lambda _data, _found: where


def _in_body(of: str, data: bytes, found: bytes) -> str:
    path = path_of(parsed(_text(data)), _text(found))
    return f"{of}, {path or f'line {data.count(bytes((10,)), 0, data.index(found)) + 1}'}"


def _in_frames(frames: Sequence[RecordedEvent], _data: bytes, found: bytes) -> str:
    for number, frame in enumerate((_unescaped(frame) for _, frame in frames), 1):
        if found in frame:
            path = path_of(parsed(data_of(frame) or ""), _text(found))
            return f"answer, event {number}" + (f", {path}" if path else "")
    return "answer"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _unescaped(data: bytes) -> bytes:
    return _ESCAPED.sub(_letter, data) if b"\\" in data else data


def _letter(found: re.Match[bytes]) -> bytes:
    return bytes((int(found[1], 16),)) if found[1] else b"/"


# Letters that some JSON writers escape needlessly, which must not hide a secret.
_ESCAPED = re.compile(rb"\\{1,8}(?:u00(2[013-9a-f]|[346][0-9a-f]|5[0-9abd-f]|7[0-9a-e])|/)", re.IGNORECASE)
