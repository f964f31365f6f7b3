"""The control API: calls, rules, cassettes and state of a running server, as JSON; `access` guards it."""

from collections.abc import Mapping
from difflib import get_close_matches

from msgspec import Struct, field
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from mockserver.core.http import CONTROL
from mockserver.core.plan import REASONS, Failure
from mockserver.core.protocols import StateLostError
from mockserver.server.access import fields_of, has_token
from mockserver.server.control import calls, copied, feed, files, state, trials
from mockserver.server.control.requests import ControlRequest, Looks, RefusedError, View, whole_body
from mockserver.server.inspector import ASSETS, asset
from mockserver.server.live import ALL, DEFAULT, LONGEST, Live, Worker, allowed
from mockserver.server.snapshot import ClientLeftError, path_of, query_from, read_body


class Control(Struct, frozen=True):
    live: Live
    looks: Looks = field(default_factory=Looks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._answer(scope, receive)
        except RefusedError as refused:
            response = refused.response
        except StateLostError as lost:
            words = f"state lost: {lost}; nothing may have changed, try again when it is back"
            response = RefusedError(503, words, headers={"retry-after": "1"}).response
        except ClientLeftError:
            return
        if self.live.worker is not None and self.live.fleet is None:
            response = await _named(response, self.live.worker)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        method, path = "GET" if scope["method"] == "HEAD" else scope["method"], path_of(scope)
        if self.live.settings.inspector and (path == CONTROL or path in ASSETS):
            return _page(method, path, scope)
        views, item = VIEWS.get(path, {}), ""
        for front in ITEMS:
            if path.startswith(front) and path != front:
                views, item = {**ITEMS[front], **views}, path.removeprefix(front)
                number, slash, part = item.partition("/")
                if slash and front in PARTS:
                    views, item = PARTS[front].get(part, {}), number
        if not views:
            path = path.removeprefix(CONTROL)
            near = get_close_matches(path, PATHS, n=1, cutoff=0.5) if path.strip("/") != "api" else []
            hint = f"; did you mean {CONTROL}{near[0]}?" if near else f"; there are {', '.join(PATHS)} below {CONTROL}"
            raise RefusedError(404, f"no such path: {CONTROL}{path[:200]}{hint}")
        if method not in views:
            allow = ", ".join(views)
            raise RefusedError(405, f"{CONTROL}{path} takes {allow}, not {method}", headers={"allow": allow})
        alone = self.live.worker if self.live.fleet is None else None
        if alone is not None and method != "GET" and path not in CHANGELESS:
            raise RefusedError(409, _SHARE_NOTHING.format(count=alone.count))
        query = query_from(scope["query_string"])
        namespace = query.get("namespace", DEFAULT)
        if namespace != ALL and not allowed(namespace):
            raise RefusedError(400, f"a namespace has 1 to {LONGEST} printable characters; give another ?namespace=")
        try:
            body = await read_body(receive, self.live.settings.max_body, scope["headers"])
        except Failure as failure:
            raise RefusedError(failure.status or REASONS[failure.reason], str(failure)) from failure
        fields = fields_of(scope["headers"])
        address, trusted = f"{scope.get('scheme', 'http')}://{fields.get('host', '')}", has_token(fields, self.live)
        asked = ControlRequest(
            *(self.live, namespace, query, item, body, fields.get("content-type", "")),
            *(address, trusted, self.looks),
        )
        if self.live.fleet is None:
            return await views[method](asked)
        from mockserver.server.control.gather import shared

        return await shared(asked, views[method])


def _page(method: str, path: str, scope: Scope) -> Response:
    if method != "GET":
        raise RefusedError(405, f"the inspector takes GET, not {method}", headers={"allow": "GET"})
    return RedirectResponse(f"{CONTROL}/") if path == CONTROL else asset(path, fields_of(scope["headers"]))


async def _named(response: Response, worker: Worker) -> Response:
    """Put the number of the worker in front of JSON: other workers have other calls and counts."""
    if response.headers.get("content-type") != "application/json":
        return response
    front = b'{\n  "worker": %d,\n  "workers": %d,' % (worker.number, worker.count)
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    return Response(front + (await whole_body(response))[1:], response.status_code, headers)


_SHARE_NOTHING = (
    "nothing was changed: the {count} workers share nothing, and this would reach one of them;"
    " start the server with --state redis://HOST:6379/0, or with --workers 1"
)


# The views at each path, by method; ITEMS end with the name of one item.
VIEWS: Mapping[str, Mapping[str, View]] = {
    "/api/health": {"GET": state.health},
    "/api/ready": {"GET": state.ready},
    "/api/calls": {"GET": calls.listed, "DELETE": calls.forget},
    "/api/feed": {"GET": feed.feed},
    "/api/rules": {"GET": files.list_rules, "POST": state.add_rules, "DELETE": state.remove_rules},
    "/api/rules/try": {"POST": trials.try_rules},
    "/api/cassette": {"GET": state.show_cassette, "PUT": state.play_cassette, "DELETE": state.unplay_cassette},
    "/api/cassette/episodes": {"GET": state.list_episodes},
    "/api/explain": {"POST": calls.explain},
    "/api/compare": {"POST": calls.compare},
    "/api/try": {"POST": trials.try_request},
    "/api/state": {"GET": state.shown, "POST": state.put},
    "/api/reset": {"POST": state.reset},
    "/api/reload": {"POST": state.reload_files},
    "/api/timing": {"POST": state.timing},
    "/metrics": {"GET": state.metrics},
}
ITEMS: Mapping[str, Mapping[str, View]] = {
    "/api/calls/": {"GET": calls.one},
    "/api/rules/": {"DELETE": state.remove_rule},
    "/api/files/": {"PUT": files.put},
}
# What there is below an item, by the same.
PARTS: Mapping[str, Mapping[str, Mapping[str, View]]] = {
    "/api/calls/": {
        "body": {"GET": copied.body},
        "as": {"GET": copied.copied},
        "again": {"POST": trials.again},
    },
}
# What may be posted to a server that shares nothing with the other workers.
CHANGELESS = ("/api/explain", "/api/compare", "/api/rules/try", "/api/try")
PATHS = (
    *VIEWS,
    "/api/calls/{number}",
    *(f"/api/calls/{{number}}/{part}" for part in PARTS["/api/calls/"]),
    "/api/rules/{name}",
)
