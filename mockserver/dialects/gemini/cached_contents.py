"""Cached contents: created, listed, retrieved, changed and deleted (https://ai.google.dev/api/caching)."""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import Body, look_up
from mockserver.dialects._reply import make_look_up
from mockserver.dialects.gemini.bodies import CACHED_CONTENT
from mockserver.dialects.gemini.checks import check_values, mend_values
from mockserver.dialects.gemini.errors import is_vertex
from mockserver.dialects.gemini.files import render_view
from mockserver.dialects.gemini.models import MODELS, find_page
from mockserver.dialects.gemini.request import NAME, make_call, make_renamer, read
from mockserver.kinds.kept import CACHED_CONTENTS
from mockserver.kinds.objects import Objects, find_object
from mockserver.wire.parts import write_moment

IDS = IdShape("cachedContents/", 40, "hex")
USUAL_TTL = 3600.0  # seconds
_MADE_BY = CACHED_CONTENTS.made_by
_ENDS = ("ttl", "expireTime")  # the one that was stated last holds
_VERTEX = "/{version:version}/projects/{project}/locations/{location}"
_USUAL_PARAMS = {"version": "v1beta", "project": "my-project", "location": "us-central1"}


def make_cache_operations() -> tuple[Operation, ...]:
    operations = (*_list_operations("/{version:version}"), *_list_operations(_VERTEX))
    return tuple(replace(operation, params=_USUAL_PARAMS) for operation in operations)


def _list_operations(parent: str) -> Iterator[Operation]:
    every = f"{parent}/cachedContents"
    one = f"{parent}/cachedContents/{{id}}"
    names = make_renamer(CACHED_CONTENT)
    yield Operation(_MADE_BY, "POST", every, parse=_parse_creation, render=render_view, unify=names)
    yield Operation("update_cached_content", "PATCH", one, parse=_parse_update, render=render_view, unify=names)
    look_up_one = partial(make_look_up, NAME, render=render_view, prefix=IDS.prefix)
    yield look_up_one("cached_contents", "GET", every, work=_list)
    yield look_up_one("cached_content", "GET", one, work=_show)
    yield look_up_one("delete_cached_content", "DELETE", one, work=_delete)


def _parse_creation(http: HttpRequest, validation: Validation) -> Call:
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
    call = make_call(
        replace(http, path_params={**http.path_params, "model": model}), asked, operation=_MADE_BY, texts=None
    )
    return replace(call, work=_create)


async def _create(call: Call, objects: Objects) -> ObjectView:
    """Keep the contents as the beginning of calls that name them."""
    body = {
        "model": call.model or next(iter(MODELS)),
        "created": objects.now,
        "tokens": await objects.on_thread(lambda: call.prompt_tokens),
        **{key: call.raw[key] for key in ("displayName", *_ENDS) if key in call.raw},
    }
    beginning = replace(call, http=HttpRequest("POST", ""), meaning=None, raw={}, work=None)
    kept = KeptObject(NAME, _MADE_BY, id=objects.derive_id(IDS), body=body, call=beginning)
    await objects.keep(kept)
    return ObjectView(_describe(call, kept))


def _parse_update(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, CACHED_CONTENT, validation)
    changed = {key: body.get(key) for key in _ENDS} if any(key in body for key in _ENDS) else {}
    call = look_up(NAME, "update_cached_content", prefix=IDS.prefix, work=_update)(http, validation)
    return replace(call, raw=changed)


async def _update(call: Call, objects: Objects) -> ObjectView:
    kept = await find_object(objects, _MADE_BY, call.id)
    now = (await objects.change(kept, lambda found: found.change(**call.raw))).after
    return ObjectView(_describe(call, now))


async def _list(call: Call, objects: Objects) -> ObjectView:
    found = (await objects.list(_MADE_BY))[::-1]  # the newest first
    entries, token = find_page(call.http, tuple(found))
    return ObjectView({"cachedContents": [_describe(call, each) for each in entries], **token} if entries else {})


async def _show(call: Call, objects: Objects) -> ObjectView:
    return ObjectView(_describe(call, await find_object(objects, _MADE_BY, call.id)))


async def _delete(call: Call, objects: Objects) -> ObjectView:
    await objects.change(await find_object(objects, _MADE_BY, call.id), KeptObject.forget)
    return ObjectView()


def _describe(call: Call, kept: KeptObject) -> Body:
    """Return a cached content as clients see it; on Vertex AI, in the project that the call names."""
    stated = kept.body
    created = stated["created"]
    seconds = float(str(stated.get("ttl") or f"{USUAL_TTL}s")[:-1])
    models = "publishers/google/models" if is_vertex(call.http) else "models"
    parent = call.http.path.partition("/projects/")[2].rpartition("cachedContents")[0]
    return {
        "name": f"projects/{parent}{kept.id}" if parent else kept.id,
        "model": f"{models}/{stated['model']}",
        "createTime": write_moment(created),
        "updateTime": write_moment(created),
        "expireTime": stated.get("expireTime") or write_moment(created + seconds),
        "displayName": stated.get("displayName", ""),
        "usageMetadata": {"totalTokenCount": stated["tokens"]},
    }
