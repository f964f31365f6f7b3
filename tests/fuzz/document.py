"""An OpenAPI document of every operation of every dialect, made of the dialects' own tables and request models.

A new operation is in it by itself; one with a body needs its model named in BODIES, or `document` fails.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from mockserver.dialects import Operation, discover, jina, voyage
from mockserver.dialects._fields import BodyModel
from mockserver.dialects._openai_api.audio import SPEECH
from mockserver.dialects._openai_api.chat_bodies import CHAT
from mockserver.dialects._openai_api.completions import COMPLETION
from mockserver.dialects._openai_api.embeddings import EMBEDDING
from mockserver.dialects._openai_api.images import GENERATION
from mockserver.dialects._openai_api.moderations import MODERATION
from mockserver.dialects._openai_api.objects.batches import Batches
from mockserver.dialects._openai_api.responses_bodies import RESPONSE
from mockserver.dialects._openai_api.stored import UPDATE
from mockserver.dialects.anthropic.batches import BATCH
from mockserver.dialects.anthropic.bodies import COUNT, MESSAGES
from mockserver.dialects.anthropic.completions import COMPLETE
from mockserver.dialects.azure import AZURE_CHAT, AZURE_EMBEDDING
from mockserver.dialects.cohere import bodies as cohere
from mockserver.dialects.compatible.perplexity import SEARCH
from mockserver.dialects.fireworks.bodies import CHAT as FIREWORKS_CHAT
from mockserver.dialects.fireworks.bodies import COMPLETION as FIREWORKS_COMPLETION
from mockserver.dialects.fireworks.bodies import RERANK as FIREWORKS_RERANK
from mockserver.dialects.gemini.bodies import (
    AUTH_TOKEN,
    BATCH_EMBED,
    CACHED_CONTENT,
    COUNT_TOKENS,
    CREATE_FILE,
    EMBED,
    FETCH_OPERATION,
    FILE_SEARCH_STORE,
    GENERATE,
    IMPORT_FILE,
    PREDICT,
    PREDICT_LONG,
    UPLOAD_TO_STORE,
)
from mockserver.dialects.gemini.bodies import BATCH as GEMINI_BATCH
from mockserver.dialects.gemini.proto import Enum, MapOf, MessageType, Repeated
from mockserver.dialects.tzafon import CHAT as TZAFON_CHAT
from mockserver.dialects.tzafon import RESPONSE as TZAFON_RESPONSE
from mockserver.kinds import CREATIONS, LOOK_UPS
from tests.fuzz.amount import TIMES

Json = Any


@dataclass(frozen=True)
class Place:
    """One operation where the server mounts it; `path` keeps its parameters in braces."""

    dialect: str
    operation: Operation
    path: str

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def has_body(self) -> bool:
        return body_of(self.dialect, self.operation) is not None

    @property
    def schema(self) -> Json:
        found = body_of(self.dialect, self.operation)
        return None if found is None else schema_of(found)


def every_place() -> Iterator[Place]:
    """All that the server serves at the mounts of the dialects, in their order."""
    for dialect in discover().values():
        for mount in dialect.mounts:
            for operation in dialect.operations:
                yield Place(dialect.name, operation, mount + _KIND.sub("", operation.fill_path(operation.path)))


def select_tried(places: Iterable[Place]) -> Iterator[Place]:
    """Yield each operation of a dialect at one of its paths, as all lead to the same code; `make fuzz` tries all."""
    return _one_of_each(places, lambda place: (place.dialect, place.operation.name, place.operation.method))


def select_kinds(places: Iterable[Place]) -> Iterator[Place]:
    """Yield each operation and body in one of the dialects that share it; `make fuzz` tries all."""

    def shared(place: Place) -> Hashable:
        return place.operation.name, place.operation.method, body_of(place.dialect, place.operation)

    return _one_of_each(places, shared)


def _one_of_each(places: Iterable[Place], shared: Callable[[Place], Hashable]) -> Iterator[Place]:
    seen = set[Hashable]()
    for place in places:
        operation = shared(place)
        if operation not in seen or TIMES > 1:
            yield place
        seen.add(operation)


_KIND = re.compile(r"(?<=\w):\w+(?=\})")


@cache
def document() -> Json:
    """The OpenAPI document. An operation's id is `dialect operation METHOD path`."""
    paths: dict[str, Json] = {}
    components: dict[str, Json] = {}
    for place in every_place():
        paths.setdefault(place.path, {})[place.operation.method.lower()] = _described(place, components)
    about = {"title": "mockserver", "version": "1"}
    return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": components}}


