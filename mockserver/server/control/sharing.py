"""Requests of the control API where several servers share a state: who answers, and how several answers become one.

A route says it with its view (`ROUTES`). A change holds for all servers; what their journals say is asked of every one.
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
    from mockserver.server.fleet import Fleet

_TRIES = 20  # of a change that others come before
T = TypeVar("T")

View = Callable[[ControlRequest], Awaitable[Response]]
Share = Callable[[View, ControlRequest, "Fleet"], Awaitable[Response]]


async def change(view: View, request: ControlRequest, fleet: "Fleet") -> Response:
    """Change what one namespace has of its own, at all servers; again, if somebody else has changed it meanwhile."""

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
    """What is at a path for a method: the view that answers, and how it is answered where servers share a state.

    `reads`: it changes nothing, so that one of several workers which share nothing may answer, too.
    """

    view: View
    share: Share = change
    reads: bool = False

    async def answer(self, request: ControlRequest) -> Response:
        """Answer a request, for all servers if there are several. Raises RefusedError."""
        if request.live.fleet is None:
            return await self.view(request)
        try:
            return await self.share(self.view, request, cast("Fleet", request.live.fleet))
        except StateLostError as error:
            half_done = "" if request.method == "GET" or self.reads else "the change may have been made; "
            words = f"state lost: {error}; {half_done}try again when the state is back"
            raise RefusedError(503, words, headers={"retry-after": "1"}) from error


async def answer_at_once(view: View, request: ControlRequest, _: "Fleet") -> Response:
    """Answer without looking for what others have changed, which needs the state."""
    return await view(request)


async def answer_here(view: View, request: ControlRequest, fleet: "Fleet") -> Response:
    """Answer with what this server has itself; what it cannot read now is as it was known before."""
    for name in request.namespaces:
        with suppress(StateLostError, Failure):
            await fleet.catch_up(name)
    return await view(request)


async def ask_owner(view: View, request: ControlRequest, fleet: "Fleet", call: int | None = None) -> Response:
    """Answer at the server that has the call; if that is gone, at this one, which has no such call."""
    number = parse_number(request.item, "the number of a call") if call is None else call
    owner = fleet.find_owner(number)
    if owner == fleet.slot or owner not in await fleet.member.find_members():
        return await answer_here(view, request, fleet)
    found = await fleet.ask(_make_question(request), [owner])
    if owner not in found.answers:
        why = "gave an answer too large to pass on" if "too_large" in found.left_out else "did not answer"
        raise RefusedError(503, f"server {owner}, which has this call, {why}")
    return _make_response(found.answers[owner])


class Gathered(Struct, frozen=True):
    """What all servers answered, this one first, and which did not (`missing`, `too_large`), by their numbers."""

    bodies: Sequence[str]
    kind: str
    left_out: Mapping[str, Sequence[int]]


async def gather(request: ControlRequest, fleet: "Fleet", *, changes: bool = False) -> Gathered | Response:
    """Ask all servers; return the first error if there is one.

    Raises StateLostError if the state is lost and the request `changes` something; else this server answers alone.
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
    return Gathered(bodies, ordered[0]["type"], found.left_out)


def ask_all(join: Callable[[Sequence[Any], ControlRequest], Mapping[str, Json]], *, changes: bool = False) -> Share:
    """Return how to answer with what all servers say: `join` makes one table of their tables, this server's first."""

    async def share(_: View, request: ControlRequest, fleet: "Fleet") -> Response:
        found = await gather(request, fleet, changes=changes)
        if isinstance(found, Response):
            return found
        joined = await on_thread(lambda: join([json.loads(body) for body in found.bodies], request))
        content = {**joined, **found.left_out}
        if request.read_switch("compact"):
            return Response(json.dumps(content, separators=(",", ":")) + "\n", media_type="application/json")
        return make_json_response(content)

    return share


def refuse(words: str) -> Share:
    """Return how to refuse what servers that share a state do not do."""

    async def share(_: View, __: ControlRequest, ___: "Fleet") -> Response:
        raise RefusedError(409, words)

    return share


async def retry(attempt: Callable[[], Awaitable[T]]) -> T:
    """Make a change, again if somebody else was faster. Raises RefusedError."""
    for _ in range(_TRIES):
        with suppress(ConflictError):
            return await attempt()
    raise RefusedError(409, "not applied: the namespace was changed concurrently; try again")


def list_servers(slots: Sequence[int]) -> str:
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
    """Return what this server answers to the request that another passes on: status, type and body."""
    assert request.live.fleet is not None  # only another server of the fleet asks
    try:
        response = await answer_here(route.view, request, cast("Fleet", request.live.fleet))
    except RefusedError as refused:
        response = refused.response
    body = (await read_response(response)).decode("latin-1")
    answer = {"status": response.status_code, "type": response.headers.get("content-type"), "body": body}
    return json.dumps(answer).encode()
