"""Who may ask what: listed keys, the guard of the control paths, and web pages of other origins."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hmac import compare_digest
from typing import Any

from msgspec import Struct
from starlette.datastructures import Headers as RequestHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mockserver.config.settings import KeySettings, Settings
from mockserver.core.http import CONTROL, HeaderLines, Headers, HttpRequest, read_media_type, write_lines
from mockserver.core.mcp_server import McpServer
from mockserver.core.origins import is_address, is_everywhere, is_loopback, matches_host, read_host, read_origin
from mockserver.core.plan import Failure
from mockserver.dialects import Dialect
from mockserver.dialects._mcp import NAME as MCP_DIALECT
from mockserver.engine.catalogue import Catalogue, fits
from mockserver.server.live import Live
from mockserver.server.routes import tidy

ListedKeys = Mapping[str, KeySettings]


def check_key(key: str | None, keys: ListedKeys | None) -> None:
    """Refuse a credential that the settings do not list. If no keys are configured, every request is accepted."""
    if keys is None:
        return
    if key is None:
        raise Failure("missing_key")
    if key not in keys:
        raise Failure("invalid_key", details={"key": key})
    if not keys[key].allowed:
        raise Failure("key_not_allowed")


def find_signer(http: HttpRequest, dialect: Dialect, keys: ListedKeys) -> str | None:
    """Return which of the keys the URL of a request is signed with, if it is."""
    signs = dialect.is_signed
    return None if signs is None else next((key for key in keys if signs(http, key)), None)


def has_own_login(http: HttpRequest, dialect: str, servers: Mapping[str, McpServer]) -> bool:
    """Return whether a request goes to an MCP server whose clients log in by themselves, or is part of that."""
    if dialect != MCP_DIALECT:
        return False
    named = http.path_params.get("server")
    server = servers.get(named) if named else next(iter(servers.values()), None) if len(servers) == 1 else None
    return server is not None and server.login is not None


def check_model_allowed(model: str, key: str | None, keys: ListedKeys | None, models: Catalogue) -> None:
    """Raise Failure if a key may not use a model."""
    entry = keys.get(key) if keys is not None and key is not None else None
    if entry is None or entry.models is None or not model:
        return
    models.admit(model)
    names = (model, models.find(model).name)
    if not any(fits(pattern, name) for pattern in entry.models for name in names):
        raise Failure("model_not_allowed", details={"model": model})


# Node's own fetch says sec-fetch-mode, so that is no sign of a browser.
_BROWSER_HEADERS = frozenset((b"origin", b"sec-fetch-site", b"sec-fetch-dest", b"sec-purpose", b"service-worker"))
_PRIVATE = (".internal", ".local", ".localhost", ".svc")  # the public DNS has no names below these
_NO_SCRIPT = re.compile(r"(application/(([\w.-]+\+)?json|x-ndjson)|text/event-stream)\s*(;[^,]*)?", re.IGNORECASE)
SANDBOX: Headers = (("content-security-policy", "sandbox"), ("x-content-type-options", "nosniff"))


def check_page(http: HttpRequest, settings: Settings, *, forwarded: bool = False) -> None:
    """Refuse what a web page of another origin may have sent to a provider's path. Raises Failure (403, 415).

    Only browsers send Origin and Sec-Fetch headers, and only pages that were reached by another name another Host. With
    a GET to an address that is neither localhost nor https they send neither, but all of them call themselves Mozilla.
    If `cors` is `*`, any page may ask; but for browsers only what comes from a listed origin is forwarded.
    """
    fields = http.header_values
    host = fields.get(b"host")
    if host and not _is_unchangeable(host) and (wrong := _check_host({"host": host.decode("latin-1")}, settings)):
        raise Failure("forbidden", wrong.message)
    if _is_of_browser(http.method, fields):
        _check_browser(http, settings, forwarded=forwarded)


def passes_page_check(method: str, fields: Mapping[bytes, bytes]) -> bool:
    """Return whether `check_page` lets these headers pass whatever the settings are, as no web page sent them."""
    host = fields.get(b"host")
    return not _is_of_browser(method, fields) and (not host or _is_unchangeable(host))


def _is_of_browser(method: str, fields: Mapping[bytes, bytes]) -> bool:
    calls_itself_browser = method in _SAFE and fields.get(b"user-agent", b"")[:8] == b"Mozilla/"
    return calls_itself_browser or not _BROWSER_HEADERS.isdisjoint(fields)


@lru_cache(maxsize=256)
def _is_unchangeable(authority: bytes) -> bool:
    """Return whether nobody outside can make a Host lead here: it is an address, or a name not in the public DNS."""
    host = read_host(authority.decode("latin-1"))
    return host is not None and (is_address(host) or "." not in host or host.endswith(_PRIVATE))


def _check_browser(http: HttpRequest, settings: Settings, *, forwarded: bool) -> None:
    fields = join_fields(http.headers)
    if "service-worker" in fields:
        raise Failure("forbidden", "Responses of this server cannot be scripts of a service worker.")
    if "sec-purpose" in fields:  # what pages make a browser prefetch says sec-fetch-site: none
        raise Failure("forbidden", "Responses of this server cannot be prefetched.")
    listed = read_origin(fields.get("origin", "")) in settings.cors
    if not listed and "*" not in settings.cors:
        wrong = _check_origin(fields, settings)
        if wrong is None and "sec-fetch-site" not in fields:  # so the host must say what page may have asked
            wrong = _check_host(fields, settings)
        if wrong is not None:
            raise Failure("forbidden", wrong.message)
    if forwarded and not listed:
        raise Failure("forbidden", "This page may not send requests upstream. To allow it, add its origin to cors.")
    has_body = http.body or http.form is not None
    if has_body and http.method not in _SAFE and read_media_type(fields.get("content-type", "")) != "application/json":
        raise Failure("unsupported_media_type")


def may_be_shown(http: HttpRequest) -> bool:
    """Return whether a browser may show the answer as a page of this server, now or from its cache."""
    fields = http.header_values
    if not _BROWSER_HEADERS.isdisjoint(fields):
        return True
    accept = fields.get(b"accept")
    return accept is not None and accept.find(b"text/html") >= 0  # far faster than `in`


def forbid_scripts(http: HttpRequest, headers: Headers | HeaderLines) -> Headers:
    """Return headers that forbid scripts in an answer that a browser could show as a page, now or from its cache."""
    stated = [value for name, value in headers if name.lower() == "content-type"]
    if len(stated) == 1 and _NO_SCRIPT.fullmatch(stated[0]):
        return ()
    shown = any(
        name in _BROWSER_HEADERS or (name == b"accept" and b"text/html" in value) for name, value in http.headers
    )
    return tuple(field for field in SANDBOX if field not in headers) if shown else ()


OPEN = frozenset((f"{CONTROL}/api/health", f"{CONTROL}/api/ready"))  # say nothing, so they need no token
SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_SAFE = ("GET", "HEAD", "OPTIONS")
_CUSTOM = ("x-mockserver-control", "x-mockserver-token", "authorization")  # no page of another origin can send these
_MEDIA = re.compile(r"[\w.-]+/(x-|[\w.-]+\+)?(json|yaml)")  # exactly one: repeated headers are joined by commas
_MAX_QUOTED = 100  # characters of a request that a message quotes

_Fields = Mapping[str, str]


class Objection(Struct, frozen=True):
    """What is wrong with a request to a path that is guarded: a code for programs, and a message."""

    code: str
    message: str


class Guard(Struct, frozen=True, eq=False):
    """An ASGI application for control paths: refuses other origins, unknown hosts and requests without the token."""

    app: ASGIApp
    live: Live
    open: frozenset[str] = OPEN  # paths that need no token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            await (self._refuse(scope) or self.app)(scope, receive, _secure_headers(send))

    def _refuse(self, scope: Scope) -> Response | None:
        """Return the answer to the first thing that is wrong with a request to a control path, or None."""
        fields = join_fields(scope["headers"])
        method = scope["method"]
        settings = self.live.settings
        status = 403
        headers = dict[str, str]()
        visit = (method, fields.get("sec-fetch-mode"), fields.get("sec-fetch-dest")) == ("GET", "navigate", "document")
        wrong = (
            _check_host(fields, settings)
            or _check_origin(fields, settings, visit=visit)
            or _check_change(fields, method)
        )
        if wrong is None and scope["path"] not in self.open and (wrong := _check_token(fields, self.live)) is not None:
            status = 401
            headers = {"www-authenticate": 'Bearer realm="mockserver"'}
        if wrong is None:
            return None
        content = {"error": wrong.message, "code": wrong.code}
        if wrong.code == "token":
            content["token"] = _explain_token_source(settings)
        return Response(json.dumps(content), status, headers, "application/json")


def join_fields(headers: Iterable[tuple[bytes, bytes]]) -> _Fields:
    """Return the headers of a request that are looked at here, by name.

    Repeated ones are joined, so that no check can take the wrong one.
    """
    fields: dict[str, str] = {}
    for name, value in headers:
        key = _LOOKED_AT.get(name)
        if key is not None:
            text = value.decode("latin-1").strip()
            fields[key] = f"{fields[key]}, {text}" if key in fields else text
    return fields


_LOOKED_AT = {
    name.encode(): name
    for name in (
        "host",
        "origin",
        "sec-fetch-site",
        "sec-fetch-mode",
        "sec-fetch-dest",
        "sec-purpose",
        "service-worker",
        "content-type",
        "if-none-match",
        *_CUSTOM,
    )
}


def _check_host(fields: _Fields, settings: Settings) -> Objection | None:
    """Refuse unknown hosts. After DNS rebinding, a page whose name now leads here still sends that name."""
    host = read_host(fields.get("host", ""))
    if host is not None and (
        is_loopback(host)
        or host == settings.host.lower()
        or (is_everywhere(settings.host) and is_address(host))
        or any(matches_host(host, pattern) for pattern in settings.allowed_hosts)
    ):
        return None
    named = _quote(fields["host"]) if fields.get("host") else ""
    message = f"The host {named} is not allowed." if named else "The request has no Host header."
    if host is not None:
        message += f" To allow it, add {host} to allowed_hosts."
    return Objection("host_not_allowed", message)


def _check_origin(fields: _Fields, settings: Settings, *, visit: bool = False) -> Objection | None:
    """Refuse pages of other origins. What a browser says of itself is believed; other clients say nothing.

    `visit`: a link was followed to a control path. The page that held the link sees nothing of the answer.
    """
    said = fields.get("origin")
    site = fields.get("sec-fetch-site", "none")
    if said is not None and read_origin(said) in settings.cors:
        return None
    if said is not None and not _is_same(said, fields.get("host", "")):
        message = f"Requests from pages at {_quote(said)} are blocked. To allow them, add the origin to cors."
        return Objection("origin_not_allowed", message)
    if site not in ("none", "same-origin") and not visit:
        message = f"Requests from pages of other origins are blocked (sec-fetch-site: {_quote(site)})."
        return Objection("cross_site", message)
    return None


def _is_same(said: str, host: str) -> bool:
    found = read_origin(said)
    return found is not None and found in {read_origin(f"{scheme}://{host}") for scheme in ("http", "https")}


def _check_change(fields: _Fields, method: str) -> Objection | None:
    """Refuse forms and simple fetches, which a browser lets any page send: they cannot send what is required here."""
    kind = fields.get("content-type", "")
    if method in _SAFE or _MEDIA.fullmatch(read_media_type(kind)) or any(map(fields.get, _CUSTOM)):
        return None
    message = (
        "Requests that change something need content-type: application/json (or application/yaml), or "
        "x-mockserver-control: 1."
    )
    return Objection("not_meant", message)


def has_token(fields: _Fields, live: Live) -> bool:
    """Return whether a request has the token of control paths, if they need one."""
    return _check_token(fields, live) is None


def _check_token(fields: _Fields, live: Live) -> Objection | None:
    wanted = live.control_token
    given = list(_list_tokens(fields))
    if wanted is None or any(compare_digest(each.encode(), wanted.encode()) for each in given):
        return None
    wrong = "The token is wrong" if any(given) else "Control paths require a token here"
    how = "send authorization: Bearer TOKEN or x-mockserver-token: TOKEN"
    return Objection("token", f"{wrong}: {how}. {_explain_token_source(live.settings)}")


def _explain_token_source(settings: Settings) -> str:
    """Return where somebody who may have the token finds it, for messages and for the inspector."""
    if settings.control_token is None:
        return (
            "The server made it when it started, and mockserver serve printed it then; "
            "the setting control_token sets one of your own."
        )
    return (
        "It is the setting control_token: MOCKSERVER_CONTROL_TOKEN, --control-token or settings of a rules file. "
        "The server does not print it."
    )


def _list_tokens(fields: _Fields) -> Iterator[str]:
    scheme, _, token = fields.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        yield token.strip()
    if "x-mockserver-token" in fields:
        yield fields["x-mockserver-token"]


def _quote(text: str) -> str:
    return json.dumps(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}...")


def _secure_headers(send: Send) -> Send:
    async def send_secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            stated = {name.lower() for name, _ in message["headers"]}
            more = [field for field in SECURITY if field[0] not in stated]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return send_secured


def add_cors(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """Return an application that lets pages of these origins in, if there are any."""
    return CorsMiddleware(app, origins) if origins else app


class _OnceOnly(CORSMiddleware):
    """Starlette's, which leaves answers alone that have its headers already, as those of providers do."""

    async def send(self, message: Message, send: Send, request_headers: RequestHeaders) -> None:
        stated = message.get("headers", ())
        is_complete = any(name == b"vary" and b"Origin" in value for name, value in stated)
        await (send(message) if is_complete else super().send(message, send, request_headers))


