"""Reads recordings that other tools made: the files of any recorder become exchanges of a request and an answer."""

import json
import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from gzip import BadGzipFile, GzipFile
from io import BytesIO
from itertools import zip_longest
from typing import NamedTuple
from urllib.parse import urlencode

from msgspec import Struct

from mockserver.config.errors import CassetteError, Mistake, SourceLocation
from mockserver.config.yaml_reader import KeySpot, Spot, YamlProblem
from mockserver.config.yaml_reader import parse as parse_yaml
from mockserver.core.http import HEADER_NAME, Headers
from mockserver.core.json import Json, compact, find_in
from mockserver.core.text import limit_lines, show_value

MAX_UNPACKED = 200_000_000  # bytes of a file


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


class RecordingRow(Struct, frozen=True):
    """An exchange as its file has it; `path`: the keys that lead to it from the root."""

    path: tuple[str | int, ...]
    content: Json


class RecorderFormat(Struct, frozen=True, kw_only=True):
    """A tool that records, and how its files are recognised and read.

    `find_rows` returns None for a root that this tool did not write. `read` raises UnreadableError.
    """

    name: str
    noun: str  # what the tool calls an exchange
    find_rows: Callable[[Json], Sequence[RecordingRow] | None]
    read: Callable[[Json], ForeignExchange]


class PlacedExchange(NamedTuple):
    """An exchange or why it is unreadable, and its place, such as `chat.har: entry 3`."""

    place: str
    found: ForeignExchange | UnreadableError


def read_recording(data: bytes, file: str) -> Iterator[PlacedExchange]:
    """Yield each exchange of a file, also those that are unreadable.

    Raises CassetteError if the file is damaged, or no known recorder wrote it.
    """
    foreign = _read_foreign_file(data, file)
    found = ((recorder, recorder.find_rows(foreign.root)) for recorder in RECORDERS)
    recorder, rows = next(((recorder, rows) for recorder, rows in found if rows is not None), (None, ()))
    if foreign.mistakes and (recorder is not None or _LISTING.search(foreign.text)):
        raise CassetteError(*foreign.mistakes)
    if recorder is None:
        hint = f"; read as YAML: {foreign.mistakes[0]}" if foreign.mistakes else ""
        what = _describe(foreign.root)
        raise CassetteError(f"{file}: not written by a known recorder: {what}; you can import files of {KNOWN}{hint}")
    for number, row in enumerate(rows, 1):
        place = f"{foreign.locate(row.path)}: {recorder.noun} {number}"
        try:
            yield PlacedExchange(place, recorder.read(row.content))
        except UnreadableError as error:
            yield PlacedExchange(place, error)


def _describe(root: Json) -> str:
    """Describe the top of a file, for a user who wonders which tool wrote it."""
    match root:
        case {"interactions": [Mapping() as first, *_]}:
            return f"its interactions have {_list_keys(first)}, but no request"
        case Mapping():
            return f"it has {_list_keys(root)}"
        case [Mapping() as first, *_]:
            return f"a list of items that have {_list_keys(first)}"
        case list():
            return "a list"
    return "plain text"


def _list_keys(table: Iterable[str]) -> str:
    return ", ".join(limit_lines([show_value(key, 40) for key in table], 5)) or "no keys"


# What shows that a damaged file of YAML was a recording.
_LISTING = re.compile(r"^(?:(?:http_)?interactions|requests)[ \t]*+:|^-[ \t]++request\b", re.MULTILINE)


# Cassettes of vcrpy and pytest-recording, of serializers that parse JSON bodies, and of tools with the same layout.


def _find_vcrpy_rows(root: Json) -> Sequence[RecordingRow] | None:
    if isinstance(root, Mapping) and isinstance(request := root.get("request"), Mapping) and "response" in root:
        whole = "://" in str(request.get("url") or request.get("uri"))  # stubs of WireMock have paths
        return [RecordingRow((), root)] if whole else None
    rows = _list_rows(root, "interactions") if isinstance(root, Mapping) else _list_rows(root)
    if rows == [] and isinstance(root, Mapping):  # nothing was recorded
        return rows
    return rows if any(isinstance(row.content, Mapping) and "request" in row.content for row in rows or ()) else None


