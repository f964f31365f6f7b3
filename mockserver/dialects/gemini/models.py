"""Gemini's models: the list, and each model."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Models
from mockserver.dialects import Operation
from mockserver.dialects._parse import clip, parse_models
from mockserver.dialects.gemini.errors import is_vertex, make_pretty_reply
from mockserver.dialects.gemini.request import NAME

Entry = TypeVar("Entry")
USUAL_PARAMS = {"version": "v1beta", "parent": "models"}
USUAL_PAGE = 50
LARGEST_PAGE = 1000


def make_model_operations() -> tuple[Operation, ...]:
    every = "/{version:version}/{parent:models}"
    parse = partial(parse_models, NAME)
    return (
        Operation("models", "GET", every, parse=parse, render=_render, params=USUAL_PARAMS),
        Operation("model", "GET", every + "/{model:id}", parse=parse, render=_render, params=USUAL_PARAMS),
    )


def _render(call: Call, outcome: Models) -> Reply:
    vertex = is_vertex(call.http)
    describe = _describe_publisher_model if vertex else _describe_model
    parent = call.http.path_params.get("parent", "models")
    if call.operation == "model":
        name = outcome.names[0]
        named = {"name": f"{parent}/{name}"} if parent in _USER_COLLECTIONS else {}
        return make_pretty_reply(call.http, {**describe(name), **named})
    if parent in _USER_COLLECTIONS:
        return make_pretty_reply(call.http, {})
    names, token = find_page(call.http, outcome.names)
    body: dict[str, Json] = {"publisherModels" if vertex else "models": list(map(describe, names))}
    return make_pretty_reply(call.http, {**body, **token})


_USER_COLLECTIONS = ("tunedModels", "dynamic")  # collections of models that users make: here they have made none


class FoundPage(NamedTuple, Generic[Entry]):
    """The entries of a page, and the key with the token of the next one, if there is a next one."""

    entries: tuple[Entry, ...]
    token: dict[str, Json]


def find_page(http: HttpRequest, entries: tuple[Entry, ...]) -> FoundPage[Entry]:
    """Return the requested page of these entries. Raises Failure for a bad query."""
    token = http.query.get("pageToken") or ""
    size = http.query.get("pageSize") or str(USUAL_PAGE)
    try:
        start = int(urlsafe_b64decode(token)) if token else 0
    except ValueError:
        raise Failure("bad_parameter", "Page token is not valid.") from None
    try:
        asked = int(size)
    except ValueError:
        raise Failure("bad_parameter", f"Invalid value at 'page_size' (TYPE_INT32), \"{clip(size, 20)}\"") from None
    if asked < 0 or start < 0:
        raise Failure("bad_parameter", "* ListModelsRequest.page_size: page_size must not be negative.\n")
    end = start + min(asked or USUAL_PAGE, LARGEST_PAGE)
    following = {"nextPageToken": urlsafe_b64encode(str(end).encode()).decode()} if end < len(entries) else {}
    return FoundPage(entries[start:end], following)


def _describe_model(name: str) -> dict[str, Json]:
    embeds = "embedding" in name
    words = " ".join(word.capitalize() for word in name.split("-"))
    made: dict[str, Json] = {
        "name": f"models/{name}",
        "version": MODELS.get(name, "001"),
        "displayName": words,
        "description": f"{words}, as mockserver answers for it.",
        "inputTokenLimit": 2048 if embeds else 1_048_576,
        "outputTokenLimit": 1 if embeds else 65_536,
        "supportedGenerationMethods": list(_EMBEDDING_METHODS if embeds else _METHODS),
    }
    return made if embeds else {**made, **_SAMPLING}


def _describe_publisher_model(name: str) -> dict[str, Json]:
    return {"name": f"publishers/google/models/{name}", "versionId": MODELS.get(name, "001"), "launchStage": "GA"}


# The models of the list where the settings name none, and their versions.
MODELS = {
    "gemini-2.5-flash": "001",
    "gemini-2.5-flash-lite": "001",
    "gemini-2.5-pro": "2.5",
    "gemini-3-pro-preview": "3-pro-preview-11-2025",
    "gemini-embedding-001": "001",
}
_METHODS = ("generateContent", "countTokens", "createCachedContent", "batchGenerateContent")
_EMBEDDING_METHODS = ("embedContent", "countTextTokens", "countTokens")
_SAMPLING = {"temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2, "thinking": True}
