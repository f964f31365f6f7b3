"""Import vcrpy cassettes and HAR files, and export HAR 1.2."""

import json
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct

from mockserver.cassettes.addresses import DialectRoutes, dialect_of, local_target
from mockserver.config.errors import CassetteError, Mistake, SourceLocation
from mockserver.config.yaml_reader import parse
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent, header_value
from mockserver.core.http import HOP_BY_HOP, Headers
from mockserver.core.json import Json, parsed

FORMATS = "vcrpy cassettes (YAML or JSON) and HAR files"


class ForeignExchange(Struct, frozen=True):
    """A request and its answer. Bodies may still be encoded as their headers say."""

    method: str
    url: str
    headers: Headers
    body: bytes
    status: int
    reply_headers: Headers
    reply: bytes
    at: float = 0.0
    took: float = 0.0


class UnreadableError(Exception):
    """Why an exchange cannot be imported."""


class UnknownHostError(Exception):
    """The host of an exchange that belongs to no known provider."""


class Imported(Struct, frozen=True):
    """The episodes of a file and what was skipped, each with its place, and the requests to each unknown host."""

    episodes: tuple[tuple[str, Episode], ...]
    skipped: tuple[tuple[str, str], ...]
    unknown_hosts: Mapping[str, int]


Reader = Callable[[Json], ForeignExchange]
Rows = Iterable[tuple[str, Json]]  # with the place of each


def import_file(data: bytes, file: str, routes: DialectRoutes, dialect: str | None = None) -> Imported:
    """Read the episodes of a file; `dialect` overrides that of every exchange.

    Raises CassetteError if the file is in no known format.
    """
    episodes, skipped, hosts = list[tuple[str, Episode]](), list[tuple[str, str]](), Counter[str]()
    rows, read = _rows(data, file)
    for where, row in rows:
        try:
            episodes.append((where, episode_of(read(row), routes, dialect)))
        except UnreadableError as error:
            skipped.append((where, str(error)))
        except UnknownHostError as error:
            hosts[str(error)] += 1
    return Imported(tuple(episodes), tuple(skipped), hosts)


def _rows(data: bytes, file: str) -> tuple[Rows, Reader]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CassetteError(f"{file}: cannot be imported: byte {error.start} is not UTF-8") from None
    if not text.strip():
        raise CassetteError(f"{file}: cannot be imported: the file is empty")
    return _from_json(text, file) if text.lstrip()[0] in "{[" else _from_yaml(text, file)


def _from_json(text: str, file: str) -> tuple[Rows, Reader]:
    try:
        root = json.loads(text)
    except RecursionError:
        raise CassetteError(f"{file}: cannot be imported: its JSON is nested too deep") from None
    except json.JSONDecodeError as error:
        place = SourceLocation(file, error.lineno, error.colno)
        raise CassetteError(Mistake(f"cannot be imported: not JSON: {error.msg}", place)) from None
    except ValueError as error:  # a number of thousands of digits
        raise CassetteError(f"{file}: cannot be imported: {error}") from None
    log = root.get("log") if isinstance(root, dict) else None
    if isinstance(log, dict) and isinstance(log.get("entries"), list):
        return ((f"{file}: entry {number}", row) for number, row in enumerate(log["entries"], 1)), _from_har
    if (rows := _interactions(root)) is not None:
        return ((f"{file}: interaction {number}", row) for number, row in enumerate(rows, 1)), _from_vcr
    raise CassetteError(f"{file}: unknown format; you can import {FORMATS}")


def _from_yaml(text: str, file: str) -> tuple[Rows, Reader]:
    if _OWN.match(text):
        raise CassetteError(f"{file}: this is a mockserver cassette already: move it into the cassettes folder")
    root, (_, _, inner), problems = parse(text, binary=True)
    mistakes = [Mistake(words, SourceLocation(file, line + 1, column + 1)) for words, line, column in problems]
    rows, listing = _interactions(root), _LISTING.search(text)
    if mistakes and listing:
        raise CassetteError(*mistakes)
    if rows is None:
        hint = f"; read as YAML: {mistakes[0]}" if mistakes else ""
        raise CassetteError(f"{file}: unknown format; you can import {FORMATS}{hint}")
    spots = inner["interactions"][2][2] if isinstance(root, Mapping) else inner
    places = (f"{file}:{line + 1}: interaction {number}" for number, (line, _, _) in enumerate(spots, 1))
    return zip(places, rows, strict=True), _from_vcr


