"""Containers and their files (https://platform.openai.com/docs/api-reference/containers)."""

from collections.abc import Mapping
from typing import ClassVar

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.validation import Validation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, Object, integer, list_of, literal, optional, shape
from mockserver.dialects._forms import parse_form
from mockserver.dialects._openai_api.objects.files import Files
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve
from mockserver.dialects._parse import Body, Complaint, read_body, read_object
from mockserver.kinds.kept import CONTAINER_FILES, CONTAINERS
from mockserver.kinds.objects import Objects

_MINUTES = 20  # without use, after which a container expires
_SHARED = BodyModel(shape(file_id=optional(str)))


class Containers(Resource):
    kind = CONTAINERS
    path = "/containers"
    type = "container"
    deleted = "container.deleted"
    ids = IdShape("cntr_", 48, "hex")
    unknown = "Container with id '{id}' not found."
    fields = BodyModel(
        shape(
            name=str,
            file_ids=optional(list_of(str)),
            expires_after=optional(shape(anchor=literal("last_active_at"), minutes=integer())),
            memory_limit=optional(literal("1g", "4g", "16g", "64g")),
            network_policy=optional(Object),
            skills=optional(list_of(Object)),
        )
    )
    filters: ClassVar[Mapping[str, str]] = {"name": "name"}

    async def make(self, new: New, objects: Objects) -> Body:
        files = ContainerFiles(self.api)
        for number, name in enumerate(new.fields.get("file_ids") or ()):
            made = objects.draw_id(files.ids, f"file {number}")
            await files.create(New(id=made, fields={"file_id": name}, owner=new.id), objects)
        return {
            "status": "running",
            "expires_after": new.fields.get("expires_after") or {"anchor": "last_active_at", "minutes": _MINUTES},
            "last_active_at": new.created,
            "memory_limit": new.fields.get("memory_limit") or "1g",
            "name": new.fields.get("name", "container"),
            **({"network_policy": new.fields["network_policy"]} if new.fields.get("network_policy") else {}),
        }


class ContainerFiles(Resource):
    kind = CONTAINER_FILES
    path = "/containers/{owner}/files"
    type = "container.file"
    deleted = "container.file.deleted"
    ids = IdShape("cfile_", 32, "hex")
    unknown = "File with id '{id}' not found in container '{owner}'."
    parent = Containers

    def read(self, http: HttpRequest, validation: Validation) -> New:
        """Return a new file: one that comes in a form, or one that was uploaded before."""
        if "json" in (http.find_header("content-type") or "").lower():
            return New(fields=read_body(_SHARED, read_object(http), refuse=refuse, validation=validation).parsed)
        form = parse_form(http)
        files = form.find_files("file")
        if files:
            return New(data=files[0].content, file_name=files[0].file_name or "upload")
        named = dict(form.list_fields()).get("file_id")
        if named is None and validation is Validation.LIVE:
            raise refuse(Complaint("missing", ("file",)))
        return New(fields={} if named is None else {"file_id": named})

    async def finish(self, new: New, objects: Objects) -> KeptObject:
        if new.fields.get("file_id"):
            file = await Files(self.api).find(objects, new.fields["file_id"])
            new = New(
                id=new.id, created=new.created, owner=new.owner, data=file.data, file_name=str(file.body["filename"])
            )
        return await super().finish(new, objects)

    async def make(self, new: New, objects: Objects) -> Body:
        return {
            "bytes": len(new.data),
            "container_id": new.owner,
            "path": f"/mnt/data/{new.file_name or 'file.txt'}",
            "source": "user",
        }

    @serve("GET", "content")
    async def container_file_content(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        return ObjectView(data=kept.data, headers=(("content-type", "application/binary"),))
