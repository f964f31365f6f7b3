"""The control API: calls, rules, cassettes and state of a running server, as JSON; `access` guards it.

It has 29 operations at 23 paths, of about 100 lines each. Of its 3,200 lines 1,200 show calls, masked and explained
(`calls`, `rows`, `detail`, `media`, `copies`), and 300 make one answer of those of several servers.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from msgspec import Struct, field
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from mockserver.core.http import CONTROL
from mockserver.core.plan import REASONS, Failure
from mockserver.server.access import has_token, join_fields
from mockserver.server.control import calls, cassette, copies, feed, media, metrics, rules, state, trials
from mockserver.server.control.fleet import (
    Route,
    answer_at_once,
    answer_here,
    answer_question,
    ask_all,
    ask_owner,
    refuse,
)
from mockserver.server.control.requests import ControlCache, ControlRequest, RefusedError, read_response
from mockserver.server.inspector import ASSETS, send_asset
from mockserver.server.landmarks import INSPECTOR_IS_OFF, find_control_place
from mockserver.server.live import Live, Worker
from mockserver.server.namespaces import ALL, DEFAULT, MAX_NAMESPACE_NAME, is_namespace
from mockserver.server.snapshot import ClientLeftError, find_path, parse_query, read_body

_NO_FILES = "servers that share a state do not write files; change the file on each of them, then reload"

# What is at each path, by method; of two paths that fit, the one without a parameter comes first.
ROUTES: Mapping[str, Mapping[str, Route]] = {
    "/api/health": {"GET": Route(state.show_health, answer_at_once)},
    "/api/ready": {"GET": Route(state.show_readiness, state.show_fleet_readiness)},
    "/api/calls": {
        "GET": Route(calls.list_calls, calls.list_fleet_calls),
        "DELETE": Route(calls.forget_calls, ask_all(calls.join_forgotten, changes=True)),
    },
    "/api/calls/{number}": {"GET": Route(calls.show_call, ask_owner)},
    "/api/calls/{number}/body": {"GET": Route(copies.show_body, ask_owner)},
    "/api/calls/{number}/media": {"GET": Route(media.show_medium, ask_owner)},
    "/api/calls/{number}/as": {"GET": Route(copies.copy_call, ask_owner)},
    "/api/calls/{number}/again": {"POST": Route(trials.send_again, ask_owner)},
    "/api/files/{number}": {"PUT": Route(rules.write_rule, refuse(_NO_FILES))},
    "/api/feed": {"GET": Route(feed.open_feed, answer_here)},
    "/api/rules": {
        "GET": Route(rules.list_rules, ask_all(rules.join_rules)),
        "POST": Route(rules.add_rules),
        "DELETE": Route(rules.remove_rules),
    },
    "/api/rules/{name}": {"DELETE": Route(rules.remove_rule)},
    "/api/rules/try": {"POST": Route(trials.try_rules, reads=True)},
    "/api/cassette": {
        "GET": Route(cassette.show_cassette, ask_all(cassette.join_cassettes)),
        "PUT": Route(cassette.play_cassette),
        "DELETE": Route(cassette.unplay_cassette),
    },
    "/api/cassette/episodes": {"GET": Route(cassette.list_episodes, answer_here)},
    "/api/explain": {"POST": Route(trials.explain_request, trials.explain_in_fleet, reads=True)},
    "/api/compare": {"POST": Route(calls.compare_calls, reads=True)},
    "/api/try": {"POST": Route(trials.try_request, reads=True)},
    "/api/state": {
        "GET": Route(state.show_state, ask_all(state.join_states)),
        "POST": Route(state.set_state, state.set_fleet_state),
    },
    "/api/reset": {"POST": Route(state.reset, state.reset_fleet)},
    "/api/reload": {"POST": Route(state.reload_files, state.reload_fleet)},
    "/api/timing": {"POST": Route(state.set_timing)},
    "/metrics": {"GET": Route(metrics.show_metrics, metrics.show_fleet_metrics)},
}
_PARAMETERS = {"{number}": "([^/]+)", "{name}": "(.+)"}
_PATTERNS = {
    re.compile(re.sub(r"{\w+}", lambda found: _PARAMETERS[found[0]], path), re.DOTALL): routes
    for path, routes in ROUTES.items()
    if "{" in path
}
_SHOWN_PATHS = [path for path in ROUTES if not path.startswith("/api/files/")]


class FoundRoutes(NamedTuple):
    """What is at a path, by method, and the item that the path names."""

    routes: Mapping[str, Route]
    item: str = ""


def find_routes(path: str) -> FoundRoutes:
    """Return what is at a path below the control paths."""
    routes = ROUTES.get(path, {})
    for pattern, others in _PATTERNS.items():
        if (matched := pattern.fullmatch(path)) is not None:
            return FoundRoutes({**others, **routes}, matched[1])
    return FoundRoutes(routes)


class Control(Struct, frozen=True):
    """The application at the control paths."""

    live: Live
    cache: ControlCache = field(default_factory=ControlCache)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._respond(scope, receive)
        except RefusedError as refused:
            response = refused.response
        except ClientLeftError:
            return
        if self._lone_worker is not None:
            response = await _name_worker(response, self._lone_worker)
        await response(scope, receive, send)

    @property
    def _lone_worker(self) -> Worker | None:
        """Which of several workers this is that share nothing; None if there are none, or they share a state."""
        return self.live.worker if self.live.fleet is None else None

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        path = find_path(scope).removeprefix(CONTROL)
        if self.live.settings.inspector and (not path or path in ASSETS):
            return _show_page(method, path, scope)
        routes, item = find_routes(path)
        if not routes:
            raise RefusedError(404, _describe_unknown(path, has_inspector=self.live.settings.inspector))
        if method not in routes:
            allow = ", ".join(routes)
            raise RefusedError(405, f"{CONTROL}{path} takes {allow}, not {method}", headers={"allow": allow})
        if self._lone_worker is not None and method != "GET" and not routes[method].reads:
            raise RefusedError(409, _SHARE_NOTHING.format(count=self._lone_worker.count))
        query = parse_query(scope["query_string"])
        namespace = query.get("namespace", DEFAULT)
        if namespace != ALL and not is_namespace(namespace):
            wanted = f"the name of a namespace must have 1 to {MAX_NAMESPACE_NAME} printable characters"
            raise RefusedError(400, f"{wanted}; choose another ?namespace=")
        try:
            body = await read_body(receive, self.live.settings.max_body, scope["headers"])
        except Failure as failure:
            raise RefusedError(failure.status or REASONS[failure.reason], str(failure)) from failure
        fields = join_fields(scope["headers"])
        request = ControlRequest(
            live=self.live,
            namespace=namespace,
            query=query,
            item=item,
            body=body,
            kind=fields.get("content-type", ""),
            address=f"{scope.get('scheme', 'http')}://{fields.get('host', '')}",
            trusted=has_token(fields, self.live),
            cache=self.cache,
            method=method,
            path=path,
        )
        return await routes[method].answer(request)

    async def answer_question(self, passed_on: Mapping[str, Any]) -> bytes:
        """Return what this server answers to a request that another one passes on."""
        body = passed_on["body"].encode("latin-1")
        request = ControlRequest(live=self.live, cache=self.cache, **{**passed_on, "body": body})
        routes = find_routes(request.path).routes
        return await answer_question(routes[request.method], request)


def _show_page(method: str, path: str, scope: Scope) -> Response:
    if method != "GET":
        raise RefusedError(405, f"the inspector accepts only GET, not {method}", headers={"allow": "GET"})
    return send_asset(path, join_fields(scope["headers"])) if path else RedirectResponse(f"{CONTROL}/")


def _describe_unknown(path: str, *, has_inspector: bool) -> str:
    return f"no such path: {CONTROL}{path[:200]}; {_find_hint(path, has_inspector=has_inspector)}"


def _find_hint(path: str, *, has_inspector: bool) -> str:
    place = find_control_place(path.rpartition("/")[2]) if path.strip("/") else "/"
    if place == "/" and not has_inspector:
        return f"the {INSPECTOR_IS_OFF}"
    near = [place] if place else get_close_matches(path, _SHOWN_PATHS, n=1, cutoff=0.5)
    if near and path.strip("/") != "api":
        return f"did you mean {CONTROL}{near[0]}?"
    return f"paths below {CONTROL}: {', '.join(_SHOWN_PATHS)}"


async def _name_worker(response: Response, worker: Worker) -> Response:
    """Put the number of the worker in front of JSON: other workers have other calls and counts."""
    if response.headers.get("content-type") != "application/json":
        return response
    front = b'{\n  "worker": %d,\n  "workers": %d,' % (worker.number, worker.count)
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    return Response(front + (await read_response(response))[1:], response.status_code, headers)


_SHARE_NOTHING = (
    "nothing was changed: the {count} workers share nothing, so this would change only one of them;"
    " start the server with --state redis://HOST:6379/0, or with --workers 1"
)
