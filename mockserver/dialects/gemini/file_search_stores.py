"""File search stores and their documents (https://ai.google.dev/api/file-search/file-search-stores).

A document is made by an operation that runs long, whose id it has.
"""

import re
from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, find_table
from mockserver.core.kept_objects import Data, KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import Body
from mockserver.dialects.gemini.bodies import FILE_SEARCH_STORE, IMPORT_FILE, UPLOAD_TO_STORE
from mockserver.dialects.gemini.files import (
    PIECE,
    begin_upload,
    find_description,
    find_file,
    join_pieces,
    keep_piece,
    render_view,
)
from mockserver.dialects.gemini.models import find_page
from mockserver.dialects.gemini.proto import TYPE_URL, read_message
from mockserver.dialects.gemini.request import NAME, make_renamer, read
from mockserver.kinds.kept import VECTOR_STORE_FILES, VECTOR_STORES
from mockserver.kinds.objects import Objects, Work, find_object
from mockserver.wire.parts import write_moment

_PREFIX = "fileSearchStores/"
_TAILS = IdShape("", 12)  # of the ids of stores, behind their names
_DOCUMENTS = IdShape("", 12)
_EVERY = "/{version:version}/fileSearchStores"
_ONE = f"{_EVERY}/{{owner:id}}"
_STATES = {"in_progress": "STATE_PENDING", "completed": "STATE_ACTIVE"}
_BROKEN: Body = {"code": 13, "message": "Failed to process the document."}
_NOT_LETTER = re.compile("[^a-z0-9]+")


def make_store_operations() -> tuple[Operation, ...]:
    """Return the operations on stores and their documents."""
    renamed = {"create": FILE_SEARCH_STORE, "import": IMPORT_FILE, "upload": UPLOAD_TO_STORE}
    upload = f"/upload{_ONE}:uploadToFileSearchStore"
    made = VECTOR_STORE_FILES.made_by
    operations = [
        Operation(VECTOR_STORES.made_by, "POST", _EVERY, parse=_parse_store, render=render_view),
        Operation(made, "POST", f"{_ONE}:importFile", parse=_parse_import, render=render_view),
        Operation(made, "POST", upload, parse=_parse_upload, render=render_view),
    ]
    operations = [
        replace(each, unify=make_renamer(kind)) for each, kind in zip(operations, renamed.values(), strict=True)
    ]
    documents = f"{_ONE}/documents"
    for name, method, path, work in (
        ("vector_stores", "GET", _EVERY, _list_stores),
        ("vector_store", "GET", _ONE, _show_store),
        ("delete_vector_store", "DELETE", _ONE, _delete_store),
        ("vector_store_files", "GET", documents, _list_documents),
        ("vector_store_file", "GET", f"{documents}/{{id}}", _show_document),
        ("delete_vector_store_file", "DELETE", f"{documents}/{{id}}", _delete_document),
        ("vector_store_file", "GET", f"{_ONE}/operations/{{id}}", _show_operation),
        ("vector_store_file", "GET", f"{_ONE}/upload/operations/{{id}}", _show_operation),
    ):
        operations.append(Operation(name, method, path, parse=partial(_look_up, name, work), render=render_view))
    return tuple([replace(operation, params={"version": "v1beta"}) for operation in operations])


def _look_up(operation: str, work: Work, http: HttpRequest, validation: Validation) -> Call:
    ids = [http.path_params[name] for name in ("owner", "id") if name in http.path_params]
    return Call(NAME, operation, model="", http=http, meaning={"id": "/".join(ids)}, id="/".join(ids), work=work)


# Stores.


def _parse_store(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, FILE_SEARCH_STORE, validation)
    return Call(NAME, VECTOR_STORES.made_by, model="", http=http, meaning=body, raw=body, work=_create_store)


async def _create_store(call: Call, objects: Objects) -> ObjectView:
    words = _NOT_LETTER.sub("-", str(call.raw.get("displayName") or "").lower()).strip("-")[:40]
    tail = objects.draw_id(_TAILS).lower()
    body = {**call.raw, "created": objects.now}
    kept = KeptObject(NAME, VECTOR_STORES.made_by, id=f"{words}-{tail}" if words else tail, body=body)
    await objects.keep(kept)
    return ObjectView(await _describe_store(kept, objects))


