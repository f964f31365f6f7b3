"""Which tool wrote a file, told by its looks; and its exchanges."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mockserver.cassettes.importing.foreign import Foreign, Left
from mockserver.cassettes.importing.har import of_har
from mockserver.cassettes.importing.journal import of_journal
from mockserver.cassettes.importing.vcr import of_vcr
from mockserver.core.errors import CassetteError, Mistake, Place
from mockserver.core.json_text import Json
from mockserver.positions.reader import Problem, Spot, parse

FORMATS = "cassettes of vcrpy (YAML or JSON), HAR, and the journal of a server (GET calls?bodies=true)"


def foreign(data: bytes, file: str) -> Iterator[Foreign | Left]:
    """The exchanges of a file. Raises CassetteError where it is of no format that is known."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CassetteError(f"{file}: cannot be imported: byte {error.start} is not UTF-8") from None
    if not text.strip():
        raise CassetteError(f"{file}: cannot be imported: it is empty")
    return _of_json(text, file) if text.lstrip()[0] in "{[" else _of_yaml(text, file)


def _of_json(text: str, file: str) -> Iterator[Foreign | Left]:
    try:
        root = json.loads(text)
    except RecursionError:
        raise CassetteError(f"{file}: cannot be imported: its JSON is nested too deep") from None
    except json.JSONDecodeError as error:
        place = Place(file, error.lineno, error.colno)
        raise CassetteError(Mistake(f"cannot be imported: not JSON: {error.msg}", place)) from None
    except ValueError as error:  # a number of thousands of digits
        raise CassetteError(f"{file}: cannot be imported: {error}") from None
    for fits, read in _SHAPES:
        if fits(root):
            return read(root, file)
    raise CassetteError(f"{file}: is in no format that can be imported: there are {FORMATS}")


def _of_yaml(text: str, file: str) -> Iterator[Foreign | Left]:
    if _OWN.match(text):
        raise CassetteError(f"{file}: is a cassette of mockserver already: put it into the folder of cassettes")
    root, spot, problems = parse(text, binary=True)
    rows = _interactions(root)
    if rows is None:
        raise CassetteError(*_mistakes(problems, text, file))
    return of_vcr(rows, _Lines(file, _spots(root, spot), problems))


def _mistakes(problems: Sequence[Problem], text: str, file: str) -> tuple[Mistake | str, ...]:
    unknown = f"{file}: is in no format that can be imported: there are {FORMATS}"
    found = tuple(Mistake(words, Place(file, line + 1, column + 1)) for words, line, column in problems)
    if found and _LISTING.search(text):
        return found
    return (f"{unknown}; read as YAML: {found[0]}" if found else unknown,)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Where interactions stand in a file, and which of them are broken."""

    file: str
    spots: Sequence[Spot] = ()
    problems: Sequence[Problem] = ()

    def where(self, at: int) -> str:
        """How the place of an interaction is told."""
        line = f":{self.spots[at][0] + 1}" if at < len(self.spots) else ""
        return f"{self.file}{line}: interaction {at + 1}"

    def broken(self, at: int) -> str:
        """What is wrong with an interaction as YAML, if anything is."""
        if not self.problems or at >= len(self.spots):
            return ""
        start, after = self.spots[at][0], self.spots[at + 1][0] if at + 1 < len(self.spots) else float("inf")
        return next((f"line {line + 1}: {words}" for words, line, _ in self.problems if start <= line < after), "")


def _interactions(root: Json) -> list[Json] | None:
    if isinstance(root, Mapping):
        root = root.get("interactions", root.get("http_interactions"))
    exchanged = isinstance(root, list) and all(isinstance(row, Mapping) and "request" in row for row in root)
    return root if exchanged else None


def _has_entries(log: Json) -> bool:
    return isinstance(log, dict) and isinstance(log.get("entries"), list)


def _spots(root: Json, spot: Spot) -> Sequence[Spot]:
    inner = spot[2]
    if isinstance(root, Mapping):
        named = inner.get("interactions") or inner.get("http_interactions")
        inner = named[2][2] if named else None
    return inner if isinstance(inner, list) else ()


_OWN = re.compile(r"(?:#[^\n]*+\n|(?:---)?[ \t\r]*+\n)*+version:[ \t]*+\d++[ \t\r]*+\n---")
_LISTING = re.compile(r"^(?:(?:http_)?interactions[ \t]*+:|-[ \t]++request\b)", re.MULTILINE)
_SHAPES: Sequence[tuple[Callable[[Json], bool], Callable[[Json, str], Iterator[Foreign | Left]]]] = (
    (lambda root: isinstance(root, dict) and _has_entries(root.get("log")), of_har),
    (lambda root: isinstance(root, dict) and ("calls" in root or {"call", "reply"} <= root.keys()), of_journal),
    (lambda root: _interactions(root) is not None, lambda root, file: of_vcr(_interactions(root) or [], _Lines(file))),
)
