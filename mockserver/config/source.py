"""YAML documents that remember the line and column of every value, so that mistakes can point to it."""

import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from errno import EFBIG
from operator import attrgetter
from stat import S_ISFIFO
from typing import IO

from msgspec import Struct
from pydantic_core import PydanticSerializationError, from_json, to_json

from mockserver.config.errors import Mistake, MockserverError, RuleError, SourceLocation
from mockserver.config.yaml_reader import NOWHERE, Inner, KeySpot, ParsedYaml, Spot, YamlProblem, parse
from mockserver.core.json import Json

Path = tuple[str | int, ...]

MAX_MISTAKES = 100
MAX_FILE = 200_000_000  # bytes of a file that is read
_SHOWN = 160  # characters of a line that a mistake shows


class Document(Struct, frozen=True):
    """The data of a file, and the place of every value in it."""

    data: Json
    file: str
    _lines: tuple[str, ...] | None = None
    _root: Spot = NOWHERE
    _within: SourceLocation | None = None

    @classmethod
    def from_data(cls, data: Json, file: str) -> "Document":
        """Make a document that is not from a file: nothing in it has a place."""
        return cls(data, file)

    @classmethod
    def from_place(cls, data: Json, place: SourceLocation) -> "Document":
        """Make a document that is written in a program: everything in it has this place.

        Its values become those of a file: a model is a table, a date a text, a set a sorted list, and a compiled
        pattern the condition `regex`. Raises RuleError for what JSON lacks.
        """
        try:
            to_json(data)  # without a circle it can be walked
            plain = from_json(to_json(_restate(data)))
        except (PydanticSerializationError, ValueError) as error:
            words = f"JSON cannot hold a value of this: {error}; use texts, numbers, booleans, lists and tables"
            raise RuleError(Mistake(words, place)) from None
        return cls(plain, place.file, _within=place)

    def read_beside(self, name: str) -> bytes:
        """Return the bytes of a file in the folder of this one, or below it. Raises ValueError that says why not."""
        folder = os.path.dirname(os.path.abspath(self.file))
        path = os.path.realpath(os.path.join(folder, name))
        if self._lines is None and self._within is None:
            raise ValueError("only a rules file or a test can name other files")
        if self._within is None and os.path.commonpath((os.path.realpath(folder), path)) != os.path.realpath(folder):
            raise ValueError(f"{name} is outside the folder of this file")
        try:
            if S_ISFIFO(os.stat(path).st_mode):  # which nobody may ever write to
                raise ValueError(f"{name} is a pipe, not a file")
            return read_bytes(path)
        except OSError as error:
            raise ValueError(f"cannot read {name}: {error.strerror}") from None

    def find_place(self, path: Path, *, key: bool = False) -> SourceLocation | None:
        """Return the place of the value at `path`, or of its key.

        If the path does not exist, it is the place of its nearest ancestor.
        """
        if self._lines is None:
            return self._within
        value = self._root
        at: Spot | KeySpot = value
        for step in path:
            found = _find_step(value.inner, step)
            if found is None:
                at = value
                break
            value = found.value
            at = found if key else value
        return make_place(self.file, self._lines, line=at.line, column=at.column)

    def find_line(self, path: Path, line: int) -> SourceLocation | None:
        """Return the place of a line (from 1) of the text at `path` if it is a block text, else of the whole text."""
        place = self.find_place(path)
        if place is None or self._lines is None or not place.text[place.column - 1 :].startswith("|"):
            return place
        at = min(place.line + line, len(self._lines)) - 1  # 0-based; the block begins on the line below its "|"
        shown = self._lines[at]
        return make_place(self.file, self._lines, line=at, column=len(shown) - len(shown.lstrip()))


def _restate(value: object) -> object:
    """Return a value with lists in place of sets, in an order that is the same in each run, and tables for patterns."""
    match value:
        case set() | frozenset():
            return sorted(map(_restate, value), key=to_json)
        case Mapping():
            return {key: _restate(each) for key, each in value.items()}
        case list() | tuple():
            return list(map(_restate, value))
        case re.Pattern():
            flags = "".join(letter for letter, flag in _FLAGS.items() if value.flags & flag)
            pattern = f"(?{flags}){value.pattern}" if flags else value.pattern
            return {"regex": pattern, "ignore_case": True} if value.flags & re.IGNORECASE else {"regex": pattern}
    return value


_FLAGS = {"s": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE}  # those that a pattern states by itself


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return what is in a file, which may be a pipe, but has an end. Raises OSError."""
    with open(path, "rb") as file:
        return read_to_end(file)


def read_to_end(file: IO[bytes]) -> bytes:
    """Return what is in an open file. Raises OSError if that is too much."""
    data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise OSError(EFBIG, f"it has more than {MAX_FILE // 1_000_000} MB")
    return data


def read(text: str | bytes, file: str, most: int = sys.maxsize) -> Document:
    """Read the YAML document in `text`, which may have `most` values; an empty one has the data None.

    Raises MockserverError with every mistake: syntax, duplicate keys, unknown tags, alias bombs.
    """
    problem = None if isinstance(text, str) else _find_undecodable(text)
    text = (text if isinstance(text, str) else text.decode("utf-8", "replace")).removeprefix("\ufeff")
    lines = tuple(text.splitlines()) or ("",)
    parsed = ParsedYaml(None, NOWHERE, (problem,)) if problem else parse(text, most=most)
    if parsed.problems:
        mistakes = (
            Mistake(each.words, make_place(file, lines, line=each.line, column=each.column))
            for each in sorted(parsed.problems, key=attrgetter("line", "column"))
        )
        raise MockserverError(*mistakes)
    return Document(parsed.data, file, lines, parsed.spot)


class Mistakes:
    """Collects the mistakes of a document, to report all of them at once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.found: list[Mistake] = []
        self.beyond = 0

    def add(self, message: str, path: Path, *, key: bool = False) -> None:
        self.add_place(message, self.document.find_place(path, key=key))

    def add_place(self, message: str, place: SourceLocation | None) -> None:
        if self.full:
            self.beyond += 1
        else:
            self.found.append(Mistake(message, place))

    @property
    def full(self) -> bool:
        return len(self.found) >= MAX_MISTAKES


