"""Cached contents: created, listed, retrieved, changed and deleted (https://ai.google.dev/api/caching)."""

from collections.abc import Iterator

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Options
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure, Listing, Stored
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import Body, look_up
from mockserver.dialects._reply import moment
from mockserver.dialects.gemini.bodies import CACHED_CONTENT
from mockserver.dialects.gemini.checks import check_values, mend_values
from mockserver.dialects.gemini.errors import is_vertex, render_with
from mockserver.dialects.gemini.models import MODELS, find_page
from mockserver.dialects.gemini.request import NAME, make_call, make_renamer, read

IDS = IdShape("cachedContents/", 40, "hex")
USUAL_TTL = 3600.0  # seconds
_VERTEX = "/{version:version}/projects/{project}/locations/{location}"
_USUAL_PARAMS = {"version": "v1beta", "project": "my-project", "location": "us-central1"}


def cache_operations() -> tuple[Operation, ...]:
    operations = (*_list_operations("/{version:version}"), *_list_operations(_VERTEX))
    return tuple(replace(operation, params=_USUAL_PARAMS) for operation in operations)


def _list_operations(parent: str) -> Iterator[Operation]:
    every = f"{parent}/cachedContents"
    one = f"{parent}/cachedContents/{{id}}"
    names = make_renamer(CACHED_CONTENT)
    cache = render_with(_show_cache)
    yield Operation("create_cached_content", "POST", every, _parse_cache, cache, unify=names)
    yield Operation("update_cached_content", "PATCH", one, _parse_update, cache, unify=names)
    for name, method, path, render in (
        ("cached_contents", "GET", every, render_with(_show_list)),
        ("cached_content", "GET", one, cache),
        ("delete_cached_content", "DELETE", one, render_with(lambda call, stored: {})),
    ):
        yield Operation(name, method, path, look_up(NAME, name, prefix=IDS.prefix), render)


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
    call = make_call(
        replace(http, path_params={**http.path_params, "model": model}), asked, "create_cached_content", None
    )
    return replace(call, ids=IDS, options=Options(store=True))


def _parse_update(http: HttpRequest, validation: Validation) -> Call:
    body = read(http, CACHED_CONTENT, validation)
    both = ("ttl", "expireTime")  # of which the newer one holds
    changed = {key: body.get(key) for key in both} if any(key in body for key in both) else {}
    call = look_up(NAME, "update_cached_content", prefix=IDS.prefix)(http, validation)
    return replace(call, raw=changed)


def _show_list(call: Call, outcome: Listing) -> Body:
    entries, token = find_page(call.http, outcome.entries)
    return {"cachedContents": [_show_cache(call, entry) for entry in entries], **token} if entries else {}


def _show_cache(call: Call, stored: Stored) -> Body:
    raw = stored.call.raw
    created = stored.answer.created
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
