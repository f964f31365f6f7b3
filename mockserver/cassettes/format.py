"""The file format of cassettes: a head, then a YAML document for each episode.

Reading is strict, so that a truncated file, or one of another format, is never taken for a cassette: each mistake is
reported with file, line and column. Writing is deterministic, and what was written is read back before it is used: what
YAML or JSON would not restore byte for byte is written as plain text or base64.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import PurePath
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mockserver.cassettes.attachments import LoadFile, NewAttachments, belongs_in_file
from mockserver.cassettes.bodies import read_body, read_style, write_body
from mockserver.cassettes.event_lines import (
    LINE_ENDS,
    EventLayout,
    find_layout,
    parse_milliseconds,
    read_event,
    read_events_fast,
    read_seconds,
    write_event,
    write_milliseconds,
)
from mockserver.cassettes.yaml_text import Node, Refused, Verbatim, parse, read_text, write_flow, write_yaml
from mockserver.config.errors import CassetteError, Mistake, SourceLocation
from mockserver.config.source import did_you_mean, make_place
from mockserver.config.yaml_reader import pause_collector
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent, join_header
from mockserver.core.http import HEADER_NAME, Headers
from mockserver.core.json import Json, compact, find_in, try_parse
from mockserver.core.mcp_messages import name_request
from mockserver.core.text import count_noun

VERSION = 1
HEAD = f"""\
# A cassette of mockserver: recorded calls and their answers, each in a document of its own.
version: {VERSION}
"""
MAX_MISTAKES = 20
MAX_SUMMARY = 80  # characters of what the user said
UNKNOWN = "unknown"  # the hash of a body written by hand

Read = TypeVar("Read")


class EpisodeDocument(Struct, frozen=True):
    """An episode, its document, and the hash of the answer's body that this states."""

    episode: Episode
    text: str
    stated_hash: str

    @property
    def is_edited(self) -> bool:
        """Whether the answer's body is another one than was recorded, and nobody says that this is meant."""
        return self.stated_hash not in (UNKNOWN, sha256(self.episode.reply.bytes).hexdigest())


def read_documents(
    data: bytes,
    file: str,
    known: Mapping[str, EpisodeDocument] = MappingProxyType({}),
    load_file: LoadFile | None = None,
) -> tuple[EpisodeDocument, ...]:
    """Return the episodes of a file with their documents. Those that are `known`, by their text, are not parsed again.

    `load_file` returns an answer that is kept beside it. Raises CassetteError, with the place of each mistake.
    """
    sections = tuple(_split(_decode(data, file), file))
    found: list[EpisodeDocument] = []
    mistakes: list[Mistake] = []
    with pause_collector():
        for number, section in enumerate(sections[_check_head(sections) :], 1):
            try:
                document = known.get(section.text) or _read_document(section.text, load_file)
                found.append(_add_source(document, f"cassette {PurePath(file).name}#{number}"))
            except Refused as refused:
                mistakes.append(section.locate(refused))
                if len(mistakes) == MAX_MISTAKES:
                    break
    if mistakes:
        raise CassetteError(*mistakes)
    return tuple(found)


def read_episode(text: str, load_file: LoadFile | None = None) -> Episode:
    """Return the episode of one document, parsed as YAML without the fast way for events. Raises CassetteError."""
    try:
        return _read_episode(_parse(text), load_file)
    except Refused as refused:
        raise CassetteError(_Section(text, 0, "").locate(refused)) from None