def raise_if_any(collections: Iterable[Mistakes], error: type[MockserverError]) -> None:
    """Raise one `error` with the mistakes of several documents, if there are any."""
    found: list[Mistake] = []
    for mistakes in collections:
        found += sorted(mistakes.found, key=lambda each: (each.place.line, each.place.column) if each.place else (0, 0))
        if mistakes.beyond:
            found.append(Mistake(f"{mistakes.document.file}: and {mistakes.beyond} more mistakes"))
    if found:
        raise error(*found)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "x"?` for the known word that means the same or is nearest; an empty text without one."""
    from difflib import get_close_matches  # only mistakes need it

    by_lower = {name.lower(): name for name in [*known][::-1]}  # the first of two that differ in case
    wanted = word[:_SHOWN].lower()
    near = [name for name in _SAME.get(word, _SAME.get(wanted, "")).split() if name in by_lower]
    near = near or get_close_matches(wanted, by_lower, n=1, cutoff=0.6)
    return f'; did you mean "{by_lower[near[0]]}"?' if near else ""


def suggest(word: str, known: Collection[str]) -> str:
    """Return what `did_you_mean` says, or a list of all known words if none is near."""
    return did_you_mean(word, known) or f"; choose one of {', '.join(known)}"


# Words of providers, and ours for the same thing.
_SAME: Mapping[str, str] = {
    "requests": "calls",
    "reply": "then",
    "respond": "then",
    "response": "then",
    "answer": "then",
    "request": "when",
    "if": "when",
    "body": "raw",
    "after": "after_tokens",
    "ttft": "first_token",
    "tpot": "per_token",
    "itl": "per_token",
    "tps": "tokens_per_second",
    "thinking": "reasoning",
    "stop_reason": "finish",
    "stopreason": "finish",
    "finish_reason": "finish",
    "finishreason": "finish",
    "input_tokens": "prompt_tokens",
    "prompttokencount": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "candidatestokencount": "completion_tokens",
    "thoughtstokencount": "reasoning_tokens",
    "cache_read_input_tokens": "cached_tokens",
    "cachedcontenttokencount": "cached_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
    "done_reason": "finish",
    "prompt_eval_count": "prompt_tokens",
    "eval_count": "completion_tokens",
    "claude": "anthropic",
    "aws": "bedrock",
    "amazon": "bedrock",
    "throttlingexception": "rate_limit",
    "accessdeniedexception": "forbidden",
    "validationexception": "bad_parameter",
    "serviceunavailableexception": "overloaded",
    "internalserverexception": "server_error",
    "google": "gemini",
    "vertex": "gemini",
    "authentication_error": "invalid_key",
    "unauthenticated": "invalid_key",
    "permission_error": "forbidden",
    "permission_denied": "forbidden",
    "not_found": "model_not_found",
    "not_found_error": "model_not_found",
    "invalid_argument": "bad_parameter",
    "invalid_request_error": "bad_parameter",
    "resource_exhausted": "rate_limit",
    "deadline_exceeded": "timeout",
    "unavailable": "overloaded",
    "internal": "server_error",
    "api_error": "server_error",
    "QUEUED": "validating",  # Mistral's words for batches, in capitals; other objects can be queued
    "RUNNING": "in_progress",
    "SUCCESS": "completed",
    "TIMEOUT_EXCEEDED": "expired",
    "CANCELLATION_REQUESTED": "cancelling",
}


def _find_step(inner: Inner, step: str | int) -> KeySpot | None:
    """Return where an item's key stands, and its value; an item of a list is its own key."""
    match inner:
        case dict():
            return inner.get(str(step))
        case list() if isinstance(step, int) and 0 <= step < len(inner):
            spot: Spot = inner[step]
            return KeySpot(spot.line, spot.column, spot)
    return None


def make_place(file: str, lines: Sequence[str], line: int, column: int) -> SourceLocation:
    """Make a place from 0-based numbers; a long line is cut, or left out if the cut would lose the column."""
    line = min(line, len(lines) - 1)
    text = lines[line]
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + "…" if column < _SHOWN else ""
    return SourceLocation(file, line + 1, column=column + 1, text=text)


def _find_undecodable(data: bytes) -> YamlProblem | None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        lines = (data[: error.start].decode("utf-8").removeprefix("\ufeff") + "|").splitlines()
        words = f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        return YamlProblem(words, len(lines) - 1, len(lines[-1]) - 1)
    return None