def _read_vcrpy(interaction: Json) -> ForeignExchange:
    request = _read_table(interaction, "request")
    response = _read_table(interaction, "response")
    return ForeignExchange(
        method=_read_method(request),
        url=_read_text(request, "uri", "url"),
        headers=_read_headers(request.get("headers")),
        body=_read_message_body(request),
        status=_read_status(response.get("status") or response.get("status_code")),
        reply_headers=_read_headers(response.get("headers")),
        reply=_read_message_body(response),
        at=read_time(interaction.get("recorded_at")),
    )


def _read_message_body(message: Mapping[str, Json]) -> bytes:
    """Return the body; pydantic-ai's serializer writes JSON as `parsed_body` in its place."""
    if "parsed_body" in message and not message.get("body"):
        return _encode_json(message["parsed_body"])
    return _read_body(message.get("body", message.get("content")))


VCRPY = RecorderFormat(name="vcrpy", noun="interaction", find_rows=_find_vcrpy_rows, read=_read_vcrpy)


# Cassettes of langchain-tests: vcrpy's requests and responses in two lists, as its CustomSerializer writes them.


def _find_langchain_rows(root: Json) -> Sequence[RecordingRow] | None:
    requests = _list_rows(root, "requests")
    responses = _list_rows(root, "responses")
    if requests is None or responses is None:
        return None
    return [
        RecordingRow(
            (asked or answered).path, {"request": asked and asked.content, "response": answered and answered.content}
        )
        for asked, answered in zip_longest(requests, responses)
    ]


LANGCHAIN = RecorderFormat(name="langchain-tests", noun="request", find_rows=_find_langchain_rows, read=VCRPY.read)


# Cassettes of VCR for Ruby, and of Betamax, which has the same layout.


# An interaction has the keys of vcrpy's, and a body the encoding of its text.
RUBY_VCR = RecorderFormat(
    name="VCR for Ruby",
    noun="interaction",
    find_rows=lambda root: _list_rows(root, "http_interactions"),
    read=VCRPY.read,
)


# Cassettes of go-vcr: version 1 of the format, which go-vcr 1 and 2 write, and version 2 of go-vcr 3 and 4.


def _find_go_vcr_rows(root: Json) -> Sequence[RecordingRow] | None:
    """Return the interactions, if some have a code next to the status, where vcrpy has a table."""
    rows = _list_rows(root, "interactions") or ()
    responses = (row.content.get("response") for row in rows if isinstance(row.content, Mapping))
    return rows if any(isinstance(response, Mapping) and "code" in response for response in responses) else None


def _read_go_vcr(interaction: Json) -> ForeignExchange:
    request = _read_table(interaction, "request")
    response = _read_table(interaction, "response")
    form = request.get("form")
    form = form if isinstance(form, Mapping) else {}
    return ForeignExchange(
        method=_read_method(request),
        url=_read_text(request, "url"),
        headers=_read_headers(request.get("headers")),
        body=_read_body(request.get("body")) or (urlencode(form, doseq=True).encode() if form else b""),
        status=_read_status(response.get("code")) or _read_status(response.get("status")),
        reply_headers=_read_headers(response.get("headers")),
        reply=_read_body(response.get("body")),
        took=_read_duration(response.get("duration")),
    )


def _read_duration(duration: Json) -> float:
    """Return the seconds of a duration as Go writes it: `1m2.5s`, `350ms`; 0 for any other text."""
    if not isinstance(duration, str) or not _DURATION.fullmatch(duration):
        return 0.0
    return sum(float(number) * _UNITS[unit] for number, unit in _DURATION_PART.findall(duration))


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(?:\d{1,12}(?:\.\d{1,12})?(?:h|ms|m|s|us|µs|μs|ns)){1,6}")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|μs|ns)")