class _Section(Struct, frozen=True):
    """A YAML document, which begins at a line of its file (from 0)."""

    text: str
    line: int
    file: str

    def locate(self, refused: Refused) -> Mistake:
        """Return a mistake in this document with its place in the file."""
        line, column = refused.spot
        place = make_place(self.file, self.text.splitlines() or [""], line=line, column=column)
        return Mistake(refused.words, replace(place, line=self.line + place.line))


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        place = SourceLocation(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise CassetteError(
            Mistake(f"not a cassette: the byte 0x{data[error.start]:02x} is not UTF-8", place)
        ) from None


def _split(text: str, file: str) -> Iterator[_Section]:
    """Split a stream. By the rules of YAML, no line within a document starts with `---`."""
    start = 0
    line = 0
    while start < len(text) or start == 0:
        end = text.find("\n---", start)
        while end >= 0 and text[end + 4 : end + 5] not in ("\n", "\r", " ", "\t", ""):
            end = text.find("\n---", end + 1)
        end = len(text) if end < 0 else end + 1
        yield _Section(text[start:end], line, file)
        line += text.count("\n", start, end)
        start = end or 1


def _check_head(sections: Sequence[_Section]) -> int:
    """Check the version; return how many documents precede the first episode: the head may follow comments and ---."""
    for number, section in enumerate(sections, 1):
        try:
            if (found := _VCRPY.search(section.text)) is not None:
                raise Refused(_OF_VCRPY, (section.text.count("\n", 0, found.start()), 0))
            if (node := parse(section.text)) is not None:
                _check_version(node)
                return number
        except Refused as refused:
            raise CassetteError(section.locate(refused)) from None
        if section.text.startswith("---"):
            break
    raise CassetteError(
        Mistake(
            f"not a cassette: the file is empty; a cassette begins with {_BEGIN}",
            SourceLocation(sections[0].file, 1, 1),
        )
    )


def _check_version(node: Node) -> None:
    version = node.value.get("version") if isinstance(node.value, dict) else None
    if version is None or set(node.value) != {"version"}:
        raise Refused(f"not a cassette: a cassette begins with {_BEGIN}, and then ---", node.spot)
    if version.value != str(VERSION):
        shown = version.value[:20] if isinstance(version.value, str) else "a table"
        raise Refused(f"this cassette has version {shown}; this server reads version {VERSION}", version.spot)


def _add_source(document: EpisodeDocument, source: str) -> EpisodeDocument:
    episode = document.episode
    if episode.reply.source == source:
        return document
    return replace(document, episode=replace(episode, reply=replace(episode.reply, source=source)))


class _EventLines(Struct, frozen=True):
    """The lines of a document that hold events, from `line` on, which are read without YAML if that is possible."""

    line: int
    texts: Sequence[str]


def _read_document(text: str, load_file: LoadFile | None) -> EpisodeDocument:
    """Parse an episode: its events line by line, or as YAML if they are not laid out as we write them."""
    if found := _FRAMES.search(text):
        lines = _EventLines(text.count("\n", 0, found.start()), found[1].split("\n")[:-1])
        with suppress(Refused):
            node = _parse(f"{text[: found.start()]}  frames: []\n{text[found.end() :]}")
            episode = _read_episode(node, load_file, lines)
            if episode.reply.frames:
                return EpisodeDocument(episode, text, _find_stated_hash(node))
    node = _parse(text)
    episode = _read_episode(node, load_file)
    return EpisodeDocument(episode, text, _find_stated_hash(node))


_BEGIN = f'"version: {VERSION}"'
_VCRPY = re.compile(r"^(?:http_)?interactions:", re.MULTILINE)
_OF_VCRPY = (
    "not a cassette, but a recording of vcrpy or VCR; move those to another folder, "
    "and import them from there: mockserver cassette import FOLDER"
)


def _parse(text: str) -> Node:
    """Parse the document of an episode. Raises Refused."""
    node = parse(text)
    if node is None:
        raise Refused("an episode is missing here: was the file cut off?", (0, 0))
    return node


def _find_stated_hash(episode: Node) -> str:
    """Return the hash that an episode, which was read, states for the body of its answer."""
    stated: str = episode.value["reply"].value["sha256"].value
    return stated


def _read_episode(node: Node, load_file: LoadFile | None, events: _EventLines | None = None) -> Episode:
    """Read an episode. Raises Refused."""
    table = _read_table(node, "an episode", known=_EPISODE, needed=("dialect", "request", "reply"))
    reply = _read_reply(table["reply"], load_file, events)
    return Episode(
        dialect=read_text(table["dialect"]),
        operation=_read_optional(table.get("operation"), read_text, ""),
        model=_read_optional(table.get("model"), read_text, ""),
        request=_read_request(table["request"]),
        reply=reply,
        at=_read_optional(table.get("at"), _read_time, 0.0),
    )


def _read_request(node: Node) -> Sent:
    table = _read_table(node, "a request", known=_REQUEST, needed=("method", "path"))
    return Sent(
        method=read_text(table["method"]),
        path=read_text(table["path"]),
        query=_read_optional(table.get("query"), read_text, ""),
        headers=_read_optional(table.get("headers"), _read_headers, ()),
        body=_read_optional(table.get("body"), read_body, b""),
    )


def _read_reply(node: Node, load_file: LoadFile | None, events: _EventLines | None) -> Recorded:
    table = _read_table(node, "a reply", known=_REPLY, needed=("status",))
    hashed = table.get("sha256")
    if hashed is None:
        raise Refused(_CUT_OFF, node.spot)
    if not (isinstance(hashed.value, str) and (_HASH.fullmatch(hashed.value) or hashed.value == UNKNOWN)):
        raise Refused(f"write 64 hex digits here, or {UNKNOWN}; was the file cut off?", hashed.spot)
    layout = _read_layout(table)
    return Recorded(
        status=_read_status(table["status"]),
        headers=_read_optional(table.get("headers"), _read_headers, ()),
        body=_read_optional(table.get("body"), partial(read_body, load_file=load_file), b""),
        frames=_read_frames(table["frames"], layout, events) if "frames" in table else None,
        took=_read_optional(table.get("took"), read_seconds, 0.0),
    )


def _read_layout(reply: Mapping[str, Node]) -> EventLayout:
    ends = _read_optional(reply.get("ends"), read_text, "lf")
    if ends not in LINE_ENDS:
        raise Refused(f"write {', '.join(LINE_ENDS)} here", reply["ends"].spot)
    return EventLayout(read_style(reply.get("style")), ends)


def _read_frames(node: Node, layout: EventLayout, events: _EventLines | None) -> tuple[RecordedEvent, ...]:
    if not isinstance(node.value, list):
        raise Refused("write a list of events here", node.spot)
    if events is None:
        return tuple(read_event(item, layout) for item in node.value)
    found = read_events_fast(events.texts, layout)
    if found is None or node.spot[0] != events.line:
        raise Refused("read this as YAML", node.spot)
    return found


def _read_headers(node: Node) -> Headers:
    pairs = [*_list_pairs(node)]
    for name, value in pairs:
        if not HEADER_NAME.fullmatch(read_text(name)):
            raise Refused(f"{read_text(name)[:60]!a} is not a valid header name", name.spot)
        if not _VALUE.fullmatch(read_text(value)):
            raise Refused("a header must be one line of Latin-1 characters", value.spot)
    return tuple((read_text(name), read_text(value)) for name, value in pairs)


def _list_pairs(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node.value, dict):
        for name, value in node.value.items():
            yield Node(name, node.keys[name]), value
        return
    pairs = node.value if isinstance(node.value, list) else (node,)
    for pair in pairs:
        if not isinstance(pair.value, list) or len(pair.value) != 2:
            raise Refused("headers must be a table, or a list of [name, value]", pair.spot)
        yield pair.value[0], pair.value[1]


def _read_status(node: Node) -> int:
    if not (isinstance(node.value, str) and _STATUS.fullmatch(node.value)):
        raise Refused("write a status from 200 to 599 here", node.spot)
    return int(node.value)


def _read_time(node: Node) -> float:
    try:
        moment = datetime.fromisoformat(read_text(node))
        if moment.tzinfo is not None:
            return moment.timestamp()
    except (ValueError, OverflowError):
        pass
    raise Refused("write a time in UTC here, such as 2026-01-31T12:00:00Z", node.spot)


def _read_table(node: Node, what: str, *, known: tuple[str, ...], needed: tuple[str, ...]) -> Mapping[str, Node]:
    """Return a table that has only `known` keys and all that are `needed`. Raises Refused."""
    if not isinstance(node.value, dict):
        raise Refused(f"{what} must be a table", node.spot)
    for key in node.value:
        if key not in known:
            raise Refused(f'{what} has no "{key[:60]}"{did_you_mean(key, known)}', node.find_key_spot(key))
    for key in needed:
        if key not in node.value:
            raise Refused(f'{what} needs "{key}"; was the file cut off?', node.spot)
    return node.value


def _read_optional(node: Node | None, read: Callable[[Node], Read], otherwise: Read) -> Read:
    return otherwise if node is None else read(node)


_EPISODE = ("call", "at", "dialect", "operation", "model", "request", "reply")
_REQUEST = ("method", "path", "query", "headers", "body")
_REPLY = ("status", "headers", "took", "body", "style", "ends", "frames", "sha256")
_FRAMES = re.compile(r"^  frames:\n((?:    - \{at: .*\}\n)+)", re.MULTILINE)
_STATUS = re.compile(r"[2-5][0-9]{2}")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # what HTTP can carry
_HASH = re.compile(r"[0-9a-f]{64}")
_CUT_OFF = (
    f'the "sha256" of the body is missing: was the file cut off? In a reply written by hand, use sha256: {UNKNOWN}'
)


def summarize(episode: Episode) -> str:
    """Return a summary such as `openai chat gpt-4o, streamed: "What is the weather in Oslo?" -> 200, 12 events`."""
    request = episode.request
    reply = episode.reply
    body = try_parse(request.body.decode("utf-8", "replace"))
    question = _shorten(_find_question(body)) if isinstance(body, Mapping) else ""
    shown = f': "{question}"' if question else f": {_shorten(request.method)} {_shorten(request.path)}"
    streamed = ", streamed" if reply.frames is not None else ""
    events = "" if reply.frames is None else f", {count_noun(len(reply.frames), 'event')}"
    if episode.dialect == "mcp":
        name = _shorten(name_request(episode))
        arguments = find_in(body, "params", "arguments")
        return f"{name}{f' {_shorten(compact(arguments))}' if arguments else ''} -> {reply.status}{events}"
    named = " ".join(_shorten(word) for word in (episode.dialect, episode.operation, episode.model) if word)
    return f"{named}{streamed}{shown} -> {reply.status}{events}"


def _find_question(body: Mapping[str, Json]) -> str:
    messages = body.get("messages", body.get("input", body.get("contents")))
    if isinstance(messages, list):
        users = [each for each in messages if isinstance(each, Mapping) and each.get("role") == "user"]
        return _join_text(users[-1].get("content", users[-1].get("parts"))) if users else _join_text(messages)
    return _join_text(messages if messages is not None else body.get("prompt"))


def _join_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text", part.get("transcript")) if isinstance(part, Mapping) else part for part in parts)
    return " ".join(text for text in texts if isinstance(text, str))


def _shorten(text: str) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * MAX_SUMMARY]).split())
    return line if len(line) <= MAX_SUMMARY and len(text) <= 4 * MAX_SUMMARY else line[: MAX_SUMMARY - 1] + "…"


