"""Cassettes as they are read: every mistake with its file, line and column, and nothing half.

Strict in what a document may hold, so that a file that was cut off or is something else is never taken for a cassette.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import PurePath
from typing import TypeVar

from mockserver.cassettes import sse_yaml
from mockserver.cassettes.bodies import body, string, style
from mockserver.cassettes.nodes import Node, Refused, Spot, parse
from mockserver.config.errors import CassetteError, Mistake, Place
from mockserver.config.source import did_you_mean
from mockserver.config.yaml_reader import collector_at_rest
from mockserver.core.episode import Beat, Episode, Recorded, Sent
from mockserver.core.http import Headers

UNKNOWN = "unknown"  # the hash of a body that nobody recorded
PLACEHOLDER = "0"  # of an event that was read already

Read = TypeVar("Read")
Known = Mapping[int, Beat]  # events that were read already, by the line of the document


def episode(node: Node, known: Known) -> tuple[Episode, Node]:
    """The episode, and where the hash of its answer's body stands. Raises Refused."""
    table = _table(node, "an episode", _EPISODE, ("dialect", "request", "reply"))
    reply, hashed = _reply(table["reply"], known)
    words = {name: string(table[name]) for name in ("dialect", "operation", "model") if name in table}
    found = Episode(
        dialect=words["dialect"],
        operation=words.get("operation", ""),
        model=words.get("model", ""),
        request=_request(table["request"]),
        reply=reply,
        at=_optional(table.get("at"), _moment, 0.0),
    )
    return found, hashed


def stream_form(node: Node | None) -> sse_yaml.Form | None:
    """How the events of an episode are laid out, where one stands."""
    reply = node.value.get("reply") if node and isinstance(node.value, dict) else None
    return _form(reply.value) if reply and isinstance(reply.value, dict) else None


def claimed(node: Node, lines: set[int]) -> bool:
    """Whether all the placeholders in these lines are events of the reply, so that none is, say, part of a text."""
    reply = node.value.get("reply") if isinstance(node.value, dict) else None
    frames = reply.value.get("frames") if reply and isinstance(reply.value, dict) else None
    items = frames.value if frames and isinstance(frames.value, list) else ()
    return lines <= {item.spot[0] for item in items if item.bare and item.value == PLACEHOLDER}


def _request(node: Node) -> Sent:
    table = _table(node, "a request", _REQUEST, ("method", "path"))
    return Sent(
        method=string(table["method"]),
        path=string(table["path"]),
        query=_optional(table.get("query"), string, ""),
        headers=_optional(table.get("headers"), _headers, ()),
        body=_optional(table.get("body"), body, b""),
    )


def _reply(node: Node, known: Known) -> tuple[Recorded, Node]:
    table = _table(node, "a reply", _REPLY, ("status",))
    hashed = table.get("sha256")
    if hashed is None:
        raise Refused(_CUT_OFF, node.spot)
    if not (isinstance(hashed.value, str) and (_HASH.fullmatch(hashed.value) or hashed.value == UNKNOWN)):
        raise Refused(f"64 hex digits must stand here, or {UNKNOWN}; was the file cut off?", hashed.spot)
    form = _form(table)
    reply = Recorded(
        status=_status(table["status"]),
        headers=_optional(table.get("headers"), _headers, ()),
        body=_optional(table.get("body"), body, b""),
        frames=_frames(table["frames"], form, known) if "frames" in table else None,
        took=_optional(table.get("took"), sse_yaml.seconds, 0.0),
    )
    return reply, hashed


def _form(reply: Mapping[str, Node]) -> sse_yaml.Form:
    ends = _optional(reply.get("ends"), string, "lf")
    if ends not in sse_yaml.ENDS:
        raise Refused(f"lines end with {' or '.join(sse_yaml.ENDS)}", reply["ends"].spot)
    return sse_yaml.Form(style(reply.get("style")), ends)


def _frames(node: Node, form: sse_yaml.Form, known: Known) -> tuple[Beat, ...]:
    if not isinstance(node.value, list):
        raise Refused("a list of events must stand here", node.spot)
    return tuple(
        known[item.spot[0]] if item.spot[0] in known and item.value == PLACEHOLDER else sse_yaml.beat(item, form)
        for item in node.value
    )


def _headers(node: Node) -> Headers:
    pairs = [*_pairs(node)]
    for name, value in pairs:
        if not _NAME.fullmatch(string(name)):
            raise Refused(f"no header has the name {string(name)[:60]!a}", name.spot)
        if not _VALUE.fullmatch(string(value)):
            raise Refused("a header is one line of Latin letters and signs", value.spot)
    return tuple((string(name), string(value)) for name, value in pairs)


