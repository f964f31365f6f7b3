"""Sends the response to one request over an ASGI connection, and closes its row of the journal."""

import asyncio
from collections.abc import Awaitable, Iterable

from starlette.types import Scope

from mockserver.config.errors import ConfigError
from mockserver.core.action import Action
from mockserver.core.frames import Frame
from mockserver.core.plan import Failure
from mockserver.core.row import COMPLETE
from mockserver.delivery.connection import (
    CLIENT_LEFT,
    CUT,
    MAX_WRITE,
    STOPPED,
    AnswerSink,
    ClientConnection,
    Wire,
    join_answer,
    join_headers,
)
from mockserver.delivery.drive import drive
from mockserver.delivery.faults import apply_faults
from mockserver.delivery.paced import PacedStream
from mockserver.delivery.script import AT_ONCE, make_script
from mockserver.dialects import render_error_frame
from mockserver.server.masking import summarize_crash
from mockserver.server.relay import Relay
from mockserver.server.snapshot import ClientLeftError
from mockserver.server.visit import STOPPING, Response, Visit


async def serve(response: Awaitable[Response], visit: Visit, client: ClientConnection, scope: Scope) -> None:
    """Await a response, send it, and end its visit, unless the connection does both by itself.

    If the server stops before anything was sent, the client gets a 503.
    """
    ended: str | None = CUT["close"]  # by a bug of mockserver, unless it turns out otherwise
    try:
        ended = await _deliver(await response, visit, client, scope)
    except ClientLeftError:
        ended = CLIENT_LEFT
    except GeneratorExit:  # a client without a socket has dropped the answer
        ended = CLIENT_LEFT
        raise
    except asyncio.CancelledError:  # the server stops
        if client.wire is not None and client.wire.gone:  # or the client left long ago
            ended = CLIENT_LEFT
            return
        ended = STOPPED
        if client.has_head:  # the answer breaks off
            raise
        await _turn_away(visit, client)
    except OSError:  # the connection is lost
        raise
    except Exception as error:  # a bug of mockserver, which is logged by who called
        visit.row.note_defect(summarize_crash(error))
        raise
    finally:
        if ended is not None:
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
    shape = response.error_frame or (render_error_frame if operation is None or not streamed else operation.error)

    def render_error(reason: str, last: bytes) -> Frame:
        """Return an error in the middle of this answer as the provider reports it: an event, if it is a stream."""
        return shape(visit.dialect.fail(call.http, Failure(reason), call), last)

    def note_unchanged() -> None:
        visit.row.unaffected = True

    head = visit.row.method == "HEAD"
    live = reply.script is not None
    return apply_faults(
        actions, faults, render_error, streamed=streamed, live=live, head=head, on_unchanged=note_unchanged
    )


def send_past_asgi(response: Response, visit: Visit, sink: AnswerSink) -> bool:
    """Have the connection send a response by itself, and end its visit; return False if it cannot, and sent nothing.

    This decides how a response leaves, over a connection that is free for it to a client of HTTP/1.1:

    - at once, head and body in one write, if its pace is AT_ONCE
    - else as a PacedStream, whose parts leave when they are due, by the timer of all such streams

    All others are scripts of actions, which `drive` performs through ASGI: those that a fault changes, with headers
    that are not plain, too large, of statuses without a body, or to clients of HTTP/1.0. What is forwarded is relayed.
    """
    reply = response.reply
    if response.forwarded is not None or response.plan.faults or len(reply.body) > MAX_WRITE:
        return False
    if response.pace is AT_ONCE:
        rest = join_answer(reply, response.extra_headers)
        if rest is None or not sink.send_whole(reply.status, rest):
            return False
        visit.row.note_sent(reply.body)
        visit.end(COMPLETE)
        return True
    lines = join_headers(reply, response.extra_headers) if reply.parts.times else None
    if lines is None:
        return False
    row = visit.row
    return sink.send_paced(reply.status, lines, PacedStream(reply, _find_start(visit) or row.began, row, visit.end))


def _find_start(visit: Visit) -> float | None:
    """Return when an answer that takes its time begins, in monotonic seconds; None: when it is sent."""
    return (visit.reservation and visit.reservation.waited_until) or visit.row.asked


async def _deliver(response: Response, visit: Visit, client: ClientConnection, scope: Scope) -> str | None:
    """Send a response, and return how it ended; None: the connection sends it, and ends the visit."""
    if response.forwarded is not None:
        return await _relay(response, visit, client, scope)
    row = visit.row
    if client.in_process is not None:
        if response.reply.script is not None:
            raise ConfigError(_NO_SCRIPT)
        return await client.in_process.perform(list_actions(response, visit), row.note_sent)
    if client.wire is not None and send_past_asgi(response, visit, client.wire):
        return None
    if response.pace is not AT_ONCE:
        client.began = _find_start(visit)
    actions = list_actions(response, visit)
    if response.reply.script is not None:
        actions = _end_with_server(actions, client.wire)
    return await drive(actions, client, row.note_sent)


def _end_with_server(actions: Iterable[Action], wire: Wire | None) -> Iterable[Action]:
    """Yield the actions of a stream without an end, until the server stops."""
    for action in actions:
        if wire is not None and wire.stopping:
            return
        yield action


async def _relay(response: Response, visit: Visit, client: ClientConnection, scope: Scope) -> str | None:
    if client.in_process is not None:
        raise ConfigError(_NO_RELAY)
    own_urls = None if visit.operation is None else visit.operation.own_urls
    relay = Relay(
        live=visit.live, dialect=visit.dialect, response=response, client=client, row=visit.row, own_urls=own_urls
    )
    try:
        return await relay.run(scope, response.extra_headers)
    except Failure as failure:
        refused = visit.refuse(failure.replace(source=response.plan.source), response.call)
        visit.finish(refused, tells_limits=False)
        return await _deliver(refused, visit, client, scope)


async def _turn_away(visit: Visit, client: ClientConnection) -> None:
    """Send a 503 because the server stops."""
    refused = visit.refuse(STOPPING)
    visit.finish(refused, tells_limits=False)
    await drive(list_actions(refused, visit), client, visit.row.note_sent)


_NO_SCRIPT = (
    "this answer of an MCP server is a stream that stays open, which transport() cannot send; let the client call the"
    " server at its url"
)
_NO_RELAY = (
    "this request is forwarded to its provider (to record it, or by a rule), which transport() cannot do; let the"
    " client call the server at its base_url"
)
