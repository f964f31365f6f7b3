"""One request that comes through ASGI: its body is read within its limits, and the files of a large form go to disk."""

from math import inf

from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from mockserver.core.http import tabulate
from mockserver.core.plan import Failure
from mockserver.core.row import MAX_KEPT
from mockserver.core.seed import monotonic
from mockserver.delivery.connection import IN_PROCESS, WIRE, ClientConnection
from mockserver.dialects._forms import FormReader
from mockserver.engine.offload import LARGEST_IN_LOOP
from mockserver.kinds import OPERATIONS
from mockserver.media.large_data import LARGEST_IN_MEMORY
from mockserver.server.deliver import serve
from mockserver.server.directory import Destination
from mockserver.server.limits import estimate_parsed_size
from mockserver.server.recording.player import Player
from mockserver.server.respond import Responder
from mockserver.server.snapshot import find_codings, find_length, read_body, receive_pieces
from mockserver.server.visit import Response, Sender, Visit


async def answer(destination: Destination, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request at a path."""
    lent = scope.get("extensions") or {}
    client = ClientConnection(receive, send, lent.get(WIRE), in_process=lent.get(IN_PROCESS))
    table = tabulate(scope["headers"])
    request = destination.make_request(scope["method"], scope["query_string"], table)
    visit = destination.responder.admit(
        request,
        scope["query_string"],
        receive=receive,
        weight=table.weight,
        is_whole=False,
    )
    if client.in_process is not None:
        visit.sender = Sender(in_process=True, patient=client.in_process.patient)
    await serve(_respond(destination.responder, visit), visit, client, scope)


async def _respond(responder: Responder, visit: Visit) -> Response:
    """Return the response to a request whose body is still to be read."""
    request = visit.request
    live = visit.live
    try:
        takes_files = visit.operation is not None and OPERATIONS[visit.operation.name].takes_files
        if takes_files and _may_go_to_disk(visit):
            return await _respond_to_form(responder, visit)
        setting = "max_upload" if takes_files else "max_body"
        limit: int = getattr(live.settings, setting)
        body = await read_body(visit.receive, limit, request.headers, visit.hold, setting=setting)
        if len(body) > LARGEST_IN_LOOP or live.unsent.held > live.settings.max_unsent:
            visit.hold(estimate_parsed_size(body))
    except Failure as failure:
        return visit.finish(visit.refuse(failure))
    visit.receive_body(body)
    return await responder.respond(visit)


def _may_go_to_disk(visit: Visit) -> bool:
    """Return whether it is a large form that will not have to be sent to an upstream."""
    request = visit.request
    if (find_length(request.headers) or inf) <= LARGEST_IN_MEMORY:
        return False
    media = (request.find_header("content-type") or "").lower()
    is_form = media.startswith("multipart/form-data") and not find_codings(request.headers)
    engine = visit.live.find_engine(request.namespace)
    records = isinstance(engine.player, Player) and engine.player.choice.record != "none"
    return is_form and not records and not engine.rule_set.forwards


async def _respond_to_form(responder: Responder, visit: Visit) -> Response:
    """Respond to a form, whose files go to disk while it comes: until then, or as long as an object keeps them.

    Raises like `read_body`; before it is read, for a sender that may not ask.
    """
    try:
        reader = FormReader(visit.request.find_header("content-type") or "")
    except ValueError:  # its type does not say where its parts end
        return await responder.respond(visit)
    visit.request = replace(visit.request, form=reader)
    try:
        responder.refuse_page(visit)
        if visit.settings.keys is not None:
            responder.require_key(visit)
        await _read_form(reader, visit)
        response = await responder.respond(visit)
    finally:
        reader.close("the form is no longer kept")
        visit.request = replace(visit.request, form=None)  # whose files go with it
    if response.forwarded is not None:  # rules or a recording have changed meanwhile
        raise Failure("overloaded", _NOT_FORWARDED, retry_after=1.0)
    return response


async def _read_form(reader: FormReader, visit: Visit) -> None:
    """Read a form while it comes, and count what of it is in memory. Raises like `read_body`."""
    start = bytearray()
    received = 0
    counted = 0
    limit = visit.live.settings.max_upload
    async for piece in receive_pieces(visit.receive, limit, visit.request.headers, setting="max_upload"):
        reader.write(piece)
        if reader.held > counted:
            visit.hold(reader.held - counted)
            counted = reader.held
        received += len(piece)
        if len(start) < MAX_KEPT:
            start += piece
    visit.row.note_body(bytes(start), monotonic())
    visit.row.received = received


_NOT_FORWARDED = "Recording was turned on while this upload was read; please send it again."
