"""Calls that were answered for another one, such as those of tools and the lines of a batch, in the journal."""

from collections.abc import Iterable
from typing import Protocol

from mockserver.core.call import Call
from mockserver.core.exchange import COMPLETE
from mockserver.core.http import Reply
from mockserver.core.plan import CarriedOut, Failure, Plan
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._mcp import DIALECT as MCP
from mockserver.server.visit import Response, Visit


class Render(Protocol):
    """Turns a plan into the reply that the dialect of an operation gives."""

    def __call__(self, operation: Operation, call: Call, plan: Plan) -> Response: ...


def note_carried_out(carried_out: Iterable[CarriedOut], visit: Visit, render: Render) -> None:
    """Note the calls in the journal that were answered for the one of a visit."""
    for done in carried_out:
        http = done.http
        is_mcp = done.call is not None and done.call.mcp is not None
        dialect = MCP if is_mcp else visit.dialect
        row = visit.journal.open(http, dialect.name, operation=done.operation)
        row.part_of = done.part_of
        row.rules = visit.row.rules
        reply = _make_reply(done, dialect, render)
        row.note_answer(done.plan.rendered, reply, done.call)
        if reply.body:
            row.note_sent(reply.body)
        visit.journal.close(row, COMPLETE)


def _make_reply(done: CarriedOut, dialect: Dialect, render: Render) -> Reply:
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
    return render(operation, call, done.plan).reply
