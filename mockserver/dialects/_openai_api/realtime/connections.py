"""What leads to a session over HTTP: secrets for browsers, and calls over WebRTC and the telephone, without sound.

(https://platform.openai.com/docs/api-reference/realtime-sessions, .../realtime-calls)
"""

from collections.abc import Iterator
from typing import NamedTuple

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, read_media_type
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, closed_shape, integer, literal, optional, shape, text
from mockserver.dialects._forms import parse_form
from mockserver.dialects._openai_api.objects.resource import New, ObjectsApi, Resource, serve
from mockserver.dialects._openai_api.realtime.sessions import (
    ACCEPTANCE,
    SESSION,
    TRANSLATION,
    make_session,
    update_session,
)
from mockserver.dialects._parse import Body, Complaint, clip, read_bearer, read_body, read_table
from mockserver.kinds.objects import Objects
from mockserver.kinds.realtime import CALLS, CLIENT_SECRET

_SESSIONS = IdShape("sess_", 21)
_EXPIRES = optional(closed_shape(anchor=optional(literal("created_at")), seconds=optional(integer(10, 7200))))
_SECRET = BodyModel(shape(expires_after=_EXPIRES, session=optional(SESSION)))
_TRANSLATION = BodyModel(shape(expires_after=_EXPIRES, session=TRANSLATION))
_USUAL: Body = {"type": "realtime"}


def make_connection_operations(api: ObjectsApi) -> tuple[Operation, ...]:
    """Return the operations on secrets and calls."""
    return (*ClientSecrets(api).make_operations(), *CallOperations(api).make_operations())


class ClientSecrets(Resource):
    """Keys with which a browser opens a session that is configured already."""

    path = "/realtime"
    ids = IdShape("ek_", 32, "hex")

    def make_operations(self) -> tuple[Operation, ...]:
        return self.list_served()

    @serve("POST", "/realtime/client_secrets", body=_SECRET)
    async def create_client_secret(self, call: Call, objects: Objects) -> ObjectView:
        session = configure(call.raw.get("session"), objects.draw_id(_SESSIONS, "session"))
        return await self._keep(call, objects, session)

    @serve("POST", "/realtime/translations/client_secrets", body=_TRANSLATION)
    async def create_translation_secret(self, call: Call, objects: Objects) -> ObjectView:
        session = {"id": objects.draw_id(_SESSIONS, "session"), "type": "translation", "audio": {}, "expires_at": 0}
        return await self._keep(call, objects, {**session, **call.raw["session"]})

    async def _keep(self, call: Call, objects: Objects, session: Body) -> ObjectView:
        """Keep a new key with its session, and with the key that made it: only that may be listed in the settings."""
        seconds = (call.raw.get("expires_after") or {}).get("seconds") or 600
        value = objects.draw_id(self.ids)
        shown: dict[str, Json] = {"value": value, "expires_at": objects.now + seconds, "session": session}
        made_for = {"key": read_bearer(call.http) or call.http.find_header("api-key") or ""}
        await objects.keep(
            KeptObject(self.api.dialect, made_by=CLIENT_SECRET.name, id=value, body={**shown, **made_for})
        )
        return ObjectView(shown)


class CallOperations(Resource):
    """Calls have a session, for the socket beside them, and nothing to look at."""

    kind = CALLS
    path = "/realtime/calls"
    type = "realtime.call"
    ids = IdShape("rtc_", 32, "hex")
    unknown = "No call found with id '{id}'."

    def read(self, http: HttpRequest, validation: Validation) -> New:
        offer = read_offer(http)
        if validation is not Validation.OFF and offer.session is not None:
            read_body(_SECRET, {"session": offer.session}, refuse=refuse, validation=validation)
        return New(fields=offer._asdict())

    async def make(self, new: New, objects: Objects) -> Body:
        return {"session": configure(new.fields.get("session"), new.id)}

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        made = await self.create(new, objects)
        location = f"{call.http.prefix}/v1{self.path}/{made.id}"
        headers = (("location", location), ("content-type", "application/sdp"))
        return ObjectView(data=answer_offer(new.fields["sdp"]).encode(), headers=headers, status=201)

    def refuse_unknown(self, name: str, owner: str) -> Failure:
        return Failure("not_found", self.unknown.format(id=clip(name)), code="call_id_not_found")

    @serve("POST", "accept", body=BodyModel(ACCEPTANCE))
    async def accept_call(self, call: Call, objects: Objects) -> ObjectView:
        """Accept a call; the socket beside it has the session that is stated."""
        kept = await self.find_asked(call, objects)
        session = update_session(kept.body["session"], {**_USUAL, **call.raw})
        await objects.change(kept, lambda found: found.change(session=session))
        return ObjectView(data=b"")

    @serve("POST", "hangup")
    async def hang_up_call(self, call: Call, objects: Objects) -> ObjectView:
        return await self._acknowledge(call, objects)

    @serve("POST", "refer", body=BodyModel(shape(target_uri=text(1))))
    async def refer_call(self, call: Call, objects: Objects) -> ObjectView:
        return await self._acknowledge(call, objects)

    @serve("POST", "reject", body=BodyModel(shape(status_code=optional(integer()))))
    async def reject_call(self, call: Call, objects: Objects) -> ObjectView:
        return await self._acknowledge(call, objects)

    async def _acknowledge(self, call: Call, objects: Objects) -> ObjectView:
        await self.find_asked(call, objects)
        return ObjectView(data=b"")


def configure(stated: Json, name: str) -> dict[str, Json]:
    """Return a new session with this id and the stated settings."""
    session: Body = stated or _USUAL
    return update_session(make_session(session["type"], name, model=session.get("model") or ""), session)


class SdpOffer(NamedTuple):
    """An offer of media in SDP (RFC 8866), and the session that a form has beside it."""

    sdp: str
    session: Json = None


def read_offer(http: HttpRequest) -> SdpOffer:
    """Return the offer in a request. Raises Failure."""
    kind = read_media_type(http.find_header("content-type") or "")
    if kind == "multipart/form-data":
        parts = {part.name: part.data for part in parse_form(http).parts}
        session = parts.get("session")
        return SdpOffer(_check_offer(parts.get("sdp")), None if session is None else read_table(session))
    if kind != "application/sdp":
        message = "Unsupported content type. Send an SDP offer as application/sdp or multipart/form-data."
        raise Failure("unsupported_media_type", message)
    return SdpOffer(_check_offer(http.body))


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
