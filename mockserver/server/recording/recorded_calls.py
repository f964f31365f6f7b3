"""The calls of recorded requests, parsed by the dialect that they were sent to."""

from collections.abc import Mapping
from functools import cache

from msgspec.structs import replace

from mockserver.config.hosts import GENERIC, NO_HOSTS, HostTable
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Sent
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.server.routes import Endpoint, find_endpoint, list_dialect_endpoints
from mockserver.server.snapshot import parse_query
from mockserver.server.stubs import digest_body, make_stub_operation


def parse_episode(episode: Episode, hosts: HostTable = NO_HOSTS) -> Call | None:
    """Return the call of an episode's request; None if its dialect has no such path."""
    return parse_sent(episode.dialect, episode.request, hosts)


def parse_sent(dialect: str, sent: Sent, hosts: HostTable = NO_HOSTS) -> Call | None:
    """Return the call of a request to a dialect; None if it has no such path. `hosts` are those of the settings."""
    found = find_endpoint(sent.path, _list_endpoints(dialect, hosts))
    operation = found.endpoint.find_operation(sent.method) if found is not None else None
    if found is None or operation is None:
        return None
    headers = [(name.lower(), value) for name, value in sent.headers]
    http = HttpRequest(
        method=sent.method,
        path=sent.path,
        query=parse_query(sent.query.encode("utf-8", "replace"), found.endpoint.dialect.lists),
        headers=tuple([(n.encode("latin-1", "replace"), v.encode("latin-1", "replace")) for n, v in headers]),
        body=sent.body,
        path_params=found.params,
    )
    return parse_recorded(operation, found.endpoint.dialect, http)


def parse_recorded(operation: Operation, dialect: Dialect, http: HttpRequest) -> Call:
    """Return the call of a request as recordings know it, however wrong it is: its provider may have refused it."""
    try:
        return operation.read_call(http, Validation.OFF)
    except Failure:
        unread = make_stub_operation(dialect.name, dialect.host).parse(http, Validation.OFF)
        sent = unread.raw if isinstance(unread.raw, Mapping) else {}
        named = {name: value for name, value in http.path_params.items() if name != "namespace"}
        meaning = {"named": named, "body": sent or digest_body(http)}
        if dialect.host:
            meaning["host"] = dialect.host
        is_stream = sent.get("stream") is True or operation.streams is True
        return replace(unread, operation=operation.name, meaning=meaning, raw={}, sent=sent, stream=is_stream)


def _list_endpoints(dialect: str, hosts: HostTable) -> tuple[Endpoint, ...]:
    if hosts and dialect == GENERIC:
        return list_dialect_endpoints(dialect, hosts)
    return _list_usual_endpoints(dialect)


@cache
def _list_usual_endpoints(dialect: str) -> tuple[Endpoint, ...]:
    return list_dialect_endpoints(dialect)
