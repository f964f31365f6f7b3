"""Uploads: files that come in parts (https://platform.openai.com/docs/api-reference/uploads)."""

import asyncio
from collections.abc import Sequence
from hashlib import md5

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.kept_objects import Data, KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, integer, list_of, literal, optional, shape
from mockserver.dialects._forms import parse_form
from mockserver.dialects._openai_api.objects.files import EXPIRY, PURPOSES, Files
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve
from mockserver.dialects._parse import Body, Complaint, clip
from mockserver.kinds.kept import UPLOAD_PARTS, UPLOADS
from mockserver.kinds.objects import Objects
from mockserver.media.large_data import DataWriter, split_data

_HOUR = 3_600  # seconds, after which an upload expires
_COMPLETION = BodyModel(shape(part_ids=list_of(str), md5=optional(str)))


class Uploads(Resource):
    kind = UPLOADS
    path = "/uploads"
    type = "upload"
    deleted = "upload"
    ids = IdShape("upload_", 32, "hex")
    unknown = "No upload found with id '{id}'."
    fields = BodyModel(
        shape(bytes=integer(0), filename=str, mime_type=str, purpose=literal(*PURPOSES), expires_after=optional(EXPIRY))
    )

    async def make(self, new: New, objects: Objects) -> Body:
        return {
            "bytes": new.fields.get("bytes", 0),
            "filename": new.fields.get("filename", "file.txt"),
            "purpose": new.fields.get("purpose", "user_data"),
            "status": "pending",
            "expires_at": new.created + _HOUR,
            "file": None,
            **_show_expiry(new.fields),
        }

    def show(self, kept: KeptObject) -> Body:
        return {key: value for key, value in kept.body.items() if key != "expires_after"}

    async def find_pending(self, objects: Objects, name: str) -> KeptObject:
        """Return an upload that is not finished. Raises Failure."""
        kept = await self.find(objects, name)
        if kept.status != "pending":
            raise Failure("bad_parameter", message=f"Upload '{clip(name)}' is {kept.status}: it can no longer change.")
        return kept

    @serve("POST", "complete", body=_COMPLETION)
    async def complete_upload(self, call: Call, objects: Objects) -> ObjectView:
        upload = await self.find_pending(objects, call.http.path_params["id"])
        parts = [await self._find_part(objects, upload, name) for name in call.raw["part_ids"]]
        data = await _join_parts(parts, upload, call.raw.get("md5"))
        fields = {"purpose": upload.body["purpose"], **_show_expiry(upload.body)}
        name = objects.draw_id(Files.ids, "uploaded file")
        new = New(id=name, fields=fields, data=data, file_name=upload.body["filename"], invented=upload.invented)
        files = Files(self.api)
        if upload.invented:
            file = await files.finish(replace(new, created=objects.now), objects)
        else:
            file = await files.create(new, objects)
        done = (await objects.change(upload, lambda kept: kept.change(status="completed", file=files.show(file)))).after
        for part in parts:
            await objects.change(part, KeptObject.forget)
        return ObjectView(self.show(done))

    async def _find_part(self, objects: Objects, upload: KeptObject, name: str) -> KeptObject:
        part = await objects.find(UploadParts.kind.made_by, name, upload.id)
        if part is not None and not part.gone:
            return part
        if upload.invented:
            return await UploadParts(self.api).finish(New(id=name, owner=upload.id, invented=True), objects)
        message = f"No part found with id '{clip(name)}' in upload '{upload.id}'."
        raise Failure("bad_parameter", message=message, param="part_ids")

    @serve("POST", "cancel")
    async def cancel_upload(self, call: Call, objects: Objects) -> ObjectView:
        upload = await self.find_pending(objects, call.http.path_params["id"])
        now = (await objects.change(upload, lambda kept: kept.change(status="cancelled"))).after
        return ObjectView(self.show(now))


class UploadParts(Resource):
    kind = UPLOAD_PARTS
    path = "/uploads/{owner}/parts"
    type = "upload.part"
    deleted = "upload.part"
    ids = IdShape("part_", 32, "hex")
    unknown = "No part found with id '{id}' in upload '{owner}'."
    parent = Uploads

    def read(self, http: HttpRequest, validation: Validation) -> New:
        parts = [part for part in parse_form(http).parts if part.name == "data"]
        if not parts:
            raise refuse(Complaint("missing", ("data",)))
        return New(data=parts[0].content, file_name=parts[0].file_name or "upload")

    async def create(self, new: New, objects: Objects, statuses: Sequence[str] = ()) -> KeptObject:
        await Uploads(self.api).find_pending(objects, new.owner)
        return await super().create(new, objects, statuses)

    async def make(self, new: New, objects: Objects) -> Body:
        return {"upload_id": new.owner}


def _show_expiry(fields: Body) -> Body:
    return {"expires_after": fields["expires_after"]} if fields.get("expires_after") else {}


async def _join_parts(parts: Sequence[KeptObject], upload: KeptObject, stated: Json) -> Data:
    """Return the bytes of all parts. Raises Failure if they are not what the upload announced."""
    size = sum([len(part.data) for part in parts])
    if size != upload.body["bytes"] and not upload.invented:
        message = f"The parts have {size} bytes in total, but the upload announced {upload.body['bytes']}."
        raise Failure("bad_parameter", message=message, param="part_ids")
    joined = DataWriter()
    checksum = md5(usedforsecurity=False)
    try:
        for part in parts:
            for piece in split_data(part.data):
                joined.write(piece)
                checksum.update(piece)
                await asyncio.sleep(0)  # let other requests run
        if isinstance(stated, str) and stated.lower() != checksum.hexdigest() and not upload.invented:
            raise Failure("bad_parameter", message="The MD5 checksum does not match the uploaded parts.", param="md5")
        return joined.finish()
    except BaseException:  # also if the server stops
        joined.discard()
        raise
