"""A recorded request and its answer, whichever recorder wrote it, and what the readers of all formats share."""

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from msgspec import Struct

from mockserver.core.http import Headers
from mockserver.core.json import Json, compact


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


class Row(Struct, frozen=True):
    """An exchange as its file has it; `path`: the keys that lead to it from the root."""

    path: tuple[str | int, ...]
    content: Json


class RecorderFormat(Struct, frozen=True):
    """A tool that records, and how its files are recognised and read.

    `find_rows` returns None for a root that this tool did not write. `read` raises UnreadableError.
    """

    name: str
    noun: str  # what the tool calls an exchange
    find_rows: Callable[[Json], Sequence[Row] | None]
    read: Callable[[Json], ForeignExchange]


def list_rows(root: Json, *path: str) -> list[Row] | None:
    """The rows of the list at a path; None if there is none."""
    for key in path:
        root = root.get(key) if isinstance(root, Mapping) else None
    return [Row((*path, at), row) for at, row in enumerate(root)] if isinstance(root, list) else None


def read_table(row: Json, name: str) -> Mapping[str, Json]:
    """The table of this name in a row. Raises UnreadableError."""
    found = row.get(name) if isinstance(row, Mapping) else None
    if not isinstance(found, Mapping):
        raise UnreadableError(f"it has no {name}")
    return found


def read_text(row: Mapping[str, Json], *names: str) -> str:
    """The first text of these names in a request. Raises UnreadableError."""
    for name in names:
        if isinstance(row.get(name), str):
            return str(row[name])
    raise UnreadableError(f"its request has no {names[0]}")


def read_method(request: Mapping[str, Json]) -> str:
    return str(request.get("method") or "GET").upper()


def read_status(status: Json) -> int:
    """The status as a number, whether it is one, a text such as `200 OK`, or a table with a code; 0 if unknown."""
    if isinstance(status, Mapping):
        status = status.get("code")
    if isinstance(status, str) and status[:3].isdecimal() and status[3:4] == " ":
        return int(status[:3])
    return status if isinstance(status, int) else 0


def read_headers(headers: Json) -> Headers:
    """Headers as pairs, from a table of texts or lists, or a list of {name, value}. Raises UnreadableError."""
    pairs = list[tuple[str, Json]]()
    if isinstance(headers, Mapping):
        for name, value in headers.items():
            pairs += [(str(name), each) for each in (value if isinstance(value, list) else [value])]
    elif isinstance(headers, list):
        pairs = [(str(row.get("name")), row.get("value")) for row in headers if isinstance(row, Mapping)]
    elif headers is not None:
        raise UnreadableError("its headers are not a table")
    return tuple((name.lower(), _header_text(value)) for name, value in pairs if _is_header_name(name))


def _header_text(value: Json) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")


def _is_header_name(name: str) -> bool:
    return name != "" and name.isascii() and all(letter.isalnum() or letter in "!#$%&'*+-.^_`|~" for letter in name)


def read_body(body: Json) -> bytes:
    """A body as text, bytes, a table with either (and its encoding), or the JSON itself. Raises UnreadableError."""
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return encode_text(body)
        case {"base64_string": str(coded), **rest} if not rest.keys() - {"encoding"}:
            return decode_base64("".join(coded.split()), "body")
        case {"string": str(coded), "encoding": "base64", **rest} if not rest:
            return decode_base64("".join(coded.split()), "body")
        case {"string": inner, **rest} if not rest.keys() - {"encoding"}:
            return read_body(inner)
        case Mapping() if not body.keys() - {"encoding"}:
            return b""
    return encode_json(body)


def encode_json(value: Json) -> bytes:
    """The bytes of a body that a recorder has parsed. Raises UnreadableError."""
    try:
        return encode_text(compact(value))
    except (TypeError, ValueError, RecursionError):  # bytes within it
        raise UnreadableError("its body is neither text, base64 nor JSON") from None


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # JSON can hold half a character


def decode_base64(text: str, what: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise UnreadableError(f"its {what} is not valid base64") from None


def read_time(text: Json) -> float:
    """The Unix time of an ISO 8601 text, in UTC unless it says otherwise, or of an HTTP date; 0 if it is neither."""
    if not isinstance(text, str):
        return 0.0
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            at = parse(text)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            continue
    return 0.0
