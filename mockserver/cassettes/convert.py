"""Turns the recordings of other tools into episodes, and exports episodes as HAR 1.2."""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from msgspec import Struct

from mockserver.cassettes.addresses import DialectRoutes, find_dialect, find_local_target
from mockserver.cassettes.event_lines import is_json_line
from mockserver.cassettes.recordings import ForeignExchange, UnreadableError, read_recording, read_time
from mockserver.config.hosts import GENERIC, HOST_NAMES
from mockserver.core import server_sent_events
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent, join_header
from mockserver.core.event_stream import MEDIA_TYPE, is_prelude, split_messages
from mockserver.core.http import HOP_BY_HOP, Headers, is_stream_type
from mockserver.core.json import Json, try_parse


class UnknownHostError(Exception):
    """The host of an exchange that belongs to no known provider."""


class ImportedEpisode(NamedTuple):
    """An episode, and the place in its file that it is from, such as `chat.har: entry 3`."""

    place: str
    episode: Episode


class SkippedExchange(NamedTuple):
    """The place of an exchange in its file, and why it was left out."""

    place: str
    why: str


class Imported(Struct, frozen=True):
    """The exchanges of a file: as episodes, or left out. `unknown_hosts` counts the requests to each of these."""

    episodes: tuple[ImportedEpisode, ...]
    skipped: tuple[SkippedExchange, ...]
    unknown_hosts: Mapping[str, int]


def import_file(data: bytes, file: str, routes: DialectRoutes, dialect: str | None = None) -> Imported:
    """Return the episodes of a file. A `dialect` overrides that of every exchange.

    Raises CassetteError if the format of the file is unknown.
    """
    episodes = list[ImportedEpisode]()
    skipped = list[SkippedExchange]()
    hosts = Counter[str]()
    for place, found in read_recording(data, file):
        try:
            if isinstance(found, UnreadableError):
                raise found
            episodes.append(ImportedEpisode(place, make_episode(found, routes, dialect)))
        except UnreadableError as error:
            skipped.append(SkippedExchange(place, str(error)))
        except UnknownHostError as error:
            hosts[str(error)] += 1
    return Imported(tuple(episodes), tuple(skipped), hosts)


def make_episode(found: ForeignExchange, routes: DialectRoutes, dialect: str | None = None) -> Episode:
    """Return the episode of an exchange. Raises UnreadableError or UnknownHostError."""
    try:
        host = urlsplit(found.url).hostname
        path = urlsplit(found.url).path
        name = dialect or find_dialect(found.url, routes)
    except ValueError:
        raise UnreadableError(f"{found.url[:80]!r} is not a URL") from None
    if name is None:
        raise UnknownHostError(host or found.url[:60])
    target = find_local_target(found.method, found.url, dialect=name, routes=routes)
    if target is None:
        raise UnreadableError(f"{name} has no {found.method} {path[:80]}")
    if not 200 <= found.status <= 599 or 300 <= found.status < 400:
        raise UnreadableError(f"its answer cannot be replayed (status {found.status})")
    headers = _select_headers(found.headers)
    body = _decode(found.headers, found.body, routes=routes, what="request")
    sent = Sent(found.method, target.path, query=urlsplit(found.url).query, headers=headers, body=body)
    return Episode(
        dialect=GENERIC if name in HOST_NAMES else name,
        operation=target.operation,
        model=_find_model(sent),
        request=sent,
        reply=_make_reply(found, sent, routes),
        at=found.at or read_time(join_header(found.reply_headers, "date")),
    )


def _make_reply(found: ForeignExchange, sent: Sent, routes: DialectRoutes) -> Recorded:
    headers = _select_headers(found.reply_headers)
    body = _decode(found.reply_headers, found.reply, routes=routes, what="answer")
    kind = join_header(headers, "content-type")
    is_stream = is_stream_type(kind) or is_prelude(body) or _is_event_stream(body, requested=_asks_for_stream(sent))
    is_empty = found.status in (204, 205) or join_header(found.reply_headers, "content-length") == "0"
    if not body and (is_stream or not is_empty):
        raise UnreadableError(f"the recording lacks the body of its {'stream' if is_stream else 'answer'}")
    if not kind:
        kind = _find_media_type(body, is_stream=is_stream)
        headers = (*headers, ("content-type", kind)) if kind else headers
        is_stream = is_stream or (is_stream_type(kind) and _ENDS in body)
    if is_stream:
        return Recorded(found.status, headers, frames=split_events(body), took=found.took)
    return Recorded(found.status, headers, body, took=found.took)


def split_events(body: bytes) -> tuple[RecordedEvent, ...]:
    """Return the events of a joined stream, each with what ends it, or its messages.

    Their times are unknown, hence 0.
    """
    if is_prelude(body):
        return tuple((0.0, message) for message in split_messages(body))
    events = _JSON_LINE.findall(body) if is_json_line(body) else server_sent_events.split_events(body)
    return tuple((0.0, event) for event in events)


def _asks_for_stream(sent: Sent) -> bool:
    body = try_parse(sent.body.decode("utf-8", "replace"))
    return "alt=sse" in sent.query.split("&") or (isinstance(body, dict) and body.get("stream") is True)


def _is_event_stream(body: bytes, *, requested: bool) -> bool:
    """Return whether a body is a stream of events, whatever its headers say: many recordings have none.

    If its request did not ask for a stream, or is unknown, every line has to be one of an event.
    """
    lines = [line for line in body.splitlines() if line.strip()]
    if not lines or not _EVENT_LINE.match(lines[0]):
        return False
    return requested or (any(line.startswith(b"data:") for line in lines) and all(map(_EVENT_LINE.match, lines)))


