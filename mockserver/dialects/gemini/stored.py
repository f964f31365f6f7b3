"""Cached contents and files: created, listed, retrieved, changed and deleted.

The metadata of a resumable upload is in its URL, so that no state is needed until it ends.
"""

import json
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import quote

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Options
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, compact
from mockserver.core.plan import Failure, Listing, Stored
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import WHOLE, Body
from mockserver.dialects._reply import moment
from mockserver.dialects.gemini.checks import check_values, mend_values
from mockserver.dialects.gemini.errors import credential
from mockserver.dialects.gemini.messages import CACHED_CONTENT, CREATE_FILE
from mockserver.dialects.gemini.models import MODELS, page_of
from mockserver.dialects.gemini.parse import NAME, generate_call, is_vertex, make_renamer, read
from mockserver.dialects.gemini.proto import read_message
from mockserver.dialects.gemini.replies import pretty_reply, render_with

CACHE_IDS, FILE_IDS = IdShape("cachedContents/", 40, "hex"), IdShape("files/", 12, "hex")
USUAL_TTL, FILE_TTL = 3600.0, 172_800.0  # seconds
_FILES, _UPLOAD = "/{version:version}/files", "/upload/{version:version}/files"
_VERTEX = "/{version:version}/projects/{project}/locations/{location}"
_USUAL_PARAMS = {"version": "v1beta", "project": "my-project", "location": "us-central1"}


def stored_operations() -> tuple[Operation, ...]:
    operations = (*_cache_operations("/{version:version}"), *_cache_operations(_VERTEX), *_file_operations())
    return tuple(replace(operation, params=_USUAL_PARAMS) for operation in operations)


def _cache_operations(parent: str) -> tuple[Operation, ...]:
    every, one, names = f"{parent}/cachedContents", f"{parent}/cachedContents/{{id}}", make_renamer(CACHED_CONTENT)
    cache, caches, nothing = render_with(_cache), render_with(_list_of("cachedContents", _cache)), render_with(_nothing)
    return (
        Operation("create_cached_content", "POST", every, _parse_cache, cache, unify=names),
        Operation("update_cached_content", "PATCH", one, _parse_update, cache, unify=names),
        Operation("cached_contents", "GET", every, _look_up("cached_contents"), caches),
        Operation("cached_content", "GET", one, _look_up("cached_content", CACHE_IDS), cache),
        Operation("delete_cached_content", "DELETE", one, _look_up("delete_cached_content", CACHE_IDS), nothing),
    )


def _file_operations() -> tuple[Operation, ...]:
    one, file, files = f"{_FILES}/{{id}}", render_with(_file), render_with(_list_of("files", _file))
    return (
        Operation("create_file", "POST", _UPLOAD, _parse_upload, _render_upload),
        Operation("create_file", "POST", _FILES, _parse_upload, _render_upload),
        Operation("files", "GET", _FILES, _look_up("files"), files),
        Operation("file", "GET", one, _look_up("file", FILE_IDS), file),
        Operation("delete_file", "DELETE", one, _look_up("delete_file", FILE_IDS), render_with(_nothing)),
    )


def _nothing(call: Call, stored: Stored) -> Body:
    return {}


def _look_up(operation: str, shape: IdShape | None = None) -> Callable[[HttpRequest, Validation], Call]:
    def parse(http: HttpRequest, validation: Validation) -> Call:
        name = "" if shape is None else shape.prefix + http.path_params["id"]
        return Call(NAME, operation, "", http, {"id": name}, id=name, page=WHOLE)

    return parse


def _parse_cache(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, CACHED_CONTENT, validation)
    if not body.get("model"):
        raise Failure("bad_parameter", "* CreateCachedContentRequest.cached_content.model: model is required\n")
    asked: Body = {**body, "contents": body.get("contents") or []}
    if validation is Validation.OFF:
        asked = mend_values(asked)
    else:  # tools or instructions alone can be cached, too
        name = "CreateCachedContentRequest.cached_content"
        check_values(name, asked, vertex=is_vertex(http), needs_contents=False)
    model = str(body["model"]).rpartition("/")[2]
    call = generate_call(
        replace(http, path_params={**http.path_params, "model": model}), asked, "create_cached_content", None
    )
    return replace(call, ids=CACHE_IDS, options=Options(store=True))


def _parse_update(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, CACHED_CONTENT, validation)
    both = ("ttl", "expireTime")  # of which the newer one holds
    changed = {key: body.get(key) for key in both} if any(key in body for key in both) else {}
    return replace(_look_up("update_cached_content", CACHE_IDS)(http, validation), raw=changed)