async def _describe_store(kept: KeptObject, objects: Objects) -> Body:
    documents = await objects.list(VECTOR_STORE_FILES.made_by, kept.id)
    states = [_STATES.get(each.status, "STATE_FAILED") for each in documents]
    counts = {
        "activeDocumentsCount": states.count("STATE_ACTIVE"),
        "pendingDocumentsCount": states.count("STATE_PENDING"),
        "failedDocumentsCount": states.count("STATE_FAILED"),
        "sizeBytes": sum([each.body["size"] for each in documents]),
    }
    created = write_moment(kept.body["created"])
    return {
        "name": f"{_PREFIX}{kept.id}",
        "displayName": kept.body.get("displayName") or "",
        "createTime": created,
        "updateTime": created,
        **{name: str(count) for name, count in counts.items() if count},
        **({"embeddingModel": kept.body["embeddingModel"]} if kept.body.get("embeddingModel") else {}),
    }


async def _find_store(name: str, objects: Objects) -> KeptObject:
    """Return a store; one that nobody made is empty. Raises Failure."""
    invented = KeptObject(NAME, VECTOR_STORES.made_by, id=name, body={"created": objects.now})
    return await find_object(objects, VECTOR_STORES.made_by, name, invented=invented)


async def _list_stores(call: Call, objects: Objects) -> ObjectView:
    entries, token = find_page(call.http, tuple(await objects.list(VECTOR_STORES.made_by)))
    shown = [await _describe_store(each, objects) for each in entries]
    return ObjectView({"fileSearchStores": shown, **token} if shown else {})


