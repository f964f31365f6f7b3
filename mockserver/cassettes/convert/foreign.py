"""HAR 1.2, as browsers and proxies write it; and the beats that our own export puts beside a stream."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol
from urllib.parse import unquote, urlencode, urlsplit

from mockserver.core.episode import Beat
from mockserver.core.http import Headers, is_loopback
from mockserver.core.json import Json, compact


@dataclass(frozen=True, slots=True)
class Foreign:
    """A request and its answer. Bodies may still be coded, as their headers say; `beats` are known to few tools."""

    where: str
    method: str
    url: str
    headers: Headers
    body: bytes
    status: int
    reply_headers: Headers
    reply: bytes
    beats: tuple[Beat, ...] | None = None
    at: float = 0.0
    took: float = 0.0
    dialect: str = ""  # where the tool knows it


@dataclass(frozen=True, slots=True)
class Left:
    """What was not taken over, and why; `host` where it is no provider's and nobody would have expected it."""

    where: str
    why: str
    host: str = ""


class UnfitError(ValueError):
    """An exchange that is not as its format has it; says what is wrong."""


def listed(headers: Json) -> Headers:
    """Headers as pairs: of a table of texts or of lists of these, or of a list of {name, value}. Raises UnfitError."""
    pairs = list[tuple[str, Json]]()
    if isinstance(headers, Mapping):
        pairs = [(str(name), each) for name, value in headers.items() for each in _several(value)]
    elif isinstance(headers, list):
        pairs = [(str(row.get("name")), row.get("value")) for row in headers if isinstance(row, Mapping)]
    elif headers is not None:
        raise UnfitError("its headers are no table")
    return tuple((name.lower(), _text(value)) for name, value in pairs if _NAME.fullmatch(name))


