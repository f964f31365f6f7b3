"""Requests of the control API where several servers share a state: who answers, and how several answers become one.

`ROUTES` states it beside each view. A change holds for all servers; of their journals, each is asked for its own.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct
from starlette.responses import Response

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.state import StateLostError
from mockserver.engine.offload import on_thread
from mockserver.server.control.requests import (
    ControlRequest,
    RefusedError,
    make_json_response,
    parse_number,
    read_response,
)
from mockserver.server.live import ConflictError
from mockserver.server.namespaces import ALL

if TYPE_CHECKING:
    from mockserver.server.fleet import RedisFleet

_TRIES = 20  # of a change that others come before
T = TypeVar("T")

View = Callable[[ControlRequest], Awaitable[Response]]  # answers for one server
FleetView = Callable[[View, ControlRequest, "RedisFleet"], Awaitable[Response]]  # answers for all, often by the view


async def change(view: View, request: ControlRequest, fleet: "RedisFleet") -> Response:
    """Change what one namespace has of its own, at all servers. Try again if somebody else has changed it meanwhile."""

    async def attempt() -> Response:
        try:
            if request.namespace != ALL:
                await fleet.catch_up(request.namespace)
        except Failure as failure:
            words = f"{failure} Reset the namespace, or ask a server of the release that wrote them"
            raise RefusedError(409, words) from failure
        return await view(request)

    return await retry(attempt)


class Route(Struct, frozen=True):
    """What is at a path for a method: the view that answers, and the one that does where servers share a state.

    One that only `reads` changes nothing, so that any of several workers that share nothing may answer it.
    """

    view: View
    fleet_view: FleetView = change
    reads: bool = False

    async def answer(self, request: ControlRequest) -> Response:
        """Answer a request, for all servers if there are several. Raises RefusedError."""
        if request.live.fleet is None:
            return await self.view(request)
        try:
            return await self.fleet_view(self.view, request, cast("RedisFleet", request.live.fleet))
        except StateLostError as error:
            half_done = "" if request.method == "GET" or self.reads else "the change may have been made; "
            words = f"state lost: {error}; {half_done}try again when the state is back"
            raise RefusedError(503, words, headers={"retry-after": "1"}) from error


async def answer_at_once(view: View, request: ControlRequest, _: "RedisFleet") -> Response:
    """Answer without looking for what others have changed, which needs the state."""
    return await view(request)


async def answer_here(view: View, request: ControlRequest, fleet: "RedisFleet") -> Response:
    """Answer with what this server has itself; of what it cannot read now, it shows what it has read before."""
    for name in request.namespaces:
        with suppress(StateLostError, Failure):
            await fleet.catch_up(name)
    return await view(request)


async def ask_owner(view: View, request: ControlRequest, fleet: "RedisFleet", call: int | None = None) -> Response:
    """Answer at the server that has the call of a number, by default the one that the path names.

    If that server is gone, this one answers, which has no such call.
    """
    number = parse_number(request.item, "the number of a call") if call is None else call
    owner = fleet.find_owner(number)
    if owner == fleet.slot or owner not in await fleet.member.find_members():
        return await answer_here(view, request, fleet)
    found = await fleet.ask(_make_question(request), [owner])
    if owner not in found.answers:
        why = "gave an answer too large to pass on" if "too_large" in found.left_out else "did not answer"
        raise RefusedError(503, f"server {owner}, which has this call, {why}")
    return _make_response(found.answers[owner])


class GatheredAnswers(Struct, frozen=True):
    """The bodies that all servers answered with, this one's first; `left_out` as in `FleetAnswers`."""

    bodies: Sequence[str]
    kind: str
    left_out: Mapping[str, Sequence[int]]


async def gather(request: ControlRequest, fleet: "RedisFleet", *, changes: bool = False) -> GatheredAnswers | Response:
    """Return the answers of all servers to a request, or the first error among them.

    If the state is lost, this server answers alone; but a request that `changes` something raises StateLostError.
    """
    question = _make_question(request)
    try:
        found = await fleet.ask(question)
    except StateLostError:
        if changes:
            raise
        found = await fleet.ask_self(question)
    for answer in found.answers.values():
        if answer["status"] >= 400:
            return _make_response(answer)
    answers = {slot: answer for slot, answer in found.answers.items() if answer["status"] == 200}
    ordered = [answers[slot] for slot in sorted(answers, key=lambda slot: (slot != fleet.slot, slot))]
    if not ordered:
        raise StateLostError("no server has answered")
    bodies = [answer["body"].encode("latin-1").decode() for answer in ordered]
    return GatheredAnswers(bodies, ordered[0]["type"], found.left_out)


def ask_all(join: Callable[[Sequence[Any], ControlRequest], Mapping[str, Json]], *, changes: bool = False) -> FleetView:
    """Return a view that joins the answers of all servers: `join` makes one table of theirs, this server's first."""

    async def answer(_: View, request: ControlRequest, fleet: "RedisFleet") -> Response:
        found = await gather(request, fleet, changes=changes)
        if isinstance(found, Response):
            return found
        joined = await on_thread(lambda: join([json.loads(body) for body in found.bodies], request))
        content = {**joined, **found.left_out}
        if request.read_switch("compact"):
            return Response(json.dumps(content, separators=(",", ":")) + "\n", media_type="application/json")
        return make_json_response(content)

    return answer


def refuse(words: str) -> FleetView:
    """Return a view that refuses what servers that share a state do not do."""

    async def answer(_: View, __: ControlRequest, ___: "RedisFleet") -> Response:
        raise RefusedError(409, words)

    return answer


async def retry(attempt: Callable[[], Awaitable[T]]) -> T:
    """Make a change, again if somebody else was faster. Raises RefusedError."""
    for _ in range(_TRIES):
        with suppress(ConflictError):
            return await attempt()
    raise RefusedError(409, "not applied: the namespace was changed concurrently; try again")


def list_servers(slots: Sequence[int]) -> str:
    """Return how messages name servers: `server 1, 3`."""
    return "server " + ", ".join(map(str, slots))


_PASSED_ON = ("method", "path", "namespace", "query", "item", "kind", "address", "trusted", "since_at")


def _make_question(request: ControlRequest) -> dict[str, Json]:
    """Return a request as another server gets it."""
    passed_on = {name: getattr(request, name) for name in _PASSED_ON}
    return {"request": {**passed_on, "body": request.body.decode("latin-1"), "group": request.live.made_token}}


def _make_response(answer: Mapping[str, Any]) -> Response:
    """Return the response of another server."""
    return Response(answer["body"].encode("latin-1"), answer["status"], {"content-type": answer["type"]})


async def answer_question(route: Route, request: ControlRequest) -> bytes:
    """Return this server's answer to a request that another passes on, as JSON: its status, type and body."""
    assert request.live.fleet is not None  # only another server of the fleet asks
    try:
        response = await answer_here(route.view, request, cast("RedisFleet", request.live.fleet))
    except RefusedError as refused:
        response = refused.response
    body = (await read_response(response)).decode("latin-1")
    answer = {"status": response.status_code, "type": response.headers.get("content-type"), "body": body}
    return json.dumps(answer).encode()
