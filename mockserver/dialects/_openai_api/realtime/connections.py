"""What leads to a session over HTTP: secrets for browsers, and calls over WebRTC and the telephone, without sound.

(https://platform.openai.com/docs/api-reference/realtime-sessions, .../realtime-calls)
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, read_media_type
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import (
    BodyModel,
    closed_shape,
    integer,
    list_of,
    literal,
    number,
    optional,
    shape,
    text,
    voice_of,
)
from mockserver.dialects._forms import parse_form
from mockserver.dialects._openai_api.objects.resource import New, ObjectsApi, Resource, serve
from mockserver.dialects._openai_api.realtime.sessions import (
    ACCEPTANCE,
    MAX_TOKENS,
    NOISE_REDUCTION,
    SESSION,
    TOOL_CHOICE,
    TOOLS,
    TRANSCRIPTION,
    TRANSLATION,
    TURN_DETECTION,
    VOICES,
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
_SOUNDS = {"pcm16": "audio/pcm", "g711_ulaw": "audio/pcmu", "g711_alaw": "audio/pcma"}  # names that the beta had
_OLD_FIELDS: Mapping[str, Any] = {
    "client_secret": optional(shape(expires_after=_EXPIRES)),
    "input_audio_format": optional(literal(*_SOUNDS)),
    "input_audio_transcription": optional(TRANSCRIPTION),
    "input_audio_noise_reduction": optional(NOISE_REDUCTION),
    "turn_detection": optional(TURN_DETECTION),
}
_OLD_SESSION = BodyModel(
    shape(
        model=optional(str),
        voice=optional(voice_of(*VOICES)),
        modalities=optional(list_of(literal("text", "audio"))),
        instructions=optional(str),
        output_audio_format=optional(literal(*_SOUNDS)),
        speed=optional(number(0.25, 1.5)),
        temperature=optional(number(0.6, 1.2)),
        max_response_output_tokens=optional(MAX_TOKENS),
        tools=optional(TOOLS),
        tool_choice=optional(TOOL_CHOICE),
        tracing=optional(Any),
        **_OLD_FIELDS,
    )
)
_OLD_TRANSCRIPTION = BodyModel(shape(modalities=optional(Any), include=optional(list_of(str)), **_OLD_FIELDS))


def make_connection_operations(api: ObjectsApi) -> tuple[Operation, ...]:
    """Return the operations on secrets and calls."""
    return (*ClientSecrets(api).make_operations(), *CallOperations(api).make_operations())


class ClientSecrets(Resource):
    """Keys with which a browser opens a session that is configured already."""

    path = "/realtime"
    ids = IdShape("ek_", 32, "hex")

    def make_operations(self) -> tuple[Operation, ...]:
        old = (
            ("/realtime/sessions", self._create_old_session, _OLD_SESSION),
            ("/realtime/transcription_sessions", self._create_old_session, _OLD_TRANSCRIPTION),
        )
        name = CLIENT_SECRET.name
        made = [
            Operation(name, "POST", path, parse=self._parse_as(name, work, body), render=self.render)
            for path, work, body in old
        ]
        return (*self.list_served(), *made)

    async def _create_old_session(self, call: Call, objects: Objects) -> ObjectView:
        """Create a session as the beta did: its secret is a part of it."""
        asked = call.raw
        kind = "transcription" if "transcription" in call.http.path.rpartition("/")[2] else "realtime"
        session = configure(_translate_old(asked, kind), objects.draw_id(_SESSIONS, "session"))
        seconds = ((asked.get("client_secret") or {}).get("expires_after") or {}).get("seconds") or 60
        made = await self._keep(call, objects, session, seconds=seconds)
        secret = {"value": made.body["value"], "expires_at": made.body["expires_at"]}
        return ObjectView({**_show_old(session, asked), "client_secret": secret})

    @serve("POST", "/realtime/client_secrets", body=_SECRET)
    async def create_client_secret(self, call: Call, objects: Objects) -> ObjectView:
        session = configure(call.raw.get("session"), objects.draw_id(_SESSIONS, "session"))
        return await self._keep(call, objects, session)

    @serve("POST", "/realtime/translations/client_secrets", body=_TRANSLATION)
    async def create_translation_secret(self, call: Call, objects: Objects) -> ObjectView:
        session = {"id": objects.draw_id(_SESSIONS, "session"), "type": "translation", "audio": {}, "expires_at": 0}
        return await self._keep(call, objects, {**session, **call.raw["session"]})

    async def _keep(self, call: Call, objects: Objects, session: Body, *, seconds: int | None = None) -> ObjectView:
        """Keep a new key with its session, and with the key that made it: only that may be listed in the settings."""
        seconds = seconds or (call.raw.get("expires_after") or {}).get("seconds") or 600
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
        headers = (("location", location), ("content-type", "text/plain; charset=utf-8"))
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


def _translate_old(asked: Body, kind: str) -> Body:
    """Return the settings of a session in today's fields."""
    heard: dict[str, Json] = {
        new: asked[old]
        for old, new in (
            ("input_audio_transcription", "transcription"),
            ("input_audio_noise_reduction", "noise_reduction"),
            ("turn_detection", "turn_detection"),
        )
        if old in asked
    }
    if asked.get("input_audio_format"):
        heard["format"] = {"type": _SOUNDS[asked["input_audio_format"]]}
    if kind == "transcription":
        return {"type": kind, "audio": {"input": heard}}
    said: dict[str, Json] = {key: asked[key] for key in ("voice", "speed") if asked.get(key) is not None}
    if asked.get("output_audio_format"):
        said["format"] = {"type": _SOUNDS[asked["output_audio_format"]]}
    same = {key: asked[key] for key in ("model", "instructions", "tools", "tool_choice") if asked.get(key) is not None}
    modalities = asked.get("modalities")
    wanted = {"output_modalities": ["audio" if "audio" in modalities else "text"]} if modalities else {}
    most = asked.get("max_response_output_tokens")
    limit = {} if most is None else {"max_output_tokens": most}
    return {"type": kind, **same, **wanted, **limit, "audio": {"input": heard, "output": said}}


def _show_old(session: Body, asked: Body) -> Body:
    """Return a session in the fields of the beta."""
    names = {new: old for old, new in _SOUNDS.items()}
    heard = session["audio"]["input"]
    shown: dict[str, Json] = {
        "id": session["id"],
        "object": session["object"],
        "expires_at": 0,
        "input_audio_format": names[heard["format"]["type"]],
        "input_audio_transcription": heard["transcription"],
        "input_audio_noise_reduction": heard["noise_reduction"],
        "turn_detection": heard["turn_detection"],
    }
    if session["type"] == "transcription":
        return {**shown, "modalities": ["text"], "include": asked.get("include")}
    said = session["audio"]["output"]
    return {
        **shown,
        "model": session["model"],
        "modalities": asked.get("modalities") or ["audio", "text"],
        "instructions": session["instructions"],
        "voice": said["voice"],
        "output_audio_format": names[said["format"]["type"]],
        "speed": said["speed"],
        "tools": session["tools"],
        "tool_choice": session["tool_choice"],
        "temperature": asked.get("temperature") or 0.8,
        "max_response_output_tokens": session["max_output_tokens"],
        "tracing": asked.get("tracing"),
    }


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
