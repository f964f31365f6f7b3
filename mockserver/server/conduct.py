"""One exchange over ASGI: the request is read, answered by its endpoint, the answer sent, all of it noted."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from starlette.types import Receive, Scope, Send

from mockserver.core.action import Action
from mockserver.core.errors import ConfigError
from mockserver.core.exchange import Exchange
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Failure
from mockserver.core.printable import printable
from mockserver.core.seed import monotonic
from mockserver.delivery.drive import CLIENT_LEFT, CUT, STOPPED, drive, fits, hand_over
from mockserver.delivery.faults import bent
from mockserver.delivery.line import SHORT, STAGE, WIRE, Line
from mockserver.delivery.pace import AT_ONCE, Pace
from mockserver.delivery.script import Kept, script
from mockserver.server.crash import crash
from mockserver.server.endpoint import Endpoint
from mockserver.server.limits import Visit
from mockserver.server.namespaces import DEFAULT
from mockserver.server.relay import Relay
from mockserver.server.routes import meant
from mockserver.server.served import Served
from mockserver.server.snapshot import ClientLeftError, path_of, read_body, snapshot
from mockserver.state.journal import Journal

MEMORABLE = 65_536  # bytes of a request and its answer together, up to which they are remembered
STOPPING = Failure("overloaded", "The server is stopping.")

log = logging.getLogger("mockserver")


@dataclass(slots=True, eq=False)
class Conduct:
    """An endpoint as an ASGI application."""

    endpoint: Endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request over ASGI and note it in the journal."""
        endpoint, namespace = self.endpoint, scope["path_params"].get("namespace", DEFAULT)
        journal = endpoint.live.journal  # the one it is opened in, though the server may begin anew meanwhile
        exchange = self._opened(scope, namespace, journal)
        lent = scope.get("extensions", _NOTHING)
        line = Line(receive, send, lent.get(WIRE), lent.get(SHORT), stage=lent.get(STAGE))
        limiter = endpoint.live.limiter
        visit = None if limiter is None else Visit(limiter, namespace, endpoint.dialect.rates, receive)
        if visit is not None and line.stage is not None:
            visit.patient = line.stage.patient
        ended = CLIENT_LEFT
        try:
            served = await self._received(scope, receive, exchange, visit)
            if served.forward is None:
                ended = await self._delivered(served, line, exchange, visit)
            else:
                ended = await self._relayed(served, scope, line, exchange)
        except ClientLeftError:
            pass
        except asyncio.CancelledError:  # the server stops, and this request was still open
            if line.wire is not None and line.wire.gone:  # or its client has left, and it was not waited for that
                return
            ended = STOPPED
            if not await self._turned_away(snapshot(scope, b"", namespace), line, exchange):
                raise
        except Exception:  # a fault of our own, once an answer has begun or before it could
            ended = CUT["close"]
            raise
        finally:
            if visit is not None:
                visit.leave()
            journal.close(exchange, ended)

    def _opened(self, scope: Scope, namespace: str, journal: Journal) -> Exchange:
        """A new row of the journal, with what is known before anything is read."""
        endpoint = self.endpoint
        exchange = journal.open(scope["method"], path_of(scope), endpoint.dialect.name, namespace)
        exchange.query, exchange.headers = scope["query_string"], scope["headers"]
        operation = meant(exchange.method, endpoint.operations)
        if operation is not None:
            exchange.operation = operation.name
        return exchange

    async def _received(self, scope: Scope, receive: Receive, exchange: Exchange, visit: Visit | None) -> Served:
        """What a request gets: what an equal one got, where nothing counts, else what is made for it."""
        live, namespace = self.endpoint.live, exchange.namespace
        try:
            body = await read_body(receive, live.settings.max_body, scope["headers"])
        except Failure as failure:
            return Served(self.endpoint.dialect.fail(snapshot(scope, b"", namespace), failure, None), "invalid")
        exchange.asked = monotonic()
        exchange.take(body)
        engine = live.engine_of(namespace)
        if live.namespaces.outcasts:
            await live.forget_outcasts()
        exchange.rules = engine.rules
        key = (namespace, scope["method"], scope["path"], scope["query_string"], body, *scope["headers"])
        served = live.memo.get(key, engine)
        if served is None:
            http = snapshot(scope, body, namespace)
            served = await self._guarded(http, visit)
            if served.forward is not None:
                return replace(served, asked=http)
            if served.settled and _memorable(served.reply, body):
                live.memo.put(key, engine, served)
            return served
        if visit is not None and served.bill is not None:
            try:
                await visit.enter(served.bill)
            except Failure as failure:
                return self.endpoint.refused(snapshot(scope, body, namespace), failure, served.call)
        if served.kept is not None:
            await engine.memory.put(served.kept)
        return served

    async def _guarded(self, http: HttpRequest, visit: Visit | None) -> Served:
        try:
            return await self.endpoint.handle(http, visit)
        except ClientLeftError:
            raise
        except Exception as error:
            log.error("%s", crash(error, http))
            fault = Failure("server_error", "mockserver failed on this request; its log says how.")
            return Served(self.endpoint.dialect.fail(http, fault, None), "invalid")

    async def _delivered(self, served: Served, line: Line, exchange: Exchange, visit: Visit | None) -> str:
        """Note what is served in the exchange, send it, and return how it ended."""
        rates = () if visit is None else visit.headers
        _note(served, rates, exchange)
        if line.stage is not None:
            return await line.stage.perform(self._actions(served, rates, exchange), exchange.note)
        if served.pace is AT_ONCE and served.error is None and fits(served.reply):
            return await hand_over(served.reply, self._more(served, rates, exchange), line, exchange.note)
        if served.pace is not AT_ONCE:
            waited = None if visit is None else visit.waited_until
            line = replace(line, began=exchange.asked if waited is None else waited)
        return await drive(self._actions(served, rates, exchange), line, exchange.note)

    async def _relayed(self, served: Served, scope: Scope, line: Line, exchange: Exchange) -> str:
        """Have the upstream answer, and return how it ended. Raises ConfigError where there is no connection."""
        if line.stage is not None:
            raise ConfigError(_NO_RELAY)
        _note(served, (), exchange)
        relay = Relay(self.endpoint.live, self.endpoint.dialect, served, line, exchange)
        try:
            return await relay.run(scope, self._more(served, (), exchange))
        except Failure as failure:
            http = snapshot(scope, b"", exchange.namespace)
            failed = Served(self.endpoint.dialect.fail(http, failure, served.call), served.source, served.call)
            return await self._delivered(failed, line, exchange, None)

    async def _turned_away(self, http: HttpRequest, line: Line, exchange: Exchange) -> bool:
        """Whether there was still time to say that the server stops; an answer that has begun breaks off instead."""
        served = Served(self.endpoint.dialect.fail(http, STOPPING, None), "invalid")
        try:
            await drive(self._actions(served, (), exchange), line, exchange.note)
        except RuntimeError:  # a second head is none
            return False
        _note(served, (), exchange)
        return True

    def _actions(self, served: Served, rates: Headers, exchange: Exchange) -> Iterable[Action]:
        """What is done to the connection, faults included."""
        faults, pace = served.faults, self._paced(served, exchange.namespace)
        actions = script(served.reply, pace, self._more(served, rates, exchange), apart=bool(faults))
        if served.error is None:
            return actions
        exchange.faults = tuple([fault.name for fault in faults])
        streamed, head = served.reply.frames is not None, exchange.method == "HEAD"
        return bent(actions, faults, served.error, streamed=streamed, head=head)

    def _more(self, served: Served, rates: Headers, exchange: Exchange) -> Headers:
        """The headers of limits, and those that say where an answer came from."""
        traced = self.endpoint.live.settings.source_headers
        return (*rates, *_trace(served.source, exchange.seq)) if traced else rates

    def _paced(self, served: Served, namespace: str) -> Pace:
        """The pace at which it goes out: a request may switch its waits off or on, a namespace those of all others."""
        if served.pace is AT_ONCE:
            return AT_ONCE
        timed = self.endpoint.live.timed(namespace) if served.timed is None else served.timed
        return served.pace if timed else AT_ONCE


