"""The file format of cassettes: a head, then a YAML document for each episode.

Reading is strict, so that a truncated file, or one of another format, is never taken for a cassette: each mistake is
reported with file, line and column. Writing is deterministic, and what was written is read back before it is used: what
YAML or JSON would not restore byte for byte is written as plain text or base64.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import PurePath
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mockserver.cassettes import sse_yaml
from mockserver.cassettes.bodies import Node, Refused, Verbatim, as_yaml, parse, read_body, read_style, read_text
from mockserver.cassettes.sse_yaml import flow, yaml_lines
from mockserver.config.errors import CassetteError, Mistake, SourceLocation
from mockserver.config.source import did_you_mean
from mockserver.config.yaml_reader import collector_at_rest
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent
from mockserver.core.http import Headers
from mockserver.core.json import Json, try_parse
from mockserver.core.text import plural

VERSION = 1
HEAD = f"""\
# A cassette of mockserver: recorded calls and their answers, each in a document of its own.
version: {VERSION}
"""
MAX_MISTAKES = 20
MAX_QUOTE = 160  # characters of a line that a mistake quotes
MAX_SUMMARY = 80  # characters of what the user said
UNKNOWN = "unknown"  # the hash of a body written by hand

Read = TypeVar("Read")
EventLines = tuple[int, list[str]]  # lines of events, from a line of their document on


class EpisodeDocument(Struct, frozen=True):
    """An episode, its document, and the hash that this states of the answer's body."""

    episode: Episode
    text: str
    stated: str

    @property
    def is_edited(self) -> bool:
        return self.stated not in (UNKNOWN, sha256(self.episode.reply.bytes).hexdigest())


class ReadPosition(Struct, frozen=True):
    """How far a file was read."""

    episodes: int = 0
    lines: int = 0


def episodes(data: bytes, file: str) -> tuple[Episode, ...]:
    return tuple(entry.episode for entry in entries(data, file))


def entries(data: bytes, file: str, known: Mapping[str, EpisodeDocument] | None = None) -> tuple[EpisodeDocument, ...]:
    """The episodes with their documents. Documents that are `known`, by their text, are not parsed again."""
    documents = tuple(_documents(_decoded(data, file), ReadPosition(), file))
    behind = _checked_head(documents)
    return _entries(documents[behind:], file, 0, known)


def following(data: bytes, file: str, position: ReadPosition) -> tuple[EpisodeDocument, ...]:
    """The documents in the rest of a file that was read up to this position, the end of an episode."""
    documents = tuple(_documents(_decoded(data, file), position, file))
    return _entries(documents, file, position.episodes)


def document_of(text: str) -> Episode:
    """The episode of one document, parsed as YAML without the fast way for events."""
    try:
        return _episode(parse(text))[0]
    except Refused as refused:
        raise CassetteError(_Document(text, 0, "").mistake(refused)) from None


class _Document(Struct, frozen=True):
    text: str
    line: int  # of the file, from 0
    file: str

    def mistake(self, refused: Refused) -> Mistake:
        lines = self.text.splitlines() or [""]
        line, column = min(refused.spot[0], len(lines) - 1), refused.spot[1]
        text = lines[line]
        if len(text) > MAX_QUOTE:
            text = text[:MAX_QUOTE] + "…" if column < MAX_QUOTE else ""
        return Mistake(refused.words, SourceLocation(self.file, self.line + line + 1, column + 1, text))


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        place = SourceLocation(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise CassetteError(
            Mistake(f"not a cassette: the byte 0x{data[error.start]:02x} is not UTF-8", place)
        ) from None


def _documents(text: str, position: ReadPosition, file: str) -> Iterator[_Document]:
    """Split a stream. By the rules of YAML, no line within a document starts with `---`."""
    start, line = 0, position.lines
    while start < len(text) or start == 0:
        end = text.find("\n---", start)
        while end >= 0 and text[end + 4 : end + 5] not in ("\n", "\r", " ", "\t", ""):
            end = text.find("\n---", end + 1)
        end = len(text) if end < 0 else end + 1
        yield _Document(text[start:end], line, file)
        line += text.count("\n", start, end)
        start = end or 1


def _checked_head(documents: Sequence[_Document]) -> int:
    """Check the version; return how many documents precede the first episode: the head may follow comments and ---."""
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
        Mistake(
            f"not a cassette: the file is empty; a cassette begins with {_BEGIN}",
            SourceLocation(documents[0].file, 1, 1),
        )
    )


