"""Invocations that end later: the videos of Nova Reel and Luma Ray. Nothing is written to the bucket.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_StartAsyncInvoke.html
"""

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, Object, list_of, optional, shape, text
from mockserver.dialects._parse import Body, clip, look_up, read_request
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects._videos import tell_prompt
from mockserver.dialects.bedrock.errors import refuse, write_request_id
from mockserver.dialects.bedrock.models import NAME
from mockserver.kinds.kept import VIDEOS
from mockserver.kinds.objects import Objects, find_object
from mockserver.wire.parts import write_moment

_PLACE = "arn:aws:bedrock:us-east-1"
_IDS = IdShape(f"{_PLACE}:123456789012:async-invoke/", 12, "hex")
_START = BodyModel(
    shape(
        clientRequestToken=optional(str),
        modelId=text(1, 256, pattern=r"^[a-zA-Z_.\-/0-9:]+$"),
        modelInput=Object,
        outputDataConfig=shape(
            s3OutputDataConfig=shape(
                s3Uri=text(1, 1024, pattern=r"^s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?$"),
                kmsKeyId=optional(str),
                bucketOwner=optional(str),
            )
        ),
        tags=optional(list_of(Object)),
    )
)
_STATES = {"queued": "InProgress", "in_progress": "InProgress", "completed": "Completed", "failed": "Failed"}
_BROKEN = "The invocation failed due to an internal error."
_PAGE = 100  # invocations in a list


def make_async_operations() -> tuple[Operation, ...]:
    """Return the operations that begin an invocation, show it and list all."""
    one, every = str(VIDEOS.name), str(VIDEOS.listed_by)
    return (
        Operation(VIDEOS.made_by, "POST", "/async-invoke", parse=_parse, render=_render),
        Operation(one, "GET", "/async-invoke/{id:path}", parse=look_up(NAME, one, work=_show), render=_render),
        Operation(every, "GET", "/async-invoke", parse=look_up(NAME, every, work=_list), render=_render),
    )


def _parse(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(_START, http, refuse=refuse, validation=validation)
    meaning = {key: value for key, value in body.items() if key not in ("clientRequestToken", "tags")}
    call = Call(NAME, VIDEOS.made_by, model="", http=http, meaning=meaning, raw=parsed, work=_start)
    return tell_prompt(call, _find_prompt(parsed.get("modelInput")), parsed.get("modelId"))


def _find_prompt(given: Json) -> Json:
    """Return the prompt of a model's own body: Luma's is a key, those of Nova Reel depend on the task."""
    if not isinstance(given, dict):
        return ""
    tasks = (given.get(f"{task}Params") for task in ("textToVideo", "multiShotAutomated"))
    texts = (task.get("text") for task in tasks if isinstance(task, dict))
    return next((each for each in (given.get("prompt"), *texts) if isinstance(each, str)), "")


async def _start(call: Call, objects: Objects) -> ObjectView:
    kept = KeptObject(
        NAME,
        VIDEOS.made_by,
        id=objects.draw_id(_IDS),
        body={
            "model": call.model,
            "created": objects.now,
            "token": call.raw.get("clientRequestToken"),
            "output": call.raw.get("outputDataConfig"),
        },
    ).begin(objects.statuses or ("in_progress", "completed"))
    await objects.keep(kept)
    return ObjectView({"invocationArn": kept.id})


def _describe(kept: KeptObject) -> Body:
    body = kept.body
    submitted = write_moment(body["created"])
    place: Json = {"s3Uri": "s3://bucket", **((body.get("output") or {}).get("s3OutputDataConfig") or {})}
    name = kept.id.rpartition("/")[2]
    named = str(body["model"])
    shown: dict[str, Json] = {
        "invocationArn": kept.id,
        "modelArn": named if named.startswith("arn:") else f"{_PLACE}::foundation-model/{named}",
        "clientRequestToken": body.get("token"),
        "status": _STATES.get(kept.status, "InProgress"),
        "failureMessage": _BROKEN if kept.status == "failed" else None,
        "submitTime": submitted,
        "lastModifiedTime": submitted,
        "endTime": None if kept.ahead else submitted,
        "outputDataConfig": {"s3OutputDataConfig": {**place, "s3Uri": f"{str(place['s3Uri']).rstrip('/')}/{name}"}},
    }
    return {key: value for key, value in shown.items() if value is not None}


async def _show(call: Call, objects: Objects) -> ObjectView:
    """Show an invocation, which is then one status further; one that nobody began has ended."""
    body: Body = {"model": "amazon.nova-reel-v1:1", "created": objects.now, "status": "completed"}
    invented = KeptObject(NAME, VIDEOS.made_by, id=call.id, body=body)
    refusal = Failure("not_found", f"Could not find the invocation {clip(call.id)}.")
    found = await find_object(objects, VIDEOS.made_by, call.id, invented=invented, refusal=refusal)
    kept = (await objects.change(found, KeptObject.advance)).after
    return ObjectView(_describe(kept))


async def _list(call: Call, objects: Objects) -> ObjectView:
    wanted = call.http.query.get("statusEquals")
    found = [_describe(each) for each in (await objects.list(VIDEOS.made_by))[::-1]]  # the newest first
    fitting = [each for each in found if wanted in (None, each["status"])]
    most = call.http.query.get("maxResults", "")
    return ObjectView({"asyncInvokeSummaries": fitting[: int(most) if most.isdecimal() and len(most) < 5 else _PAGE]})


def _render(call: Call, view: ObjectView) -> Reply:
    return make_json_reply(200, view.body, lines=write_request_id(call.http, call), headers=view.headers)
