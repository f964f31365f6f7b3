"""An ASGI request becomes an HttpRequest, within a limit of size."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure

DRAINED = 10  # times the limit: so much of a body that is too large is read and dropped, so that the client hears why


class ClientLeftError(Exception):
    """The client went away before its request was complete."""


def snapshot(scope: Scope, body: bytes, namespace: str) -> HttpRequest:
    """The request as a value; `path` is the full path without the namespace in front."""
    query = scope["query_string"]
    return HttpRequest(
        method=scope["method"],
        path=path_of(scope),
        query=_query(query.decode("latin-1")) if query else _NO_QUERY,
        headers=scope["headers"],
        body=body,
        namespace=namespace,
        path_params=scope["path_params"],
    )


_NO_QUERY: Mapping[str, str] = {}


def _query(text: str) -> Mapping[str, str]:
    """The pairs of a query, the last of each name; values of a list (`include[]=a&include[]=b`) stand in one text."""
    query: dict[str, str] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        query[key] = f"{query[key]},{value}" if key.endswith("[]") and key in query else value
    return query


def path_of(scope: Scope) -> str:
    """The path without what Starlette has already taken off in front."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


async def read_body(receive: Receive, limit: int) -> bytes:
    """The whole body. Raises Failure (`too_large`) over the limit, ClientLeftError when it never ends."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        whole: bytes = message.get("body", b"")  # nearly every body comes in one piece
        if len(whole) <= limit:
            return whole
    pieces, size = [], 0
    while True:
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        piece = message.get("body", b"")
        size += len(piece)
        if size <= limit:
            pieces.append(piece)
        if not message.get("more_body") or size > limit * DRAINED:
            break
        message = await receive()
    if size > limit:
        raise Failure("too_large", f"The request body is larger than {limit} bytes.")
    return b"".join(pieces)
