"""What the control API shows of a request and its answer, without the credentials that came with it."""

import os
from collections.abc import Mapping
from urllib.parse import urlencode

from mockserver.cassettes.masking import Secrets, secrets_of
from mockserver.core.call import Json
from mockserver.core.exchange import MOST_KEPT, Exchange
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.core.secrets import known
from mockserver.server.bodies import decoded
from mockserver.server.snapshot import query_from


def of_row(row: Exchange) -> Secrets:
    """The credentials of a row's request, and those that stand in the environment of the server."""
    return secrets_of(tuple(row.headers), row.query, plain(request_of(row)).body, known(os.environ))


def request_of(row: Exchange) -> HttpRequest:
    """The request of a row, as far as it is kept."""
    query = query_from(row.query)
    return HttpRequest(row.method, row.path, query, tuple(row.headers), row.body, row.namespace)


def plain(http: HttpRequest) -> HttpRequest:
    """A request without the content codings of its body; as it is where they cannot be taken off, or hold too much."""
    try:
        return decoded(http, MOST_KEPT)
    except Failure:
        return http


def of_head(row: Exchange) -> Secrets:
    """The same without those of the body, which may be large."""
    return secrets_of(tuple(row.headers), row.query, more=known(os.environ))


def of_request(http: HttpRequest) -> Secrets:
    """The same of a request that was put together."""
    query = urlencode(http.query, errors="surrogateescape").encode()
    return secrets_of(http.headers, query, plain(http).body, known(os.environ))


def masked(value: Json, secrets: Secrets) -> Json:
    """A value with every text in it masked, names included; it is no deeper than a request may be."""
    match value:
        case str():
            return secrets.text(value)
        case Mapping():
            return {secrets.text(name): masked(inner, secrets) for name, inner in value.items()}
        case list() | tuple():
            return [masked(inner, secrets) for inner in value]
    return value
