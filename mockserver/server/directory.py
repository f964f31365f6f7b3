"""What answers at a path: an endpoint of a dialect in a namespace, or the 404 of the dialect that would own it."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from msgspec import Struct

from mockserver.core.exchange import COMPLETE
from mockserver.core.http import CONTROL, HeaderTable, HttpRequest, Reply
from mockserver.core.lazy import Memo
from mockserver.core.plan import Failure, Plan
from mockserver.dialects._parse import clip
from mockserver.server.access import is_control
from mockserver.server.live import Live
from mockserver.server.namespaces import DEFAULT, MAX_NAMESPACE_NAME, is_namespace, split_namespace
from mockserver.server.nearest_path import find_nearest_path
from mockserver.server.respond import Responder
from mockserver.server.routes import tidy
from mockserver.server.snapshot import parse_query


class FoundResponder(Struct, frozen=True):
    """What answers at a path: in which namespace, at which path there, and with which parameters."""

    responder: Responder
    path: str
    params: Mapping[str, str]
    namespace: str

    def make_request(self, method: str, query: bytes, table: HeaderTable, body: bytes = b"") -> HttpRequest:
        """Return a request to this path as a value, also the handshake of a WebSocket."""
        request = HttpRequest(
            method=method,
            path=self.path,
            query=parse_query(query) if query else _NOTHING,
            headers=table.headers,
            body=body,
            namespace=self.namespace,
            path_params=self.params,
        )
        vars(request)["header_values"] = table.by_name  # which it would make once more
        return request


_NOTHING: Mapping[str, str] = {}


class Directory:
    """What is at which path, where one dialect is the default.

    Its own paths come first: the first request to any other path imports all dialects.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._routes = live.routes
        self._known = Memo[str, FoundResponder](most=_MAX_FOUND)  # paths that were looked up

    def find(self, path: str) -> FoundResponder | None:
        """Return what answers at a path, or None."""
        known = self._known.get(path)
        if known is not None:
            return known
        namespace, inner = split_namespace(path)
        place = None if is_control(path) else self._routes.find(inner)
        if place is None:
            return None
        responder = Responder(self._live, place.endpoint)
        found = FoundResponder(responder, inner, place.params, namespace)
        return self._known.keep(path, found, _RESPONDER + 4 * len(path))

    def find_corrected(self, path: str) -> FoundResponder | None:
        """Return what answers at the path that was meant by a misspelt one, or None.

        It may have too many slashes, lack what clients leave out, or name a namespace where clients look for metadata.
        """
        path = tidy(path)
        if moved := _WELL_KNOWN.fullmatch(path):
            path = f"{moved['place']}{moved['document']}{moved['rest']}"
        if found := self.find(path):
            return found
        _, inner = split_namespace(path)
        completed = self._routes.complete(inner)
        return None if completed is None else self.find(path.removesuffix(inner) + completed)

    def adopt(self, method: str, path: str, query: bytes) -> FoundResponder:
        """Return what answers at a path that no dialect knows: rules, else a 404 that names the nearest path."""
        path = tidy(path)
        if (named := _NAMED.fullmatch(path)) and not is_namespace(named["name"]):
            return self._adopt(named["path"], DEFAULT, refusal=_BAD_NAME)
        if named and self.find(rest := path.removeprefix("/ns")) is not None:
            return self._adopt(rest, DEFAULT, refusal=f"The name of a namespace is missing: /ns/NAME{rest}.")
        namespace, inner = split_namespace(path)
        nearest = _find_control_path(method, inner, namespace) or find_nearest_path(
            method, inner, self._routes.endpoints, query.decode()
        )
        return self._adopt(inner, namespace, nearest=nearest)

    def refuse_unread(self, failure: Failure, method: str, path: str) -> Reply:
        """Return a failure in the dialect of a path, and note it in the journal: no more of the request is read."""
        namespace, inner = split_namespace(path)
        dialect = self._routes.find_owner(inner)
        journal = self._live.journal
        request = HttpRequest(method, inner, namespace=namespace)
        row = journal.open(request, dialect.name)
        reply = dialect.fail(request, failure, None)
        row.note_answer(Plan(None, "invalid"), reply)
        row.note_sent(reply.body)
        journal.close(row, COMPLETE)
        return reply

    def _adopt(
        self, path: str, namespace: str, *, nearest: str | None = None, refusal: str | None = None
    ) -> FoundResponder:
        responder = Responder(self._live, self._routes.adopt(path), nearest, refusal)
        return FoundResponder(responder, path, {}, namespace)


_MAX_FOUND = 1 << 20  # bytes, about
_RESPONDER = 1_000  # bytes, about


def _find_control_path(method: str, path: str, namespace: str) -> str | None:
    """Return the control path that was asked for behind a namespace or a mount."""
    _, control, rest = path.partition(CONTROL)
    chosen = f"?namespace={quote(namespace)}" if namespace != DEFAULT and rest.strip("/") else ""
    return f"{method} {CONTROL}{clip(rest)}{chosen}" if control and rest[:1] in ("", "/") else None


# Where clients look for a document about what is in a namespace (RFC 8414, 3.1).
_WELL_KNOWN = re.compile(r"(?P<document>/\.well-known/[^/]+)(?P<place>/ns/[^/]+)(?P<rest>/.*)")
_NAMED = re.compile(r"/ns/(?P<name>[^/]+)(?P<path>/.*)", re.DOTALL)
_BAD_NAME = f"The name of a namespace must have 1 to {MAX_NAMESPACE_NAME} printable characters."