def _pairs(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node.value, dict):
        for name, value in node.value.items():
            yield Node(name, (node.keys or {})[name]), value
        return
    pairs = node.value if isinstance(node.value, list) else (node,)
    for pair in pairs:
        if not isinstance(pair.value, list) or len(pair.value) != 2:
            raise Refused("headers are a table, or a list of [name, value]", pair.spot)
        yield pair.value[0], pair.value[1]


def _status(node: Node) -> int:
    if not (isinstance(node.value, str) and _STATUS.fullmatch(node.value)):
        raise Refused("a status from 200 to 599 must stand here", node.spot)
    return int(node.value)


def _moment(node: Node) -> float:
    try:
        moment = datetime.fromisoformat(string(node))
        if moment.tzinfo is not None:
            return moment.timestamp()
    except (ValueError, OverflowError):
        pass
    raise Refused("a time in UTC must stand here, such as 2026-01-31T12:00:00Z", node.spot)


def _table(node: Node, what: str, known: tuple[str, ...], needed: tuple[str, ...]) -> Mapping[str, Node]:
    """The fields of a table that has these keys and no others."""
    if not isinstance(node.value, dict):
        raise Refused(f"{what} must be a table", node.spot)
    for key in node.value:
        if key not in known:
            raise Refused(f'{what} has no "{key[:60]}"{did_you_mean(key, known)}', (node.keys or {})[key])
    for key in needed:
        if key not in node.value:
            raise Refused(f'{what} needs "{key}"; was the file cut off?', node.spot)
    return node.value


def _optional(node: Node | None, read: Callable[[Node], Read], otherwise: Read) -> Read:
    return otherwise if node is None else read(node)


_EPISODE = ("call", "at", "dialect", "operation", "model", "request", "reply")
_REQUEST = ("method", "path", "query", "headers", "body")
_REPLY = ("status", "headers", "took", "body", "style", "ends", "frames", "sha256")
_STATUS = re.compile(r"[2-5][0-9]{2}")
_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # what HTTP can carry
_HASH = re.compile(r"[0-9a-f]{64}")
_CUT_OFF = (
    f'a reply ends with the "sha256" of its body, which is not there: was the file cut off? '
    f"Of a reply written by hand, say sha256: {UNKNOWN}"
)


VERSION = 1
MAX_MISTAKES = 20
_SHOWN = 160  # characters of a line that a mistake shows


