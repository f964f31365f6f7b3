"""Videos at the hosts that make them: xAI (https://docs.x.ai/docs/guides/video-generations), Together
(https://docs.together.ai/docs/videos-overview) and OpenRouter (https://openrouter.ai/docs, video generation).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, integer, optional, shape, text
from mockserver.dialects._openai_api.objects.resource import New, ObjectsApi, Resource, serve
from mockserver.dialects._parse import Body, Complaint
from mockserver.dialects._reply import write_request_id
from mockserver.dialects._videos import find_size, make_view, tell_prompt
from mockserver.dialects.compatible.hosts import Host
from mockserver.dialects.compatible.request import NAME, drop_openai_rules
from mockserver.kinds.images import parse_size
from mockserver.kinds.kept import VIDEOS
from mockserver.kinds.objects import Objects, Work
from mockserver.media.film import LONGEST, MAX_SIDE, read_seconds


class _Videos(Resource):
    """Jobs that make a video, which is found at a URL of this server. Hosts show them in their own ways."""

    kind = VIDEOS
    path = "/videos"
    type = "video"
    deleted = "video"
    unknown = "Video with id '{id}' not found."
    statuses: ClassVar[Sequence[str]] = ("in_progress",)
    seconds: ClassVar[float] = 5  # of a video whose length nobody states
    paths: ClassVar[Sequence[str]] = ()  # that make one, if it is not that of the others
    poll_headers: ClassVar[Headers] = ()

    def make_operations(self) -> tuple[Operation, ...]:
        usual = {each.name: each for each in super().make_operations()}
        made = [replace(usual["create_video"], path=path) for path in self.paths or (self.path,)]
        return (*made, usual["video"], usual["video_content"])

    def make_call(self, operation: str, http: HttpRequest, *, body: Body, work: Work) -> Call:
        call = super().make_call(operation, http, body=body, work=work)
        return tell_prompt(call, body.get("prompt"), body.get("model")) if operation == self.kind.made_by else call

    def read(self, http: HttpRequest, validation: Validation) -> New:
        new = super().read(http, validation)
        size = parse_size(str(new.fields.get("size") or ""))
        if size is not None and validation is not Validation.OFF and not all(1 <= side <= MAX_SIDE for side in size):
            expected = (f"1x1 to {MAX_SIDE}x{MAX_SIDE}",)
            raise self.api.refuse(Complaint("value", ("size",), got=new.fields["size"], expected=expected))
        return new

    async def make(self, new: New, objects: Objects) -> Body:
        fields = new.fields
        width, height = fields.get("width"), fields.get("height")
        stated = parse_size(str(fields.get("size") or "")) or (
            (width, height) if isinstance(width, int) and isinstance(height, int) else None
        )
        ratio = fields.get("aspect_ratio") or fields.get("ratio")
        size = stated or find_size(ratio, fields.get("resolution"))
        across, up = (min(max(side, 1), MAX_SIDE) for side in size)
        stated_length = fields.get("duration") if fields.get("seconds") is None else fields["seconds"]
        length = min(max(read_seconds(stated_length, self.seconds), 0.0), LONGEST)
        return {
            "model": fields.get("model") or "video",
            "prompt": fields.get("prompt") or "",
            "size": f"{across}x{up}",
            "seconds": int(length) if length.is_integer() else length,
            "status": "completed",
        }

    def find_url(self, kept: KeptObject, objects: Objects) -> str:
        """Return the URL at which a video can be had."""
        http = objects.call.http
        return f"{http.server_url}{http.path.partition(self.path)[0]}{self.path}/{kept.id}/content"

    @serve("GET", "content")
    async def video_content(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        if kept.status != "completed":
            raise Failure("not_found", f"Video {kept.id} is not ready: its status is {kept.status}.")
        return await objects.on_thread(make_view, kept.body, objects.seed)


class _XaiVideos(_Videos):
    ids = IdShape("", 36, "uuid")
    fields = BodyModel(
        shape(
            prompt=text(1),
            model=optional(str),
            duration=optional(float),
            aspect_ratio=optional(str),
            resolution=optional(str),
            image=optional(Object),
            video=optional(Object),
        )
    )
    paths = ("/videos/generations", "/videos/edits", "/videos/extensions")
    statuses = ("queued", "in_progress")
    seconds = 8

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        return ObjectView({"request_id": (await self.create(new, objects, objects.statuses)).id})

    async def _retrieve(self, call: Call, objects: Objects) -> ObjectView:
        """Show a video; with the status 202 as long as it is not ready."""
        kept = await self.advance(await self.find_asked(call, objects), objects)
        if kept.status == "completed":
            video = {"url": self.find_url(kept, objects), "duration": kept.body["seconds"], "respect_moderation": True}
            usage = {"cost_in_usd_ticks": 500_000_000}
            return ObjectView(
                {"status": "done", "video": video, "model": kept.body["model"], "usage": usage, "progress": 100}
            )
        if kept.status == "failed":
            error = {"code": "internal_error", "message": "Video generation failed."}
            return ObjectView({"status": "failed", "error": error})
        return ObjectView({"status": "pending", "progress": 50}, status=202)


class _TogetherVideos(_Videos):
    path = "/v2/videos"
    ids = IdShape("", 36, "uuid")
    fields = BodyModel(
        shape(
            model=text(1),
            prompt=optional(str),
            **dict.fromkeys(("width", "height"), optional(integer(1, MAX_SIDE))),
            **dict.fromkeys(("fps", "steps", "seed"), optional(int)),
            **dict.fromkeys(("seconds", "ratio", "resolution", "negative_prompt"), optional(str)),
        )
    )

    async def view(self, kept: KeptObject, objects: Objects) -> Body:
        body = kept.body
        is_done = kept.status == "completed"
        broken = {"code": "internal_error", "message": "Video generation failed."}
        return {
            "id": kept.id,
            "object": "video",
            "model": body["model"],
            "status": "in_progress" if kept.ahead else kept.status,
            "created_at": body["created_at"],
            "completed_at": body["created_at"] if is_done else None,
            "size": body["size"],
            "seconds": f"{body['seconds']:g}",
            "error": broken if kept.status == "failed" else None,
            "outputs": {"cost": 0, "video_url": self.find_url(kept, objects)} if is_done else None,
        }


class _OpenRouterVideos(_Videos):
    ids = IdShape("gen-vid-1700000000-", 20)
    fields = BodyModel(
        shape(
            model=text(1),
            prompt=text(1),
            duration=optional(int),
            **dict.fromkeys(("aspect_ratio", "resolution", "size"), optional(str)),
        )
    )

    async def view(self, kept: KeptObject, objects: Objects) -> Body:
        url = self.find_url(kept, objects)
        shown: dict[str, Json] = {
            "id": kept.id,
            "generation_id": kept.id,
            "polling_url": url.removesuffix("/content"),
            "status": "pending" if kept.status == "queued" else kept.status,
        }
        if kept.status == "completed":
            shown |= {"unsigned_urls": [f"{url}?index=0"], "usage": {"cost": 0, "is_byok": False}}
        return {**shown, "error": "Video generation failed."} if kept.status == "failed" else shown

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        kept = await self.create(new, objects, objects.statuses or ("queued", "in_progress", "completed"))
        return ObjectView(await self.view(kept, objects), status=202)


_VIDEOS: Mapping[str, type[_Videos]] = {"xai": _XaiVideos, "together": _TogetherVideos, "openrouter": _OpenRouterVideos}


def make_video_operations(
    host: Host, fail: Callable[[HttpRequest, Failure, Call | None], Reply]
) -> tuple[Operation, ...]:
    """Return the operations on videos of a host that makes any; `fail` renders failures."""
    if host.kin not in _VIDEOS:
        return ()
    api = ObjectsApi(NAME, write_request_id, fail=fail)
    return tuple(map(drop_openai_rules, _VIDEOS[host.kin](api).make_operations()))
