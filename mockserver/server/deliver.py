"""Sends the response to one request over an ASGI connection, and closes its row of the journal."""

import asyncio
from collections.abc import Awaitable, Iterable

from msgspec.structs import replace
from starlette.types import Scope

from mockserver.config.errors import ConfigError
from mockserver.core.action import Action
from mockserver.core.exchange import COMPLETE
from mockserver.core.frames import Frame
from mockserver.core.plan import Failure
from mockserver.delivery.connection import CLIENT_LEFT, CUT, STOPPED, ClientConnection, Wire, frame_body, join_headers
from mockserver.delivery.drive import drive, send_paced
from mockserver.delivery.faults import apply_faults
from mockserver.delivery.script import AT_ONCE, make_script
from mockserver.dialects import render_error_frame
from mockserver.server.relay import Relay
from mockserver.server.snapshot import ClientLeftError
from mockserver.server.visit import Response, Visit

STOPPING = Failure("overloaded", "The server is stopping.")


async def serve(response: Awaitable[Response], visit: Visit, client: ClientConnection, scope: Scope) -> None:
    """Await a response, send it, and end its visit: with a 503 if the server stops before anything was sent."""
    ended = CLIENT_LEFT
    try:
        ended = await _deliver(await response, visit, client, scope)
    except ClientLeftError:
        pass
    except asyncio.CancelledError:  # the server stops
        if client.wire is not None and client.wire.gone:  # or the client left long ago
            return
        ended = STOPPED
        if client.has_head:  # the answer breaks off
            raise
        await _turn_away(visit, client)
    except Exception:  # a bug of mockserver, while the answer was sent
        ended = CUT["close"]
        raise
    finally:
        visit.end(ended)


def list_actions(response: Response, visit: Visit) -> Iterable[Action]:
    """Return the actions that send a response, as its faults change them."""
    reply = response.reply
    faults = response.plan.faults
    call = response.call
    actions = make_script(reply, response.pace, response.extra_headers, apart=bool(faults))
    if not faults or call is None:
        return actions
    streamed = reply.frames is not None or reply.script is not None
    operation = visit.operation
    shape = render_error_frame if operation is None or not streamed else operation.error
    if call.http.turn is not None and operation is not None and operation.over_socket == "responses":
        from mockserver.server.socket_frames import make_error_frame  # few servers need it

        shape = make_error_frame

    def error(reason: str, last: bytes) -> Frame:
        """How the provider reports an error in the middle of this answer: as an event, if it is a stream."""
        return shape(visit.dialect.fail(call.http, Failure(reason), call), last)

    def note_unchanged() -> None:
        visit.row.unaffected = True

    head = visit.row.method == "HEAD"
    live = reply.script is not None
    return apply_faults(actions, faults, error, streamed=streamed, live=live, head=head, on_unchanged=note_unchanged)


def find_lines(response: Response) -> bytes | None:
    """Return the header lines of a response that can leave past ASGI, without awaiting anything; None of any other.

    This decides how a response leaves, on a free connection (`RequestCycle.is_simple`) to a client of HTTP/1.1:

    - at once, head and body in one write, if its pace is AT_ONCE
    - else as a PacedStream, whose parts leave when they are due, by the timer of all such streams

    All others are scripts of actions, which `drive` performs through ASGI: those that a fault changes, with headers
    that are not plain, too large, of statuses without a body, or to clients of HTTP/1.0. What is forwarded is relayed.
    """
    if response.forwarded is not None or response.plan.faults:
        return None
    if response.pace is not AT_ONCE and not response.reply.parts.times:
        return None
    return join_headers(response.reply, response.extra_headers)


async def _deliver(response: Response, visit: Visit, client: ClientConnection, scope: Scope) -> str:
    if response.forwarded is not None:
        return await _relay(response, visit, client, scope)
    row = visit.row
    if client.in_process is not None:
        if response.reply.script is not None:
            raise ConfigError(_NO_SCRIPT)
        return await client.in_process.perform(list_actions(response, visit), row.note)
    if response.pace is not AT_ONCE:
        client.began = (visit.reservation and visit.reservation.waited_until) or row.asked
    if client.wire is not None and (lines := find_lines(response)) is not None:
        body = response.reply.body
        if response.pace is not AT_ONCE:
            if ended := await send_paced(response.reply, lines, client, row):
                return ended
        elif client.wire.send_whole(response.reply.status, lines, frame_body(lines, body)):
            row.note(body)
            return CLIENT_LEFT if client.wire.gone else COMPLETE
    actions = list_actions(response, visit)
    if response.reply.script is not None:
        actions = _end_with_server(actions, client.wire)
    return await drive(actions, client, row.note)


def _end_with_server(actions: Iterable[Action], wire: Wire | None) -> Iterable[Action]:
    """Yield the actions of a stream without an end, until the server stops."""
    for action in actions:
        if wire is not None and wire.stopping:
            return
        yield action


async def _relay(response: Response, visit: Visit, client: ClientConnection, scope: Scope) -> str:
    if client.in_process is not None:
        raise ConfigError(_NO_RELAY)
    own_urls = None if visit.operation is None else visit.operation.own_urls
    relay = Relay(visit.live, visit.dialect, response, client, visit.row, own_urls)
    try:
        return await relay.run(scope, response.extra_headers)
    except Failure as failure:
        refused = visit.refuse(failure, response.call)
        refused.plan = replace(refused.plan, source=response.plan.source)
        visit.finish(refused, tells_limits=False)
        return await _deliver(refused, visit, client, scope)


async def _turn_away(visit: Visit, client: ClientConnection) -> None:
    """Send a 503, as the server stops."""
    refused = visit.refuse(STOPPING)
    refused.plan = replace(refused.plan, source="invalid")  # no limit refuses it
    visit.finish(refused, tells_limits=False)
    await drive(list_actions(refused, visit), client, visit.row.note)


_NO_SCRIPT = (
    "this answer of an MCP server is a stream that stays open, which transport() cannot send; let the client call the"
    " server at its url"
)
_NO_RELAY = (
    "this request is forwarded to its provider (to record it, or by a rule), which transport() cannot do; let the"
    " client call the server at its base_url"
)