def _interactions(root: Json) -> list[Json] | None:
    rows = root.get("interactions") if isinstance(root, Mapping) else root
    exchanged = isinstance(rows, list) and all(isinstance(row, Mapping) and "request" in row for row in rows)
    return rows if exchanged else None


def _from_har(entry: Json) -> ForeignExchange:
    request, response, time = _table(entry, "request"), _table(entry, "response"), entry.get("time")
    if not isinstance(request.get("url"), str):
        raise UnreadableError("its request has no url")
    return ForeignExchange(
        method=str(request.get("method") or "GET").upper(),
        url=request["url"],
        headers=header_pairs(request.get("headers")),
        body=_har_posted(request.get("postData")),
        status=_status(response.get("status")),
        reply_headers=_har_headers(response),
        reply=_har_content(response.get("content")),
        at=timestamp(entry.get("startedDateTime")),
        took=max(0.0, time / 1000) if isinstance(time, int | float) else 0.0,
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
    if not isinstance(posted, Mapping):
        return b""
    if isinstance(posted.get("text"), str) and (posted["text"] or not posted.get("params")):
        return _har_content(posted)
    params = [row for row in posted.get("params") or () if isinstance(row, Mapping)]
    return urlencode([(str(row.get("name")), str(row.get("value", ""))) for row in params]).encode()


def _from_vcr(interaction: Mapping[str, Json]) -> ForeignExchange:
    request, response = interaction.get("request"), interaction.get("response")
    if not isinstance(request, Mapping) or not isinstance(response, Mapping):
        raise UnreadableError("it has no request and response")
    url, status = request.get("uri", request.get("url")), response.get("status")
    if not isinstance(url, str):
        raise UnreadableError("its request has no uri")
    return ForeignExchange(
        method=str(request.get("method") or "GET").upper(),
        url=url,
        headers=header_pairs(request.get("headers")),
        body=_vcr_body(request.get("body")),
        status=_status(status.get("code") if isinstance(status, Mapping) else status),
        reply_headers=header_pairs(response.get("headers")),
        reply=_vcr_body(response.get("body", response.get("content"))),
        at=timestamp(interaction.get("recorded_at")),
    )


def _vcr_body(body: Json) -> bytes:
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
            return _vcr_body(inner)
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


def _status(status: Json) -> int:
    return status if isinstance(status, int) else 0


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # JSON can hold half a character


def _from_base64(text: str, what: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise UnreadableError(f"its {what} is not valid base64") from None


def episode_of(found: ForeignExchange, routes: DialectRoutes, dialect: str | None = None) -> Episode:
    """The episode of an exchange. Raises UnreadableError or UnknownHostError."""
    try:
        host, path = urlsplit(found.url).hostname, urlsplit(found.url).path
        name = dialect or dialect_of(found.url, routes)
    except ValueError:
        raise UnreadableError(f"{found.url[:80]!r} is not a URL") from None
    if name is None:
        raise UnknownHostError(host or found.url[:60])
    target = local_target(found.method, found.url, name, routes)
    if target is None:
        raise UnreadableError(f"{name} has no {found.method} {path[:80]}")
    if not 200 <= found.status <= 599 or 300 <= found.status < 400:
        raise UnreadableError(f"its answer cannot be replayed (status {found.status})")
    body = _decoded(found.headers, found.body, routes, "request")
    path, operation = target
    sent = Sent(found.method, path, urlsplit(found.url).query, _kept(found.headers), body)
    at = found.at or _date(header_value(found.reply_headers, "date"))
    return Episode(name, operation, _model(sent), sent, _reply(found, routes), at)


def _reply(found: ForeignExchange, routes: DialectRoutes) -> Recorded:
    headers, body = _kept(found.reply_headers), _decoded(found.reply_headers, found.reply, routes, "answer")
    is_stream = "event-stream" in header_value(headers, "content-type")
    is_empty = found.status in (204, 205) or header_value(found.reply_headers, "content-length") == "0"
    if not body and (is_stream or not is_empty):
        raise UnreadableError(f"the recording lacks the body of its {'stream' if is_stream else 'answer'}")
    if is_stream:
        return Recorded(found.status, headers, frames=split_events(body), took=found.took)
    return Recorded(found.status, headers, body, took=found.took)


def split_events(body: bytes) -> tuple[RecordedEvent, ...]:
    """The events of a joined stream, each with the blank line that ends it; their times are unknown, hence 0."""
    ends = [found.end() for found in _END.finditer(body)]
    if not ends or ends[-1] < len(body):
        ends.append(len(body))
    return tuple((0.0, body[start:end]) for start, end in zip([0, *ends], ends, strict=False))


def _decoded(headers: Headers, body: bytes, routes: DialectRoutes, what: str) -> bytes:
    """A body without its content codings. Most tools undo them and leave the header: text is not encoded any more."""
    if not header_value(headers, "content-encoding"):
        return body
    try:
        body.decode("utf-8")
        return body
    except UnicodeDecodeError:
        pass
    try:
        return routes.decode(headers, body)
    except ValueError as error:
        raise UnreadableError(f"the body of its {what} cannot be decoded: {error}") from None


def _kept(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name not in _LEFT_OUT)


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
_LISTING = re.compile(r"^(?:interactions[ \t]*+:|-[ \t]++request\b)", re.MULTILINE)
_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_END = re.compile(rb"(?:\r\n\r\n|\n\n|\r\r)[\r\n]*")
_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/")
# Headers of one connection, and of a body that is no longer as it was sent.
_LEFT_OUT = HOP_BY_HOP | {"content-length", "content-encoding", "host", "accept-encoding"}


def har(episodes: Iterable[Episode], version: str, addresses: Mapping[str, str]) -> Json:
    """A HAR log; `addresses`: the URL of each provider, by the mount of its dialect."""
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "mockserver", "version": version},
            "entries": [_entry(episode, addresses) for episode in episodes],
        }
    }