async def _show_store(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_store(call.http.path_params["owner"], objects)
    return ObjectView(await _describe_store(kept, objects))


async def _delete_store(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_store(call.http.path_params["owner"], objects)
    documents = await objects.list(VECTOR_STORE_FILES.made_by, kept.id)
    if documents and not _is_forced(call):
        raise Failure("bad_parameter", "Cannot delete non-empty FileSearchStore.", kind="FAILED_PRECONDITION")
    for each in (*documents, kept):
        await objects.change(each, KeptObject.forget)
    return ObjectView()


def _is_forced(call: Call) -> bool:
    return call.http.query.get("force", "").lower() == "true"


# Documents.


def _parse_import(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, IMPORT_FILE, validation)
    if not body.get("fileName") and validation is not Validation.OFF:
        raise Failure("bad_parameter", "* ImportFileRequest.file_name: file_name is required\n")
    return _make_creation(http, body, _import)


def _make_creation(http: HttpRequest, body: Body, work: Work) -> Call:
    meaning = {"store": http.path_params["owner"], **body}
    return Call(NAME, VECTOR_STORE_FILES.made_by, model="", http=http, meaning=meaning, raw=body, work=work)


async def _import(call: Call, objects: Objects) -> ObjectView:
    name = str(call.raw.get("fileName") or "")
    file = await find_file(name if name.startswith("files/") else f"files/{name}", objects)
    described = {key: file.body.get(key) for key in ("displayName", "mimeType")}
    return await _keep_document({**described, **call.raw}, file.data, call=call, objects=objects)


def _parse_upload(http: HttpRequest, validation: Validation) -> Call:
    """Return the call of the start of an upload, or of a piece of one, the last of which ends it."""
    command = http.find_header("x-goog-upload-command") or "finalize"
    upload = http.query.get("upload_id")
    if upload is not None:
        stated = find_description(upload) or {}
        body, _ = read_message(UPLOAD_TO_STORE, find_table(stated, "file"), vertex=False)
        return _make_creation(http, body, _finish_upload if "finalize" in command else keep_piece)
    is_text = http.body.lstrip().startswith(b"{")
    body = read(http, UPLOAD_TO_STORE, validation) if is_text or not http.body else {}
    kind = http.find_header("x-goog-upload-header-content-type")
    described = {**({"mimeType": kind} if kind else {}), **body}
    return _make_creation(http, described, _begin_upload if "start" in command else _finish_upload)


async def _begin_upload(call: Call, objects: Objects) -> ObjectView:
    await _find_store(call.http.path_params["owner"], objects)
    return begin_upload(call.http, call.raw, objects)


async def _finish_upload(call: Call, objects: Objects) -> ObjectView:
    upload = call.http.query.get("upload_id", "")
    data = await join_pieces(upload, call.http, objects)
    if (piece := await objects.find(PIECE, upload)) is not None:
        await objects.change(piece, KeptObject.forget)
    view = await _keep_document(call.raw, data, call=call, objects=objects)
    return replace(view, headers=(("x-goog-upload-status", "final"),))


async def _keep_document(described: Body, data: Data, *, call: Call, objects: Objects) -> ObjectView:
    """Keep a document in the first of its statuses, and return the operation that makes it."""
    store = await _find_store(call.http.path_params["owner"], objects)
    name = objects.draw_id(_DOCUMENTS).lower()
    words = _NOT_LETTER.sub("-", str(described.get("displayName") or "").lower()).strip("-")[:40]
    body = {
        "displayName": described.get("displayName") or name,
        "mimeType": described.get("mimeType") or "text/plain",
        "customMetadata": described.get("customMetadata"),
        "created": objects.now,
        "size": len(data),
    }
    name = f"{words}-{name}" if words else name
    kept = KeptObject(NAME, VECTOR_STORE_FILES.made_by, id=name, body=body, owner=store.id, data=data)
    await objects.keep(kept.begin(objects.statuses or ("in_progress", "completed")))
    way = "upload/operations" if "/upload/" in call.http.path else "operations"
    return ObjectView({"name": f"{_PREFIX}{store.id}/{way}/{name}"})


async def _find_document(call: Call, objects: Objects) -> KeptObject:
    """Return the document that a call names; one that nobody made is empty. Raises Failure."""
    owner, name = (call.http.path_params[key] for key in ("owner", "id"))
    store = await _find_store(owner, objects)
    found = await objects.find(VECTOR_STORE_FILES.made_by, name, store.id)
    if found is None and objects.invents:
        body = {"displayName": name, "mimeType": "text/plain", "created": objects.now, "size": 0}
        body = {**body, "customMetadata": None, "status": "completed"}
        return objects.invent(KeptObject(NAME, VECTOR_STORE_FILES.made_by, id=name, body=body, owner=owner))
    if found is None or found.gone:
        raise Failure("not_found", source="unmatched" if found is None else "stored")
    return found


def _describe_document(kept: KeptObject) -> Body:
    body = kept.body
    created = write_moment(body["created"])
    shown: Mapping[str, Json] = {
        "name": f"{_PREFIX}{kept.owner}/documents/{kept.id}",
        "displayName": body["displayName"],
        "customMetadata": body["customMetadata"],
        "createTime": created,
        "updateTime": created,
        "state": _STATES.get(kept.status, "STATE_FAILED"),
        "sizeBytes": str(body["size"]),
        "mimeType": body["mimeType"],
    }
    return {key: value for key, value in shown.items() if value is not None}


async def _list_documents(call: Call, objects: Objects) -> ObjectView:
    store = await _find_store(call.http.path_params["owner"], objects)
    entries, token = find_page(call.http, tuple(await objects.list(VECTOR_STORE_FILES.made_by, store.id)))
    return ObjectView({"documents": [*map(_describe_document, entries)], **token} if entries else {})


async def _show_document(call: Call, objects: Objects) -> ObjectView:
    found = await _find_document(call, objects)
    kept = (await objects.change(found, KeptObject.advance)).after
    return ObjectView(_describe_document(kept))


async def _delete_document(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_document(call, objects)
    await objects.change(kept, KeptObject.forget)
    return ObjectView()


async def _show_operation(call: Call, objects: Objects) -> ObjectView:
    """Show the operation that makes a document, which is then one state further."""
    found = await _find_document(call, objects)
    kept = (await objects.change(found, KeptObject.advance)).after
    shown = {"name": call.http.path[call.http.path.index(_PREFIX) :]}
    if kept.ahead:
        return ObjectView(shown)
    if kept.status != "completed":
        return ObjectView({**shown, "done": True, "error": _BROKEN})
    kind = "UploadToFileSearchStoreResponse" if "/upload/" in call.http.path else "ImportFileResponse"
    response = {
        "@type": f"{TYPE_URL}{kind}",
        "parent": f"{_PREFIX}{kept.owner}",
        "documentName": f"{_PREFIX}{kept.owner}/documents/{kept.id}",
    }
    return ObjectView({**shown, "done": True, "response": response})