class CorsMiddleware(_OnceOnly):
    """Starlette's, for the listed origins; `*` lets all others in too, without credentials and not to control paths."""

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        every: dict[str, Any] = dict.fromkeys(("allow_methods", "allow_headers", "expose_headers"), ("*",))
        every["allow_private_network"] = True
        listed = [each for each in origins if each != "*"]
        super().__init__(app, listed, allow_credentials=True, **every)
        self._others = _OnceOnly(app, ("*",), **every) if "*" in origins else None
        self.find_headers = lru_cache(maxsize=64)(self._make_headers)

    def is_allowed_origin(self, origin: str) -> bool:
        """Return whether an origin is listed, in whatever spelling."""
        return read_origin(origin) in self.allow_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = RequestHeaders(scope=scope).get("origin") if scope["type"] == "http" else None
        if self._others is None or said is None or self.is_allowed_origin(said) or is_control(scope["path"]):
            await super().__call__(scope, receive, send)
        else:
            await self._others(scope, receive, send)

    def _make_headers(self, origin: str | None) -> HeaderLines:
        """Return what it adds to an answer at a provider's path; `origin`: what the request says of it."""
        adds = self if self._others is None or origin is None or self.is_allowed_origin(origin) else self._others
        start: Message = {"type": "http.response.start", "headers": []}
        step = CORSMiddleware.send(adds, start, _pass, RequestHeaders({} if origin is None else {"origin": origin}))
        with suppress(StopIteration):
            step.send(None)  # the coroutine awaits nothing
        return HeaderLines(
            write_lines([(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]])
        )