def _several(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _text(value: Json) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")


def moment(text: Json) -> float:
    """The Unix time of an ISO 8601 one, in UTC where it does not say; 0 where it is none."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return 0.0
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def encoded(text: str) -> bytes:
    """A text as bytes; half a character, which JSON can hold, as the bytes that would be half of it."""
    return text.encode("utf-8", "surrogatepass")


def header(headers: Headers, name: str) -> str:
    """The values of a header, with commas between; an empty text where it is absent."""
    return ", ".join(value for key, value in headers if key == name)


_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Known:
    """What importing is told of the dialects: where each is mounted; which operation a method and path reach; how

    codings are taken off a body (it raises ValueError where they cannot be).
    """

    mounts: Mapping[str, tuple[str, ...]]
    operation: Callable[[str, str], str | None]
    plain: Callable[[Headers, bytes], bytes]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a URL leads in this server."""

    dialect: str
    path: str
    query: str
    operation: str


def dialect_of(url: str, known: Known) -> str | None:
    """Whose the host of a URL is; of a server of ours the path tells it. None: nobody's that is known."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if is_loopback(host) or not host:
        path = _bare(parts.path)
        mounted = (name for name, mounts in known.mounts.items() for mount in mounts if path.startswith(f"{mount}/"))
        return next(mounted, "openai" if path.startswith("/v1/") else None)
    for pattern, path, dialect in _HOSTS:
        if pattern.fullmatch(host) and parts.path.startswith(path):
            return dialect
    return None


def spot(method: str, url: str, dialect: str, known: Known) -> Spot | None:
    """Where a URL leads in this server as one of this dialect; None: to nothing that the dialect has."""
    parts = urlsplit(url)
    segments = unquote(_bare(parts.path)).split("/")[1:]
    tails = ["/".join(segments[at:]) for at in range(len(segments))]
    for path in (f"{mount}/{tail}" for tail in tails for mount in known.mounts[dialect]):
        if operation := known.operation(method, path):
            return Spot(dialect, path, parts.query, operation)
    return None


def _bare(path: str) -> str:
    """The path without the namespace of a server of ours."""
    return _NAMESPACE.sub("/", path, count=1)


_NAMESPACE = re.compile(r"^/ns/[^/]+/")
# Hosts, the beginning of the path where a host serves several, and the dialect spoken there.
_HOSTS = tuple(
    (re.compile(host), path, dialect)
    for host, path, dialect in (
        (r"(?:[a-z]{2}\.)?api\.openai\.com", "/", "openai"),
        (r"[^.]+\.openai\.azure\.(?:com|us|cn)", "/", "azure_openai"),
        (r"[^.]+\.(?:cognitiveservices|services\.ai)\.azure\.com", "/openai/", "azure_openai"),
        (r"[^.]+\.services\.ai\.azure\.com", "/", "azure"),
        (r"models\.inference\.ai\.azure\.com", "/", "azure"),
        (r"(?:[^.]+\.)+(?:inference|models|inference\.ml)\.(?:ai\.)?azure\.com", "/", "azure"),
        (r"models\.github\.ai", "/", "azure"),
        (r"api\.fireworks\.ai", "/", "fireworks"),
        (r"api\.(?:tzafon|lightcone)\.ai", "/", "tzafon"),
        (r"api\.skytells\.ai", "/", "skytells"),
        (r"(?:api\.)?crazyrouter\.com", "/", "crazyrouter"),
    )
)


BEATS = "_beats"  # of a response: [milliseconds since the request, bytes] of each event


def of_har(root: Mapping[str, Json], file: str) -> Iterator[Foreign | Left]:
    """The exchanges of a log."""
    for at, entry in enumerate(root["log"]["entries"], 1):
        where = f"{file}: entry {at}"
        try:
            yield _foreign(entry, where)
        except UnfitError as unfit:
            yield Left(where, str(unfit))


def _foreign(entry: Json, where: str) -> Foreign:
    request, response = _table(entry, "request"), _table(entry, "response")
    if not isinstance(request.get("url"), str):
        raise UnfitError("its request has no url")
    body = _content(response.get("content"))
    status, took = response.get("status"), entry.get("time")
    return Foreign(
        where=where,
        method=str(request.get("method") or "GET").upper(),
        url=request["url"],
        headers=listed(request.get("headers")),
        body=_posted(request.get("postData")),
        status=status if isinstance(status, int) else 0,
        reply_headers=_headers(response),
        reply=body,
        beats=_beats(response.get(BEATS), body),
        at=moment(entry.get("startedDateTime")),
        took=max(0.0, took / 1000) if isinstance(took, int | float) else 0.0,
    )


def _table(entry: Json, name: str) -> Mapping[str, Json]:
    found = entry.get(name) if isinstance(entry, Mapping) else None
    if not isinstance(found, Mapping):
        raise UnfitError(f"it has no {name}")
    return found


def _headers(response: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """The headers; a log that has none of them still knows the type of the content."""
    headers = listed(response.get("headers"))
    content = response.get("content")
    kind = content.get("mimeType") if isinstance(content, Mapping) else None
    if isinstance(kind, str) and kind and all(name != "content-type" for name, _ in headers):
        return (*headers, ("content-type", kind))
    return headers


def _content(content: Json) -> bytes:
    text = content.get("text") if isinstance(content, Mapping) else None
    if not isinstance(text, str):
        return b""
    if content.get("encoding") != "base64":
        return encoded(text)
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise UnfitError("its content is not the base64 that it is said to be") from None


def _posted(posted: Json) -> bytes:
    """What was sent: text, or the parameters of a form."""
    if not isinstance(posted, Mapping):
        return b""
    if isinstance(posted.get("text"), str) and (posted["text"] or not posted.get("params")):
        return _content(posted)
    params = [row for row in posted.get("params") or () if isinstance(row, Mapping)]
    return urlencode([(str(row.get("name")), str(row.get("value", ""))) for row in params]).encode()


def _beats(stated: Json, body: bytes) -> tuple[Beat, ...] | None:
    """The events of a stream, where they are stated and fit the body."""
    if not isinstance(stated, list) or not all(_is_beat(beat) for beat in stated):
        return None
    if sum(size for _, size in stated) != len(body):
        return None
    beats, start = list[Beat](), 0
    for milliseconds, size in stated:
        beats.append((milliseconds / 1000, body[start : start + size]))
        start += size
    return tuple(beats)


def _is_beat(beat: Json) -> bool:
    return isinstance(beat, list) and len(beat) == 2 and isinstance(beat[0], int | float) and _is_size(beat[1])


def _is_size(value: Json) -> bool:
    return isinstance(value, int) and value >= 0


def of_journal(root: Mapping[str, Json], file: str) -> Iterator[Foreign | Left]:
    """The exchanges of a journal."""
    calls = root.get("calls", [root])
    for at, call in enumerate(calls if isinstance(calls, list) else [], 1):
        number = call.get("call", at) if isinstance(call, Mapping) else at
        where = f"{file}: call {number}"
        try:
            yield _journal_foreign(call, where)
        except UnfitError as unfit:
            yield Left(where, str(unfit))


def _journal_foreign(call: Json, where: str) -> Foreign:
    if not isinstance(call, Mapping):
        raise UnfitError("it is no table")
    request, reply = call.get("request"), call.get("reply")
    if not isinstance(request, Mapping) or not isinstance(reply, Mapping):
        raise UnfitError("it has no bodies: ask for calls?bodies=true")
    if "cut_off" in request or "cut_off" in reply:
        raise UnfitError("the journal did not keep all of it")
    if call.get("ended") != "complete":
        raise UnfitError(f"its answer did not end well: {call.get('ended')}")
    query, status = request.get("query"), reply.get("status")
    headers = listed(reply.get("headers"))
    return Foreign(
        where=where,
        method=str(request.get("method") or "GET"),
        url=_url(request, query if isinstance(query, Mapping) else {}),
        headers=listed(request.get("headers")),
        body=_body(request.get("body")),
        status=status if isinstance(status, int) else 0,
        reply_headers=tuple((name, value) for name, value in headers if not name.startswith("x-mockserver-")),
        reply=_body(reply.get("body")),
        beats=_journal_beats(reply.get("frames")),
        at=moment(call.get("at")),
        took=_seconds(call.get("elapsed_ms")),
        dialect=call["dialect"] if isinstance(call.get("dialect"), str) else "",
    )


def _url(request: Mapping[str, Json], query: Mapping[str, Json]) -> str:
    return f"{request.get('path')}" + (f"?{urlencode(query)}" if query else "")


def _body(body: Json) -> bytes:
    """A body as bytes: JSON was parsed to be shown, and is written anew."""
    if body is None:
        return b""
    return encoded(body if isinstance(body, str) else compact(body))


def _journal_beats(stated: Json) -> tuple[Beat, ...] | None:
    if stated is None:
        return None
    if not isinstance(stated, list) or not all(isinstance(frame, Mapping) for frame in stated):
        raise UnfitError("its frames are no list of tables")
    return tuple((_seconds(frame.get("at_ms")), _event(frame)) for frame in stated)


def _event(frame: Mapping[str, Json]) -> bytes:
    """An event as it was sent, or a comment."""
    data = _body(frame.get("data"))
    if data.startswith(b":") and not frame.get("event"):
        return data + b"\n\n"
    named = encoded(f"event: {frame['event']}\n") if frame.get("event") else b""
    return named + b"".join(b"data: %s\n" % line for line in data.split(b"\n")) + b"\n"


def _seconds(milliseconds: Json) -> float:
    return max(0.0, milliseconds / 1000) if isinstance(milliseconds, int | float) else 0.0


class Lines(Protocol):
    """Where interactions stand."""

    def where(self, at: int) -> str:
        """How the place of one is told."""

    def broken(self, at: int) -> str:
        """What is wrong with one as YAML, if anything is."""


def of_vcr(interactions: Sequence[Json], lines: Lines) -> Iterator[Foreign | Left]:
    """The exchanges of a cassette."""
    for at, interaction in enumerate(interactions):
        broken = lines.broken(at)
        try:
            yield Left(lines.where(at), broken) if broken else _vcr_foreign(interaction, lines.where(at))
        except UnfitError as unfit:
            yield Left(lines.where(at), str(unfit))


def _vcr_foreign(interaction: Mapping[str, Json], where: str) -> Foreign:
    request, response = interaction.get("request"), interaction.get("response")
    if not isinstance(request, Mapping) or not isinstance(response, Mapping):
        raise UnfitError("it has no request and response")
    url = request.get("uri", request.get("url"))
    if not isinstance(url, str):
        raise UnfitError("its request has no uri")
    return Foreign(
        where=where,
        method=str(request.get("method") or "GET").upper(),
        url=url,
        headers=listed(request.get("headers")),
        body=_vcr_body(request),
        status=_status(response),
        reply_headers=listed(response.get("headers")),
        reply=_vcr_body(response),
        at=moment(interaction.get("recorded_at")),
    )


def _status(response: Mapping[str, Json]) -> int:
    status = response.get("status")
    code = status.get("code") if isinstance(status, Mapping) else status
    return code if isinstance(code, int) else 0


def _vcr_body(message: Mapping[str, Json]) -> bytes:
    """A body: text, bytes, JSON that was parsed, or a table that holds one of these. Raises UnfitError."""
    if message.get("parsed_body") is not None:
        return encoded(compact(message["parsed_body"]))
    return _bytes(message.get("body", message.get("content")))


def _bytes(body: Json) -> bytes:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return encoded(body)
        case {"base64_string": str(coded)}:
            return _decoded(coded)
        case {"string": held}:
            return _bytes(held)
        case Mapping() if not body:
            return b""
    raise UnfitError("its body is neither text nor base64")


def _decoded(coded: str) -> bytes:
    try:
        return b64decode("".join(coded.split()), validate=True)
    except ValueError:
        raise UnfitError("its body is not the base64 that it is said to be") from None