def _entry(episode: Episode, addresses: Mapping[str, str]) -> Json:
    reply = episode.reply
    first = reply.frames[0][0] if reply.frames else reply.took
    took = max(reply.took, first)
    return {
        "startedDateTime": datetime.fromtimestamp(episode.at, UTC).isoformat(timespec="milliseconds"),
        "time": _ms(took),
        "request": _request(episode.request, addresses),
        "response": _response(reply),
        "cache": {},
        "timings": {"send": 0, "wait": _ms(first), "receive": _ms(took - first)},
        "comment": f"{episode.dialect} {episode.operation} {episode.model}".strip(),
    }


def _request(sent: Sent, addresses: Mapping[str, str]) -> Json:
    posted = {"postData": _post_data(sent)} if sent.body else {}
    return {
        "method": sent.method,
        "url": _url(sent, addresses),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(sent.headers),
        "queryString": [
            {"name": name, "value": value} for name, value in parse_qsl(sent.query, keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": len(sent.body),
        **posted,
    }


def _url(sent: Sent, addresses: Mapping[str, str]) -> str:
    """The URL of the request at the provider, or at a local server if that is unknown."""
    query = f"?{sent.query}" if sent.query else ""
    path = quote(sent.path, safe="/:@!$&'()*+,;=~-._")
    for mount, address in addresses.items():
        if path.startswith(f"{mount}/"):
            return address + path.removeprefix(mount) + query
    return f"http://127.0.0.1:8000{path}{query}"


def _post_data(sent: Sent) -> Json:
    # HAR has no base64 here: bytes that are not text are replaced.
    kind = next((value for name, value in sent.headers if name == "content-type"), "application/json")
    return {"mimeType": kind, "text": sent.body.decode("utf-8", "replace")}


def _response(reply: Recorded) -> Json:
    body = reply.bytes
    return {
        "status": reply.status,
        "statusText": _phrase(reply.status),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(reply.headers),
        "content": _content(body, reply.headers),
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": len(body),
    }


def _content(body: bytes, headers: Headers) -> Json:
    kind = next((value for name, value in headers if name == "content-type"), "application/octet-stream")
    content = {"size": len(body), "mimeType": kind}
    try:
        return {**content, "text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {**content, "text": b64encode(body).decode(), "encoding": "base64"}


def _headers(headers: Headers) -> Json:
    return [{"name": name, "value": value} for name, value in headers]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