GO_VCR = RecorderFormat(name="go-vcr", noun="interaction", find_rows=_find_go_vcr_rows, read=_read_go_vcr)


# HAR files: the logs of browsers, proxies and our own export.


def _read_har(entry: Json) -> ForeignExchange:
    request = _read_table(entry, "request")
    response = _read_table(entry, "response")
    time = entry.get("time")
    return ForeignExchange(
        method=_read_method(request),
        url=_read_text(request, "url"),
        headers=_read_headers(request.get("headers")),
        body=_read_posted(request.get("postData")),
        status=_read_status(response.get("status")),
        reply_headers=_read_reply_headers(response),
        reply=_read_content(response.get("content")),
        at=read_time(entry.get("startedDateTime")),
        took=max(0.0, time / 1000) if isinstance(time, int | float) else 0.0,
    )


def _read_reply_headers(response: Mapping[str, Json]) -> Headers:
    """Return the headers; a log without any still knows the type of the content."""
    headers = _read_headers(response.get("headers"))
    kind = find_in(response, "content", "mimeType")
    if isinstance(kind, str) and kind and all(name != "content-type" for name, _ in headers):
        return (*headers, ("content-type", kind))
    return headers


def _read_content(content: Json) -> bytes:
    text = content.get("text") if isinstance(content, Mapping) else None
    if not isinstance(text, str):
        return b""
    return _decode_base64(text, "content") if content.get("encoding") == "base64" else _encode_text(text)


def _read_posted(posted: Json) -> bytes:
    if not isinstance(posted, Mapping):
        return b""
    if isinstance(posted.get("text"), str) and (posted["text"] or not posted.get("params")):
        return _read_content(posted)
    params = [row for row in posted.get("params") or () if isinstance(row, Mapping)]
    return urlencode([(str(row.get("name")), str(row.get("value", ""))) for row in params]).encode()


HAR = RecorderFormat(
    name="HAR", noun="entry", find_rows=lambda root: _list_rows(root, "log", "entries"), read=_read_har
)


# Fixtures of nock, as `nock.back` and its recorder write them.


def _find_nock_rows(root: Json) -> Sequence[RecordingRow] | None:
    rows = _list_rows(root)
    return rows if any(isinstance(row.content, Mapping) and "scope" in row.content for row in rows or ()) else None


def _read_nock(scope: Json) -> ForeignExchange:
    if not isinstance(scope, Mapping):
        raise UnreadableError("it is not a table")
    headers = scope.get("rawHeaders") or scope.get("headers")
    if isinstance(headers, list):  # names and values in turn
        headers = [{"name": name, "value": value} for name, value in zip(headers[::2], headers[1::2], strict=False)]
    return ForeignExchange(
        method=_read_method(scope),
        url=_read_text(scope, "scope") + _read_text(scope, "path"),
        headers=_read_headers(scope.get("reqheaders")),
        body=_read_body(scope.get("body")),
        status=_read_status(scope.get("status")),
        reply_headers=_read_headers(headers),
        reply=_read_nock_reply(scope.get("response"), is_binary=scope.get("responseIsBinary") is True),
    )


def _read_nock_reply(response: Json, *, is_binary: bool) -> bytes:
    """Return the answer: text, JSON, or the bytes of each chunk in hex if they have a content coding."""
    chunks = [response] if is_binary else response
    try:
        if isinstance(chunks, list):
            return b"".join(map(bytes.fromhex, chunks))
    except (TypeError, ValueError):  # an array of other JSON
        pass
    return _read_body(response)


NOCK = RecorderFormat(name="nock", noun="scope", find_rows=_find_nock_rows, read=_read_nock)

# The first that recognises a file reads it: go-vcr's files have the keys of vcrpy's, and more.
RECORDERS = (HAR, LANGCHAIN, RUBY_VCR, GO_VCR, VCRPY, NOCK)
KNOWN = f"{', '.join(recorder.name for recorder in RECORDERS[:-1])} and {RECORDERS[-1].name}"


# What the recorders share.


