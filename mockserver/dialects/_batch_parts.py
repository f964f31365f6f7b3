"""One request of a batch: it is answered by the same rules as a call of its own, and has a row in the journal."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Answer, Artifact, CarriedOut, Failure, Plan, Raw, Usage
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.kinds.objects import Objects

Fail = Callable[[HttpRequest, Failure, Call | None], Reply]


class BatchPart(Struct, frozen=True):
    """A request of a batch, as it would come on its own; `operation` is None if there is none at its path.

    `part_of` names the batch and the place in it for the journal, and `place` for messages.
    """

    http: HttpRequest
    operation: Operation | None
    custom_id: str
    part_of: str
    place: str
    validation: Validation

    async def answer(self, fail: Fail, objects: Objects) -> CarriedOut:
        """Return the request with its answer and reply, and note it for the journal. `fail` renders failures."""
        http = self.http
        operation = self.operation
        call = None
        plan = Plan(Failure("route_not_found"), "invalid")
        if operation is not None:
            try:
                call = replace(operation.read_call(http, self.validation), custom_id=self.custom_id)
                plan = await objects.answer(call)
            except Failure as refusal:
                plan = Plan(refusal, "invalid")
        outcome: Any = plan.outcome
        if isinstance(outcome, Failure):
            if outcome.reason == "unmatched":
                outcome = outcome.replace(message=f"{outcome.message}\n({self.place})")
            reply = fail(http, outcome, call)
        elif isinstance(outcome, Raw):
            reply = Reply(outcome.status, outcome.headers, outcome.body)
        elif isinstance(outcome, Recorded):
            reply = outcome.reply
        else:
            assert operation is not None  # there is an outcome
            assert call is not None
            reply = operation.render(call, outcome)
            if reply.pieces is not None:
                reply = replace(reply, body=b"".join(reply.pieces), pieces=None)
        done = CarriedOut(
            http=http,
            call=call,
            plan=replace(plan.rendered, outcome=_find_usage(plan.outcome) or plan.rendered.outcome),
            operation="" if operation is None else operation.name,
            reply=reply,
            part_of=self.part_of,
        )
        objects.note(done)
        return done


def _find_usage(outcome: Any) -> Usage | None:
    """Return the tokens that an answer took."""
    if isinstance(outcome, Answer):
        return outcome.usage
    return Usage(prompt=outcome.tokens) if isinstance(outcome, Artifact) and outcome.tokens is not None else None


def drop_form(http: HttpRequest) -> HttpRequest:
    """Return a request without the header fields that speak of its body."""
    kept = tuple([(name, value) for name, value in http.headers if not name.startswith(b"content-")])
    return replace(http, headers=kept)
