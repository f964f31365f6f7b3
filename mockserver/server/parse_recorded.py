"""A recorded request becomes a Call again, as the dialect that it was sent to parses it."""

from functools import cache

from mockserver.core.call import Call
from mockserver.core.episode import Episode, Sent
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects import discover
from mockserver.server.routes import Place, find, operation_for, places
from mockserver.server.snapshot import query_from


def parse_episode(episode: Episode) -> Call | None:
    """The call of an episode's request; None if its dialect would refuse it, or has no such path."""
    return parse_sent(episode.dialect, episode.request)


def parse_sent(dialect: str, sent: Sent) -> Call | None:
    """The same of a request by itself."""
    try:
        return parse_sent_strictly(dialect, sent)
    except Failure:
        return None


def parse_sent_strictly(dialect: str, sent: Sent) -> Call | None:
    """The same; None if the dialect has no such path. Raises Failure if it refuses the request."""
    found = find(sent.path, _places(dialect))
    operation = operation_for(sent.method, found[0].operations) if found is not None else None
    if found is None or operation is None:
        return None
    headers = [(name.lower(), value) for name, value in sent.headers]
    http = HttpRequest(
        method=sent.method,
        path=sent.path,
        query=query_from(sent.query.encode("utf-8", "replace")),
        headers=tuple([(n.encode("latin-1", "replace"), v.encode("latin-1", "replace")) for n, v in headers]),
        body=sent.body,
        path_params=found[1],
    )
    return operation.parse(http, False)


@cache
def _places(dialect: str) -> tuple[Place, ...]:
    spoken = discover().get(dialect)
    return () if spoken is None else places({dialect: spoken}, dialect)
