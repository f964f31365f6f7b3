"""The ASGI application: every dialect at its mounts, the control paths, and a 404 everywhere else."""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache
from math import inf
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from mockserver.config.settings import Settings
from mockserver.core.exchange import MOST_KEPT
from mockserver.core.http import CONTROL, Fields, HeaderTable, HttpRequest, weigh
from mockserver.core.lazy import Memo
from mockserver.core.plan import Failure
from mockserver.core.seed import monotonic
from mockserver.delivery.drive import IN_PROCESS, WIRE, ClientConnection
from mockserver.dialects import Dialect, discover_all
from mockserver.dialects._forms import FormReader
from mockserver.dialects._parse import clip
from mockserver.kinds import OPERATIONS
from mockserver.media.large_data import LARGE as LARGEST_IN_MEMORY
from mockserver.server.access import OPEN, Guard, check_key, check_page
from mockserver.server.deliver import serve
from mockserver.server.limits import estimate_parsed_size
from mockserver.server.live import Live
from mockserver.server.namespaces import DEFAULT, LONGEST, is_namespace, split_namespace
from mockserver.server.recording.player import Player
from mockserver.server.respond import LARGE, Responder, Response, Visit
from mockserver.server.routes import (
    MCP_ENDPOINTS,
    PARAMETERS,
    Endpoint,
    complete_path,
    find_nearest_path,
    find_owner,
    list_endpoints,
    list_own_endpoints,
    tidy,
)
from mockserver.server.snapshot import (
    find_codings,
    find_length,
    find_path,
    make_request,
    parse_query,
    read_body,
    receive_pieces,
)

if TYPE_CHECKING:
    from mockserver.server.sockets.socket_session import SocketSession


def build_app(live: Live) -> "FastRouter":
    """Build the paths of the default dialect; the first request to any other path imports all dialects."""
    known = list_own_endpoints(_list_dialects(live)[live.settings.dialect])
    return FastRouter(_make_routes(live, known), OtherDialects(live))


def _list_dialects(live: Live) -> Mapping[str, Dialect]:
    return discover_all(live.settings.hosts)


class OtherDialects(Struct, eq=False):
    """The application at paths that the default dialect does not have, made for the first request there."""

    live: Live
    app: "FastRouter | None" = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.app is None:
            self.app = _build_whole_app(self.live)
        await self.app(scope, receive, send)


def _make_routes(live: Live, known: Sequence[Endpoint]) -> Sequence[Route]:
    return [_make_route(place.path, Responder(live, place.dialect, place.operations)) for place in known]


def _make_route(path: str, responder: Responder) -> Route:
    route = copy(_compile_route(path))
    route.app = AsgiEntrance(responder)
    return route


@cache
def _compile_route(path: str) -> Route:
    """Return a route without an application. A tenth of a second goes into those of all dialects: once per process."""
    return Route(path, Router())


def _build_whole_app(live: Live) -> "FastRouter":
    """Build the paths of all dialects, the bare ones of the default dialect, all again under `/ns/…`; control paths."""
    from mockserver.server import inspector  # a server that only answers calls needs neither
    from mockserver.server.control import Control

    known = list_endpoints(_list_dialects(live), live.settings.dialect)
    routes, unknown = _make_routes(live, (*known, *MCP_ENDPOINTS)), UnknownPaths(live, known)
    inner = Router(routes, redirect_slashes=False, default=unknown)
    named = Mount("/ns/{namespace}", NamespacedPaths(live, inner))
    named.path_regex = re.compile(named.path_regex.pattern, re.DOTALL)  # a line feed may follow
    guarded = Guard(Control(live), live, OPEN | inspector.PATHS)
    app = FastRouter([*routes, named, Route(CONTROL, guarded), Mount(CONTROL, guarded)], unknown)
    unknown.app = app
    return app


class FastRouter(Router):
    """A router that looks paths up: whole, or by their first segment, where Starlette's tries one after another."""

    def __init__(self, routes: Sequence[BaseRoute], default: ASGIApp) -> None:
        super().__init__(routes, redirect_slashes=False, default=default)
        fixed = [route for route in routes if isinstance(route, Route) and not route.param_convertors]
        self._fixed = {route.path: route.app for route in reversed(fixed)}
        self._below = dict[str, list[Route]]()
        self.responders = Memo[str, FoundResponder](most=_PATHS_IN_MEMORY)  # at paths that were asked for
        self._others = self.app if any(isinstance(route, Mount) for route in routes) else default
        for route in routes:
            if isinstance(route, Route) and route.param_convertors:
                self._below.setdefault(route.path.split("/", 2)[1], []).append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_mounted = scope.get("root_path") or scope["type"] != "http"
        found = None if is_mounted else self.find(scope["path"])
        if found is None:
            await (self._others if scope["type"] == "http" else self.app)(scope, receive, send)
        else:
            scope["path_params"] = found.params
            await found.app(scope, receive, send)

    def find(self, path: str) -> "FoundRoute | None":
        """Return the application of a route at a path, unless it is mounted."""
        app = self._fixed.get(path)
        if app is not None:
            return FoundRoute(app, {})
        for route in self._below.get(path[1 : path.find("/", 1)], ()):
            if matched := route.path_regex.match(path):
                return FoundRoute(route.app, matched.groupdict())
        return None


