"""Assistants, threads and their messages (https://platform.openai.com/docs/api-reference/assistants): deprecated, and
used by many. What runs on a thread is in `runs.py`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from mockserver.core.call import Call, IdShape
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    list_of,
    literal,
    number,
    optional,
    shape,
    text,
    text_or,
    text_or_object,
)
from mockserver.dialects._openai_api.chat_bodies import Efforts, Metadata, ResponseFormat
from mockserver.dialects._openai_api.objects.resource import New, Resource, find_owner
from mockserver.dialects._parse import Body
from mockserver.kinds.kept import ASSISTANTS, RUNS, THREAD_MESSAGES, THREADS
from mockserver.kinds.objects import Objects

TOOL = shape(
    type=literal("function", "code_interpreter", "file_search"), function=optional(Object), file_search=optional(Object)
)
_FORMAT = optional(text_or_object(ResponseFormat))
# What an assistant states of its answers, and a run may state otherwise.
STANDING: Mapping[str, Any] = MappingProxyType(
    {
        "instructions": optional(text(most=256_000)),
        "tools": optional(list_of(TOOL, most=128)),
        "tool_resources": optional(Object),
        "metadata": optional(Metadata),
        "temperature": optional(number(0, 2)),
        "top_p": optional(number(0, 1)),
        "response_format": _FORMAT,
        "reasoning_effort": optional(Efforts),
    }
)
_ABOUT: Mapping[str, Any] = {"name": optional(text(most=256)), "description": optional(text(most=512))}
MESSAGE = shape(
    role=literal("user", "assistant"),
    content=text_or("<an array of objects>", list_of(Object, 1)),
    attachments=optional(list_of(Object)),
    metadata=optional(Metadata),
)
THREAD = shape(messages=optional(list_of(MESSAGE)), metadata=optional(Metadata), tool_resources=optional(Object))
USUAL_MODEL = "gpt-4o"
WAITS = "requires_action"  # the status of a run that needs the results of tools


class Assistants(Resource):
    kind = ASSISTANTS
    path = "/assistants"
    type = "assistant"
    deleted = "assistant.deleted"
    ids = IdShape("asst_", 24)
    unknown = "No assistant found with id '{id}'."
    fields = BodyModel(shape(model=str, **_ABOUT, **STANDING))
    updates = BodyModel(shape(model=optional(str), **_ABOUT, **STANDING))

    async def make(self, new: New, objects: Objects) -> Body:
        fields = new.fields
        return {
            "name": fields.get("name"),
            "description": fields.get("description"),
            "model": fields.get("model", USUAL_MODEL),
            "instructions": fields.get("instructions"),
            "tools": fields.get("tools") or [],
            "top_p": _read_share(fields, "top_p"),
            "temperature": _read_share(fields, "temperature"),
            "reasoning_effort": fields.get("reasoning_effort"),
            "tool_resources": fields.get("tool_resources") or {},
            "metadata": fields.get("metadata") or {},
            "response_format": fields.get("response_format") or "auto",
        }


def _read_share(fields: Body, name: str) -> Json:
    return 1.0 if fields.get(name) is None else fields[name]


class Threads(Resource):
    kind = THREADS
    path = "/threads"
    type = "thread"
    deleted = "thread.deleted"
    ids = IdShape("thread_", 24)
    unknown = "No thread found with id '{id}'."
    fields = BodyModel(THREAD)
    updates = BodyModel(shape(metadata=optional(Metadata), tool_resources=optional(Object)))

    async def make(self, new: New, objects: Objects) -> Body:
        if not new.invented:
            await ThreadMessages(self.api).append(new.fields.get("messages") or (), new.id, objects)
        return {"metadata": new.fields.get("metadata") or {}, "tool_resources": new.fields.get("tool_resources") or {}}


class ThreadMessages(Resource):
    kind = THREAD_MESSAGES
    path = "/threads/{owner}/messages"
    type = "thread.message"
    deleted = "thread.message.deleted"
    ids = IdShape("msg_", 24)
    unknown = "No message found with id '{id}'."
    fields = BodyModel(MESSAGE)
    updates = BodyModel(shape(metadata=optional(Metadata)))
    parent = Threads
    filters: ClassVar[Mapping[str, str]] = MappingProxyType({"run_id": "run_id"})

    async def make(self, new: New, objects: Objects) -> Body:
        fields = new.fields
        return {
            "assistant_id": fields.get("assistant_id"),
            "thread_id": new.owner,
            "run_id": fields.get("run_id"),
            "status": "completed",
            "incomplete_details": None,
            "completed_at": new.created,
            "incomplete_at": None,
            "role": fields.get("role", "user"),
            "content": write_content(fields.get("content", "Hello!")),
            "attachments": fields.get("attachments") or [],
            "metadata": fields.get("metadata") or {},
        }

    async def append(self, messages: Sequence[Body], thread: str, objects: Objects) -> Sequence[KeptObject]:
        """Keep messages as the last ones of a thread."""
        kept = list[KeptObject]()
        for message in messages:
            name = await draw_unused(self, thread, objects)
            kept.append(await self.create(New(id=name, fields=message, owner=thread), objects))
        return kept

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        await self.find_parent(objects, new.owner)
        active = await find_active_run(new.owner, objects)
        if active is not None:
            raise Failure(
                "bad_parameter", message=f"Can't add messages to {new.owner} while a run {active.id} is active."
            )
        (made,) = await self.append([new.fields], find_owner(call.http), objects)
        return ObjectView(self.show(made))


async def find_active_run(thread: str, objects: Objects) -> KeptObject | None:
    """Return the run of a thread that waits for the results of tools; others end by themselves."""
    runs = await objects.list(RUNS.made_by, thread)
    return next((run for run in runs if run.body["status"] == WAITS), None)


async def draw_unused(resource: Resource, owner: str, objects: Objects) -> str:
    """Return an id that nothing has or had: chats make objects, and equal chats have equal fingerprints."""
    number = 0
    while True:
        name = objects.draw_id(resource.ids, f"{resource.type} {number} of {owner}")
        if await objects.find(resource.kind.made_by, name, owner) is None:
            return name
        number += 1


def write_content(content: Json) -> list[Body]:
    """Return the content of a message as the API shows it: its texts can have annotations."""
    parts: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [
        {"type": "text", "text": {"value": part["text"], "annotations": []}}
        if isinstance(part.get("text"), str)
        else part
        for part in parts
    ]


def read_content(content: Sequence[Body]) -> list[Body]:
    """Return the content of a kept message as the parts of a message in a chat."""
    return [_read_part(part) for part in content]


def _read_part(part: Body) -> Body:
    match part.get("type"):
        case "text":
            said: Any = part.get("text")
            return {"type": "text", "text": said["value"] if isinstance(said, Mapping) else str(said)}
        case "image_file":
            file: Any = part.get("image_file")
            return {"type": "image_url", "image_url": {"url": str(file.get("file_id"))}}
    return part
