"""The session of a client on one WebSocket, whatever is spoken on it: its start, its answers and its end.

What a client sends is the subclass's business. Each request that it makes is an HttpRequest with a visit of its own,
answered as over HTTP: by the same rules, with the same timing, faults and limits, and a row of the journal.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Message, Receive, Scope, Send

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.call import WEBSOCKET, Call
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.core.socket_turn import SocketTurn
from mockserver.core.state import StateLostError
from mockserver.delivery.connection import WIRE, ClientConnection, Wire
from mockserver.delivery.paced import PacedStream
from mockserver.engine.offload import LARGEST_IN_LOOP
from mockserver.engine.planning import plan_call
from mockserver.server.deliver import serve
from mockserver.server.limits import estimate_parsed_size
from mockserver.server.replies import PlanRenderer
from mockserver.server.respond import Responder
from mockserver.server.visit import STATE_LOST, Response, Visit, return_response

# codes with which connections are closed (RFC 6455, 7.4)
STOPPING = 1012
CUT_SHORT = 1000
EXPIRED = 1001
FAILED = 1011
FAREWELL = 1.0  # seconds that answers get to notice that their client has left
MAX_SESSION = 3600.0  # seconds that a session lasts


class ConnectionWire(Wire, Protocol):
    """The connection beneath a WebSocket; `answering` is how many answers are being sent on it."""

    answering: int


class SocketWire(Struct, frozen=True):
    """What ends the connection beneath a WebSocket, for faults. It has no framing of HTTP to write past."""

    wire: ConnectionWire

    @property
    def stopping(self) -> bool:
        """False: its answers have an end."""
        return False

    @property
    def half_closed(self) -> bool:
        """False: a client that closes a WebSocket leaves."""
        return False

    @property
    def gone(self) -> bool:
        return self.wire.gone

    @property
    def unsent(self) -> int:
        return self.wire.unsent

    def write(self, data: bytes) -> None:
        self.wire.write(data)

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        self.wire.close(code)

    def reset(self) -> None:
        self.wire.reset()

    def send_whole(self, status: int, rest: bytes) -> bool:
        return False

    def send_piece(self, data: bytes) -> bool:
        return False

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        return False


class SocketSession:
    """One WebSocket of a client, from its handshake, which is known to be right, to its end.

    `expiry` is the reason with which a session that has lasted long enough is closed.
    """

    expiry = ""

    def __init__(
        self, responder: Responder, handshake: HttpRequest, *, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self.responder = responder
        self.handshake = handshake
        self._scope = scope
        self._receive = receive
        self._send = send
        wire: ConnectionWire | None = (scope.get("extensions") or {}).get(WIRE)
        self._wire = None if wire is None else SocketWire(wire)
        self.close_code: int | None = None  # the client's code for closing it
        self._has_left = asyncio.Event()
        self._tasks = set[asyncio.Task[None]]()
        self._began = responder.live.now()

    async def run(self) -> None:
        """Accept the client, and take what it sends until it leaves, the server stops or the session is too old.

        A client that has no requests left, or that a rule refuses, is answered over HTTP.
        """
        await self._receive()  # websocket.connect
        refusal = await self._find_refusal()
        if refusal is not None:
            await self._refuse_handshake(refusal)
            return
        await self._send({"type": "websocket.accept", "subprotocol": self.subprotocol})
        code: int | None = None
        try:
            if await self.greet():
                code = await self._take_all()
        finally:
            if code is None:
                self._has_left.set()
            await self.end_answers(in_time=FAREWELL if code is None else None)
        if code == EXPIRED:
            await self.say_expired()
        if code is not None:
            await self.close(code, self.expiry if code == EXPIRED else "")

    async def _find_refusal(self) -> Response | Failure | None:
        """Return the answer to a client that is refused, or why it is."""
        try:
            await self._count_handshake()
            return await self._ask_rules()
        except Failure as failure:
            return failure
        except StateLostError:
            return STATE_LOST

    async def _count_handshake(self) -> None:
        responder = self.responder
        limiter = self.responder.live.limiter
        if limiter is not None:
            dialect = responder.dialect
            handshake = self.handshake
            key = dialect.read_credential(handshake)
            await limiter.count_handshake(handshake.namespace, key, dialect.rate_limit_headers)

    async def _ask_rules(self) -> Response | None:
        """Return the answer of a rule that refuses a WebSocket, or None. Raises Failure, StateLostError."""
        responder = self.responder
        live = responder.live
        handshake = self.handshake
        query = handshake.query
        model = query.get("model") or query.get("deployment") or ""
        meaning = ["websocket", handshake.path, dict(query)]
        call = Call(responder.dialect.name, WEBSOCKET, model=model, http=handshake, meaning=meaning)
        await live.catch_up(handshake.namespace)
        space = live.namespaces.touch(handshake.namespace)
        engine = space.find_engine(live.engine)
        plan = await plan_call(engine, call)
        if plan.outcome is None and not plan.faults:
            return None
        if plan.outcome is None:
            plan = replace(plan, outcome=_BROKEN)
        operation = next(iter(responder.endpoint.operations.values()))
        renderer = PlanRenderer(responder.dialect, engine, settings=live.settings, timed=space.timed)
        return renderer.render(operation, call, plan)

    async def _refuse_handshake(self, refusal: Response | Failure) -> None:
        """Answer over HTTP in place of a WebSocket, by ASGI's extension for that."""

        async def send(message: Message) -> None:
            await self.send({**message, "type": f"websocket.{message['type']}"})

        visit = self.admit(self.handshake)
        visit.receive = self._receive_leaving
        response = visit.finish(visit.refuse(refusal) if isinstance(refusal, Failure) else refusal)
        client = ClientConnection(visit.receive, send, self._wire if response.plan.faults else None)
        await serve(return_response(response), visit, client, self._make_scope(visit))
        if self.is_gone and not self._has_left.is_set():  # a fault has cut it, and nobody has noticed yet
            await self._receive_leaving()

    async def _receive_leaving(self) -> Message:
        """Wait until a client leaves that waits for its WebSocket."""
        while (await self._receive())["type"] != "websocket.disconnect":
            pass
        self._has_left.set()
        return {"type": "http.disconnect"}

    @property
    def subprotocol(self) -> str | None:
        """The protocol that is spoken, of those that the client offers."""
        return None

    async def greet(self) -> bool:
        """Send what comes first. Return False if the client was turned away, and the connection closed."""
        return True

    async def take(self, message: Message) -> None:
        """Take a message of the client: `text` or `bytes`."""
        raise NotImplementedError

    async def end_answers(self, *, in_time: float | None) -> None:
        """Let the answers that have begun end, in `in_time` seconds at most; None: however long they take."""
        raise NotImplementedError

    def start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine in a task, which ends with the session at the latest; return the task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def end_tasks(self, *, in_time: float | None) -> None:
        """Let the tasks of the session end, in `in_time` seconds at most; None: however long they take."""
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=in_time)
        finally:
            left = tuple(self._tasks)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def say_expired(self) -> None:
        """Tell the client that its session has lasted as long as any may."""
        raise NotImplementedError

    async def _take_all(self) -> int | None:
        """Take the messages of the client. Return the code to close the connection with; None if it has left."""
        while True:
            left = MAX_SESSION - (self.responder.live.now() - self._began)
            try:
                async with asyncio.timeout(max(left, 0.0)):
                    message = await self._receive()
            except TimeoutError:
                return EXPIRED
            if message["type"] == "websocket.disconnect":
                self.close_code = message.get("code")
                return STOPPING if self.close_code == STOPPING else None
            if self.responder.live.now() - self._began >= MAX_SESSION:
                return EXPIRED
            await self.take(message)

    def make_request(self, body: bytes, turn: SocketTurn) -> HttpRequest:
        """Return the request over HTTP that stands for a turn of the client."""
        handshake = self.handshake
        headers = [field for field in handshake.headers if field[0] not in _HANDSHAKE_HEADERS]
        headers.append((b"content-type", b"application/json"))
        return HttpRequest(
            method="POST",
            path=handshake.path,
            query=handshake.query,
            headers=headers,
            body=body,
            namespace=handshake.namespace,
            path_params=handshake.path_params,
            turn=turn,
        )

    def admit(self, request: HttpRequest) -> Visit:
        """Return the visit of a request that the client makes."""
        query = self._scope["query_string"]
        visit = self.responder.admit(request, query, receive=self.wait_until_left, is_whole=False)
        visit.row.is_socket = True
        return visit

    def hold(self, visit: Visit) -> None:
        """Count the bytes of a request that waits for its answer. Raises Failure if all requests take too many."""
        body = visit.request.body
        visit.hold(estimate_parsed_size(body) if len(body) > LARGEST_IN_LOOP else len(body))

    async def answer(self, response: Awaitable[Response], visit: Visit, send: Send) -> None:
        """Send the response to a request, as the messages of ASGI that HTTP has, until its visitor leaves."""
        client = ClientConnection(visit.receive, send, self._wire)
        with self._note_answering():
            await serve(response, visit, client, self._make_scope(visit))

    def _make_scope(self, visit: Visit) -> Scope:
        """Return the scope of a request over HTTP."""
        return {**self._scope, "type": "http", "method": visit.row.method, "http_version": "1.1"}

    async def refuse(self, failure: Failure, visit: Visit) -> Response:
        """Return the response that refuses a request."""
        return visit.finish(visit.refuse(failure))

    async def send(self, message: Message) -> None:
        """Send a message of ASGI, unless the client has left."""
        try:
            await self._send(message)
        except OSError:
            self._has_left.set()

    async def close(self, code: int, reason: str = "") -> None:
        """Close the connection; nothing more is sent."""
        if not self._has_left.is_set():
            self._has_left.set()  # before others can send while this waits
            await self.send({"type": "websocket.close", "code": code, "reason": reason})

    @property
    def is_over(self) -> bool:
        """Whether nothing reaches the client any more."""
        return self._has_left.is_set() or self.is_gone

    @property
    def is_gone(self) -> bool:
        """Whether the connection has ended, although nobody has said so."""
        return self._wire is not None and self._wire.gone

    @contextmanager
    def _note_answering(self) -> Iterator[None]:
        """Count an answer among those that are being sent on the connection, while the block runs."""
        if self._wire is None:
            yield
            return
        self._wire.wire.answering += 1
        try:
            yield
        finally:
            self._wire.wire.answering -= 1

    async def wait_until_left(self) -> Message:
        """Return when the client has left, with the message of ASGI for that."""
        await self._has_left.wait()
        return {"type": "http.disconnect"}


_BROKEN = Failure("overloaded")  # what a fault breaks of a WebSocket that is not opened
_HANDSHAKE_HEADERS = frozenset(
    (
        b"upgrade", b"connection", b"content-type", b"content-length", b"content-encoding", b"transfer-encoding",
        b"sec-websocket-key", b"sec-websocket-version", b"sec-websocket-extensions", b"sec-websocket-protocol",
    )
)  # fmt: skip
