"""The web face: one request becomes a Call, a Plan, a Reply, actions. A reader starts at `Endpoint.handle`."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from starlette.routing import Mount, Route, Router
from starlette.types import Lifespan, Receive, Scope, Send

from mockserver.core.call import Call
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Failure, Plan, Raw, Timing
from mockserver.delivery.drive import CLIENT_LEFT, CUT, drive
from mockserver.delivery.script import script, written
from mockserver.dialects import Dialect, Operation, discover
from mockserver.server.live import Live
from mockserver.server.routes import Place, nearest, owner, places, tidy
from mockserver.server.served import Served, steady
from mockserver.server.snapshot import ClientLeftError, path_of, read_body, snapshot

MEMORABLE = 65_536  # bytes of a request and its answer together, up to which they are remembered
STOPPING = Failure("overloaded", "The server is stopping.")

log = logging.getLogger("mockserver")


def build_app(live: Live, lifespan: Lifespan[Router] | None = None) -> Router:
    """The ASGI application: every dialect at its mounts, the default one at the bare paths, all again under `/ns/…`."""
    known = places(discover(), live.settings.dialect)
    routes = [Route(place.path, Endpoint(live, place.dialect, place.operations)) for place in known]
    unknown = Unknown(live, known)
    inner = Router(routes, redirect_slashes=False, default=unknown)
    app = Router([*routes, Mount("/ns/{namespace}", inner)], redirect_slashes=False, default=unknown, lifespan=lifespan)
    unknown.app = app
    return app


@dataclass(slots=True, eq=False)
class Endpoint:
    """The operations at one path, as an ASGI application."""

    live: Live
    dialect: Dialect
    operations: Mapping[str, Operation]
    instead: str | None = None  # where there are none: the nearest path that has some

    async def handle(self, http: HttpRequest) -> Served:
        """A request to what goes out: the whole story in ten lines."""
        call: Call | None = None
        try:
            operation = self._operation(http.method)
            admit(self.dialect.credential(http), self.live.settings.keys)
            call = operation.parse(http, self.live.settings.strict)
            plan = await self.live.engine.plan(call)
            return self._served(http, call, plan, operation)
        except Failure as failure:
            return Served(self.dialect.fail(http, failure, call), "invalid")

    def _operation(self, method: str) -> Operation:
        if not self.operations:
            raise Failure("route_not_found", details={"nearest": self.instead} if self.instead else {})
        operation = self.operations.get("GET" if method == "HEAD" else method)
        if operation is None:
            allowed = ", ".join(self.operations)
            raise Failure("method_not_allowed", details={"allowed": allowed}, headers=(("allow", allowed),))
        return operation

    def _served(self, http: HttpRequest, call: Call, plan: Plan, operation: Operation) -> Served:
        outcome = plan.outcome
        if isinstance(outcome, Failure):
            reply = self.dialect.fail(http, outcome, call)
        elif isinstance(outcome, Raw):
            reply = Reply(outcome.status, outcome.headers, outcome.body, outcome.frames)
        else:
            reply = operation.render(call, outcome)
        reply = written(reply, plan.timing)
        if not plan.timing.jitter:
            return Served(reply, plan.source, plan.timing, settled=plan.settled, kept=plan.kept)
        stream = self.live.engine.policy.seed.stream("jitter", call.fingerprint)
        return Served(reply, plan.source, plan.timing, lambda: stream.uniform(-1, 1))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request over ASGI and note it in the journal."""
        namespace = scope["path_params"].get("namespace", "default")
        exchange = self.live.journal.open(scope["method"], path_of(scope), self.dialect.name, namespace)
        ended = CLIENT_LEFT
        try:
            served = await self._received(scope, receive, namespace)
            exchange.source, exchange.status = served.source, served.reply.status
            trace = _trace(served.source, exchange.seq) if self.live.settings.source_headers else ()
            ended = await drive(script(served.reply, served.timing, served.jitter, trace), receive, send)
        except ClientLeftError:
            pass
        except asyncio.CancelledError:  # the server stops, and this request was still open
            ended = CUT
            refused = self.dialect.fail(snapshot(scope, b"", namespace), STOPPING, None)
            with suppress(RuntimeError):  # too late: an answer has begun, and breaks off
                await drive(script(refused, Timing(), steady), receive, send)
                exchange.source, exchange.status = "invalid", refused.status
                return
            raise
        finally:
            self.live.journal.close(exchange, ended)

    async def _received(self, scope: Scope, receive: Receive, namespace: str) -> Served:
        try:
            body = await read_body(receive, self.live.settings.max_body)
        except Failure as failure:
            return Served(self.dialect.fail(snapshot(scope, b"", namespace), failure, None), "invalid")
        engine = self.live.engine
        key = (namespace, scope["method"], scope["path"], scope["query_string"], body, *scope["headers"])
        served = self.live.memo.get(key, engine)
        if served is None:
            served = await self._guarded(snapshot(scope, body, namespace))
            if served.settled and _memorable(served.reply, body):
                self.live.memo.put(key, engine, served)
        elif served.kept is not None:
            await engine.memory.put(served.kept)
        return served

    async def _guarded(self, http: HttpRequest) -> Served:
        try:
            return await self.handle(http)
        except Exception:
            log.exception("a fault of mockserver itself, on %s %s", http.method, ascii(http.path))
            fault = Failure("server_error", "mockserver failed on this request; its log says how.")
            return Served(self.dialect.fail(http, fault, None), "invalid")


@dataclass(slots=True, eq=False)
class Unknown:
    """What stands at every other path: the dialect's 404 that names the nearest known path."""

    live: Live
    known: tuple[Place, ...]
    app: Router | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Try the path without doubled and trailing slashes; else refuse."""
        if scope["type"] != "http":
            return
        whole = scope["path"]
        if self.app is not None and tidy(whole) != whole:
            path = tidy(whole)
            await self.app({**scope, "path": path, "raw_path": path.encode(), "root_path": ""}, receive, send)
            return
        path = path_of(scope)
        dialect = owner(path, discover(), self.live.settings.dialect)
        endpoint = Endpoint(self.live, dialect, {}, nearest(scope["method"], path, self.known))
        await endpoint({**scope, "path_params": scope.get("path_params", {})}, receive, send)


def _memorable(reply: Reply, body: bytes) -> bool:
    """Whether request and answer are small, and the answer is no stream still to be made."""
    return reply.frames is None and len(body) + len(reply.body) <= MEMORABLE


def admit(key: str | None, keys: tuple[str, ...] | None) -> None:
    """Refuse a credential that the settings do not list; where they list none, any will do, even none."""
    if keys is None or key in keys:
        return
    if key is None:
        raise Failure("missing_key")
    raise Failure("invalid_key", details={"key": key})


def _trace(source: str, number: int) -> Headers:
    return (("x-mockserver-source", _printable(source)), ("x-mockserver-call", str(number)))


@lru_cache(maxsize=1024)
def _printable(source: str) -> str:
    """Where an answer came from as a header can hold it: in ASCII, on one line."""
    shown = source.encode("ascii", "backslashreplace").decode("ascii")
    return "".join(letter if letter.isprintable() else "?" for letter in shown)
