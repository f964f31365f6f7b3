"""An ASGI request becomes an HttpRequest, within a limit of size."""

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure


class ClientLeftError(Exception):
    """The client went away before its request was complete."""


def snapshot(scope: Scope, body: bytes, namespace: str) -> HttpRequest:
    """The request as a value; `path` is the full path without the namespace in front."""
    return HttpRequest(
        method=scope["method"],
        path=path_of(scope),
        query=query_from(scope["query_string"]),
        headers=scope["headers"],
        body=body,
        namespace=namespace,
        path_params=scope["path_params"],
    )


def query_from(query: bytes) -> Mapping[str, str]:
    """A query string as names and values."""
    return _query(query.decode("latin-1")) if query else _NO_QUERY


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


async def read_body(receive: Receive, limit: int, headers: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """The whole body. Raises Failure (`too_large`) as soon as it is known to be, ClientLeftError when it never ends.

    Where the headers tell that it is too large, nothing of it is asked for; the door drains what comes nevertheless.
    """
    if _told(headers) > limit:
        raise _too_large(limit)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        whole: bytes = message.get("body", b"")  # nearly every body comes in one piece
        if len(whole) > limit:
            raise _too_large(limit)
        return whole
    pieces, size = list[bytes](), 0
    while message["type"] != "http.disconnect":
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body"):
            return b"".join(pieces)
        message = await receive()
    raise ClientLeftError


def _told(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """How long a body is by its headers; 0 if they do not say."""
    for name, value in headers:
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) < 20 else 0
    return 0


def _too_large(limit: int) -> Failure:
    return Failure("too_large", f"The request body is larger than {limit} bytes.")
