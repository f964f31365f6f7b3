"""Credentials of requests, masked in what the server shows of them: its log, its reports and the control API."""

import os
from functools import lru_cache
from pathlib import Path
from traceback import extract_tb, format_exception, format_exception_only
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from msgspec.structs import replace

from mockserver.core.http import HttpRequest, RawHeaders
from mockserver.core.json import Json, map_texts
from mockserver.core.plan import Failure
from mockserver.core.row import MAX_KEPT, Row
from mockserver.core.text import escape_line, escape_lines
from mockserver.server.snapshot import decode_body, parse_query

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.shown_secrets import Secrets

MAX_TRACEBACK = 20_000  # characters, from its end: an exception may quote a whole body
_MAX_SUMMARY = 300  # characters
_PACKAGE = Path(__file__).parents[1]


def find_row_secrets(row: Row, known: tuple[str, ...] | None = None) -> "Secrets":
    """Find the credentials of a row's request, and those of the environment unless they are `known` already."""
    body = decode_request(rebuild_request(row)).body
    return _find_secrets(tuple(row.headers), row.query, body=body, known=known)


def find_head_secrets(row: Row, known: tuple[str, ...]) -> "Secrets":
    """Return the credentials of a row's head and those that are `known`, found once for all rows with the same ones."""
    from mockserver.cassettes.redaction.credential_fields import is_secret_header  # slow: a hundred patterns

    headers = tuple([field for field in row.headers if is_secret_header(field[0].decode("latin-1"))])
    return _find_head_secrets(headers, row.query if b"=" in row.query else b"", known)


@lru_cache(64)
def _find_head_secrets(headers: tuple[tuple[bytes, bytes], ...], query: bytes, known: tuple[str, ...]) -> "Secrets":
    from mockserver.cassettes.redaction.shown_secrets import find_secrets  # slow: a hundred patterns

    return find_secrets(headers, query, more=known)


def rebuild_request(row: Row) -> HttpRequest:
    """Return the request of a row; its body is what the journal keeps of that."""
    query = parse_query(row.query)
    return HttpRequest(
        row.method, row.path, query=query, headers=tuple(row.headers), body=row.body, namespace=row.namespace
    )


def decode_request(http: HttpRequest) -> HttpRequest:
    """Return a request without the content codings of its body; as it is if they cannot be undone, or hold too much."""
    try:
        body = decode_body(http, MAX_KEPT).body
    except Failure:
        return http
    if body is http.body:
        return http
    return replace(http, body=body, headers=tuple(field for field in http.headers if field[0] != b"content-encoding"))


def find_request_secrets(http: HttpRequest) -> "Secrets":
    """Find the credentials of a request, and those of the environment."""
    query = urlencode(http.query, errors="surrogateescape").encode()
    return _find_secrets(tuple(http.headers), query, body=decode_request(http).body)


def _find_secrets(
    headers: tuple[tuple[bytes, bytes], ...], query: bytes, *, body: bytes, known: tuple[str, ...] | None = None
) -> "Secrets":
    from mockserver.cassettes.redaction.shown_secrets import find_secrets  # slow: a hundred patterns

    return find_secrets(headers, query, body=body, more=find_known_secrets() if known is None else known)


def mask_path(path: str, headers: RawHeaders, query: bytes) -> str:
    """Return the path of a request without the credentials of its head."""
    return _find_secrets(tuple(headers), query, body=b"", known=()).mask_text(path)


def find_known_secrets() -> tuple[str, ...]:
    """Return the credentials of the environment, which take a while to find."""
    from mockserver.cassettes.redaction.credential_fields import find_environment_secrets

    return find_environment_secrets(os.environ)


def mask_texts(value: Json, secrets: "Secrets") -> Json:
    """Return a value with every text in it masked, names included; it must not be deeper than a request may be."""
    return map_texts(value, secrets.mask_text, keys=True)


def summarize_crash(error: BaseException) -> str:
    """Return a bug in a line: the exception, and where this package raised it, if it did. Whoever shows it masks it."""
    frames = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(_PACKAGE)]
    where = ""
    if frames:
        where = f" at {Path(frames[-1].filename).relative_to(_PACKAGE.parent).as_posix()}:{frames[-1].lineno}"
    said = "".join(format_exception_only(error)).rstrip("\n")[:_MAX_SUMMARY]
    return f"internal error of mockserver, please report it: {escape_line(said)}{where}"


def describe_crash(error: BaseException, request: HttpRequest) -> str:
    """Return the log text of a bug: request line and traceback, masked and escaped, so that no line can be forged."""
    secrets = find_request_secrets(request)
    trace = secrets.mask_text("".join(format_exception(error)).rstrip("\n"))
    first = f"internal error of mockserver on {request.method} {escape_line(secrets.mask_text(request.path))}"
    return f"{first}\n{escape_lines(trace[-MAX_TRACEBACK:])}"