def _list_rows(root: Json, *path: str) -> list[RecordingRow] | None:
    """Return the rows of the list at a path; None if there is no list."""
    rows = find_in(root, *path)
    return [RecordingRow((*path, at), row) for at, row in enumerate(rows)] if isinstance(rows, list) else None


def _read_table(row: Json, name: str) -> Mapping[str, Json]:
    """Return the table of this name in a row. Raises UnreadableError."""
    found = row.get(name) if isinstance(row, Mapping) else None
    if not isinstance(found, Mapping):
        raise UnreadableError(f"it has no {name}")
    return found


def _read_text(row: Mapping[str, Json], *names: str) -> str:
    """Return the first text of these names in a request. Raises UnreadableError."""
    for name in names:
        if isinstance(row.get(name), str):
            return str(row[name])
    raise UnreadableError(f"its request has no {names[0]}")


def _read_method(request: Mapping[str, Json]) -> str:
    return str(request.get("method") or "GET").upper()


def _read_status(status: Json) -> int:
    """Return the status, which may be a number, a text such as `200 OK`, or a table with a code; 0 if unknown."""
    if isinstance(status, Mapping):
        status = status.get("code")
    if isinstance(status, str) and status[:3].isdecimal() and status[3:4] == " ":
        return int(status[:3])
    return status if isinstance(status, int) else 0


def _read_headers(headers: Json) -> Headers:
    """Return headers as pairs, from a table of texts or lists, or a list of {name, value}. Raises UnreadableError."""
    pairs = list[tuple[str, Json]]()
    if isinstance(headers, Mapping):
        for name, value in headers.items():
            pairs += [(str(name), each) for each in (value if isinstance(value, list) else [value])]
    elif isinstance(headers, list):
        pairs = [(str(row.get("name")), row.get("value")) for row in headers if isinstance(row, Mapping)]
    elif headers is not None:
        raise UnreadableError("its headers are not a table")
    return tuple((name.lower(), _decode_header(value)) for name, value in pairs if HEADER_NAME.fullmatch(name))


def _decode_header(value: Json) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")


def _read_body(body: Json) -> bytes:
    """Return a body as text, bytes, a table with either (and its encoding), or the JSON itself.

    Raises UnreadableError.
    """
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return _encode_text(body)
        case {"base64_string": str(coded), **rest} if not rest.keys() - {"encoding"}:
            return _decode_base64("".join(coded.split()), "body")
        case {"string": str(coded), "encoding": "base64", **rest} if not rest:
            return _decode_base64("".join(coded.split()), "body")
        case {"string": inner, **rest} if not rest.keys() - {"encoding"}:
            return _read_body(inner)
        case Mapping() if not body.keys() - {"encoding"}:
            return b""
    return _encode_json(body)


def _encode_json(value: Json) -> bytes:
    """Return the bytes of a body that a recorder has parsed. Raises UnreadableError."""
    try:
        return _encode_text(compact(value))
    except (TypeError, ValueError, RecursionError):  # bytes within it
        raise UnreadableError("its body is neither text, base64 nor JSON") from None


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # JSON can hold half a character


def _decode_base64(text: str, what: str) -> bytes:
    """Return the bytes of a text, or of a JSON array with the text of each chunk, as Polly.JS writes it."""
    try:
        chunks = json.loads(text) if text.startswith("[") else [text]
        return b"".join([b64decode(chunk, validate=True) for chunk in chunks])
    except (ValueError, TypeError):
        raise UnreadableError(f"its {what} is not valid base64") from None


def read_time(text: Json) -> float:
    """Return the Unix time of an ISO 8601 text, in UTC unless it says otherwise, or of an HTTP date.

    It is 0 if the text is neither.
    """
    if not isinstance(text, str):
        return 0.0
    for parse_time in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            at = parse_time(text)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            continue
    return 0.0


# A file as one value, with the line of each part: unpacked, decoded, and read as JSON or YAML.


