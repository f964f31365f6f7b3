"""Credentials of requests, masked in what the server shows of them: its log, its reports and the control API."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from mockserver.core.exchange import MOST_KEPT, Exchange
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.server.snapshot import decoded, query_from

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.redact import Secrets


def of_row(row: Exchange, *, body: bool = True) -> "Secrets":
    """The credentials of a row's request and of the server's environment; `body`: also those of the body."""
    sent = plain(request_of(row)).body if body else b""
    return _secrets(tuple(row.headers), row.query, sent)


def request_of(row: Exchange) -> HttpRequest:
    query = query_from(row.query)
    return HttpRequest(row.method, row.path, query, tuple(row.headers), row.body, row.namespace)


def plain(http: HttpRequest) -> HttpRequest:
    """A request without the content codings of its body; as it is if they cannot be taken off, or hold too much."""
    try:
        return decoded(http, MOST_KEPT)
    except Failure:
        return http


def of_request(http: HttpRequest) -> "Secrets":
    query = urlencode(http.query, errors="surrogateescape").encode()
    return _secrets(http.headers, query, plain(http).body)


def _secrets(headers: tuple[tuple[bytes, bytes], ...], query: bytes, body: bytes) -> "Secrets":
    from mockserver.cassettes.redaction.find import environment_secrets  # slow: a hundred patterns
    from mockserver.cassettes.redaction.redact import secrets_of

    return secrets_of(headers, query, body, environment_secrets(os.environ))


def masked(value: Json, secrets: "Secrets") -> Json:
    """A value with every text in it masked, names included; it is no deeper than a request may be."""
    match value:
        case str():
            return secrets.text(value)
        case Mapping():
            return {secrets.text(name): masked(inner, secrets) for name, inner in value.items()}
        case list() | tuple():
            return [masked(inner, secrets) for inner in value]
    return value