def _parse_upload(http: HttpRequest, validation: Validation) -> Call:
    """Return the call of a file's metadata, the start of an upload, or a piece of one, the last of which ends it."""
    command, upload = http.header("x-goog-upload-command"), http.query.get("upload_id")
    if upload is None:
        file = (read(http, CREATE_FILE, validation).get("file") or {}) if http.body else {}
        size, kind = (http.header(f"x-goog-upload-header-content-{name}") for name in ("length", "type"))
        raw = {"mimeType": kind or "application/octet-stream", "sizeBytes": size or "0", **file}
        return _file_call(http, raw, whole="start" not in (command or ""))
    file, hashed = _find_description(upload), b64encode(sha256(http.body).hexdigest().encode()).decode()
    raw = {**({"upload": upload} if file is None else file), "sha256Hash": hashed}
    return _file_call(http, raw, whole=file is not None and "finalize" in (command or "finalize"))


def _find_description(upload: str) -> dict[str, Json] | None:
    """Return the metadata of an upload; None if it began elsewhere, like a recorded one."""
    try:
        file = json.loads(urlsafe_b64decode(upload + "=" * (-len(upload) % 4)))
    except (ValueError, RecursionError):
        return None
    found, wrong = read_message(CREATE_FILE, {"file": file}, vertex=False)
    return None if wrong else found.get("file")


def _file_call(http: HttpRequest, raw: Body, *, whole: bool) -> Call:
    name = str(raw.get("name") or "").rpartition("/")[2]
    options = Options(store=whole)
    return Call(
        NAME, "create_file", "", http, dict(raw), raw, ids=FILE_IDS, id=name and f"files/{name}", options=options
    )


def _render_upload(call: Call, stored: Stored) -> Reply:
    http = call.http
    if "upload" in call.raw:
        raise Failure("bad_parameter", "Invalid upload id.")
    if call.options.store:
        reply = pretty_reply(http, {"file": _file(call, stored)})
        return replace(reply, headers=(*reply.headers, ("x-goog-upload-status", "final")))
    headers = [("x-goog-upload-status", "active"), ("content-length", "0")]
    if "upload_id" not in http.query:
        described = urlsafe_b64encode(compact(dict(call.raw)).encode()).decode().rstrip("=")
        key = credential(http)  # which clients send with the beginning only
        query = f"upload_id={described}&upload_protocol=resumable{f'&key={quote(key)}' if key else ''}"
        headers.append(("x-goog-upload-url", f"{http.server_url}{quote(http.path)}?{query}"))
    return Reply(200, tuple(headers))


def _list_of(key: str, shown: Callable[[Call, Stored], Body]) -> Callable[[Call, Listing], Body]:
    def body(call: Call, outcome: Listing) -> Body:
        entries, token = page_of(call.http, outcome.entries)
        return {key: [shown(call, entry) for entry in entries], **token} if entries else {}

    return body


def _cache(call: Call, stored: Stored) -> Body:
    raw, created = stored.call.raw, stored.answer.created
    seconds = float(str(raw.get("ttl") or f"{USUAL_TTL}s")[:-1])
    vertex = is_vertex(call.http)
    parent = call.http.path.partition("/projects/")[2].rpartition("cachedContents")[0]
    models = "publishers/google/models" if vertex else "models"
    return {
        "name": f"projects/{parent}{stored.answer.id}" if parent else stored.answer.id,
        "model": f"{models}/{stored.call.model or next(iter(MODELS))}",
        "createTime": moment(created),
        "updateTime": moment(created),
        "expireTime": raw.get("expireTime") or moment(created + seconds),
        "displayName": raw.get("displayName", ""),
        "usageMetadata": {"totalTokenCount": stored.answer.usage.prompt},
    }


def _file(call: Call, stored: Stored) -> Body:
    raw, created, name = stored.call.raw, stored.answer.created, stored.answer.id
    front = call.http.path.replace("/upload/", "/").partition("/files")[0]
    body = {
        "name": name,
        "displayName": raw.get("displayName"),
        "mimeType": raw.get("mimeType", "application/octet-stream"),
        "sizeBytes": str(raw.get("sizeBytes", 0)),
        "createTime": moment(created),
        "updateTime": moment(created),
        "expirationTime": moment(created + FILE_TTL),
        "sha256Hash": raw.get("sha256Hash"),
        "uri": f"{call.http.server_url}{front}/{name}",
        "state": "ACTIVE",
        "source": "UPLOADED",
    }
    return {key: value for key, value in body.items() if value is not None}
