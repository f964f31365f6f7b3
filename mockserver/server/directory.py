"""What answers at a path, in this order:

1. the control paths and `*`, which `app.py` looks at first
2. an endpoint of the default dialect, whose paths need no mount: one without parameters, else one with (`Routes.find`)
3. an endpoint of any other dialect, below one of its mounts
4. the endpoint that a misspelt path means (`find_corrected`)
5. rules, where no dialect knows the path, else a 404 with hints (`find_unknown`)

A `Mount` is where a dialect is spoken, an `Endpoint` a path with its operations, a `Place` an endpoint with the values
of its parameters, and a `Destination` a place in a namespace with the `Responder` that answers there.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

from msgspec import Struct

from mockserver.core.http import CONTROL, HeaderTable, HttpRequest, RawHeaders, Reply, tabulate
from mockserver.core.lazy import Memo
from mockserver.core.plan import Failure, Plan
from mockserver.core.row import COMPLETE
from mockserver.dialects._parse import clip
from mockserver.server.access import is_control
from mockserver.server.handshakes import admits_socket
from mockserver.server.landmarks import write_landmark
from mockserver.server.live import Live
from mockserver.server.namespaces import DEFAULT, MAX_NAMESPACE_NAME, is_namespace, split_namespace
from mockserver.server.nearest_path import NearestPath, find_nearest_path
from mockserver.server.respond import Responder
from mockserver.server.routes import tidy
from mockserver.server.snapshot import parse_query
from mockserver.server.unknown_path import PathHints


class Destination(Struct, frozen=True):
    """Where a request goes: what answers it, and in which namespace, at which path there, with which parameters."""

    responder: Responder
    path: str
    params: Mapping[str, str]
    namespace: str

    def make_request(self, method: str, query: bytes, table: HeaderTable, body: bytes = b"") -> HttpRequest:
        """Return a request to this path as a value, also the handshake of a WebSocket."""
        request = HttpRequest(
            method=method,
            path=self.path,
            query=parse_query(query, self.responder.dialect.lists) if query else _NOTHING,
            headers=table.headers,
            body=body,
            namespace=self.namespace,
            path_params=self.params,
        )
        vars(request)["header_values"] = table.by_name  # which it would make once more
        return request


_NOTHING: Mapping[str, str] = {}


class Directory:
    """What answers at which path, as the settings are now."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._settings = live.settings
        self._routes = live.routes
        self._known = Memo[str, Destination](most=_MAX_FOUND)  # paths that were looked up

    def find(self, path: str) -> Destination | None:
        """Return what answers at a path that a dialect knows, or None."""
        if self._live.settings is not self._settings:
            self._follow_settings()
        known = self._known.get(path)
        if known is not None:
            return known
        namespace, inner = split_namespace(path)
        place = None if is_control(path) else self._routes.find(inner)
        if place is None:
            return None
        responder = Responder(self._live, place.endpoint)
        found = Destination(responder, inner, params=place.params, namespace=namespace)
        return self._known.keep(path, found, _DESTINATION + 4 * len(path))

    def find_corrected(self, path: str) -> Destination | None:
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

    def find_unknown(self, method: str, path: str, query: bytes) -> Destination:
        """Return what answers at a path that no dialect knows: rules, else a 404 with hints."""
        path = tidy(path)
        if (named := _NAMED.fullmatch(path)) and not is_namespace(named["name"]):
            return self._make_unknown(named["path"], DEFAULT, PathHints(mistake=_BAD_NAME))
        if named and self.find(rest := path.removeprefix("/ns")) is not None:
            mistake = f"The name of a namespace is missing: /ns/NAME{rest}."
            return self._make_unknown(rest, DEFAULT, PathHints(mistake=mistake))
        namespace, inner = split_namespace(path)
        endpoints = self._routes.endpoints
        hint = write_landmark(inner, namespace, endpoints=endpoints, has_inspector=self._live.settings.inspector)
        if hint is not None:
            return self._make_unknown(inner, namespace, PathHints(hint))
        nearest = _find_control_path(method, inner, namespace) or find_nearest_path(
            method, inner, endpoints=endpoints, query=query.decode("latin-1")
        )
        hints = PathHints(f"Did you mean {nearest.shown}?", spoken=nearest.spoken) if nearest else PathHints()
        return self._make_unknown(inner, namespace, hints)

    def find_socket(self, path: str, query: bytes, headers: RawHeaders) -> Destination | None:
        """Return what answers a handshake at a path, if its client may go on over a WebSocket."""
        found = self.find(path) or self.find_corrected(path)
        if found is None:
            return None
        handshake = found.make_request("GET", query, tabulate(headers))
        return found if admits_socket(handshake, found.responder.endpoint, self._live.settings) else None

    def refuse_unread(self, failure: Failure, method: str, path: str) -> Reply:
        """Return a failure in the dialect of a path, and note it in the journal: no more of the request is read."""
        namespace, inner = split_namespace(path)
        dialect = self._live.routes.find_owner(inner)
        journal = self._live.journal
        request = HttpRequest(method, inner, namespace=namespace)
        row = journal.open(request, dialect.name)
        reply = dialect.fail(request, failure, None)
        row.note_answer(Plan(None, "invalid"), reply)
        row.note_sent(reply.body)
        journal.close(row, COMPLETE)
        return reply

    def _make_unknown(self, path: str, namespace: str, hints: PathHints) -> Destination:
        responder = Responder(self._live, self._routes.make_unknown_endpoint(path), hints)
        return Destination(responder, path, params={}, namespace=namespace)

    def _follow_settings(self) -> None:
        """Take note of other settings, as after a reload."""
        self._settings = self._live.settings
        routes = self._live.routes
        if routes is not self._routes:
            self._routes = routes
            self._known = Memo(most=_MAX_FOUND)


_MAX_FOUND = 1 << 20  # bytes, about
_DESTINATION = 1_000  # bytes, about


def _find_control_path(method: str, path: str, namespace: str) -> NearestPath | None:
    """Return the control path that was asked for behind a namespace or a mount."""
    _, control, rest = path.partition(CONTROL)
    chosen = f"?namespace={quote(namespace)}" if namespace != DEFAULT and rest.strip("/") else ""
    is_control_path = control and rest[:1] in ("", "/")
    return NearestPath(f"{method} {CONTROL}{clip(rest)}{chosen}") if is_control_path else None


# Where clients look for a document about what is in a namespace (RFC 8414, 3.1).
_WELL_KNOWN = re.compile(r"(?P<document>/\.well-known/[^/]+)(?P<place>/ns/[^/]+)(?P<rest>/.*)")
_NAMED = re.compile(r"/ns/(?P<name>[^/]+)(?P<path>/.*)", re.DOTALL)
_BAD_NAME = f"The name of a namespace must have 1 to {MAX_NAMESPACE_NAME} printable characters."