def _described(place: Place, components: dict[str, Json]) -> Json:
    operation = place.operation
    told: dict[str, Json] = {
        "operationId": f"{place.dialect} {operation.name} {operation.method} {place.path}",
        "parameters": list(_parameters(place)),
        "responses": {"default": {"description": "whatever the dialect says"}},
    }
    if place.schema is not None:
        schema = {**place.schema}
        name = f"{place.dialect}_{_verb(operation) or operation.name}"
        defined = schema.pop("$defs", {})
        components.update({f"{name}_{key}": _moved(value, name) for key, value in defined.items()})
        components[name] = _moved(schema, name)
        content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
        told["requestBody"] = {"required": True, "content": content}
    return told


def _parameters(place: Place) -> Iterator[Json]:
    for name in place.parameters:
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    for name, usual in place.operation.query.items():
        yield {
            "name": name,
            "in": "query",
            "required": True,
            "schema": {"anyOf": [{"const": usual}, {"type": "string"}]},
        }
    for name, schema in QUERIES.get(place.operation.name, {}).items():
        yield {"name": name, "in": "query", "required": False, "schema": schema}
    if place.dialect == "azure":
        wanted = {"enum": ["error", "drop", "pass-through"]}
        yield {"name": "extra-parameters", "in": "header", "required": False, "schema": wanted}


def _moved(schema: Json, name: str) -> Json:
    """A schema whose references lead to where its definitions stand in the document."""
    if isinstance(schema, list):
        return [_moved(each, name) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _moved(value, name) for key, value in schema.items() if key not in ("$ref", "discriminator")}
    if "$ref" in schema and isinstance(schema["$ref"], str):
        kept["$ref"] = schema["$ref"].replace("#/$defs/", f"#/components/schemas/{name}_")
    elif "$ref" in schema:  # a property of this name
        kept["$ref"] = _moved(schema["$ref"], name)
    return kept


def body_of(dialect: str, operation: Operation) -> "tuple[AnyModel, ...] | None":
    """The models of an operation's body, which may be split among several; None where it takes none."""
    if operation.method != "POST" or operation.name in ("cancel_response", "cancel_batch", "info"):
        return None
    if operation.name in FORMS or (operation.name in OBJECT_OPERATIONS and dialect != "gemini"):
        return BODIES.get(dialect, {}).get(operation.name)
    if operation.name in WITH_CLIENTS and dialect != "gemini":
        return None
    if dialect in WITH_OWN_TESTS or "/interactions" in operation.path:
        return None
    if dialect == "fireworks" and operation.path == "/messages":  # Anthropic's, in Anthropic's place
        return None
    own = BODIES.get(dialect, {})
    if (verb := _verb(operation)) in own:
        return own[verb]
    found = own[operation.name] if operation.name in own else BODIES[""].get(operation.name)
    assert found is not None or operation.name in UNDESCRIBED, f"{dialect} {operation.name}: name its model in BODIES"
    return found


FORMS = ("image_edits", "image_variations", "transcriptions", "translations")  # bodies that are no JSON
OBJECT_OPERATIONS = {*LOOK_UPS, *CREATIONS} - {"update_chat", "create_batch"}  # most are forms, or short
UNDESCRIBED = ("run_grader", "validate_grader", "realtime")  # any object will do
WITH_CLIENTS = ("create_vector_store", "create_vector_store_file", "create_video", "search", "video")  # tested there
WITH_OWN_TESTS = ("bedrock", "mistral", "ollama")  # of mutated bodies


def _verb(operation: Operation) -> str:
    """The end of a path such as `/models/{model}:generateContent`, or the version and the end of Cohere's."""
    if "}:" in operation.path:
        return operation.path.rpartition("}:")[2]
    found = _VERSIONED.fullmatch(operation.path)
    return "" if found is None else "_".join(found.groups())


_VERSIONED = re.compile(r"/(v[12])/(chat|embed|rerank)")


class MessageModel:
    """A message of proto JSON, described in JSON Schema."""

    def __init__(self, message: MessageType) -> None:
        self._message = message

    def json_schema(self) -> Json:
        found: dict[str, Json] = {}
        self._add(self._message, found)
        return {**found[self._message.name], "$defs": found}

    def _add(self, message: MessageType, found: dict[str, Json]) -> None:
        if message.name not in found:
            found[message.name] = {"type": "object", "additionalProperties": False}
            fields = {name: self._type(kind, found) for name, kind in message.fields.items()}
            found[message.name]["properties"] = fields

    def _type(self, kind: Any, found: dict[str, Json]) -> Json:
        kind = kind() if callable(kind) else kind
        match kind:
            case MessageType():
                self._add(kind, found)
                return {"$ref": f"#/$defs/{kind.name}"}
            case Repeated():
                return {"type": "array", "items": self._type(kind.of, found)}
            case MapOf():
                return {"type": "object", "additionalProperties": self._type(kind.of, found)}
            case Enum():
                return {"enum": list(kind.values)}
        return _SCALARS.get(kind.name, {})


