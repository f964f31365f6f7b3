"""Files: uploaded whole or in pieces, listed, retrieved, read and deleted (https://ai.google.dev/api/files).

The metadata of a resumable upload is in its URL, so that no state is needed but the pieces before the last one.
"""

import json
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import quote

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, compact
from mockserver.core.kept_objects import Data, KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import Body, clip
from mockserver.dialects._reply import make_file_reply, make_look_up
from mockserver.dialects.gemini.bodies import CREATE_FILE
from mockserver.dialects.gemini.errors import JSON_TYPE, VARIANTS, make_pretty_reply, read_credential
from mockserver.dialects.gemini.models import find_page
from mockserver.dialects.gemini.proto import read_message
from mockserver.dialects.gemini.request import NAME, read
from mockserver.kinds.kept import FILES
from mockserver.kinds.objects import Objects, Work, find_object
from mockserver.media.large_data import cut_data, hash_data, join_data
from mockserver.wire.parts import write_moment

IDS = IdShape("files/", 12, "hex")
TTL = 172_800.0  # seconds
PIECE = "create_file_piece"
STATES = {"pending": "PROCESSING", "uploaded": "PROCESSING", "processed": "ACTIVE", "error": "FAILED"}
_FILES = "/{version:version}/files"
_UPLOAD = "/upload/{version:version}/files"
_ONE = f"{_FILES}/{{id}}"
_LINES = JSON_TYPE.partition("\r\n")[2]  # the headers of Google's servers, without a type


def make_file_operations() -> tuple[Operation, ...]:
    upload = partial(Operation, FILES.made_by, "POST", parse=_parse_upload, render=render_view)
    look_up = partial(make_look_up, NAME, render=render_view, prefix=IDS.prefix)
    operations = (
        upload(_UPLOAD),
        upload(_FILES),
        look_up("files", "GET", _FILES, work=_list),
        look_up("file_content", "GET", f"{_ONE}:download", work=_show_content),
        look_up("file_content", "GET", f"/download{_ONE}:download", work=_show_content),
        look_up("file", "GET", _ONE, work=_show),
        look_up("delete_file", "DELETE", _ONE, work=_delete),
    )
    return tuple([replace(operation, params={"version": "v1beta"}) for operation in operations])


def render_view(call: Call, view: ObjectView) -> Reply:
    """Return the reply: JSON, the bytes of a file, or nothing where an upload goes on."""
    if view.data is not None:
        return make_file_reply(view.data, _LINES, view.headers)
    if _GOES_ON in view.headers:
        return Reply(200, view.headers)
    return make_pretty_reply(call.http, view.body, view.headers)


# Uploads.


def _parse_upload(http: HttpRequest, validation: Validation) -> Call:
    """Return the call of a file's metadata, the start of an upload, or a piece of one, the last of which ends it."""
    command = http.find_header("x-goog-upload-command")
    upload = http.query.get("upload_id")
    if upload is None:
        file = (read(http, CREATE_FILE, validation).get("file") or {}) if http.body else {}
        size, kind = (http.find_header(f"x-goog-upload-header-content-{name}") for name in ("length", "type"))
        raw = {"mimeType": kind or "application/octet-stream", "sizeBytes": size or "0", **file}
        return _make_call(http, raw, _begin if "start" in (command or "") else _keep)
    file = _find_description(upload)
    raw = {**({"upload": upload} if file is None else file), "sha256Hash": write_hash(http.body)}
    if file is None:
        return _make_call(http, raw, _refuse)
    return _make_call(http, raw, _keep if "finalize" in (command or "finalize") else keep_piece)


def _find_description(upload: str) -> dict[str, Json] | None:
    """Return the metadata of an upload; None if it began elsewhere, like a recorded one."""
    stated = find_description(upload)
    if stated is None:
        return None
    found, wrong = read_message(CREATE_FILE, {"file": stated.get("file")}, vertex=False)
    return None if wrong else found.get("file")


def find_description(upload: str) -> dict[str, Json] | None:
    """Return what the URL of an upload says of it; None if it began elsewhere."""
    try:
        stated = json.loads(urlsafe_b64decode(upload + "=" * (-len(upload) % 4)))
    except (ValueError, RecursionError):
        return None
    return stated if isinstance(stated, dict) and "upload" in stated else None


def _make_call(http: HttpRequest, raw: Body, act: Work) -> Call:
    return Call(NAME, FILES.made_by, model="", http=http, meaning=dict(raw), raw=raw, work=act)


async def _refuse(call: Call, objects: Objects) -> ObjectView:
    raise Failure("bad_parameter", "Invalid upload id.")


async def _begin(call: Call, objects: Objects) -> ObjectView:
    return begin_upload(call.http, call.raw, objects)


def begin_upload(http: HttpRequest, metadata: Body, objects: Objects) -> ObjectView:
    """Return the answer with the URL to which a file with this metadata is uploaded."""
    stated = {"upload": objects.draw_id(IDS), "file": dict(metadata)}  # another one of an equal file is apart
    described = urlsafe_b64encode(compact(stated).encode()).decode().rstrip("=")
    key = read_credential(http)  # clients send it only with the request that begins an upload
    query = f"upload_id={described}&upload_protocol=resumable{f'&key={quote(key)}' if key else ''}"
    return ObjectView(headers=(_GOES_ON, _EMPTY, ("x-goog-upload-url", f"{http.server_url}{quote(http.path)}?{query}")))


