"""Which tool wrote a file, told by its looks; and its exchanges."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from mockserver.cassettes.convert.foreign import (
    Foreign,
    Known,
    Left,
    UnfitError,
    dialect_of,
    header,
    of_har,
    of_journal,
    of_vcr,
    spot,
)
from mockserver.cassettes.convert.foreign import Spot as ForeignSpot
from mockserver.config.errors import CassetteError, Mistake, Place
from mockserver.config.yaml_reader import Problem, Spot, parse
from mockserver.core.episode import Beat, Episode, Recorded, Sent
from mockserver.core.http import Headers
from mockserver.core.json import Json, parsed

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


def episode(found: Foreign, known: Known, dialect: str | None = None) -> Episode | Left:
    """The episode of an exchange; what cannot be one is left."""
    try:
        own = found.dialect if found.dialect in known.mounts else None
        speaks = dialect or own or dialect_of(found.url, known)
        if speaks is None:
            host = urlsplit(found.url).hostname or found.url[:60]
            return Left(found.where, "no known provider's", host)
        place = spot(found.method, found.url, speaks, known)
        if place is None:
            path = urlsplit(found.url).path[:80]
            return Left(found.where, f"{speaks} has no operation at {found.method} {path}")
        return _episode(found, place, known)
    except UnfitError as unfit:
        return Left(found.where, str(unfit))
    except ValueError:  # urlsplit
        return Left(found.where, f"{found.url[:80]!r} is no URL")


def _episode(found: Foreign, place: ForeignSpot, known: Known) -> Episode:
    if not 200 <= found.status <= 599 or 300 <= found.status < 400:
        raise UnfitError(f"it has no answer that could be replayed (status {found.status})")
    body = _plain(found.headers, found.body, known, "request")
    sent = Sent(found.method, place.path, place.query, _kept(found.headers), body)
    at = found.at or _dated(header(found.reply_headers, "date"))
    return Episode(place.dialect, place.operation, _model(sent), sent, _reply(found, known), at)


def _reply(found: Foreign, known: Known) -> Recorded:
    headers = _kept(found.reply_headers)
    if found.beats is not None:
        return Recorded(found.status, headers, frames=found.beats, took=found.took)
    body = _plain(found.reply_headers, found.reply, known, "answer")
    if "event-stream" in header(headers, "content-type"):
        if not body:
            raise UnfitError("the body of its stream was not written down")
        return Recorded(found.status, headers, frames=split(body), took=found.took)
    if not body and found.status not in (204, 205) and header(found.reply_headers, "content-length") != "0":
        raise UnfitError("the body of its answer was not written down")
    return Recorded(found.status, headers, body, took=found.took)


def split(body: bytes) -> tuple[Beat, ...]:
    """The events of a joined stream, each with all that ends it; when they came nobody knows."""
    ends = [found.end() for found in _END.finditer(body)]
    if not ends or ends[-1] < len(body):
        ends.append(len(body))
    return tuple((0.0, body[start:end]) for start, end in zip([0, *ends], ends, strict=False))


def _plain(headers: Headers, body: bytes, known: Known, what: str) -> bytes:
    """A body without its codings. Most tools take them off and leave the header: bytes that are text have none."""
    if not header(headers, "content-encoding") or not body or _is_text(body):
        return body
    try:
        return known.plain(headers, body)
    except ValueError as error:
        raise UnfitError(f"the body of its {what} cannot be decoded: {error}") from None


def _is_text(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _kept(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name not in _OF_THE_WAY)


def _model(sent: Sent) -> str:
    body = parsed(sent.body.decode("utf-8", "replace"))
    named = body.get("model") if isinstance(body, dict) else None
    deployed = _DEPLOYMENT.search(sent.path)
    return named if isinstance(named, str) else deployed[1] if deployed else ""


def _dated(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return 0.0


_END = re.compile(rb"(?:\r\n\r\n|\n\n|\r\r)[\r\n]*")
_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/")
# Headers of one connection, and of a body that is no longer as it was sent.
_OF_THE_WAY = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade"),
        *("content-length", "content-encoding", "host", "accept-encoding"),
    )
)


__all__ = ["Foreign", "Imported", "Known", "Left", "imported"]


@dataclass(frozen=True, slots=True)
class Imported:
    """The episodes of a file and where in it each stands, what was left of it, and how many requests to hosts that

    are no provider's, by host.
    """

    episodes: tuple[Episode, ...]
    places: tuple[str, ...]
    left: tuple[Left, ...]
    strangers: tuple[tuple[str, int], ...] = ()


def imported(data: bytes, file: str, known: Known, dialect: str | None = None) -> Imported:
    """What stands in a file; with a dialect given, all of it is that dialect's.

    Raises CassetteError where the file is in no known format.
    """
    episodes, left, strangers = list[tuple[Episode, str]](), list[Left](), dict[str, int]()
    for one in foreign(data, file):
        match one if isinstance(one, Left) else episode(one, known, dialect):
            case Episode() as made:
                episodes.append((made, one.where))
            case Left(host="") as made:
                left.append(made)
            case Left(host=host):
                strangers[host] = strangers.get(host, 0) + 1
    made_of, places = zip(*episodes, strict=True) if episodes else ((), ())
    return Imported(made_of, places, tuple(left), tuple(strangers.items()))