def write_document(episode: Episode, attached: NewAttachments | None = None) -> str:
    """Return the YAML document of an episode, from `---` on. Raises CassetteError if it cannot be written."""
    episode = round_times(episode)
    for plain in (False, True):
        text = _write(episode, attached, plain=plain)
        if _is_restorable(text, episode, attached):
            return text
    raise CassetteError(
        f"a call to {episode.dialect} cannot be recorded: its path, query or headers are not valid text "
        f"({summarize(episode)[:200]!a})"
    )


def round_times(episode: Episode) -> Episode:
    """Return the episode as a cassette stores it: times in milliseconds, those of events in microseconds."""
    reply = episode.reply
    frames = None if reply.frames is None else tuple((_round_time(at), data) for at, data in reply.frames)
    at = datetime.fromtimestamp(round(max(0.0, episode.at) * 1000) / 1000, UTC).timestamp()
    return replace(episode, at=at, reply=replace(reply, frames=frames, took=_round_time(reply.took)))


def _round_time(seconds: float) -> float:
    return parse_milliseconds(write_milliseconds(seconds))


def _is_restorable(text: str, episode: Episode, attached: NewAttachments | None) -> bool:
    try:
        text.encode()  # half of a character cannot be stored
        return read_episode(text, None if attached is None else attached.__getitem__) == episode
    except (CassetteError, UnicodeEncodeError):
        return False


