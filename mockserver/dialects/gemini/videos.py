"""Videos of Veo: operations that run long, at the Gemini API and at Vertex AI (https://ai.google.dev/gemini-api/docs/video).

At the Gemini API a video is a file to download; at Vertex AI it is in the answer.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import Body, clip
from mockserver.dialects._videos import find_size, make_view, tell_prompt
from mockserver.dialects.gemini.bodies import FETCH_OPERATION, PREDICT_LONG
from mockserver.dialects.gemini.errors import is_vertex
from mockserver.dialects.gemini.files import IDS as FILE_IDS
from mockserver.dialects.gemini.files import keep_file, render_view, write_hash
from mockserver.dialects.gemini.models import USUAL_PARAMS
from mockserver.dialects.gemini.proto import TYPE_URL
from mockserver.dialects.gemini.request import NAME, find_model, make_renamer, read
from mockserver.kinds.kept import VIDEOS
from mockserver.kinds.objects import Objects, find_object
from mockserver.media.film import read_seconds
from mockserver.media.large_data import read_data

IDS = IdShape("", 12, "hex")
VERTEX_IDS = IdShape("", 36, "uuid")
MAX_VIDEOS = 4  # of a request
_USUAL_SECONDS = 8
_BROKEN: Body = {
    "code": 13,
    "message": (
        "Video generation failed due to an internal server issue. Please try again in a few minutes. If the problem "
        "persists, please contact Gemini API support."
    ),
}


def make_video_operations(model: str) -> tuple[Operation, ...]:
    """Return the operations on videos; `model` is the path of one."""
    named: dict[str, Any] = {"render": render_view, "params": USUAL_PARAMS}
    return (
        Operation(
            VIDEOS.made_by,
            "POST",
            f"{model}:predictLongRunning",
            parse=_parse,
            unify=make_renamer(PREDICT_LONG),
            **named,
        ),
        Operation(
            VIDEOS.name,
            "POST",
            f"{model}:fetchPredictOperation",
            parse=_parse_fetch,
            unify=make_renamer(FETCH_OPERATION),
            **named,
        ),
        Operation(VIDEOS.name, "GET", f"{model}/operations/{{id}}", parse=_parse_look_up, **named),
    )


def _parse(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, PREDICT_LONG, validation)
    instance: Body = next(iter(body.get("instances") or ()), {})
    prompt = instance.get("prompt") or ""
    parameters: Body = body.get("parameters") or {}
    if validation is not Validation.OFF:
        _check(instance, parameters, validation)
    model = find_model(http)
    call = Call(NAME, VIDEOS.made_by, model=model, http=http, meaning={"model": model, **body}, raw=body, work=_create)
    return tell_prompt(call, prompt, model)


def _check(instance: Body, parameters: Body, validation: Validation) -> None:
    """Raise Failure for what no model of Veo makes."""
    if not any(instance.get(key) for key in ("prompt", "image", "video", "lastFrame", "referenceImages")):
        raise Failure("bad_parameter", "Text prompt or image is required for video generation.")
    count = parameters.get("sampleCount", 1)
    if not isinstance(count, int) or not 1 <= count <= MAX_VIDEOS:
        raise Failure("bad_parameter", f"sampleCount must be in the range [1, {MAX_VIDEOS}].")
    seconds = read_seconds(parameters.get("durationSeconds"), _USUAL_SECONDS)
    if not 4 <= seconds <= 8:
        message = (
            "The number value for `durationSeconds` is out of bound. Please provide a value between 4 and 8, inclusive."
        )
        raise Failure("bad_parameter", message)
    ratio = parameters.get("aspectRatio")
    if ratio not in (None, "16:9", "9:16"):
        raise Failure("bad_parameter", f"`aspectRatio` must be 16:9 or 9:16, and not {clip(str(ratio))}.")
    resolution = parameters.get("resolution")
    if validation is Validation.LIVE and resolution not in (None, "720p", "1080p", "4k"):
        raise Failure("bad_parameter", f"`resolution` must be 720p, 1080p or 4k, and not {clip(str(resolution))}.")


async def _create(call: Call, objects: Objects) -> ObjectView:
    """Keep the operation in the first of its states, and its videos as files."""
    parameters: Body = call.raw.get("parameters") or {}
    width, height = find_size(parameters.get("aspectRatio"), parameters.get("resolution"))
    described: Body = {
        "prompt": call.last_user,
        "size": f"{width}x{height}",
        "seconds": read_seconds(parameters.get("durationSeconds"), _USUAL_SECONDS),
        "model": call.model,
    }
    vertex = is_vertex(call.http)
    count = parameters.get("sampleCount", 1)
    files = [
        await _keep_video(described, number, objects=objects)
        for number in range(count if isinstance(count, int) and 0 < count <= MAX_VIDEOS else 1)
    ]
    kept = KeptObject(
        NAME,
        VIDEOS.made_by,
        id=objects.draw_id(VERTEX_IDS if vertex else IDS),
        body={**described, "bucket": parameters.get("storageUri")},
        members=tuple(files),
    ).begin(objects.statuses or ("in_progress", "completed"))
    await objects.keep(kept)
    return ObjectView({"name": _name_operation(call, kept)})


async def _keep_video(described: Body, number: int, *, objects: Objects) -> str:
    """Keep a video as a file and return its name."""
    view = await objects.on_thread(make_view, described, objects.seed)
    data = read_data(view.data or b"")
    name = objects.draw_id(FILE_IDS, f"video {number}")
    metadata: Body = {
        "mimeType": "video/mp4",
        "sizeBytes": len(data),
        "sha256Hash": write_hash(data),
        "source": "GENERATED",
        "downloadUri": f"{name}:download?alt=media",
    }
    await keep_file(name, metadata, data=data, objects=objects, statuses=())
    return name


def _name_operation(call: Call, kept: KeptObject) -> str:
    return f"{call.http.path_params['parent']}/{find_model(call.http)}/operations/{kept.id}"


def _parse_fetch(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, FETCH_OPERATION, validation)
    name = str(body.get("operationName") or "").rpartition("/operations/")[2]
    if not name and validation is not Validation.OFF:
        raise Failure("bad_parameter", "The operation name is required.")
    return _look_up(http, name)


def _parse_look_up(http: HttpRequest, validation: Validation) -> Call:
    return _look_up(http, http.path_params["id"])


def _look_up(http: HttpRequest, name: str) -> Call:
    model = find_model(http)
    return Call(NAME, VIDEOS.name, model=model, http=http, meaning={"model": model, "id": name}, id=name, work=_show)


async def _show(call: Call, objects: Objects) -> ObjectView:
    """Show an operation, which is then one state further; one that nobody began has ended with a video."""
    body: Body = {"prompt": "", "size": "1280x720", "seconds": _USUAL_SECONDS, "model": call.model}
    invented = KeptObject(
        NAME,
        VIDEOS.made_by,
        id=call.id,
        body={**body, "status": "completed"},
        members=("",),
    )
    found = await find_object(objects, VIDEOS.made_by, call.id, invented=invented, refusal=Failure("not_found"))
    if found.invented and not is_vertex(call.http):
        found = replace(found, members=(await _keep_video(body, 0, objects=objects),))
    kept = (await objects.change(found, KeptObject.advance)).after
    shown: dict[str, Json] = {"name": _name_operation(call, kept)}
    if kept.ahead:
        return ObjectView(shown)
    if kept.status == "failed":
        return ObjectView({**shown, "done": True, "error": _BROKEN})
    view = await objects.on_thread(make_view, kept.body, objects.seed)
    show = _show_vertex if is_vertex(call.http) else _show_files
    response = show(call, kept, read_data(view.data or b""))
    return ObjectView({**shown, "done": True, "response": response})


def _show_files(call: Call, kept: KeptObject, data: bytes) -> Mapping[str, Json]:
    """Return the videos as the Gemini API has them: as files."""
    front = f"{call.http.server_url}{call.http.path.partition('/models/')[0]}"
    samples = [{"video": {"uri": f"{front}/{name}:download?alt=media"}} for name in kept.members]
    return {
        "@type": f"{TYPE_URL}PredictLongRunningResponse",
        "generateVideoResponse": {"generatedSamples": samples},
    }


def _show_vertex(call: Call, kept: KeptObject, data: bytes) -> Mapping[str, Json]:
    """Return the videos as Vertex AI has them: as they are, or in the bucket that the request names."""
    bucket = kept.body.get("bucket")
    places = [
        {"gcsUri": f"{str(bucket).rstrip('/')}/{kept.id}/sample_{number}.mp4"}
        if bucket
        else {"bytesBase64Encoded": b64encode(data).decode()}
        for number, _ in enumerate(kept.members)
    ]
    return {
        "@type": "type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse",
        "raiMediaFilteredCount": 0,
        "videos": [{**place, "mimeType": "video/mp4"} for place in places],
    }
