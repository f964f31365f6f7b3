"""A recorded request becomes a Call again, as the dialect that it was sent to reads it."""

import re
from collections.abc import Mapping
from functools import cache

from starlette.routing import compile_path

from mockserver.core.call import Call
from mockserver.core.episode import Episode, Sent
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects import Operation, discover
from mockserver.server.routes import operation_for, places
from mockserver.server.snapshot import query_from

Operations = Mapping[str, Operation]


def parse_episode(episode: Episode) -> Call | None:
    """The call of an episode's request; None where its dialect would refuse it, or has no such path."""
    return parse_sent(episode.dialect, episode.request)


def parse_sent(dialect: str, sent: Sent) -> Call | None:
    """The same of a request by itself."""
    try:
        return parse_sent_strictly(dialect, sent)
    except Failure:
        return None


def parse_sent_strictly(dialect: str, sent: Sent) -> Call | None:
    """The same; None where the dialect has no such path. Raises Failure where it refuses the request."""
    found = _found(dialect, sent.path)
    operation = None if found is None else operation_for(sent.method, found[0])
    return None if found is None or operation is None else operation.parse(_http(sent, found[1]), False)


def _http(sent: Sent, params: Mapping[str, str]) -> HttpRequest:
    return HttpRequest(
        method=sent.method,
        path=sent.path,
        query=query_from(sent.query.encode("utf-8", "replace")),
        headers=tuple([(_raw(name.lower()), _raw(value)) for name, value in sent.headers]),
        body=sent.body,
        path_params=params,
    )


def _raw(text: str) -> bytes:
    return text.encode("latin-1", "replace")


def _found(dialect: str, path: str) -> tuple[Operations, Mapping[str, str]] | None:
    """The operations at a path of a dialect, bare or mounted, and the parameters of the path."""
    fixed, patterns = _known(dialect)
    if path in fixed:
        return fixed[path], {}
    for pattern, operations in patterns:
        if matched := pattern.match(path):
            return operations, matched.groupdict()
    return None


@cache  # a cassette has a thousand requests to the same few paths
def _known(dialect: str) -> tuple[dict[str, Operations], tuple[tuple[re.Pattern[str], Operations], ...]]:
    spoken = discover().get(dialect)
    known = () if spoken is None else places({dialect: spoken}, dialect)
    patterns = tuple((compile_path(place.path)[0], place.operations) for place in known if "{" in place.path)
    return {place.path: place.operations for place in known if "{" not in place.path}, patterns
