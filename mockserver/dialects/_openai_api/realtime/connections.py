"""What leads to a session over HTTP: secrets for browsers, and calls over WebRTC and the telephone, without sound.

(https://platform.openai.com/docs/api-reference/realtime-sessions, .../realtime-calls)
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HeaderLines, HttpRequest, Reply, essence
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import Model, closed_shape, integer, literal, optional, shape, text
from mockserver.dialects._forms import parse_form
from mockserver.dialects._openai_api.realtime.sessions import SESSION, TRANSLATION, make_session, update_session
from mockserver.dialects._parse import Body, Complaint, bearer, object_of, read_body, read_object
from mockserver.dialects._reply import RequestLines, json_reply
from mockserver.kinds.objects import Objects
from mockserver.kinds.realtime import CALLS, CLIENT_SECRET, TRANSLATION_SECRET
from mockserver.media.large_data import read_data

SECRETS = IdShape("ek_", 32, "hex")
_SESSIONS, _CALLS = IdShape("sess_", 21), IdShape("rtc_", 32, "hex")
_EXPIRES = optional(closed_shape(anchor=optional(literal("created_at")), seconds=optional(integer(10, 7200))))
_SECRET = Model(shape(expires_after=_EXPIRES, session=optional(SESSION)))
_TRANSLATION = Model(shape(expires_after=_EXPIRES, session=TRANSLATION))
_REFERRAL = Model(shape(target_uri=text(1)))
_REJECTION = Model(shape(status_code=optional(integer())))
_ANYTHING = Model(shape())
_ACCEPTANCE = Model(shape(type=optional(literal("realtime"))))


class ConnectionsApi(Struct, frozen=True):
    """The operations of a dialect whose replies have these header lines."""

    dialect: str
    lines: RequestLines

    def operations(self) -> tuple[Operation, ...]:
        call = "/realtime/calls/{id}"
        return (
            Operation(CLIENT_SECRET.name, "POST", "/realtime/client_secrets", self._parse_secret, self._render),
            Operation(
                *(TRANSLATION_SECRET.name, "POST", "/realtime/translations/client_secrets"),
                *(self._parse_translation, self._render),
            ),
            Operation(CALLS.made_by, "POST", "/realtime/calls", self._parse_offer, self._render_answer),
            self._act("accept_call", f"{call}/accept", _ACCEPTANCE),
            self._act("hang_up_call", f"{call}/hangup", _ANYTHING),
            self._act("refer_call", f"{call}/refer", _REFERRAL),
            self._act("reject_call", f"{call}/reject", _REJECTION),
        )

    def _make_call(self, operation: str, http: HttpRequest, body: Body, work: Callable[..., Any]) -> Call:
        call = Call(
            dialect=self.dialect,
            operation=operation,
            model="",
            http=http,
            meaning={**http.path_params, **body},
            raw=body,
            id=http.path_params.get("id", ""),
        )
        return replace(call, work=partial(work, call))

    def _parse_secret(self, http: HttpRequest, validation: Validation) -> Call:
        body = read_object(http) if http.body.strip() else {}
        parsed = read_body(_SECRET, body, refuse, validation).parsed
        return self._make_call(CLIENT_SECRET.name, http, parsed, self._make_secret)

    def _parse_translation(self, http: HttpRequest, validation: Validation) -> Call:
        parsed = read_body(_TRANSLATION, read_object(http), refuse, validation).parsed
        return self._make_call(TRANSLATION_SECRET.name, http, parsed, self._make_translation_secret)

    async def _make_secret(self, call: Call, objects: Objects) -> ObjectView:
        """Make a key with which a browser opens a session that is configured already."""
        stated = call.raw.get("session") or {"type": "realtime"}
        name = objects.draw_id(_SESSIONS, "session")
        usual = make_session(stated["type"], name, stated.get("model") or "", 0)
        return await self._keep_secret(call, objects, update_session(usual, stated))

    async def _make_translation_secret(self, call: Call, objects: Objects) -> ObjectView:
        session = {"id": objects.draw_id(_SESSIONS, "session"), "type": "translation", "audio": {}, "expires_at": 0}
        return await self._keep_secret(call, objects, {**session, **call.raw["session"]})

    async def _keep_secret(self, call: Call, objects: Objects, session: Body) -> ObjectView:
        """Keep what a new key is for, and for whom: who made it, as only that key may be listed in the settings."""
        seconds = (call.raw.get("expires_after") or {}).get("seconds") or 600
        value, expires_at = objects.draw_id(SECRETS), objects.now + seconds
        shown: dict[str, Json] = {"value": value, "expires_at": expires_at, "session": session}
        kept = KeptObject(
            self.dialect,
            CLIENT_SECRET.name,
            value,
            {**shown, "key": bearer(call.http) or call.http.header("api-key") or ""},
        )
        await objects.keep(kept)
        return ObjectView(shown)

    def _parse_offer(self, http: HttpRequest, validation: Validation) -> Call:
        offer, session = read_offer(http)
        if validation is not Validation.OFF and session is not None:
            read_body(_SECRET, {"session": session}, refuse, validation)
        return self._make_call(CALLS.made_by, http, {"sdp": offer, "session": session}, self._answer_offer)

    async def _answer_offer(self, call: Call, objects: Objects) -> ObjectView:
        name = objects.draw_id(_CALLS)
        await objects.keep(KeptObject(self.dialect, CALLS.made_by, name, {"id": name}))
        path = f"{call.http.prefix}/v1/realtime/calls/{name}"
        return ObjectView(data=answer_offer(call.raw["sdp"]).encode(), headers=(("location", path),))

    def _act(self, name: str, path: str, model: Model) -> Operation:
        def parse(http: HttpRequest, validation: Validation) -> Call:
            body = read_object(http) if http.body.strip() else {}
            return self._make_call(name, http, read_body(model, body, refuse, validation).parsed, self._act_on_call)

        return Operation(name, "POST", path, parse, self._render_nothing)

    async def _act_on_call(self, call: Call, objects: Objects) -> ObjectView:
        kept = await objects.find(CALLS.made_by, call.id)
        if kept is None and not objects.invents:
            raise Failure("not_found", f"No call found with id '{call.id}'.", code="call_id_not_found")
        return ObjectView()

    def _render(self, call: Call, outcome: ObjectView) -> Reply:
        return json_reply(200, outcome.body, self.lines(call.http, call), outcome.headers)

    def _render_answer(self, call: Call, outcome: ObjectView) -> Reply:
        data = read_data(outcome.data or b"")
        own = (*outcome.headers, ("content-type", "application/sdp"), ("content-length", str(len(data))))
        return Reply(201, (*HeaderLines(self.lines(call.http, call)), *own), data)

    def _render_nothing(self, call: Call, outcome: ObjectView) -> Reply:
        return Reply(200, (*HeaderLines(self.lines(call.http, call)), ("content-length", "0")))


def read_offer(http: HttpRequest) -> tuple[str, Json]:
    """Return the SDP of a body, and the session that a form has beside it. Raises Failure."""
    kind = essence(http.header("content-type") or "")
    if kind == "multipart/form-data":
        parts = {part.name: part.data for part in parse_form(http).parts}
        session = parts.get("session")
        return _check_offer(parts.get("sdp")), None if session is None else object_of(session)
    if kind != "application/sdp":
        message = "Unsupported content type. Send an SDP offer as application/sdp or multipart/form-data."
        raise Failure("unsupported_media_type", message)
    return _check_offer(http.body), None


def _check_offer(offer: bytes | None) -> str:
    if offer is None:
        raise refuse(Complaint("missing", ("sdp",)))
    written = offer.decode("utf-8", "replace")
    if not written.startswith("v=0"):
        raise Failure(
            "bad_parameter", "Invalid SDP offer: it must begin with 'v=0'.", code="invalid_offer", param="sdp"
        )
    return written


def answer_offer(offer: str) -> str:
    """Return an answer that takes no media of an offer (RFC 3264, 6): each section again, as inactive."""
    return "\r\n".join((*_HEAD, *_list_sections(offer), ""))


_HEAD = ("v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0")


def _list_sections(offer: str) -> Iterator[str]:
    for line in offer.splitlines():
        if line.startswith("m="):
            yield line
            yield from ("c=IN IP4 0.0.0.0", "a=inactive")
        elif line.startswith("a=mid:"):
            yield line
