"""The entrance for ASGI: what is at one path as an application, for Starlette's routes and under any ASGI server."""

from msgspec import Struct
from starlette.types import Receive, Scope, Send

from mockserver.core.http import weigh
from mockserver.core.plan import Failure
from mockserver.core.seed import monotonic
from mockserver.delivery.drive import IN_PROCESS, WIRE, ClientConnection
from mockserver.server.deliver import serve
from mockserver.server.limits import estimate_parsed_size
from mockserver.server.namespaces import DEFAULT
from mockserver.server.respond import LARGE, Responder, Response, Visit
from mockserver.server.snapshot import path_of, read_body, snapshot


class AsgiEntrance(Struct, eq=False):
    """The application at one path."""

    responder: Responder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        lent = scope.get("extensions") or {}
        client = ClientConnection(receive, send, lent.get(WIRE), in_process=lent.get(IN_PROCESS))
        namespace = scope["path_params"].get("namespace", DEFAULT)
        visit = self.responder.admit(scope["method"], path_of(scope), namespace)
        visit.row.query, visit.row.headers = scope["query_string"], scope["headers"]
        visit.row.weigh(weigh(scope["headers"]))
        visit.receive = receive
        if client.in_process is not None:
            visit.in_process, visit.patient = True, client.in_process.patient
        await serve(self.responder, self._respond(scope, receive, visit), visit, client, scope)

    async def _respond(self, scope: Scope, receive: Receive, visit: Visit) -> Response:
        live, row = self.responder.live, visit.row
        try:
            body = await read_body(receive, live.settings.max_body, scope["headers"], visit.take)
            if len(body) > LARGE or live.unsent.held > live.settings.max_unsent:
                visit.take(estimate_parsed_size(body))
        except Failure as failure:
            request = snapshot(scope, b"", row.namespace)
            return self.responder.finish(self.responder.refuse(request, failure), request, visit)
        row.asked = monotonic()
        row.take(body)
        return await self.responder.respond(snapshot(scope, body, row.namespace), visit)
