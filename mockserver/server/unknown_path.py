"""What answers at a path that no dialect knows: a rule, the home page, a sign of life, or a 404 that helps."""

from collections.abc import Sequence

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Plan
from mockserver.dialects import Dialect
from mockserver.dialects._reply import make_json_reply
from mockserver.server.access import is_control
from mockserver.server.client_environment import render_home
from mockserver.server.landmarks import SEE_HOME
from mockserver.server.nearest_path import LostRequest
from mockserver.server.routes import Endpoint
from mockserver.server.stubs import is_stubbed, suggest_rule
from mockserver.server.visit import HOME, Response, Visit


class PathHints(Struct, frozen=True):
    """What the 404 at a path tells: a sentence as a `hint`, or a `mistake` in place of the usual message.

    `spoken`: the dialect of a client that has another one's base URL. It is told so in its own words, as some clients
    show no others.
    """

    hint: str | None = None
    mistake: str | None = None
    spoken: Dialect | None = None


NO_HINTS = PathHints()


def may_be_stubbed(visit: Visit, hints: PathHints) -> bool:
    """Return whether a rule may answer at an unknown path, if only to a request with another key."""
    request = visit.request
    rule_set = visit.engine.rule_set
    if hints.mistake or not rule_set.stubs or is_control(request.path):
        return False
    keys = visit.settings.keys
    key = visit.dialect.read_credential(request)
    admitted = keys is None or (key is not None and key in keys and keys[key].allowed)
    return admitted or is_stubbed(request, visit.dialect, rule_set.rules)


def answer_unknown_path(visit: Visit, hints: PathHints, *, call: Call | None = None, report: Json = None) -> Response:
    """Return the answer where no rule does: a 404, the home page, or that the server lives.

    `report` tells which rules came near to answering `call`, if any were asked.
    """
    request = visit.request
    if request.path in ("/", _HEALTH) and request.method in ("GET", "HEAD"):
        visit.journal.forget(visit.row)  # a look at the server does not count as a call
        lives = request.path == _HEALTH
        return Response(HOME, _LIVES if lives else render_home(request, visit.settings, visit.engine.servers), call)
    hint = hints.hint or (None if report else _NOWHERE)
    details = {"hint": hint, "rule": suggest_rule(request, visit.dialect), "report": report}
    known = {} if hints.mistake else {name: detail for name, detail in details.items() if detail}
    failure = Failure("route_not_found", hints.mistake, details=known)
    reply: Reply = (hints.spoken or visit.dialect).fail(request, failure, call)
    return Response(Plan(None, "invalid" if report is None else "unmatched"), reply, call)


def refuse_method(request: HttpRequest, endpoint: Endpoint, endpoints: Sequence[Endpoint]) -> Failure:
    """Return the refusal of a method that a path does not take, and which path of another provider may be meant.

    Google's client may ask `POST /v1/models/gemini-2.5-flash:generateContent`, where OpenAI has a model to look up.
    """
    allowed = ", ".join(endpoint.operations)
    others = [each for each in endpoints if each.dialect is not endpoint.dialect]
    meant = LostRequest(request.method, request.path).find_by_ending(others)
    hint = {} if meant is None else {"hint": f"Did you mean {request.method} {meant.shown}?"}
    return Failure("method_not_allowed", details={"allowed": allowed, **hint}, headers=(("allow", allowed),))


_HEALTH = "/health"  # model servers have it there, and load generators ask before they begin
_LIVES = make_json_reply(200, {"status": "ok"})
_NOWHERE = f"A rule with this path can answer it. {SEE_HOME}"
