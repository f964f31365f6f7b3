"""The control API: what happened, which rules there are, and a way to change them while the server runs.

Everything is JSON, mistakes too. Who may come in is decided before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mockserver.core.plan import REASONS, Failure
from mockserver.server.access import CONTROL
from mockserver.server.control import calls, rules, state
from mockserver.server.control.calls import explain
from mockserver.server.control.requests import ControlRequest, RefusedError, View
from mockserver.server.control.state import metrics
from mockserver.server.live import Live
from mockserver.server.namespaces import ALL, DEFAULT, LONGEST, allowed
from mockserver.server.snapshot import ClientLeftError, path_of, query_from, read_body


@dataclass(frozen=True, slots=True)
class Control:
    """The ASGI application at `CONTROL`: finds the view that is asked for and answers with what it says."""

    live: Live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._answer(scope, receive)
        except RefusedError as refused:
            response = refused.response
        except ClientLeftError:
            return
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        method, path = "GET" if scope["method"] == "HEAD" else scope["method"], path_of(scope)
        views, item = _found(path)
        if not views:
            near = get_close_matches(path, PATHS, n=1, cutoff=0.5) if path.strip("/") != "api" else []
            hint = f"; did you mean {CONTROL}{near[0]}?" if near else f"; there are {', '.join(PATHS)} below {CONTROL}"
            raise RefusedError(404, f"nothing stands at {CONTROL}{path[:200]}{hint}")
        if method not in views:
            allow = ", ".join(views)
            raise RefusedError(405, f"{CONTROL}{path} takes {allow}, not {method}", headers={"allow": allow})
        query = query_from(scope["query_string"])
        try:
            body = await read_body(receive, self.live.settings.max_body, scope["headers"])
        except Failure as failure:
            raise RefusedError(failure.status or REASONS[failure.reason], str(failure)) from failure
        kind = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"content-type"), "")
        return await views[method](ControlRequest(self.live, _namespace(query), query, item, body=body, kind=kind))


def _found(path: str) -> tuple[Mapping[str, View], str]:
    if path in VIEWS:
        return VIEWS[path], ""
    for front, views in ITEMS.items():
        if path.startswith(front) and len(path) > len(front):
            return views, path.removeprefix(front)
    return {}, ""


def _namespace(query: Mapping[str, str]) -> str:
    name = query.get("namespace", DEFAULT)
    if name != ALL and not allowed(name):
        raise RefusedError(400, f"a namespace has 1 to {LONGEST} printable characters; give another ?namespace=")
    return name


# What stands at each path, by method; below the second ones stands an item of its own.
VIEWS: Mapping[str, Mapping[str, View]] = {
    "/api/health": {"GET": state.health},
    "/api/ready": {"GET": state.ready},
    "/api/calls": {"GET": calls.listed, "DELETE": calls.forget},
    "/api/rules": {"GET": rules.listed, "POST": rules.add, "DELETE": rules.remove_all},
    "/api/cassette": {"GET": state.show_cassette, "PUT": state.play_cassette, "DELETE": state.unplay_cassette},
    "/api/explain": {"POST": explain},
    "/api/state": {"GET": state.shown, "POST": state.put},
    "/api/reset": {"POST": state.reset},
    "/api/reload": {"POST": state.reload_files},
    "/api/timing": {"POST": state.timing},
    "/metrics": {"GET": metrics},
}
ITEMS: Mapping[str, Mapping[str, View]] = {"/api/calls/": {"GET": calls.one}, "/api/rules/": {"DELETE": rules.remove}}
PATHS = (*VIEWS, "/api/calls/{number}", "/api/rules/{name}")
