"""Videos: jobs that make one of a prompt, or of another video (https://platform.openai.com/docs/api-reference/videos).

The video is not kept: it follows from the job.
"""

from collections.abc import Mapping
from typing import ClassVar

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, literal, open_shape, optional, shape, text
from mockserver.dialects._forms import Form, Part, nest_fields, parse_form
from mockserver.dialects._openai_api.media_files import check_picture
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve
from mockserver.dialects._parse import Body, Complaint, read_body, read_object
from mockserver.dialects._videos import VARIANTS, make_view, tell_prompt
from mockserver.kinds.images import parse_size
from mockserver.kinds.kept import VIDEO_CHARACTERS, VIDEOS
from mockserver.kinds.objects import Objects, Work
from mockserver.media.file_kinds import find_picture_size
from mockserver.media.large_data import hash_data

SIZES = ("720x1280", "1280x720", "1024x1792", "1792x1024", "1080x1920", "1920x1080")
_DAY = 86_400  # seconds, after which a video expires
_VIDEO = open_shape(id=str)
_SOURCES: Mapping[str, BodyModel] = {  # of videos that are made of another one, by the ends of their paths
    "remix": BodyModel(shape(prompt=text(1))),
    "edits": BodyModel(shape(prompt=text(1), video=optional(_VIDEO))),
    "extensions": BodyModel(shape(prompt=text(1), seconds=literal("4", "8", "12", "16", "20"), video=optional(_VIDEO))),
}
_PROGRESS = {"queued": 0, "in_progress": 50, "completed": 100}
_FAILED: Body = {"code": "processing_error", "message": "The video could not be generated due to an internal error."}


class Videos(Resource):
    kind = VIDEOS
    path = "/videos"
    type = "video"
    deleted = "video.deleted"
    ids = IdShape("video_", 48, "hex")
    unknown = "Video with id '{id}' not found."
    fields = BodyModel(
        shape(
            prompt=text(1),
            model=optional(str),
            seconds=optional(literal("4", "8", "12", "16", "20")),
            size=optional(literal(*SIZES)),
            input_reference=optional(open_shape(file_id=optional(str), image_url=optional(str))),
        )
    )
    statuses = ("queued", "in_progress")
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"order": ("asc", "desc")}

    def make_operations(self) -> tuple[Operation, ...]:
        """Return the operations, with those that make a video of another one."""
        made = [
            Operation(self.kind.made_by, "POST", path, parse=self._parse_creation, render=self.render)
            for path in ("/videos/{id}/remix", "/videos/edits", "/videos/extensions")
        ]
        return (*super().make_operations(), *made)

    def read(self, http: HttpRequest, validation: Validation) -> New:
        """Return a new video of a form or of JSON; a file is known by its hash. Raises Failure."""
        is_form = "multipart/" in (http.find_header("content-type") or "").lower()
        form = parse_form(http) if is_form else Form()
        files = {file.name: file for file in form.find_files("input_reference", "video")}
        body = nest_fields(form) if is_form else read_object(http)
        model = _SOURCES.get(http.path.rpartition("/")[2], self.fields)
        fields = read_body(model, body, refuse=self.api.refuse, validation=validation).parsed
        if validation is not Validation.OFF:
            if "video" in model.fields and not fields.get("video") and "video" not in files:
                raise self.api.refuse(Complaint("missing", ("video",)))
            if "input_reference" in files:
                _check_reference(files["input_reference"], fields.get("size") or SIZES[0], validation)
        hashes = {name: {"sha256": hash_data(file.content)} for name, file in files.items()}
        return New(fields={**fields, **hashes})

    def make_call(self, operation: str, http: HttpRequest, *, body: Body, work: Work) -> Call:
        call = super().make_call(operation, http, body=body, work=work)
        is_new = operation == self.kind.made_by
        return tell_prompt(call, body.get("prompt"), body.get("model") or "sora-2") if is_new else call

    async def make(self, new: New, objects: Objects) -> Body:
        fields = new.fields
        video = fields.get("video") or {}
        name = new.http.path_params.get("id") or video.get("id")
        source: Body = (await self.find(objects, name)).body if name else {}
        seconds = fields.get("seconds")
        if new.http.path.endswith("/extensions"):  # the video is shown with what it extends
            seconds = str(int(seconds or 4) + int(source.get("seconds", "4")))
        return {
            "status": "completed",
            "completed_at": new.created,
            "error": None,
            "expires_at": new.created + _DAY,
            "model": fields.get("model") or source.get("model", "sora-2"),
            "progress": 100,
            "prompt": fields.get("prompt", "A video"),
            "remixed_from_video_id": name if new.http.path.endswith("/remix") else None,
            "seconds": seconds or source.get("seconds", "4"),
            "size": fields.get("size") or source.get("size", SIZES[0]),
        }

    def show(self, kept: KeptObject) -> Body:
        """Return a video in its present status: what is not known yet is empty."""
        status = kept.status
        body = {**kept.body, "status": status, "progress": _PROGRESS.get(status, 0)}
        if status == "completed":
            return body
        return {**body, "completed_at": None, "expires_at": None, "error": _FAILED if status == "failed" else None}

    @serve("GET", "content")
    async def video_content(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        variant = call.http.query.get("variant") or "video"
        if variant not in VARIANTS:
            raise self.api.refuse(Complaint("value", ("variant",), got=variant, expected=tuple(VARIANTS)))
        if kept.status != "completed":
            message = f"Video is not ready yet, use GET /v1/videos/{kept.id} to check status."
            raise Failure("not_found", message=message)
        return await objects.on_thread(make_view, kept.body, objects.seed, variant)


class VideoCharacters(Resource):
    """Characters that are cut out of a video, to appear in others; they are kept by their names."""

    kind = VIDEO_CHARACTERS
    path = "/videos/characters"
    type = deleted = "video.character"
    ids = IdShape("char_", 32, "hex")
    unknown = "Character with id '{id}' not found."
    fields = BodyModel(shape(name=text(1)))

    def read(self, http: HttpRequest, validation: Validation) -> New:
        form = parse_form(http)
        fields = read_body(self.fields, nest_fields(form), refuse=self.api.refuse, validation=validation).parsed
        files = form.find_files("video")
        if not files and validation is not Validation.OFF:
            raise self.api.refuse(Complaint("missing", ("video",)))
        return New(fields={**fields, **({"video": {"sha256": hash_data(files[0].content)}} if files else {})})

    async def make(self, new: New, objects: Objects) -> Body:
        return {"name": new.fields.get("name", "character")}

    def show(self, kept: KeptObject) -> Body:
        return {key: kept.body[key] for key in ("id", "created_at", "name")}


def _check_reference(file: Part, size: str, validation: Validation) -> None:
    """Raise Failure unless a file can be the first picture of a video of this size."""
    check_picture(file, "input_reference", validation)
    if find_picture_size(file.head) not in (None, parse_size(size)):
        raise Failure("bad_parameter", message="Inpaint image must match the requested width and height")