class ForeignFile(Struct, frozen=True):
    """The content of a file. `spot` has the lines of its parts, which only YAML has; `mistakes`: of its YAML."""

    file: str
    text: str
    root: Json
    spot: Spot | None = None
    mistakes: tuple[Mistake, ...] = ()

    def locate(self, path: tuple[str | int, ...]) -> str:
        """Return the file, with the line of the part at these keys if it is known."""
        if self.spot is None:
            return self.file
        line = self.spot.line
        inner = self.spot.inner
        for key in path:
            found: Spot | KeySpot = inner[key]
            line = found.line
            inner = found.value.inner if isinstance(found, KeySpot) else found.inner
        return f"{self.file}:{line + 1}"


def _read_foreign_file(data: bytes, file: str) -> ForeignFile:
    """Read a file. Raises CassetteError if it is empty or damaged, or not a text."""
    text = _decode(_unpack(data, file), file)
    if not text.strip():
        raise CassetteError(f"{file}: the file is empty: restore it, or record it again")
    if text.lstrip()[0] in "{[":
        return ForeignFile(file, text, _parse_json(text, file))
    if _CASSETTE_HEAD.match(text):
        raise CassetteError(f"{file}: this is a mockserver cassette already: move it into the cassettes folder")
    parsed = parse_yaml(text, foreign=True)
    mistakes = tuple(_make_mistake(problem, text, file) for problem in parsed.problems)
    return ForeignFile(file, text, root=parsed.data, spot=parsed.spot, mistakes=mistakes)


def _unpack(data: bytes, file: str) -> bytes:
    """Return the content of a gzip file, or the data of any other, within the limit. Raises CassetteError."""
    if not data.startswith(_GZIP):
        return data
    unpacked = bytearray()
    try:
        with GzipFile(fileobj=BytesIO(data)) as packed:
            while piece := packed.read(_PIECE):
                unpacked += piece
                if len(unpacked) > MAX_UNPACKED:
                    limit = f"{MAX_UNPACKED // 1_000_000} MB"
                    raise CassetteError(f"{file}: larger than {limit} when unpacked: split it into smaller files")
    except EOFError:
        why = f"the gzip file is cut off after {len(data):,} bytes"
    except (BadGzipFile, zlib.error):
        why = "the gzip file is damaged"
    else:
        return bytes(unpacked)
    raise CassetteError(f"{file}: {why}: restore it, or record it again")


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        packed = next((kind for start, kind in _PACKED.items() if data.startswith(start)), None)
        if packed is not None:
            raise CassetteError(f"{file}: the file is packed with {packed}: unpack it first") from None
        if data.startswith(_UTF_16):
            raise CassetteError(f"{file}: the file is in UTF-16: save it as UTF-8") from None
        at = error.start
        raise CassetteError(f"{file}: not a recording: there is binary data at byte {at:,}") from None


def _parse_json(text: str, file: str) -> Json:
    try:
        return json.loads(text)
    except RecursionError:
        raise CassetteError(f"{file}: its JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
            words = f"the file breaks off in the middle of its JSON: {_REMEDY}"
        else:
            words = f"the file is not valid JSON here ({error.msg}): correct it, or record it again"
        raise CassetteError(Mistake(words, SourceLocation(file, error.lineno, error.colno))) from None
    except ValueError:
        raise CassetteError(f"{file}: a number of this file has too many digits") from None


def _make_mistake(problem: YamlProblem, text: str, file: str) -> Mistake:
    words = problem.words
    if problem.line >= text.rstrip().count("\n"):  # the mistake is in the last line
        words += f". Does the file break off here? Then {_REMEDY}"
    return Mistake(words, SourceLocation(file, problem.line + 1, problem.column + 1))


_GZIP = b"\x1f\x8b"
_PACKED = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_PIECE = 1 << 20
_REMEDY = "restore it, or record it again"
_CASSETTE_HEAD = re.compile(r"(?:#[^\n]*+\n|(?:---)?[ \t\r]*+\n)*+version:[ \t]*+\d++[ \t\r]*+\n---")
