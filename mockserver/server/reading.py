"""A request becomes a call: its content codings are undone, it is parsed, and the history in it is checked."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure, Plan
from mockserver.core.validation import HistoryProblem, find_validation
from mockserver.dialects import Operation
from mockserver.engine.mcp_answers import name_only_server
from mockserver.engine.offload import LARGEST_IN_LOOP, on_thread
from mockserver.server.limits import estimate_parsed_size
from mockserver.server.recording.recorded_calls import parse_recorded
from mockserver.server.snapshot import decode_body
from mockserver.server.visit import Visit

MAX_REMARKS = 20  # on histories: a batch may have a hundred thousand
TIMING = b"x-mockserver-timing"


def read_timing(request: HttpRequest) -> bool:
    """Return whether a request that overrides the timing wants its answer timed. Raises Failure unless on or off."""
    text = request.header_values[TIMING].decode("latin-1")
    if text.lower() not in ("on", "off"):
        raise Failure("bad_parameter", f"{TIMING.decode()} must be on or off, not {text!r}.")
    return text.lower() == "on"


async def undo_codings(visit: Visit) -> None:
    """Undo the content codings of the body. Raises Failure if that cannot be done, or if it is too large then."""
    sent = visit.request
    if len(sent.body) > LARGEST_IN_LOOP:
        plain = await on_thread(decode_body, sent, visit.settings.max_body)
    else:
        plain = decode_body(sent, visit.settings.max_body)
    if plain is not sent and len(plain.body) > LARGEST_IN_LOOP:
        visit.hold(estimate_parsed_size(plain.body))
    visit.sent = sent
    visit.request = plain


def read_call(operation: Operation, visit: Visit) -> Call:
    """Return the call of a request; the visit has the remarks on the history that it sends back. Raises Failure."""
    settings = visit.settings
    validation = find_validation(visit.row.dialect, settings.validation)
    visit.call = call = operation.read_call(visit.request, validation)
    if not call.is_sound and settings.replay != "off":
        problems = operation.history(call, validation)
        if problems and settings.replay == "warn":
            visit.remarks = tuple([problem.remark for problem in problems[:MAX_REMARKS]])
        elif problems:
            visit.call = call = _refuse_history(call, problems)
    if call.mcp is not None:
        visit.call = call = name_only_server(visit.engine.servers, call)
    return call


def _refuse_history(call: Call, problems: Sequence[HistoryProblem]) -> Call:
    """Raise the provider's Failure for a history; what is to be refused within a batch is the result of that part."""
    if not call.batch:
        raise problems[0].refusal
    refused = {problem.part: problem.refusal for problem in reversed(problems)}  # the first of each part
    return replace(call, batch=tuple([refused.get(at, part) for at, part in enumerate(call.batch)]))


class TakenCall(NamedTuple):
    """A call that is refused here but that its provider took, and the plan of its answer."""

    call: Call
    plan: Plan


async def find_recorded(operation: Operation, visit: Visit) -> TakenCall | None:
    """Return what was recorded of a request that is refused here, if its provider took it."""
    player = visit.engine.player
    if player is None or player.is_empty:
        return None
    dialect = visit.dialect
    if visit.is_large:
        call = await on_thread(parse_recorded, operation, dialect, visit.request)
    else:
        call = parse_recorded(operation, dialect, visit.request)
    plan = await visit.engine.replay(call)
    if plan is None or isinstance(plan.outcome, Failure):
        return None
    visit.call = call
    return TakenCall(call, plan)
