"""Import recordings of other tools: vcrpy cassettes, HAR files, and the journal of a mockserver."""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlencode, urlsplit

from mockserver.cassettes.convert.providers import DialectRoutes, LocalTarget, dialect_of, local_target
from mockserver.config.errors import CassetteError, Mistake, Place
from mockserver.config.yaml_reader import Problem, Spot, parse
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent, header_value
from mockserver.core.http import Headers
from mockserver.core.json import Json, compact, parsed

FORMATS = "vcrpy cassettes (YAML or JSON), HAR files, and a server's journal (GET calls?bodies=true)"
EVENT_TIMES = "_beats"  # in a HAR response: [milliseconds since the request, bytes] of each event


@dataclass(frozen=True, slots=True)
class ForeignExchange:
    """A request and its answer. Bodies may still be encoded as their headers say; few tools know `events`."""

    where: str
    method: str
    url: str
    headers: Headers
    body: bytes
    status: int
    reply_headers: Headers
    reply: bytes
    events: tuple[RecordedEvent, ...] | None = None
    at: float = 0.0
    took: float = 0.0
    dialect: str = ""  # if the tool knows it


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not imported, and why; `host` is set if it belongs to no known provider."""

    where: str
    why: str
    host: str = ""


class UnreadableError(ValueError):
    """An exchange that does not follow its format."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The episodes of a file, where each was found, what was skipped, and requests to unknown hosts by host."""

    episodes: tuple[Episode, ...]
    places: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    unknown_hosts: tuple[tuple[str, int], ...] = ()


def import_file(data: bytes, file: str, routes: DialectRoutes, dialect: str | None = None) -> Imported:
    """Read the episodes of a file; `dialect` overrides that of every exchange.

    Raises CassetteError if the file is in no known format.
    """
    episodes, skipped, hosts = list[tuple[Episode, str]](), list[Skipped](), dict[str, int]()
    for one in exchanges_in(data, file):
        match one if isinstance(one, Skipped) else episode_of(one, routes, dialect):
            case Episode() as made:
                episodes.append((made, one.where))
            case Skipped(host="") as made:
                skipped.append(made)
            case Skipped(host=host):
                hosts[host] = hosts.get(host, 0) + 1
    made_of, places = zip(*episodes, strict=True) if episodes else ((), ())
    return Imported(made_of, places, tuple(skipped), tuple(hosts.items()))