def _check_version(node: Node) -> None:
    version = node.value.get("version") if isinstance(node.value, dict) else None
    if version is None or set(node.value) != {"version"}:
        raise Refused(f"not a cassette: a cassette begins with {_BEGIN}, and then ---", node.spot)
    if version.value != str(VERSION):
        shown = version.value[:20] if isinstance(version.value, str) else "a table"
        raise Refused(f"this cassette has version {shown}; this server reads version {VERSION}", version.spot)


def _entries(
    documents: Sequence[_Document], file: str, before: int, known: Mapping[str, EpisodeDocument] | None = None
) -> tuple[EpisodeDocument, ...]:
    found: list[EpisodeDocument] = []
    mistakes: list[Mistake] = []
    with collector_at_rest():
        for number, document in enumerate(documents, before + 1):
            try:
                entry = (known or {}).get(document.text) or _entry(document)
                found.append(_with_source(entry, f"cassette {PurePath(file).name}#{number}"))
            except Refused as refused:
                mistakes.append(document.mistake(refused))
                if len(mistakes) == MAX_MISTAKES:
                    break
    if mistakes:
        raise CassetteError(*mistakes)
    return tuple(found)


def _entry(document: _Document) -> EpisodeDocument:
    episode, stated = _episode_fast(document.text) or _episode(parse(document.text))
    return EpisodeDocument(episode, document.text, stated)


def _with_source(entry: EpisodeDocument, source: str) -> EpisodeDocument:
    if entry.episode.reply.source == source:
        return entry
    return replace(entry, episode=replace(entry.episode, reply=replace(entry.episode.reply, source=source)))


def _episode_fast(text: str) -> tuple[Episode, str] | None:
    """The same for a stream, several times as fast; None if its events are not laid out as we write them."""
    if (found := _FRAMES.search(text)) is None:
        return None
    events = text.count("\n", 0, found.start()), found[1].split("\n")[:-1]
    try:
        read = _episode(parse(f"{text[: found.start()]}  frames: []\n{text[found.end() :]}"), events)
    except Refused:
        return None
    return read if read[0].reply.frames else None


_BEGIN = f'"version: {VERSION}"'


def _episode(node: Node | None, events: EventLines | None = None) -> tuple[Episode, str]:
    """The episode, and the stated hash of its answer's body. Raises Refused."""
    if node is None:
        raise Refused("an episode is missing here: was the file cut off?", (0, 0))
    table = _table(node, "an episode", _EPISODE, ("dialect", "request", "reply"))
    reply, stated = _reply(table["reply"], events)
    names = {name: read_text(table[name]) for name in ("dialect", "operation", "model") if name in table}
    at = _optional(table.get("at"), _moment, 0.0)
    request = _request(table["request"])
    return Episode(names["dialect"], names.get("operation", ""), names.get("model", ""), request, reply, at), stated


def _request(node: Node) -> Sent:
    table = _table(node, "a request", _REQUEST, ("method", "path"))
    return Sent(
        method=read_text(table["method"]),
        path=read_text(table["path"]),
        query=_optional(table.get("query"), read_text, ""),
        headers=_optional(table.get("headers"), _headers, ()),
        body=_optional(table.get("body"), read_body, b""),
    )


