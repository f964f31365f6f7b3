"""Voices of the user's own, and the recordings in which people agree to them.

(https://platform.openai.com/docs/api-reference/audio, in the part about custom voices)
"""

from mockserver.core.call import IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.validation import Validation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, literal, optional, shape, text
from mockserver.dialects._forms import nest_fields, parse_form
from mockserver.dialects._openai_api.media_files import check_recording
from mockserver.dialects._openai_api.objects.resource import New, Resource
from mockserver.dialects._parse import Body, Complaint, read_body
from mockserver.kinds.kept import VOICE_CONSENTS, VOICES
from mockserver.kinds.objects import Objects


def read_recording(http: HttpRequest, field: str, *, model: BodyModel, validation: Validation) -> New:
    """Return the object that a form makes, of its fields and the recording in one of them. Raises Failure."""
    form = parse_form(http)
    fields = read_body(model, nest_fields(form), refuse=refuse, validation=validation).parsed
    files = form.find_files(field)
    if not files:
        if validation is Validation.OFF:
            return New(fields=fields)
        raise refuse(Complaint("missing", (field,)))
    check_recording(files[0], "", validation)
    return New(fields=fields, data=files[0].content, file_name=files[0].file_name or "upload")


class Voices(Resource):
    """Voices can be made and deleted, but not looked up."""

    kind = VOICES
    path = "/audio/voices"
    type = "audio.voice"
    deleted = "audio.voice.deleted"
    ids = IdShape("voice_", 24)
    unknown = "Voice with id '{id}' not found."
    fields = BodyModel(shape(name=text(1), type=literal("prompt"), prompt=text(1), script_hint=optional(str)))
    form_fields = BodyModel(shape(name=text(1), type=optional(literal("audio_sample")), consent=str))

    def read(self, http: HttpRequest, validation: Validation) -> New:
        """Return a voice that is made from a prompt, or from a recording and the consent to it."""
        is_form = "multipart/" in (http.find_header("content-type") or "").lower()
        if is_form and dict(parse_form(http).list_fields()).get("type") != "prompt":
            return read_recording(http, "audio_sample", model=self.form_fields, validation=validation)
        if is_form:
            body = nest_fields(parse_form(http))
            return New(fields=read_body(self.fields, body, refuse=refuse, validation=validation).parsed)
        return super().read(http, validation)

    async def make(self, new: New, objects: Objects) -> Body:
        named: Body = {"name": new.fields.get("name", "voice"), "type": new.fields.get("type") or "audio_sample"}
        return {**named, "prompt": new.fields["prompt"]} if new.fields.get("prompt") else named


class VoiceConsents(Resource):
    kind = VOICE_CONSENTS
    path = "/audio/voice_consents"
    type = deleted = "audio.voice_consent"
    ids = IdShape("cons_", 24)
    unknown = "Voice consent with id '{id}' not found."
    fields = BodyModel(shape(name=str, language=str))
    updates = BodyModel(shape(name=str))

    def read(self, http: HttpRequest, validation: Validation) -> New:
        return read_recording(http, "recording", model=self.fields, validation=validation)

    async def make(self, new: New, objects: Objects) -> Body:
        return {"name": new.fields.get("name", "consent"), "language": new.fields.get("language", "en-US")}