def exchanges_in(data: bytes, file: str) -> Iterator[ForeignExchange | Skipped]:
    """The exchanges of a file. Raises CassetteError if it is in no known format."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CassetteError(f"{file}: cannot be imported: byte {error.start} is not UTF-8") from None
    if not text.strip():
        raise CassetteError(f"{file}: cannot be imported: the file is empty")
    return _from_json(text, file) if text.lstrip()[0] in "{[" else _from_yaml(text, file)


def _from_json(text: str, file: str) -> Iterator[ForeignExchange | Skipped]:
    try:
        root = json.loads(text)
    except RecursionError:
        raise CassetteError(f"{file}: cannot be imported: its JSON is nested too deep") from None
    except json.JSONDecodeError as error:
        place = Place(file, error.lineno, error.colno)
        raise CassetteError(Mistake(f"cannot be imported: not JSON: {error.msg}", place)) from None
    except ValueError as error:  # a number of thousands of digits
        raise CassetteError(f"{file}: cannot be imported: {error}") from None
    table = root if isinstance(root, dict) else {}
    if isinstance(table.get("log"), dict) and isinstance(table["log"].get("entries"), list):
        return _read_all(enumerate(table["log"]["entries"], 1), f"{file}: entry", _from_har)
    if "calls" in table or {"call", "reply"} <= table.keys():
        return _read_all(_journal_calls(table), f"{file}: call", _from_journal)
    if (rows := _interactions(root)) is not None:
        return _read_all(enumerate(rows, 1), f"{file}: interaction", _from_vcr)
    raise CassetteError(f"{file}: unknown format; you can import {FORMATS}")


def _read_all(
    rows: Iterable[tuple[Json, Json]], where: str, read: Callable[[Json, str], ForeignExchange]
) -> Iterator[ForeignExchange | Skipped]:
    for number, row in rows:
        yield _read_one(row, f"{where} {number}", read)


def _read_one(row: Json, where: str, read: Callable[[Json, str], ForeignExchange]) -> ForeignExchange | Skipped:
    try:
        return read(row, where)
    except UnreadableError as error:
        return Skipped(where, str(error))


def _from_yaml(text: str, file: str) -> Iterator[ForeignExchange | Skipped]:
    if _OWN.match(text):
        raise CassetteError(f"{file}: this is a mockserver cassette already: move it into the cassettes folder")
    root, spot, problems = parse(text, binary=True)
    rows = _interactions(root)
    if rows is None:
        raise CassetteError(*_mistakes(problems, text, file))
    return _from_vcr_yaml(rows, _spots(root, spot), problems, file)


def _mistakes(problems: Sequence[Problem], text: str, file: str) -> tuple[Mistake | str, ...]:
    unknown = f"{file}: unknown format; you can import {FORMATS}"
    found = tuple(Mistake(words, Place(file, line + 1, column + 1)) for words, line, column in problems)
    if found and _LISTING.search(text):
        return found
    return (f"{unknown}; read as YAML: {found[0]}" if found else unknown,)


def _from_vcr_yaml(
    rows: Sequence[Json], spots: Sequence[Spot], problems: Sequence[Problem], file: str
) -> Iterator[ForeignExchange | Skipped]:
    """The interactions of a YAML file; a problem within one costs that one only."""
    starts = [spot[0] for spot in spots]
    for at, row in enumerate(rows):
        line = f":{starts[at] + 1}" if at < len(starts) else ""
        where = f"{file}{line}: interaction {at + 1}"
        end = starts[at + 1] if at + 1 < len(starts) else float("inf")
        broken = [problem for problem in problems if at < len(starts) and starts[at] <= problem[1] < end]
        if broken:
            yield Skipped(where, f"line {broken[0][1] + 1}: {broken[0][0]}")
        else:
            yield _read_one(row, where, _from_vcr)


def _interactions(root: Json) -> list[Json] | None:
    if isinstance(root, Mapping):
        root = root.get("interactions", root.get("http_interactions"))
    exchanged = isinstance(root, list) and all(isinstance(row, Mapping) and "request" in row for row in root)
    return root if exchanged else None


def _spots(root: Json, spot: Spot) -> Sequence[Spot]:
    inner = spot[2]
    if isinstance(root, Mapping):
        named = inner.get("interactions") or inner.get("http_interactions")
        inner = named[2][2] if named else None
    return inner if isinstance(inner, list) else ()


def _from_har(entry: Json, where: str) -> ForeignExchange:
    request, response = _table(entry, "request"), _table(entry, "response")
    if not isinstance(request.get("url"), str):
        raise UnreadableError("its request has no url")
    body = _har_content(response.get("content"))
    return ForeignExchange(
        where=where,
        method=str(request.get("method") or "GET").upper(),
        url=request["url"],
        headers=header_pairs(request.get("headers")),
        body=_har_posted(request.get("postData")),
        status=_status(response.get("status")),
        reply_headers=_har_headers(response),
        reply=body,
        events=_har_events(response.get(EVENT_TIMES), body),
        at=timestamp(entry.get("startedDateTime")),
        took=_seconds(entry.get("time")),
    )


def _har_headers(response: Mapping[str, Json]) -> Headers:
    """The headers; a log without any still knows the type of the content."""
    headers, content = header_pairs(response.get("headers")), response.get("content")
    kind = content.get("mimeType") if isinstance(content, Mapping) else None
    if isinstance(kind, str) and kind and all(name != "content-type" for name, _ in headers):
        return (*headers, ("content-type", kind))
    return headers


def _har_content(content: Json) -> bytes:
    text = content.get("text") if isinstance(content, Mapping) else None
    if not isinstance(text, str):
        return b""
    return _from_base64(text, "content") if content.get("encoding") == "base64" else _to_bytes(text)


def _har_posted(posted: Json) -> bytes:
    """What was sent: text, or the parameters of a form."""
    if not isinstance(posted, Mapping):
        return b""
    if isinstance(posted.get("text"), str) and (posted["text"] or not posted.get("params")):
        return _har_content(posted)
    params = [row for row in posted.get("params") or () if isinstance(row, Mapping)]
    return urlencode([(str(row.get("name")), str(row.get("value", ""))) for row in params]).encode()


def _har_events(times: Json, body: bytes) -> tuple[RecordedEvent, ...] | None:
    """The events of a stream, if their times are given and fit the body."""
    if not isinstance(times, list) or not all(_is_event_time(each) for each in times):
        return None
    if sum(size for _, size in times) != len(body):
        return None
    events, start = list[RecordedEvent](), 0
    for milliseconds, size in times:
        events.append((milliseconds / 1000, body[start : start + size]))
        start += size
    return tuple(events)


def _is_event_time(pair: Json) -> bool:
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    return isinstance(pair[0], int | float) and isinstance(pair[1], int) and pair[1] >= 0


def _journal_calls(root: Mapping[str, Json]) -> Iterator[tuple[Json, Json]]:
    calls = root.get("calls", [root])
    for at, call in enumerate(calls if isinstance(calls, list) else [], 1):
        yield (call.get("call", at) if isinstance(call, Mapping) else at), call


def _from_journal(call: Json, where: str) -> ForeignExchange:
    if not isinstance(call, Mapping):
        raise UnreadableError("it is no table")
    request, reply = call.get("request"), call.get("reply")
    if not isinstance(request, Mapping) or not isinstance(reply, Mapping):
        raise UnreadableError("it has no bodies: ask for calls?bodies=true")
    if "cut_off" in request or "cut_off" in reply:
        raise UnreadableError("the journal did not keep all of it")
    if call.get("ended") != "complete":
        raise UnreadableError(f"its answer is incomplete: {call.get('ended')}")
    query = request.get("query")
    url = f"{request.get('path')}" + (f"?{urlencode(query)}" if query and isinstance(query, Mapping) else "")
    headers = header_pairs(reply.get("headers"))
    return ForeignExchange(
        where=where,
        method=str(request.get("method") or "GET"),
        url=url,
        headers=header_pairs(request.get("headers")),
        body=_journal_body(request.get("body")),
        status=_status(reply.get("status")),
        reply_headers=tuple((name, value) for name, value in headers if not name.startswith("x-mockserver-")),
        reply=_journal_body(reply.get("body")),
        events=_journal_events(reply.get("frames")),
        at=timestamp(call.get("at")),
        took=_seconds(call.get("elapsed_ms")),
        dialect=call["dialect"] if isinstance(call.get("dialect"), str) else "",
    )


def _journal_body(body: Json) -> bytes:
    """A body as bytes; the journal shows JSON parsed, so it is serialised again."""
    return b"" if body is None else _to_bytes(body if isinstance(body, str) else compact(body))


def _journal_events(frames: Json) -> tuple[RecordedEvent, ...] | None:
    if frames is None:
        return None
    if not isinstance(frames, list) or not all(isinstance(frame, Mapping) for frame in frames):
        raise UnreadableError("its frames are not a list of tables")
    return tuple((_seconds(frame.get("at_ms")), _journal_event(frame)) for frame in frames)


def _journal_event(frame: Mapping[str, Json]) -> bytes:
    """An event as it was sent, or a comment."""
    data = _journal_body(frame.get("data"))
    if data.startswith(b":") and not frame.get("event"):
        return data + b"\n\n"
    named = _to_bytes(f"event: {frame['event']}\n") if frame.get("event") else b""
    return named + b"".join(b"data: %s\n" % line for line in data.split(b"\n")) + b"\n"


def _from_vcr(interaction: Mapping[str, Json], where: str) -> ForeignExchange:
    request, response = interaction.get("request"), interaction.get("response")
    if not isinstance(request, Mapping) or not isinstance(response, Mapping):
        raise UnreadableError("it has no request and response")
    url, status = request.get("uri", request.get("url")), response.get("status")
    if not isinstance(url, str):
        raise UnreadableError("its request has no uri")
    return ForeignExchange(
        where=where,
        method=str(request.get("method") or "GET").upper(),
        url=url,
        headers=header_pairs(request.get("headers")),
        body=_vcr_body(request),
        status=_status(status.get("code") if isinstance(status, Mapping) else status),
        reply_headers=header_pairs(response.get("headers")),
        reply=_vcr_body(response),
        at=timestamp(interaction.get("recorded_at")),
    )


def _vcr_body(message: Mapping[str, Json]) -> bytes:
    if message.get("parsed_body") is not None:
        return _to_bytes(compact(message["parsed_body"]))
    return _vcr_bytes(message.get("body", message.get("content")))


def _vcr_bytes(body: Json) -> bytes:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return _to_bytes(body)
        case {"base64_string": str(coded)}:
            return _from_base64("".join(coded.split()), "body")
        case {"string": inner}:
            return _vcr_bytes(inner)
        case Mapping() if not body:
            return b""
    raise UnreadableError("its body is neither text nor base64")


def _table(entry: Json, name: str) -> Mapping[str, Json]:
    found = entry.get(name) if isinstance(entry, Mapping) else None
    if not isinstance(found, Mapping):
        raise UnreadableError(f"it has no {name}")
    return found


def header_pairs(headers: Json) -> Headers:
    """Headers as pairs, from a table of texts or lists, or a list of {name, value}. Raises UnreadableError."""
    pairs = list[tuple[str, Json]]()
    if isinstance(headers, Mapping):
        for name, value in headers.items():
            pairs += [(str(name), each) for each in (value if isinstance(value, list) else [value])]
    elif isinstance(headers, list):
        pairs = [(str(row.get("name")), row.get("value")) for row in headers if isinstance(row, Mapping)]
    elif headers is not None:
        raise UnreadableError("its headers are not a table")
    return tuple((name.lower(), _header_text(value)) for name, value in pairs if _NAME.fullmatch(name))


def _header_text(value: Json) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")


def timestamp(text: Json) -> float:
    """The Unix time of an ISO 8601 text, in UTC unless it says otherwise; 0 if it is not one."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return 0.0
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _seconds(milliseconds: Json) -> float:
    return max(0.0, milliseconds / 1000) if isinstance(milliseconds, int | float) else 0.0