def _reply(node: Node, events: EventLines | None) -> tuple[Recorded, str]:
    table = _table(node, "a reply", _REPLY, ("status",))
    hashed = table.get("sha256")
    if hashed is None:
        raise Refused(_CUT_OFF, node.spot)
    if not (isinstance(hashed.value, str) and (_HASH.fullmatch(hashed.value) or hashed.value == UNKNOWN)):
        raise Refused(f"write 64 hex digits here, or {UNKNOWN}; was the file cut off?", hashed.spot)
    layout = _layout(table)
    reply = Recorded(
        status=_status(table["status"]),
        headers=_optional(table.get("headers"), _headers, ()),
        body=_optional(table.get("body"), read_body, b""),
        frames=_frames(table["frames"], layout, events) if "frames" in table else None,
        took=_optional(table.get("took"), sse_yaml.seconds, 0.0),
    )
    return reply, hashed.value


def _layout(reply: Mapping[str, Node]) -> sse_yaml.Layout:
    ends = _optional(reply.get("ends"), read_text, "lf")
    if ends not in sse_yaml.ENDS:
        raise Refused(f"lines end with {' or '.join(sse_yaml.ENDS)}", reply["ends"].spot)
    return sse_yaml.Layout(read_style(reply.get("style")), ends)


def _frames(node: Node, layout: sse_yaml.Layout, events: EventLines | None) -> tuple[RecordedEvent, ...]:
    if not isinstance(node.value, list):
        raise Refused("write a list of events here", node.spot)
    if events is None:
        return tuple(sse_yaml.read_event(item, layout) for item in node.value)
    line, texts = events
    found = tuple(event for event in sse_yaml.read_events_fast(texts, layout) if event is not None)
    if node.spot[0] != line or len(found) < len(texts):
        raise Refused("read this as YAML", node.spot)
    return found


def _headers(node: Node) -> Headers:
    pairs = [*_pairs(node)]
    for name, value in pairs:
        if not _NAME.fullmatch(read_text(name)):
            raise Refused(f"no header can have the name {read_text(name)[:60]!a}", name.spot)
        if not _VALUE.fullmatch(read_text(value)):
            raise Refused("a header is one line of Latin-1 characters", value.spot)
    return tuple((read_text(name), read_text(value)) for name, value in pairs)


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
        raise Refused("write a status from 200 to 599 here", node.spot)
    return int(node.value)


def _moment(node: Node) -> float:
    try:
        moment = datetime.fromisoformat(read_text(node))
        if moment.tzinfo is not None:
            return moment.timestamp()
    except (ValueError, OverflowError):
        pass
    raise Refused("write a time in UTC here, such as 2026-01-31T12:00:00Z", node.spot)


def _table(node: Node, what: str, known: tuple[str, ...], needed: tuple[str, ...]) -> Mapping[str, Node]:
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
_FRAMES = re.compile(r"^  frames:\n((?:    - \{at: .*\}\n)+)", re.MULTILINE)
_STATUS = re.compile(r"[2-5][0-9]{2}")
_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # what HTTP can carry
_HASH = re.compile(r"[0-9a-f]{64}")
_CUT_OFF = (
    f'the "sha256" of the body is missing: was the file cut off? In a reply written by hand, use sha256: {UNKNOWN}'
)


def summary(episode: Episode) -> str:
    """Such as `openai chat gpt-4o, streamed: "What is the weather in Oslo?" -> 200, 12 events`."""
    request, reply = episode.request, episode.reply
    body = try_parse(request.body.decode("utf-8", "replace"))
    said = _short(_said(body)) if isinstance(body, Mapping) else ""
    shown = f': "{said}"' if said else f": {_short(request.method)} {_short(request.path)}"
    streamed = ", streamed" if reply.frames is not None else ""
    events = "" if reply.frames is None else f", {plural(len(reply.frames), 'event')}"
    named = " ".join(_short(word) for word in (episode.dialect, episode.operation, episode.model) if word)
    return f"{named}{streamed}{shown} -> {reply.status}{events}"


