"""Turns a plan into the reply that the dialect gives, and the pace at which it leaves."""

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.settings import Settings
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import UNTIMED, Answer, Cause, Failure, Forward, Plan, Raw, Usage
from mockserver.core.seed import Seed
from mockserver.delivery.script import AT_ONCE, Pace, fit_form, fit_frame_times
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._reply import merge_headers
from mockserver.engine.engine import Engine
from mockserver.server.recording.player import pace_reply
from mockserver.server.recording.upstreams import replace_upload_urls
from mockserver.server.visit import Response

MAX_PARTED_TOKENS = 512  # a longer stream is not cut into frames before its first one leaves


class PlanRenderer(Struct, frozen=True):
    """Renders plans in a dialect. `engine` and `settings` made these plans; `timed`: answers take their time."""

    dialect: Dialect
    engine: Engine
    settings: Settings
    timed: bool

    def render(self, operation: Operation, call: Call, plan: Plan) -> Response:
        """Return the response that a plan becomes, whose outcome is not a Forward."""
        outcome = plan.outcome
        at_once = not self.timed or plan.timing == UNTIMED or plan.timing.at_once
        pace = AT_ONCE if at_once else _find_pace(call, plan, self.engine.policy.seed)
        if type(outcome) is Answer:  # first, as most are; isinstance takes far longer for a Struct
            reply = operation.render(call, outcome)
        elif isinstance(outcome, Failure):
            reply = self.dialect.fail(call.http, outcome, call)
        elif isinstance(outcome, Raw):
            reply = Reply(outcome.status, outcome.headers, outcome.body, outcome.frames)
        elif isinstance(outcome, Recorded):
            reply, pace = pace_reply(outcome, pace, self.settings.replay_speed if self.timed else 0.0)
            reply = self._use_own_urls(operation, reply, call.http)
            if operation.readdress is not None:
                reply = operation.readdress(call, reply)
            if reply is outcome.reply and pace is AT_ONCE and not plan.faults:  # which need each frame by itself
                reply = outcome.joined_reply
        else:
            assert not isinstance(outcome, Usage | Cause | Forward | None)
            reply = operation.render(call, outcome)
        if reply.frame_times and self.timed and not isinstance(outcome, Recorded):
            reply, pace = fit_frame_times(reply, pace)
        if plan.faults or reply.frames is not None:
            few = isinstance(outcome, Answer) and outcome.weight <= MAX_PARTED_TOKENS
            reply = fit_form(reply, pace, apart=bool(plan.faults), few=few)
        return Response(plan.rendered, reply, call, pace)

    def _use_own_urls(self, operation: Operation, reply: Reply, request: HttpRequest) -> Reply:
        """Return a recorded reply with this server's URLs where clients request them next."""
        own_urls = operation.own_urls
        if own_urls is not None and reply.body:
            body = own_urls(request, reply.body)
            length = (("content-length", str(len(body))),)
            reply = replace(reply, headers=merge_headers(reply.headers, length), body=body)
        headers = replace_upload_urls(reply.headers, request, self.dialect)
        return reply if headers is reply.headers else replace(reply, headers=headers)


def _find_pace(call: Call, plan: Plan, seed: Seed) -> Pace:
    timing = plan.timing
    outcome = plan.outcome
    if timing.prompt_per_1k:
        timing = timing.add_prompt_delay(outcome.usage.prompt if isinstance(outcome, Answer) else call.prompt_tokens)
    return Pace(timing, seed.branch("jitter", call.fingerprint)) if timing.jitter else Pace(timing)
