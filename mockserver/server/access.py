"""Who may ask what: listed keys, the guard of the control paths, and pages of other origins (CORS).

Starlette's CORSMiddleware does not do: it cannot keep `*` away from the control paths, lists exposed headers in
advance, and overwrites what a rule states.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hmac import compare_digest

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mockserver.config.models_and_limits import Key
from mockserver.core.http import host_of, is_address, is_everywhere, is_loopback, matches, origin
from mockserver.core.plan import Failure
from mockserver.delivery.drive import FAST_PATH
from mockserver.engine.catalogue import Catalogue, fits
from mockserver.server.live import Live
from mockserver.server.routes import tidy

ListedKeys = Mapping[str, Key]


def admit(key: str | None, keys: ListedKeys | None) -> None:
    """Refuse a credential that the settings do not list; where they list none, any will do, even none."""
    if keys is None:
        return
    if key is None:
        raise Failure("missing_key")
    if key not in keys:
        raise Failure("invalid_key", details={"key": key})
    if not keys[key].allowed:
        raise Failure("key_not_allowed")


def permit(model: str, key: str | None, keys: ListedKeys | None, models: Catalogue) -> None:
    """Refuse a model that its key may not ask, unless there is no such model at all."""
    entry = keys.get(key) if keys is not None and key is not None else None
    if entry is None or entry.models is None or not model:
        return
    models.admit(model)
    names = (model, models.find(model).name)
    if not any(fits(pattern, name) for pattern in entry.models for name in names):
        raise Failure("model_not_allowed", details={"model": model})


CONTROL = "/__mockserver__"
OPEN = frozenset((f"{CONTROL}/api/health", f"{CONTROL}/api/ready"))  # say nothing, so they want no token
_SAFE = ("GET", "HEAD", "OPTIONS")
_CUSTOM = ("x-mockserver-control", "x-mockserver-token", "authorization")  # no page of another origin can send these


_Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused: a status, a code, and words that say what to do."""

    status: int
    code: str
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """An ASGI application for control paths: refuses other origins, unknown hosts and requests without the token."""

    app: ASGIApp
    live: Live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it as JSON; either answer carries headers against being framed or sniffed."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = refused(scope, self.live)
        if refusal is None:
            await self.app(scope, receive, _secured(send))
        else:
            await _refuse(refusal, send)


def refused(scope: Scope, live: Live) -> Refusal | None:
    """The first thing that is wrong with a request to a control path, or None."""
    fields = _fields(scope["headers"])
    checks = (_of_host(fields, live), _of_origin(fields, live, scope["method"]), _of_change(fields, scope["method"]))
    return next(filter(None, (*checks, None if scope["path"] in OPEN else _of_token(fields, live))), None)


def _fields(headers: Iterable[tuple[bytes, bytes]]) -> _Fields:
    """The headers of a request by name. What stands there twice is joined, so that no check can take the wrong one."""
    fields: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        fields[key] = f"{fields[key]}, {text}" if key in fields else text
    return fields


def _of_host(fields: _Fields, live: Live) -> Refusal | None:
    """Against DNS rebinding: a page of a name that now leads here still says that name."""
    settings = live.settings
    host = host_of(fields.get("host", ""))
    if host is not None and (
        is_loopback(host)
        or host == settings.host.lower()
        or (is_everywhere(settings.host) and is_address(host))
        or any(matches(host, pattern) for pattern in settings.allowed_hosts)
    ):
        return None
    said = f"the host {_quoted(fields['host'])}" if fields.get("host") else "no host"
    message = f"The request names {said}, which is none of this server's."
    if host is not None:
        message += f" If it is, add it to the setting allowed_hosts: --allowed-hosts {host}"
    return Refusal(403, "host_not_allowed", message)


def _of_origin(fields: _Fields, live: Live, method: str) -> Refusal | None:
    """Against pages of other origins. A browser's own words are believed; other clients say nothing."""
    said, site = fields.get("origin"), fields.get("sec-fetch-site", "none")
    if said is not None and origin(said) in live.settings.cors:
        return None
    if said is not None and not _is_same(said, fields.get("host", "")):
        message = f"A page of {_quoted(said)} asked. If it may, add its origin to the setting cors."
        return Refusal(403, "origin_not_allowed", message)
    if site not in ("none", "same-origin") and not _is_visit(fields, method):
        return Refusal(403, "cross_site", f"A page of another origin asked (sec-fetch-site: {_quoted(site)}).")
    return None


def _is_same(said: str, host: str) -> bool:
    """Whether an origin is the one that the request went to; in front of us may stand what speaks https."""
    found = origin(said)
    return found is not None and found in {origin(f"{scheme}://{host}") for scheme in ("http", "https")}


def _is_visit(fields: _Fields, method: str) -> bool:
    """Whether somebody followed a link to here: the page that held it sees nothing of the answer."""
    kind = fields.get("sec-fetch-mode"), fields.get("sec-fetch-dest")
    return method == "GET" and kind == ("navigate", "document")