@dataclass(frozen=True, slots=True)
class Entry:
    """An episode and the document that it stands in; `stated` is the hash that this gives, `place` where.

    `line` is the one on which the document begins, from 0.
    """

    episode: Episode
    text: str
    stated: str
    place: Place
    line: int

    @property
    def altered(self) -> bool:
        """Whether the body of the answer is not the one that was recorded."""
        return self.stated not in (UNKNOWN, sha256(self.episode.reply.bytes).hexdigest())


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a file was read: so many episodes, on so many lines."""

    episodes: int = 0
    lines: int = 0


def episodes(data: bytes, file: str) -> tuple[Episode, ...]:
    """The episodes of a cassette. Raises CassetteError with all that is wrong."""
    return tuple(entry.episode for entry in entries(data, file))


def entries(data: bytes, file: str, known: Mapping[str, Entry] | None = None) -> tuple[Entry, ...]:
    """The same with the documents they stand in. Those that are `known`, by their text, are not read again."""
    documents = tuple(_documents(_decoded(data, file), Mark(), file))
    behind = _checked_head(documents)
    return _entries(documents[behind:], file, 0, known)


def following(data: bytes, file: str, mark: Mark) -> tuple[Entry, ...]:
    """What stands in the rest of a file that was read up to a mark, the end of an episode."""
    documents = tuple(_documents(_decoded(data, file), mark, file))
    return _entries(documents, file, mark.episodes)


def mismatches(data: bytes, file: str) -> tuple[Mistake, ...]:
    """The episodes whose answer is not the one that was recorded: somebody edited it."""
    return tuple(
        Mistake(f"the body of episode {number} was edited: its sha256 is no longer this one; {_RESTATE}", entry.place)
        for number, entry in enumerate(entries(data, file), 1)
        if entry.altered
    )


def document_of(text: str) -> Episode:
    """The episode of one document, read as any reader of YAML would."""
    document = _Document(text, 0, "")
    try:
        return _episode(parse(text), {})[0]
    except Refused as refused:
        raise CassetteError(document.mistake(refused)) from None


@dataclass(frozen=True, slots=True)
class _Document:
    text: str
    line: int  # of the file, from 0
    file: str

    def mistake(self, refused: Refused) -> Mistake:
        return Mistake(refused.words, self.place(refused.spot))

    def place(self, spot: Spot) -> Place:
        lines = self.text.splitlines() or [""]
        line, column = min(spot[0], len(lines) - 1), spot[1]
        text = lines[line]
        if len(text) > _SHOWN:
            text = text[:_SHOWN] + "…" if column < _SHOWN else ""
        return Place(self.file, self.line + line + 1, column + 1, text)


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        place = Place(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise CassetteError(Mistake(f"no cassette: the byte 0x{data[error.start]:02x} is not UTF-8", place)) from None


def _documents(text: str, mark: Mark, file: str) -> Iterator[_Document]:
    """The documents of a stream. Nothing within one may have `---` at the start of a line, so YAML says."""
    start, line = 0, mark.lines
    while start < len(text) or start == 0:
        end = text.find("\n---", start)
        while end >= 0 and text[end + 4 : end + 5] not in ("\n", "\r", " ", "\t", ""):
            end = text.find("\n---", end + 1)
        end = len(text) if end < 0 else end + 1
        yield _Document(text[start:end], line, file)
        line += text.count("\n", start, end)
        start = end or 1


def _checked_head(documents: Sequence[_Document]) -> int:
    """How many documents the head of a file is: one, below comments that may stand above its `---`."""
    for number, document in enumerate(documents):
        try:
            if (node := parse(document.text)) is not None:
                _check_version(node)
                return number + 1
        except Refused as refused:
            raise CassetteError(document.mistake(refused)) from None
        if document.text.startswith("---"):
            break
    raise CassetteError(
        Mistake(f"no cassette: the file is empty, where one begins with {_BEGIN}", Place(documents[0].file, 1, 1))
    )


def _check_version(node: Node) -> None:
    version = node.value.get("version") if isinstance(node.value, dict) else None
    if version is None or set(node.value) != {"version"}:
        raise Refused(f"no cassette: one begins with {_BEGIN}, and then ---", node.spot)
    if version.value != str(VERSION):
        shown = version.value[:20] if isinstance(version.value, str) else "a table"
        raise Refused(f"this cassette has version {shown}; version {VERSION} can be read here", version.spot)


def _entries(
    documents: Sequence[_Document], file: str, before: int, known: Mapping[str, Entry] | None = None
) -> tuple[Entry, ...]:
    found: list[Entry] = []
    mistakes: list[Mistake] = []
    with collector_at_rest():
        for number, document in enumerate(documents, before + 1):
            try:
                there = (known or {}).get(document.text) or _entry(document)
                found.append(_moved(there, document.line, f"cassette {PurePath(file).name}#{number}"))
            except Refused as refused:
                mistakes.append(document.mistake(refused))
                if len(mistakes) == MAX_MISTAKES:
                    break
    if mistakes:
        raise CassetteError(*mistakes)
    return tuple(found)


def _entry(document: _Document) -> Entry:
    node, known = _parsed(document.text)
    episode, hashed = _episode(node, known)
    return Entry(episode, document.text, hashed.value, document.place(hashed.spot), document.line)


def _moved(entry: Entry, line: int, source: str) -> Entry:
    """The entry of a document that stands on this line, as this episode of the file."""
    episode = replace(entry.episode, reply=replace(entry.episode.reply, source=source))
    place = replace(entry.place, line=entry.place.line + line - entry.line)
    return replace(entry, episode=episode, place=place, line=line)


def _episode(node: Node | None, known: Known) -> tuple[Episode, Node]:
    if node is None:
        raise Refused("an episode must stand here, and there is nothing: was the file cut off?", (0, 0))
    return episode(node, known)


def _parsed(text: str) -> tuple[Node | None, Known]:
    """The nodes of a document; those events that stand there as they were written are read by a swifter way."""
    lines = text.split("\n")
    events = {number: line for number, line in enumerate(lines) if line.startswith("    - {at: ") and line[-1] == "}"}
    try:
        return _swiftly(lines, events) or (parse(text), {})
    except Refused:
        return parse(text), {}


def _swiftly(lines: list[str], events: dict[int, str]) -> tuple[Node, Known] | None:
    """The same, where the lines of events turn out to be what they look like."""
    node = parse(_without(lines, events))
    form = stream_form(node)
    if not events or node is None or form is None:
        return None if node is None or events else (node, {})
    read = zip(events, sse_yaml.swift(tuple(events.values()), form), strict=True)
    known: dict[int, Beat] = {number: beat for number, beat in read if beat is not None}
    if len(known) < len(events):
        node = parse(_without(lines, known))
    return (node, known) if node and claimed(node, set(known)) and stream_form(node) == form else None


def _without(lines: list[str], events: dict[int, Beat] | dict[int, str]) -> str:
    return "\n".join(f"    - {PLACEHOLDER}" if number in events else line for number, line in enumerate(lines))


_BEGIN = f'"version: {VERSION}"'
_RESTATE = "if that is meant, write `sha256: unknown` there"