class FoundRoute(Struct, frozen=True):
    """The application of a route, and what the path says for its parameters."""

    app: ASGIApp
    params: dict[str, str]


for _kind in ("id", "version", "models"):
    register_url_convertor(_kind, type(_kind, (StringConvertor,), {"regex": PARAMETERS[_kind]})())


class FoundResponder(Struct, frozen=True):
    """What answers at a path: in which namespace, at which path there, and with which parameters."""

    responder: Responder
    path: str
    params: dict[str, str]
    namespace: str

    def admit(self, method: str, query: bytes, table: HeaderTable, body: bytes) -> tuple[HttpRequest, Visit]:
        """Return a whole request to this path, and its visit."""
        visit = self.responder.admit(method, self.path, self.namespace)
        row = visit.row
        row.query, row.headers, row.unweighed, row.asked = query, table.headers, table.weight, row.began
        row.take(body)
        request = HttpRequest(
            method=method,
            path=self.path,
            query=parse_query(query) if query else _NOTHING,
            headers=table.headers,
            body=body,
            namespace=self.namespace,
            path_params=self.params,
        )
        vars(request)["fields"] = table.by_name  # which it would make once more
        return request, visit

    def read_handshake(self, query: bytes, headers: Fields) -> HttpRequest:
        """Return the handshake of a WebSocket at this path."""
        return HttpRequest(
            method="GET",
            path=self.path,
            query=parse_query(query),
            headers=headers,
            namespace=self.namespace,
            path_params=self.params,
        )


_NOTHING: Mapping[str, str] = {}
_PATHS_IN_MEMORY, _RESPONDER = 1 << 20, 1_000  # bytes, about
_NAMED = "/ns/"  # what paths in a namespace begin with