def _note(served: Served, rates: Headers, exchange: Exchange) -> None:
    """Write down what is served, with the headers of limits."""
    reply, call = served.reply, served.call
    exchange.call, exchange.source, exchange.usage = call, served.source, served.usage
    exchange.bent_by, exchange.through = served.bent_by, served.through
    if call is not None:
        exchange.model = call.model
    exchange.status, exchange.reply_headers = reply.status, (*reply.headers, *rates) if rates else reply.headers


def _memorable(reply: Reply, body: bytes) -> bool:
    """Whether request and answer are small, and the answer can be read again."""
    if reply.frames is None:
        return len(body) + len(reply.body) <= MEMORABLE
    return isinstance(reply.frames, Kept | tuple) and len(body) <= MEMORABLE


def _trace(source: str, number: int) -> Headers:
    return (("x-mockserver-source", _printable(source)), ("x-mockserver-call", str(number)))


@lru_cache(maxsize=1024)
def _printable(source: str) -> str:
    """Where an answer came from as a header can hold it: in ASCII, on one line."""
    return printable(source)


_NOTHING: Mapping[str, Any] = {}
_NO_RELAY = (
    "this request is to be answered by its provider (it is recorded, or a rule forwards it), which needs a server;"
    " have the client call it at its base_url, without transport()"
)