async def keep_piece(call: Call, objects: Objects) -> ObjectView:
    """Keep a piece of an upload that goes on."""
    name = call.http.query["upload_id"]
    data = await join_pieces(name, call.http, objects)
    await objects.keep(KeptObject(NAME, PIECE, id=name, body={}, data=data))
    return ObjectView(headers=(_GOES_ON, _EMPTY))


async def join_pieces(upload: str, http: HttpRequest, objects: Objects) -> Data:
    """Return the bytes that were uploaded so far; a piece that comes again takes the place that it states.

    Raises Failure if pieces before it are missing.
    """
    stated = http.find_header("x-goog-upload-offset") or "0"
    start = int(stated) if stated.isdecimal() and len(stated) <= 15 else -1
    earlier = await objects.find(PIECE, upload) if start > 0 else None
    had: Data = b"" if earlier is None else earlier.data
    if not 0 <= start <= len(had):
        raise Failure("bad_parameter", f"Invalid upload offset {clip(stated)}: {len(had)} bytes have been received.")
    return await objects.on_thread(lambda: join_data(cut_data(had, start), http.body)) if start else http.body


async def _keep(call: Call, objects: Objects) -> ObjectView:
    raw = dict(call.raw)
    upload = call.http.query.get("upload_id")
    data: Data = b""
    if upload is not None:
        data = await join_pieces(upload, call.http, objects)
        raw |= {"sha256Hash": write_hash(data), "sizeBytes": len(data)}
        if (piece := await objects.find(PIECE, upload)) is not None:
            await objects.change(piece, KeptObject.forget)
    stated = str(raw.get("name") or "").rpartition("/")[2]
    name = f"files/{stated}" if stated else objects.draw_id(IDS)
    kept = await keep_file(name, raw, data=data, objects=objects, statuses=objects.statuses)
    final = () if upload is None else (("x-goog-upload-status", "final"),)
    return ObjectView({"file": show_file(call.http, kept)}, headers=final)


def write_hash(data: Data) -> str:
    """Return the SHA-256 of a file as its metadata has it: the hexadecimal digits in base64."""
    return b64encode(hash_data(data).encode()).decode()


async def keep_file(name: str, metadata: Body, *, data: Data, objects: Objects, statuses: Sequence[str]) -> KeptObject:
    """Keep a file with its metadata, in the first of these statuses; without any, it is ready."""
    kept = KeptObject(NAME, FILES.made_by, id=name, body={**metadata, "created": objects.now}, data=data)
    kept = kept.begin(statuses or ("processed",))
    await objects.keep(kept)
    return kept


_GOES_ON = ("x-goog-upload-status", "active")
_EMPTY = ("content-length", "0")


# Files.


async def find_file(name: str, objects: Objects) -> KeptObject:
    """Return a file; one that nobody made is invented, unless that is an error. Raises Failure."""
    body = {"created": objects.now, "status": "processed"}
    invented = KeptObject(NAME, FILES.made_by, id=name, body=body)
    message = VARIANTS["no_file"].format(id=clip(name.removeprefix(IDS.prefix)))
    refusal = Failure("not_found", message, status=403)
    return await find_object(objects, FILES.made_by, name, invented=invented, refusal=refusal)


async def _list(call: Call, objects: Objects) -> ObjectView:
    entries, token = find_page(call.http, tuple(await objects.list(FILES.made_by)))
    return ObjectView({"files": [show_file(call.http, each) for each in entries], **token} if entries else {})


async def _show(call: Call, objects: Objects) -> ObjectView:
    kept = (await objects.change(await find_file(call.id or "", objects), KeptObject.advance)).after
    return ObjectView(show_file(call.http, kept))


async def _show_content(call: Call, objects: Objects) -> ObjectView:
    kept = await find_file(call.id or "", objects)
    return ObjectView(data=kept.data, headers=(("content-type", str(kept.body.get("mimeType") or _USUAL_TYPE)),))


async def _delete(call: Call, objects: Objects) -> ObjectView:
    await objects.change(await find_file(call.id or "", objects), KeptObject.forget)
    return ObjectView()


def show_file(http: HttpRequest, kept: KeptObject) -> dict[str, Json]:
    """Return a file as its metadata."""
    raw: Mapping[str, Json] = kept.body
    created: float = kept.body["created"]
    front = http.path.replace("/upload/", "/").partition("/files")[0]
    body = {
        "name": kept.id,
        "displayName": raw.get("displayName"),
        "mimeType": raw.get("mimeType", _USUAL_TYPE),
        "sizeBytes": str(raw.get("sizeBytes", 0)),
        "createTime": write_moment(created),
        "updateTime": write_moment(created),
        "expirationTime": write_moment(created + TTL),
        "sha256Hash": raw.get("sha256Hash"),
        "uri": f"{http.server_url}{front}/{kept.id}",
        "downloadUri": raw.get("downloadUri"),
        "state": STATES.get(kept.status, "ACTIVE"),
        "source": raw.get("source", "UPLOADED"),
    }
    return {key: value for key, value in body.items() if value is not None}


_USUAL_TYPE = "application/octet-stream"