def _status(status: Json) -> int:
    return status if isinstance(status, int) else 0


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # JSON can hold half a character


def _from_base64(text: str, what: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise UnreadableError(f"its {what} is not valid base64") from None


def episode_of(found: ForeignExchange, routes: DialectRoutes, dialect: str | None = None) -> Episode | Skipped:
    """The episode of an exchange, or why there is none."""
    try:
        own = found.dialect if found.dialect in routes.mounts else None
        name = dialect or own or dialect_of(found.url, routes)
        if name is None:
            return Skipped(found.where, "no known provider", urlsplit(found.url).hostname or found.url[:60])
        target = local_target(found.method, found.url, name, routes)
        if target is None:
            return Skipped(found.where, f"{name} has no {found.method} {urlsplit(found.url).path[:80]}")
        return _episode(found, target, routes)
    except UnreadableError as error:
        return Skipped(found.where, str(error))
    except ValueError:  # urlsplit
        return Skipped(found.where, f"{found.url[:80]!r} is not a URL")


def _episode(found: ForeignExchange, target: LocalTarget, routes: DialectRoutes) -> Episode:
    if not 200 <= found.status <= 599 or 300 <= found.status < 400:
        raise UnreadableError(f"its answer cannot be replayed (status {found.status})")
    body = _decoded(found.headers, found.body, routes, "request")
    sent = Sent(found.method, target.path, target.query, _kept(found.headers), body)
    at = found.at or _date(header_value(found.reply_headers, "date"))
    return Episode(target.dialect, target.operation, _model(sent), sent, _reply(found, routes), at)


def _reply(found: ForeignExchange, routes: DialectRoutes) -> Recorded:
    headers = _kept(found.reply_headers)
    if found.events is not None:
        return Recorded(found.status, headers, frames=found.events, took=found.took)
    body = _decoded(found.reply_headers, found.reply, routes, "answer")
    if "event-stream" in header_value(headers, "content-type"):
        if not body:
            raise UnreadableError("the recording lacks the body of its stream")
        return Recorded(found.status, headers, frames=split_events(body), took=found.took)
    if not body and found.status not in (204, 205) and header_value(found.reply_headers, "content-length") != "0":
        raise UnreadableError("the recording lacks the body of its answer")
    return Recorded(found.status, headers, body, took=found.took)


def split_events(body: bytes) -> tuple[RecordedEvent, ...]:
    """The events of a joined stream, each with the blank line that ends it; their times are unknown, hence 0."""
    ends = [found.end() for found in _END.finditer(body)]
    if not ends or ends[-1] < len(body):
        ends.append(len(body))
    return tuple((0.0, body[start:end]) for start, end in zip([0, *ends], ends, strict=False))


def _decoded(headers: Headers, body: bytes, routes: DialectRoutes, what: str) -> bytes:
    """A body without its content codings. Most tools undo them and leave the header: text is not encoded any more."""
    if not header_value(headers, "content-encoding") or not body or _is_text(body):
        return body
    try:
        return routes.decode(headers, body)
    except ValueError as error:
        raise UnreadableError(f"the body of its {what} cannot be decoded: {error}") from None


def _is_text(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _kept(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name not in _HOP_BY_HOP)


def _model(sent: Sent) -> str:
    body = parsed(sent.body.decode("utf-8", "replace"))
    named = body.get("model") if isinstance(body, dict) else None
    deployed = _DEPLOYMENT.search(sent.path)
    return named if isinstance(named, str) else deployed[1] if deployed else ""


def _date(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return 0.0


_OWN = re.compile(r"(?:#[^\n]*+\n|(?:---)?[ \t\r]*+\n)*+version:[ \t]*+\d++[ \t\r]*+\n---")
_LISTING = re.compile(r"^(?:(?:http_)?interactions[ \t]*+:|-[ \t]++request\b)", re.MULTILINE)
_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_END = re.compile(rb"(?:\r\n\r\n|\n\n|\r\r)[\r\n]*")
_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/")
# Headers of one connection, and of a body that is no longer as it was sent.
_HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade"),
        *("content-length", "content-encoding", "host", "accept-encoding"),
    )
)