def _write(episode: Episode, attached: NewAttachments | None, *, plain: bool) -> str:
    at = datetime.fromtimestamp(episode.at, UTC).isoformat(timespec="milliseconds")
    table = {
        "call": summarize(episode),
        "at": Verbatim(at.replace("+00:00", "Z")),
        "dialect": episode.dialect,
        "operation": episode.operation,
        "model": episode.model,
        "request": _write_request(episode.request, plain=plain),
        "reply": _write_reply(episode.reply, attached, plain=plain),
    }
    return "\n".join(("---", *write_yaml(table), ""))


def _write_request(sent: Sent, *, plain: bool) -> Mapping[str, Json]:
    table: dict[str, Json] = {"method": sent.method, "path": sent.path}
    if sent.query:
        table["query"] = sent.query
    if sent.headers:
        table["headers"] = _write_headers(sent.headers, plain=plain)
    if sent.body:
        table["body"] = write_body(sent.body, plain=plain)
    return table


def _write_reply(reply: Recorded, attached: NewAttachments | None, *, plain: bool) -> Mapping[str, Json]:
    table: dict[str, Json] = {"status": Verbatim(str(reply.status))}
    if reply.headers:
        table["headers"] = _write_headers(reply.headers, plain=plain)
    table["took"] = Verbatim(write_milliseconds(reply.took))
    if attached is not None and belongs_in_file(reply.body):
        table["body"] = {"file": attached.add(reply.body, join_header(reply.headers, "content-type"))}
    elif reply.body:
        table["body"] = write_body(reply.body, plain=plain)
    if reply.frames is not None:
        layout = find_layout(reply.frames)
        table |= {"style": layout.style.name} if layout.style.name else {}
        table |= {"ends": layout.ends} if layout.ends != "lf" else {}
        table["frames"] = [write_event(event, layout, plain=plain) for event in reply.frames]
    return table | {"sha256": Verbatim(sha256(reply.bytes).hexdigest())}


def _write_headers(headers: Headers, *, plain: bool) -> Json:
    table = dict(headers)
    return [write_flow(list(pair)) for pair in headers] if plain or len(table) < len(headers) else table