async def _pass(message: Message) -> None:
    """Take a message."""


@lru_cache(maxsize=8)
def make_cors_middleware(origins: tuple[str, ...]) -> CorsMiddleware:
    """Return what adds the headers for these origins to answers."""
    return CorsMiddleware(_answer_nothing, origins)


async def _answer_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer nothing."""


def add_origin_headers(
    request: HttpRequest, reply: Headers | HeaderLines, origins: tuple[str, ...]
) -> tuple[Headers | HeaderLines, HeaderLines]:
    """Return a reply's own headers, and those for pages of other origins, which win over its own."""
    added = make_cors_middleware(origins).find_headers(request.find_header("origin"))
    if type(reply) is HeaderLines and "vary: " not in reply.lines and "access-control-" not in reply.lines:
        return reply, added  # most replies: no header has to be looked at
    stated = [name.lower() for name, _ in reply]
    if not any(name == "vary" or name.startswith("access-control-") for name in stated):
        return reply, added
    names = {name for name, _ in added} - {"vary"}
    vary = ", ".join([value for name, value in (*reply, *added) if name.lower() == "vary"])
    own = [(name, value) for name, value in reply if name.lower() not in (*names, "vary")]
    return tuple(own), HeaderLines(write_lines([*[field for field in added if field[0] != "vary"], ("vary", vary)]))


def is_control(path: str) -> bool:
    """Return whether a path leads to the control API or the inspector."""
    return f"{tidy(path)}/".startswith(f"{CONTROL}/")
