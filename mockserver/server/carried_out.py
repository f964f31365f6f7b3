"""Notes calls in the journal that were carried out for another one: calls of tools, and lines of a batch."""

from collections.abc import Iterable

from mockserver.core.http import Reply
from mockserver.core.plan import CarriedOut, Failure
from mockserver.core.row import COMPLETE
from mockserver.dialects import Dialect
from mockserver.dialects._mcp import DIALECT as MCP
from mockserver.server.replies import PlanRenderer
from mockserver.server.visit import Visit


def note_carried_out(carried_out: Iterable[CarriedOut], visit: Visit) -> None:
    """Note the calls in the journal that were carried out for the one of a visit."""
    renderer = PlanRenderer(visit.dialect, visit.engine, visit.settings, timed=False)
    for done in carried_out:
        http = done.http
        is_mcp = done.call is not None and done.call.mcp is not None
        dialect = MCP if is_mcp else visit.dialect
        row = visit.journal.open(http, dialect.name, operation=done.operation)
        row.part_of = done.part_of
        row.rules = visit.row.rules
        reply = _make_reply(done, dialect, renderer)
        row.note_answer(done.plan.rendered, reply, done.call)
        if reply.body:
            row.note_sent(reply.body)
        visit.journal.close(row, COMPLETE)


def _make_reply(done: CarriedOut, dialect: Dialect, renderer: PlanRenderer) -> Reply:
    """Return what a client would have got for such a call."""
    call = done.call
    outcome = done.plan.outcome
    if done.reply is not None:
        return done.reply
    if isinstance(outcome, Failure):
        return dialect.fail(done.http, outcome, call)
    if call is None or call.mcp is not None:
        return Reply(200, ())
    operation = next(each for each in dialect.operations if each.name == call.operation)
    return renderer.render(operation, call, done.plan).reply