def _said(body: Mapping[str, Json]) -> str:
    messages = body.get("messages", body.get("input", body.get("contents")))
    if isinstance(messages, list):
        users = [each for each in messages if isinstance(each, Mapping) and each.get("role") == "user"]
        return _text(users[-1].get("content", users[-1].get("parts"))) if users else _text(messages)
    return _text(messages if messages is not None else body.get("prompt"))


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return " ".join(text for text in texts if isinstance(text, str))


def _short(text: str) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * MAX_SUMMARY]).split())
    return line if len(line) <= MAX_SUMMARY and len(text) <= 4 * MAX_SUMMARY else line[: MAX_SUMMARY - 1] + "…"


def document(episode: Episode) -> str:
    """The YAML document of an episode, from `---` on. Raises CassetteError if it cannot be written."""
    episode = rounded(episode)
    for plain in (False, True):
        text = _written(episode, plain=plain)
        if _restores(text, episode):
            return text
    raise CassetteError(
        f"a call to {episode.dialect} cannot be recorded: its path, query or headers are not valid text "
        f"({summary(episode)[:200]!a})"
    )


def rounded(episode: Episode) -> Episode:
    """The episode as a cassette stores it: times in milliseconds, those of events in microseconds."""
    reply = episode.reply
    frames = None if reply.frames is None else tuple((_rounded(at), data) for at, data in reply.frames)
    at = datetime.fromtimestamp(round(max(0.0, episode.at) * 1000) / 1000, UTC).timestamp()
    return replace(episode, at=at, reply=replace(reply, frames=frames, took=_rounded(reply.took)))


def _rounded(seconds: float) -> float:
    return sse_yaml.seconds_of(sse_yaml.milliseconds(seconds))


def _restores(text: str, episode: Episode) -> bool:
    try:
        return document_of(text) == episode and len(text.encode()) > 0
    except (CassetteError, UnicodeEncodeError):
        return False


def _written(episode: Episode, *, plain: bool) -> str:
    at = datetime.fromtimestamp(episode.at, UTC).isoformat(timespec="milliseconds")
    table = {
        "call": summary(episode),
        "at": Verbatim(at.replace("+00:00", "Z")),
        "dialect": episode.dialect,
        "operation": episode.operation,
        "model": episode.model,
        "request": _write_request(episode.request, plain=plain),
        "reply": _write_reply(episode.reply, plain=plain),
    }
    return "\n".join(("---", *yaml_lines(table), ""))


def _write_request(sent: Sent, *, plain: bool) -> Mapping[str, Json]:
    table: dict[str, Json] = {"method": sent.method, "path": sent.path}
    if sent.query:
        table["query"] = sent.query
    if sent.headers:
        table["headers"] = _write_headers(sent.headers, plain=plain)
    if sent.body:
        table["body"] = as_yaml(sent.body, plain=plain)
    return table


def _write_reply(reply: Recorded, *, plain: bool) -> Mapping[str, Json]:
    table: dict[str, Json] = {"status": Verbatim(str(reply.status))}
    if reply.headers:
        table["headers"] = _write_headers(reply.headers, plain=plain)
    table["took"] = Verbatim(sse_yaml.milliseconds(reply.took))
    if reply.body:
        table["body"] = as_yaml(reply.body, plain=plain)
    if reply.frames is not None:
        layout = sse_yaml.layout_of(reply.frames)
        table |= {"style": layout.style.name} if layout.style.name else {}
        table |= {"ends": layout.ends} if layout.ends != "lf" else {}
        table["frames"] = [sse_yaml.event_line(event, layout, plain=plain) for event in reply.frames]
    return table | {"sha256": Verbatim(sha256(reply.bytes).hexdigest())}


def _write_headers(headers: Headers, *, plain: bool) -> Json:
    table = dict(headers)
    return [flow(list(pair)) for pair in headers] if plain or len(table) < len(headers) else table