class Site:
    """The application of the dialect that is the default now, made for its first request."""

    def __init__(self, live: Live, lifespan: Lifespan[Router] | None = None) -> None:
        self._live, self._start, self._apps = live, Router(lifespan=lifespan), dict[str, FastRouter]()
        self._hosts = live.settings.hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._start(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a client over a WebSocket, where there is one; else refuse it (403)."""
        found = self.find_socket(find_path(scope))
        handshake = None if found is None else found.read_handshake(scope["query_string"], scope["headers"])
        if found is None or handshake is None or not found.responder.admits_socket(handshake):
            await receive()
            await send({"type": "websocket.close"})
            return
        session = _find_session(found.responder)
        await session(found.responder, handshake, scope=scope, receive=receive, send=send).run()

    def admits_socket(self, path: str, query: bytes, headers: Fields) -> bool:
        """Return whether the connection of a handshake is to go on as a WebSocket."""
        found = self.find_socket(path)
        return found is not None and found.responder.admits_socket(found.read_handshake(query, headers))

    def find_socket(self, path: str) -> "FoundResponder | None":
        """Return what answers at a path over a WebSocket, or None."""
        if not self._live.settings.sockets:
            return None
        path = tidy(path)
        found = self._look_up(path, whole=True)
        if found is None:
            _, inner = split_namespace(path) if path.startswith(_NAMED) else (DEFAULT, path)
            dialect = find_owner(inner, _list_dialects(self._live), self._live.settings.dialect)
            known = list_endpoints(_list_dialects(self._live), self._live.settings.dialect)
            full = complete_path(inner, dialect, known)
            found = None if full is None else self._look_up(path.removesuffix(inner) + full, whole=True)
        speaks = found is not None and any(each.over_socket for each in found.responder.operations.values())
        return found if speaks else None

    @property
    def _app(self) -> "FastRouter":
        settings = self._live.settings
        if settings.hosts is not self._hosts:  # as after a reload
            self._take_hosts(settings)
        return self._apps.get(settings.dialect) or self._apps.setdefault(settings.dialect, build_app(self._live))

    def _take_hosts(self, settings: Settings) -> None:
        """Drop the applications if the settings have other hosts; what was made whole is made whole again."""
        if settings.hosts != self._hosts:
            known = [app.default for app in self._apps.values()]
            self._apps.clear()
            app = self._apps[settings.dialect] = build_app(self._live)
            if isinstance(app.default, OtherDialects) and any(
                isinstance(old, OtherDialects) and old.app for old in known
            ):
                app.default.app = _build_whole_app(self._live)
        self._hosts = settings.hosts

    def find(self, path: str) -> FoundResponder | None:
        """Return what answers at a path, for entrances without a scope; None: the application has to look."""
        settings = self._live.settings
        app = self._apps.get(settings.dialect) if settings.hosts is self._hosts else None
        found = None if app is None else app.responders.get(path)
        return self._look_up(path) if found is None else found

    def _look_up(self, path: str, *, whole: bool = False) -> FoundResponder | None:
        """Look a path up: in the `whole` application, or in what requests have needed of it by now."""
        namespace, inner = split_namespace(path) if path.startswith(_NAMED) else (DEFAULT, path)
        app = self._app
        found = app.find(inner)
        others = app.default
        if (found is None or namespace != DEFAULT) and isinstance(others, OtherDialects):
            if whole and others.app is None:
                others.app = _build_whole_app(self._live)
            found = None if others.app is None else others.app.find(inner)
        if found is None or not isinstance(found.app, AsgiEntrance):
            return None
        return app.responders.keep(
            path, FoundResponder(found.app.responder, inner, found.params, namespace), _RESPONDER + 4 * len(path)
        )


def _find_session(responder: Responder) -> "type[SocketSession]":
    """Return what serves a client over a WebSocket; few servers need it."""
    spoken = {operation.over_socket for operation in responder.operations.values()}
    if "live" in spoken:
        from mockserver.server.sockets.gemini_live import LiveSession

        return LiveSession
    if "realtime" in spoken:
        from mockserver.server.sockets.realtime_session import RealtimeSession

        return RealtimeSession
    from mockserver.server.sockets.responses_session import ResponsesSession

    return ResponsesSession


class NamespacedPaths(Struct, eq=False):
    """The application behind `/ns/{namespace}`, if that is a name; else the dialect's 404."""

    live: Live
    inner: Router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_namespace(scope["path_params"]["namespace"]):
            await self.inner(scope, receive, send)
            return
        dialect = find_owner(find_path(scope), _list_dialects(self.live), self.live.settings.dialect)
        entrance = AsgiEntrance(Responder(self.live, dialect, {}, refusal=_BAD_NAME))
        await entrance({**scope, "path_params": {}}, receive, send)


class UnknownPaths(Struct, eq=False):
    """The application at every other path: the known path that it stands for, else the 404 that names the nearest."""

    live: Live
    known: tuple[Endpoint, ...]
    app: Router | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        whole = scope["path"]
        if whole == "*":  # OPTIONS of the server as such
            await send({"type": "http.response.start", "status": 204, "headers": _OF_THE_SERVER})
            await send({"type": "http.response.body"})
            return
        if self.app is not None and tidy(whole) != whole:
            await self._answer_at(tidy(whole), scope, receive, send)
            return
        path = find_path(scope)
        if self.app is not None and (found := _WELL_KNOWN.fullmatch(path)):
            await self._answer_at(f"{found['place']}{found['document']}{found['rest']}", scope, receive, send)
            return
        dialect = find_owner(path, _list_dialects(self.live), self.live.settings.dialect)
        if self.app is not None and (full := complete_path(path, dialect, self.known)) is not None:
            await self._answer_at(whole.removesuffix(path) + full, scope, receive, send)
            return
        meant = _find_control_path(scope, path) or find_nearest_path(
            scope["method"], path, self.known, scope["query_string"].decode()
        )
        entrance = AsgiEntrance(Responder(self.live, dialect, operations={}, nearest=meant))
        await entrance({**scope, "path_params": scope.get("path_params", {})}, receive, send)

    async def _answer_at(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered as if it had come to another path."""
        assert self.app is not None  # noqa: S101  # it is set as soon as it is made
        await self.app({**scope, "path": path, "raw_path": path.encode(), "root_path": ""}, receive, send)


def _find_control_path(scope: Scope, path: str) -> str | None:
    """Return the control path that was asked for behind a namespace or a mount."""
    _, control, rest = path.partition(CONTROL)
    namespace = scope.get("path_params", {}).get("namespace")
    chosen = f"?namespace={quote(namespace)}" if namespace and rest.strip("/") else ""
    return f"{scope['method']} {CONTROL}{clip(rest)}{chosen}" if control and rest[:1] in ("", "/") else None


# Where clients look for a document about what is in a namespace (RFC 8414, 3.1).
_WELL_KNOWN = re.compile(r"(?P<document>/\.well-known/[^/]+)(?P<place>/ns/[^/]+)(?P<rest>/.*)")
_OF_THE_SERVER = ((b"allow", b"GET, HEAD, POST, DELETE, OPTIONS"),)
_BAD_NAME = f"The name of a namespace must have 1 to {LONGEST} printable characters."


class AsgiEntrance(Struct, eq=False):
    """The application at one path."""

    responder: Responder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        lent = scope.get("extensions") or {}
        client = ClientConnection(receive, send, lent.get(WIRE), in_process=lent.get(IN_PROCESS))
        namespace = scope["path_params"].get("namespace", DEFAULT)
        visit = self.responder.admit(scope["method"], find_path(scope), namespace)
        visit.row.query, visit.row.headers = scope["query_string"], scope["headers"]
        visit.row.weigh(weigh(scope["headers"]))
        visit.receive = receive
        if client.in_process is not None:
            visit.in_process, visit.patient = True, client.in_process.patient
        await serve(self.responder, self._respond(scope, receive, visit), visit, client, scope)

    async def _respond(self, scope: Scope, receive: Receive, visit: Visit) -> Response:
        live, row, headers = self.responder.live, visit.row, scope["headers"]
        try:
            if self._is_large_form(headers, visit):
                return await self._respond_to_form(make_request(scope, b"", row.namespace), receive, visit)
            if visit.operation is not None and OPERATIONS[visit.operation.name].takes_files:
                body = await read_body(receive, live.settings.max_upload, headers, visit.take, setting="max_upload")
            else:
                body = await read_body(receive, live.settings.max_body, headers, visit.take)
            if len(body) > LARGE or live.unsent.held > live.settings.max_unsent:
                visit.take(estimate_parsed_size(body))
        except Failure as failure:
            request = make_request(scope, b"", row.namespace)
            return self.responder.finish(self.responder.refuse(request, failure), request, visit)
        row.asked = monotonic()
        row.take(body)
        return await self.responder.respond(make_request(scope, body, row.namespace), visit)

    def _is_large_form(self, headers: Fields, visit: Visit) -> bool:
        """Return whether files of a request may go to disk: not if it may have to be sent to an upstream."""
        operation, length = visit.operation, find_length(headers)
        if operation is None or not OPERATIONS[operation.name].takes_files or (length or inf) <= LARGEST_IN_MEMORY:
            return False
        media = next((value for name, value in headers if name == b"content-type"), b"").lower()
        is_form = media.startswith(b"multipart/form-data") and not find_codings(headers)
        engine = self.responder.live.find_engine(visit.row.namespace)
        records = isinstance(engine.player, Player) and engine.player.choice.record != "none"
        return is_form and not records and not engine.rule_set.forwards

    async def _respond_to_form(self, request: HttpRequest, receive: Receive, visit: Visit) -> Response:
        """Respond to a form, whose files go to disk while it comes: until then, or as long as an object keeps them.

        Raises like `read_body`; before it is read, for a sender that may not ask.
        """
        try:
            reader = FormReader(request.header("content-type") or "")
        except ValueError:  # its type does not say where its parts end
            return await self.responder.respond(request, visit)
        request = replace(request, form=reader)
        try:
            self._check_sender(request, visit)
            await self._read_form(reader, request.headers, receive, visit)
            visit.row.asked = monotonic()
            response = await self.responder.respond(request, visit)
        finally:
            reader.close("the form is no longer kept")
        if response.forwarded is not None:  # rules or a recording have changed meanwhile
            raise Failure("overloaded", _NOT_FORWARDED, retry_after=1.0)
        return response

    def _check_sender(self, request: HttpRequest, visit: Visit) -> None:
        """Refuse what the request would be refused for after it was read. Raises Failure."""
        settings = self.responder.live.settings
        if not visit.in_process:
            check_page(request, settings)
        if settings.keys is not None:
            check_key(self.responder.dialect.credential(request), settings.keys)

    async def _read_form(self, reader: FormReader, headers: Fields, receive: Receive, visit: Visit) -> None:
        """Read a form while it comes, and count what of it is in memory. Raises like `read_body`."""
        start, received, counted = bytearray(), 0, 0
        limit = self.responder.live.settings.max_upload
        async for piece in receive_pieces(receive, limit, headers, setting="max_upload"):
            reader.write(piece)
            if reader.held > counted:
                visit.take(reader.held - counted)
                counted = reader.held
            received += len(piece)
            if len(start) < MOST_KEPT:
                start += piece
        visit.row.take(bytes(start))
        visit.row.received = received


_NOT_FORWARDED = "The server began to pass requests on while it read this upload; please send it again."
