"""Files: uploaded, listed, retrieved, read and deleted. Messages can name these, and any others, by `file_id`."""

import re
from functools import partial

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._forms import Form, Part, read_form
from mockserver.dialects._reply import make_file_reply, make_json_reply, make_look_up
from mockserver.dialects.anthropic.bodies import NAME
from mockserver.dialects.anthropic.errors import refuse, write_request_id
from mockserver.dialects.anthropic.models import find_next_page, find_page, read_integer
from mockserver.dialects.anthropic.request import FILES_BETA, list_betas
from mockserver.kinds.kept import FILES
from mockserver.kinds.objects import Objects, find_object
from mockserver.media.large_data import hash_data
from mockserver.wire.parts import write_moment

_IDS = IdShape("file_01", 22, "base58")
_PATH = "/v1/files"
# Seconds for which a file that expires is kept.
_LEAST_SECONDS = 3600
_MOST_SECONDS = 7_776_000


def make_operations() -> tuple[Operation, ...]:
    one = _PATH + "/{id}"
    look_up = partial(make_look_up, NAME, render=render_view)
    return (
        Operation(FILES.made_by, "POST", _PATH, parse=_parse, render=render_view),
        look_up("files", "GET", _PATH, work=_list),
        look_up("file", "GET", one, work=_show),
        look_up("delete_file", "DELETE", one, work=_delete),
        look_up("file_content", "GET", f"{one}/content", work=_show_content),
    )


def render_view(call: Call, view: ObjectView) -> Reply:
    """Return the reply: JSON, or the bytes of a file."""
    lines = write_request_id(call.http, call)
    return (
        make_json_reply(200, view.body, lines=lines)
        if view.data is None
        else make_file_reply(view.data, lines, view.headers)
    )


def _parse(http: HttpRequest, validation: Validation) -> Call:
    try:
        form = read_form(http)
    except ValueError:
        form = Form()
    sent = next((part for part in form.parts if part.name == "file"), None)
    if sent is None or not (sent.is_file or validation is Validation.OFF):
        raise refuse("file: Field required")
    raw = dict[str, Json]({"mime_type": _find_media_type(sent)})
    if sent.file_name is not None:
        raw["filename"] = sent.file_name
    if (expires := dict(form.list_fields()).get("expires_in_seconds")) is not None:
        try:
            seconds = read_integer("expires_in_seconds", expires, least=_LEAST_SECONDS, most=_MOST_SECONDS)
            raw["expires_in_seconds"] = seconds
        except Failure:
            if validation is not Validation.OFF:
                raise
    meaning = {**raw, "sha256": hash_data(sent.content)}
    return Call(NAME, FILES.made_by, model="", http=http, meaning=meaning, raw=raw, work=partial(_create, sent))


def _find_media_type(part: Part) -> str:
    """Return the media type of a part, if it is one that a header of a reply can hold."""
    stated = part.media_type or ""
    return stated if _MEDIA_TYPE.fullmatch(stated) else "application/octet-stream"


_MEDIA_TYPE = re.compile(r"[!-~]+/[ -~]*")


async def _create(sent: Part, call: Call, objects: Objects) -> ObjectView:
    objects.refuse_statuses()
    body = {**call.raw, "created": objects.now}
    kept = KeptObject(NAME, FILES.made_by, id=objects.derive_id(_IDS), body=body, data=sent.content)
    await objects.keep(kept)
    return ObjectView(_describe(kept))


async def _find(call: Call, objects: Objects) -> KeptObject:
    """Return the file that a call names; one that nobody uploaded is a text with its id. Raises Failure."""
    text = f"This is the file {call.id}.\n".encode()
    invented = KeptObject(NAME, FILES.made_by, id=call.id, body={"created": objects.now}, data=text)
    return await find_object(objects, FILES.made_by, call.id, invented=invented)


async def _list(call: Call, objects: Objects) -> ObjectView:
    http = call.http
    listed = [_describe(kept) for kept in reversed(await objects.list(FILES.made_by))]
    if FILES_BETA in list_betas(http):  # lists have another shape in this beta
        return ObjectView(find_page(listed, http))
    if (wanted := http.query.get("ids[]")) is not None:
        return ObjectView({"data": [file for file in listed if file["id"] in wanted.split(",")], "next_page": None})
    page = find_next_page(listed, http)
    return ObjectView({"data": page["data"], "next_page": page["next_page"]})


def _describe(kept: KeptObject) -> dict[str, Json]:
    """Return a file as clients see it."""
    stated = kept.body
    created = stated["created"]
    expires = stated.get("expires_in_seconds")
    return {
        "id": kept.id,
        "type": "file",
        "filename": stated.get("filename", "file.txt"),
        "mime_type": stated.get("mime_type", "text/plain"),
        "size_bytes": len(kept.data),
        "created_at": write_moment(created),
        "downloadable": False,
        "expires_at": None if expires is None else write_moment(created + expires),
    }


async def _show(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call, objects)
    return ObjectView(_describe(kept))


async def _delete(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call, objects)
    await objects.change(kept, KeptObject.forget)
    return ObjectView({"id": kept.id, "type": "file_deleted"})


async def _show_content(call: Call, objects: Objects) -> ObjectView:
    kept = await _find(call, objects)
    headers = (("content-type", str(kept.body.get("mime_type", "text/plain"))),)
    return ObjectView(data=kept.data, headers=headers)