def _of_change(fields: _Fields, method: str) -> Refusal | None:
    """Against forms and simple fetches, which a browser lets any page send: they cannot say what is asked for here."""
    kind = fields.get("content-type", "").partition(";")[0].strip().lower()
    if method in _SAFE or kind.endswith(("/json", "+json", "/yaml", "/x-yaml")):
        return None
    if any(fields.get(name) for name in _CUSTOM):
        return None
    message = "A change wants content-type: application/json (or application/yaml), or x-mockserver-control: 1."
    return Refusal(403, "not_meant", message)


def _of_token(fields: _Fields, live: Live) -> Refusal | None:
    wanted = live.control_token
    if wanted is None or any(_is_token(given, wanted) for given in _given(fields)):
        return None
    where = "the setting control_token holds it" if live.settings.control_token else "the server printed it at start"
    how = "send authorization: Bearer TOKEN or x-mockserver-token: TOKEN"
    wrong = "This is not the token of control paths" if any(_given(fields)) else "Control paths want a token here"
    return Refusal(401, "token", f"{wrong}: {how}; {where}.")


def _given(fields: _Fields) -> Iterator[str]:
    scheme, _, token = fields.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        yield token.strip()
    if "x-mockserver-token" in fields:
        yield fields["x-mockserver-token"]


def _is_token(given: str, wanted: str) -> bool:
    return compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def _quoted(text: str) -> str:
    """What the client said, cut and without a character that would not show."""
    return json.dumps(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def _secured(send: Send) -> Send:
    """A send that adds to the head of an answer what it does not say itself."""

    async def secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            said = {name.lower() for name, _ in headers}
            headers += [(name, value) for name, value in SECURITY if name not in said]
            message = {**message, "headers": headers}
        await send(message)

    return secured


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = json.dumps({"error": refusal.message, "code": refusal.code}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *SECURITY]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="mockserver"'))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_LONGEST = 100
SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


_Headers = list[tuple[bytes, bytes]]
MAX_AGE = 600  # seconds that a browser need not ask again


def with_cors(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """The application for pages of these origins too; the very application where there are none."""
    return CorsMiddleware(app, frozenset(origins)) if origins else app


@dataclass(frozen=True, slots=True, eq=False)
class CorsMiddleware:
    """An ASGI application whose answers pages of other origins may read."""

    app: ASGIApp
    origins: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a browser that asks whether it may ask; else pass the request on, and say who may read the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = dict(scope["headers"])
        allowed = self._allowed(asked.get(b"origin"), scope["path"])
        if allowed and scope["method"] == "OPTIONS" and b"access-control-request-method" in asked:
            await _permit(asked, allowed, send)
        else:
            lent = {name: lent for name, lent in scope.get("extensions", {}).items() if name != FAST_PATH}
            await self.app({**scope, "extensions": lent}, receive, _told(send, allowed))

    def _allowed(self, said: bytes | None, path: str) -> _Headers:
        """The headers that let a page of this origin in; none if it may not."""
        if said is None:
            return []
        if origin(said.decode("latin-1")) in self.origins:
            return [(b"access-control-allow-origin", said), (b"access-control-allow-credentials", b"true")]
        if "*" in self.origins and not is_control(path):
            return [(b"access-control-allow-origin", b"*")]
        return []


def is_control(path: str) -> bool:
    """Whether a path is one that controls the server, however many slashes stand in it."""
    return f"{tidy(path)}/".startswith(f"{CONTROL}/")


async def _permit(asked: dict[bytes, bytes], allowed: _Headers, send: Send) -> None:
    """Yes, with the very method and headers that were asked for."""
    headers = [
        *allowed,
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-max-age", b"%d" % MAX_AGE),
    ]
    wanted = asked.get(b"access-control-request-headers", b"")
    if _NAMES.fullmatch(wanted):
        headers.append((b"access-control-allow-headers", wanted))
    if asked.get(b"access-control-request-private-network") == b"true":
        headers.append((b"access-control-allow-private-network", b"true"))
    vary = b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    await send({"type": "http.response.start", "status": 204, "headers": [*headers, (b"vary", vary)]})
    await send({"type": "http.response.body", "body": b""})


def _told(send: Send, allowed: _Headers) -> Send:
    """A send that adds to the head of an answer who may read it; what a rule says of that itself stands."""

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: _Headers = list(message.get("headers", ()))
            said = {name.lower() for name, _ in headers}
            if b"access-control-allow-origin" not in said:
                headers += [*allowed, *((b"access-control-expose-headers", names) for names in _exposed(said, allowed))]
            message = {**message, "headers": [*headers, (b"vary", b"Origin")]}
        await send(message)

    return told


def _exposed(names: Iterable[bytes], allowed: _Headers) -> Iterable[bytes]:
    """The names of an answer's headers that a page cannot read unless it is told so: all but the commonest."""
    shown = b", ".join(sorted(name for name in names if name not in _ALWAYS_READ))
    return (shown,) if shown and allowed else ()


_NAMES = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z, -]+")
_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_ALWAYS_READ = frozenset(
    (
        *(b"cache-control", b"content-language", b"content-length", b"content-type", b"expires", b"last-modified"),
        *(b"connection", b"date", b"pragma", b"set-cookie", b"transfer-encoding", b"vary"),
    )
)