_SCALARS: Mapping[str, Json] = {
    "TYPE_STRING": {"type": "string"},
    "TYPE_BOOL": {"type": "boolean"},
    **{name: {"type": "integer"} for name in ("TYPE_INT32", "TYPE_INT64")},
    **{name: {"type": "number"} for name in ("TYPE_FLOAT", "TYPE_DOUBLE")},
    "TYPE_BYTES": {"type": "string", "contentEncoding": "base64"},
    "type.googleapis.com/google.protobuf.Struct": {"type": "object"},
}
AnyModel = BodyModel | MessageModel


@cache
def schema_of(models: tuple[AnyModel, ...]) -> Json:
    whole: dict[str, Json] = {"type": "object", "properties": {}, "required": [], "$defs": {}}
    for model in models:
        schema = GenerateJsonSchema().generate(model.schema) if isinstance(model, BodyModel) else model.json_schema()
        for key in ("properties", "$defs"):
            whole[key].update(schema.get(key, {}))
        whole["required"] += schema.get("required", [])
    return whole


# The models of bodies, by operation: those of OpenAI's common family, then what a dialect has for itself.
BODIES: Mapping[str, Mapping[str, tuple[AnyModel, ...]]] = {
    "": {
        "chat": (CHAT,),
        "completions": (COMPLETION,),
        "responses": (RESPONSE,),
        "input_tokens": (RESPONSE,),
        "compact_response": (RESPONSE,),
        "update_chat": (UPDATE,),
        "embeddings": (EMBEDDING,),
        "moderations": (MODERATION,),
        "images": (GENERATION,),
        "speech": (SPEECH,),
        "create_batch": (Batches.fields,),
    },
    "anthropic": {"chat": (MESSAGES,), "input_tokens": (COUNT,), "create_batch": (BATCH,), "completions": (COMPLETE,)},
    "azure": {"chat": (AZURE_CHAT,), "embeddings": (AZURE_EMBEDDING,)},
    "cohere": {
        "v2_chat": (cohere.CHAT,),
        "v1_chat": (cohere.OLD_CHAT,),
        "v2_embed": (cohere.EMBED,),
        "v1_embed": (cohere.OLD_EMBED,),
        "v2_rerank": (cohere.RERANK,),
        "v1_rerank": (cohere.OLD_RERANK,),
        "completions": (cohere.GENERATE,),
        "tokenize": (cohere.TOKENIZE,),
        "detokenize": (cohere.DETOKENIZE,),
    },
    "jina": {"embeddings": (jina.EMBED,), "rerank": (jina.RERANK,)},
    "voyage": {"embeddings": (voyage.EMBED,), "rerank": (voyage.RERANK,)},
    "compatible": {"search": (SEARCH,)},
    "fireworks": {
        "chat": (FIREWORKS_CHAT,),
        "completions": (FIREWORKS_COMPLETION,),
        "rerank": (FIREWORKS_RERANK,),
    },
    "gemini": {
        **dict.fromkeys(("generateContent", "streamGenerateContent"), (MessageModel(GENERATE),)),
        "countTokens": (MessageModel(COUNT_TOKENS),),
        "embedContent": (MessageModel(EMBED),),
        "batchEmbedContents": (MessageModel(BATCH_EMBED),),
        "predict": (MessageModel(PREDICT),),
        "create_cached_content": (MessageModel(CACHED_CONTENT),),
        "create_batch": (MessageModel(GEMINI_BATCH),),
        "create_file": (MessageModel(CREATE_FILE),),
        "create_auth_token": (MessageModel(AUTH_TOKEN),),
        "create_video": (MessageModel(PREDICT_LONG),),
        "create_vector_store": (MessageModel(FILE_SEARCH_STORE),),
        "computeTokens": (MessageModel(COUNT_TOKENS),),
        "fetchPredictOperation": (MessageModel(FETCH_OPERATION),),
        "importFile": (MessageModel(IMPORT_FILE),),
        "uploadToFileSearchStore": (MessageModel(UPLOAD_TO_STORE),),
    },
    "tzafon": {
        "chat": (TZAFON_CHAT,),
        "responses": (TZAFON_RESPONSE,),
        "input_tokens": (TZAFON_RESPONSE,),
        "compact_response": (TZAFON_RESPONSE,),
    },
}
_TEXT = {"type": "string"}
_PAGED = {"after": _TEXT, "limit": {"type": "integer"}, "order": {"enum": ["asc", "desc", "up"]}}
QUERIES: Mapping[str, Mapping[str, Json]] = {
    "stored_chats": {**_PAGED, "model": _TEXT, "metadata[k]": _TEXT},
    "chat_messages": _PAGED,
    "input_items": {**_PAGED, "include[]": _TEXT},
    "response": {"stream": {"enum": ["true", "false"]}, "starting_after": {"type": "integer"}, "include[]": _TEXT},
}