def _find_media_type(body: bytes, *, is_stream: bool) -> str:
    """Return the content type of a body by its look: a stream, JSON, or lines of JSON; empty for any other."""
    if is_stream:
        return MEDIA_TYPE if is_prelude(body) else "text/event-stream"
    lines = [line for line in body.splitlines() if line.strip()]
    if _is_json(body):
        return "application/json"
    return "application/x-ndjson" if len(lines) > 1 and all(map(_is_json, lines)) else ""


def _is_json(body: bytes) -> bool:
    return body.lstrip()[:1] in (b"{", b"[") and try_parse(body.decode("utf-8", "replace")) is not None


def _select_headers(headers: Headers) -> Headers:
    """Return the headers to keep."""
    return tuple((name, value) for name, value in headers if name not in _LEFT_OUT and not _is_filtered(name, value))


def _decode(headers: Headers, body: bytes, *, routes: DialectRoutes, what: str) -> bytes:
    """Return a body without its content codings. Raises UnreadableError.

    Most tools undo codings and leave the header, so text is not encoded any more; others remove the header only.
    """
    coding = join_header(headers, "content-encoding")
    is_gzip = body.startswith(_GZIP)
    if not (coding or is_gzip) or (not is_gzip and _is_text(body)):
        return body
    if is_gzip and not _TOKENS.fullmatch(coding):
        headers = (("content-encoding", "gzip"),)
    try:
        return routes.decode(headers, body)
    except ValueError as error:
        raise UnreadableError(f"the body of its {what} cannot be decoded: {error}") from None


def _is_filtered(name: str, value: str) -> bool:
    """Return whether a content type was replaced by a word such as `**REDACTED**`."""
    return name == "content-type" and not _MEDIA_TYPE.match(value)


def _is_text(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _find_model(sent: Sent) -> str:
    body = try_parse(sent.body.decode("utf-8", "replace"))
    named = body.get("model") if isinstance(body, dict) else None
    deployed = _DEPLOYMENT.search(sent.path) or _BEDROCK_PATH.search(sent.path)
    return named if isinstance(named, str) else deployed[1] if deployed else ""


_ENDS = b'"done"'  # in each line of Ollama's streams; a list of results in lines has no end
_JSON_LINE = re.compile(rb"[^\r\n]*[\r\n]+|[^\r\n]+\Z")
_EVENT_LINE = re.compile(rb"(?:data|event|id|retry)?:")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+*-]+")
_GZIP = b"\x1f\x8b"
_TOKENS = re.compile(r"[\w-]+(?:\s*,\s*[\w-]+)*")
_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/")
_BEDROCK_PATH = re.compile(r"/bedrock/model/(.+)/[a-z-]+$")
# Headers of one connection, and of a body that is no longer as it was sent.
_LEFT_OUT = HOP_BY_HOP | {"content-length", "content-encoding", "host", "accept-encoding"}


def make_har(episodes: Iterable[Episode], version: str, addresses: Mapping[str, str]) -> Json:
    """Return a HAR log; `addresses`: the URL of each provider, by the mount of its dialect."""
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "mockserver", "version": version},
            "entries": [_write_entry(episode, addresses) for episode in episodes],
        }
    }


def _write_entry(episode: Episode, addresses: Mapping[str, str]) -> Json:
    reply = episode.reply
    first = reply.frames[0][0] if reply.frames else reply.took
    took = max(reply.took, first)
    return {
        "startedDateTime": datetime.fromtimestamp(episode.at, UTC).isoformat(timespec="milliseconds"),
        "time": _write_milliseconds(took),
        "request": _write_request(episode.request, addresses),
        "response": _write_response(reply),
        "cache": {},
        "timings": {"send": 0, "wait": _write_milliseconds(first), "receive": _write_milliseconds(took - first)},
        "comment": f"{episode.dialect} {episode.operation} {episode.model}".strip(),
    }


def _write_request(sent: Sent, addresses: Mapping[str, str]) -> Json:
    posted = {"postData": _write_post_data(sent)} if sent.body else {}
    return {
        "method": sent.method,
        "url": _find_url(sent, addresses),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _write_headers(sent.headers),
        "queryString": [
            {"name": name, "value": value} for name, value in parse_qsl(sent.query, keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": len(sent.body),
        **posted,
    }


def _find_url(sent: Sent, addresses: Mapping[str, str]) -> str:
    """Return the URL of the request at the provider, or at a local server if that is unknown."""
    query = f"?{sent.query}" if sent.query else ""
    path = quote(sent.path, safe="/:@!$&'()*+,;=~-._")
    for mount, address in addresses.items():
        if path.startswith(f"{mount}/"):
            return address + path.removeprefix(mount) + query
    return f"http://127.0.0.1:8000{path}{query}"


def _write_post_data(sent: Sent) -> Json:
    # HAR has no base64 here: bytes that are not text are replaced.
    kind = next((value for name, value in sent.headers if name == "content-type"), "application/json")
    return {"mimeType": kind, "text": sent.body.decode("utf-8", "replace")}


def _write_response(reply: Recorded) -> Json:
    body = reply.bytes
    return {
        "status": reply.status,
        "statusText": _find_phrase(reply.status),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _write_headers(reply.headers),
        "content": _write_content(body, reply.headers),
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": len(body),
    }


def _write_content(body: bytes, headers: Headers) -> Json:
    kind = next((value for name, value in headers if name == "content-type"), "application/octet-stream")
    content = {"size": len(body), "mimeType": kind}
    try:
        return {**content, "text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {**content, "text": b64encode(body).decode(), "encoding": "base64"}


def _write_headers(headers: Headers) -> Json:
    return [{"name": name, "value": value} for name, value in headers]


def _find_phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _write_milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
