"""Every field and variant that Google's own client can send is accepted, at the Developer API and at Vertex AI's paths.

The client's types are walked: each request holds one field, with the smallest value that it takes, and the client's own
converters decide what becomes of it. What the client itself refuses for a backend is not sent there.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from io import BytesIO
from re import fullmatch
from typing import Any, Literal, NamedTuple, get_args, get_origin

import httpx
import pytest
from google import genai
from google.genai import errors, types
from google.oauth2.credentials import Credentials
from pydantic import BaseModel

from tests.kit.served import Served, served

Json = Any
Fields = dict[str, Json]
FLASH, EMBEDDING, NEW_EMBEDDING = "gemini-2.5-flash", "gemini-embedding-001", "gemini-embedding-2"

# What Google demands in a value of these types.
NEEDED: Mapping[type[BaseModel], Fields] = {
    types.Content: {"role": "user", "parts": [{"text": "Hi"}]},
    types.Blob: {"mime_type": "image/png", "data": b"\x00"},
    types.FileData: {"file_uri": "https://files.test/a"},
    types.FunctionResponseBlob: {"mime_type": "image/png", "data": b"\x00"},
    types.FunctionResponseFileData: {"file_uri": "https://files.test/a", "mime_type": "image/png"},
    types.FunctionCall: {"name": "f"},
    types.FunctionResponse: {"name": "f"},
    types.FunctionDeclaration: {"name": "f"},
    types.SafetySetting: {"category": "HARM_CATEGORY_HARASSMENT"},
}
_FUNCTIONS = {"tools": [{"function_declarations": [{"name": "f"}]}]}
_JSON = {"response_mime_type": "application/json"}
# What else Google demands in a request with these fields.
ALONG: Mapping[tuple[type[BaseModel], str], Fields] = {
    **{
        (config, field): along
        for config in (types.GenerateContentConfig, types.GenerationConfig)
        for field, along in {
            "logprobs": {"response_logprobs": True},
            "response_schema": _JSON,
            "response_json_schema": _JSON,
        }.items()
    },
    (types.GenerateContentConfig, "tool_config"): _FUNCTIONS,
    (types.CreateCachedContentConfig, "tool_config"): _FUNCTIONS,
    (types.FunctionCallingConfig, "allowed_function_names"): {"mode": "ANY"},
    (types.Schema, "ref"): {"defs": {"a": {"type": "STRING"}}},
    (types.EmbedContentConfig, "title"): {"task_type": "RETRIEVAL_DOCUMENT"},
}
# Values of which not every one will do.
VALUES: Mapping[tuple[type[BaseModel], str], tuple[Json, ...]] = {
    (types.GenerateContentConfig, "response_mime_type"): ("application/json", "text/plain", "text/x.enum"),
    (types.GenerationConfig, "response_mime_type"): ("application/json",),
    (types.GenerateContentConfig, "response_modalities"): (["TEXT"], ["IMAGE"], ["AUDIO"], ["VIDEO"]),
    (types.GenerateContentConfig, "response_json_schema"): ({"type": "OBJECT"},),
    (types.GenerationConfig, "response_json_schema"): ({"type": "OBJECT"},),
    (types.FunctionDeclaration, "parameters_json_schema"): ({"type": "OBJECT"},),
    (types.FunctionDeclaration, "response_json_schema"): ({"type": "OBJECT"},),
    (types.EmbedContentConfig, "task_type"): ("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "CODE_RETRIEVAL_QUERY"),
    (types.CreateCachedContentConfig, "ttl"): ("60s",),
    (types.UpdateCachedContentConfig, "ttl"): ("60s",),
    (types.VideoMetadata, "start_offset"): ("1s",),
    (types.VideoMetadata, "end_offset"): ("1s",),
    (types.Content, "role"): ("user", "model"),
    (types.Schema, "ref"): ("#/defs/a",),
    (types.FunctionCallingConfig, "allowed_function_names"): (["f"],),
    **{
        (config, "page_token"): ("MQ==",)
        for config in (types.ListFilesConfig, types.ListCachedContentsConfig, types.ListModelsConfig)
    },
}
# Fields whose annotation does not say what they hold.
TYPES: Mapping[tuple[type[BaseModel], str], Any] = {(types.GenerateContentConfig, "tools"): list[types.Tool]}
# What says how the client works, and is not sent.
NOT_SENT = {"http_options", "should_return_http_response", "automatic_function_calling", "automatic_continuation"}
# What is refused, and in which words: instructions that are no texts, and values that say nothing.
REFUSED: Mapping[str, str] = {
    r"\.system_instruction\.parts\.(\w+_(data|result|code|call|response))\b.*": "only text is supported",
    r"(\.\w+)*\.parts": "required oneof field 'data' must have one initialized field",
    r"\.contents": "contents.parts must not be empty.",
    r"\.tools": "required one_of 'tool_type' must have one initialized field",
    r"(\.\w+)*\.parameters\.type=.*": "schema should be of type OBJECT.",
    r"\.cached_content": "CachedContent not found",
    r"(\.\w+)*\.type=ARRAY": "items: missing field.",
    r"(\.\w+)*\.enum": "only allowed for STRING type",
    r"(\.\w+)*\.(properties|required)": "only allowed for OBJECT type",
}


def reasons(path: str, why: str) -> set[str]:
    """The patterns of REFUSED that say why a value is refused."""
    return {pattern for pattern, words in REFUSED.items() if fullmatch(pattern, path) and words in why}


class Walk:
    """Yields values of a type, one for each field and each variant of what it holds; each type is walked once."""

    def __init__(self) -> None:
        self._walked = set[type]()

    def values(self, kind: Any) -> Iterator[tuple[str, Json]]:
        """Yield each value with its path."""
        if get_origin(kind) is list:
            yield from ((path, [value]) for path, value in self.values(get_args(kind)[0]))
        elif get_origin(kind) is dict:
            yield from ((path, {"a": value}) for path, value in self.values(get_args(kind)[1]))
        elif get_origin(kind) is Literal:
            yield from ((f"={value}", value) for value in get_args(kind))
        elif get_args(kind):
            members = [member for member in get_args(kind) if member is not type(None)]
            models = [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]
            for member in models or members[:1]:
                yield from self.values(member)
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from self._fields(kind)
        elif isinstance(kind, type) and issubclass(kind, Enum):
            known = self._first_time(kind)
            named = [member for member in kind if not member.value.endswith("UNSPECIFIED")]
            yield from ((f"={member.value}", member.value) for member in (named if known else named[:1]))
        else:
            yield "", _SMALLEST[kind]

    def _fields(self, kind: type[BaseModel]) -> Iterator[tuple[str, Json]]:
        needed = NEEDED.get(kind, {})
        yield "", needed
        if not self._first_time(kind):
            return
        for name, field in kind.model_fields.items():
            if name in NOT_SENT:
                continue
            along = {**needed, **ALONG.get((kind, name), {})}
            if stated := VALUES.get((kind, name)):
                found: Iterator[tuple[str, Json]] = ((f"={value}", value) for value in stated)
            else:
                found = self.values(TYPES.get((kind, name), field.annotation))
            yield from ((f".{name}{path}", {**along, name: value}) for path, value in found)

    def _first_time(self, kind: type) -> bool:
        walked = kind in self._walked
        self._walked.add(kind)
        return not walked


_SMALLEST: Mapping[Any, Json] = {
    str: "a",
    bool: True,
    int: 1,
    float: 1.0,
    bytes: b"\x00",
    Any: {},
    datetime: datetime(2030, 1, 1, tzinfo=UTC),
}


class Backend(NamedTuple):
    client: genai.Client
    sent: list[httpx.Request]


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture(scope="module", params=["developer", "vertex"])
def backend(request: pytest.FixtureRequest, server: Served) -> Iterator[Backend]:
    sent = list[httpx.Request]()
    with httpx.Client(event_hooks={"request": [sent.append]}, trust_env=False) as own:
        http = types.HttpOptions(base_url=f"{server.address}/gemini", httpx_client=own)
        vertex = {"vertexai": True, "project": "p", "location": "l", "credentials": Credentials(token="any")}
        with genai.Client(http_options=http, **(vertex if request.param == "vertex" else {"api_key": "k"})) as client:
            yield Backend(client, sent)


def change_cache(client: genai.Client, config: Any) -> None:
    made = client.caches.create(model=FLASH, config=types.CreateCachedContentConfig(contents="Hi"))
    client.caches.update(name=made.name or "", config=config)


def upload(client: genai.Client, config: Any) -> None:
    client.files.upload(file=BytesIO(b"a"), config=config.model_copy(update={"mime_type": "text/plain"}))


Ask = Callable[[genai.Client, Any], object]


# The types of all requests, and what sends a value of each.
def make_calls(content: types.Content) -> list[types.Content]:
    """The turns before this one: with the call of each result in it."""
    results = [part.function_response for part in content.parts or () if part.function_response]
    calls = [types.Part(function_call=types.FunctionCall(name=result.name, id=result.id)) for result in results]
    if not calls:
        return []
    return [types.Content(role="user", parts=[types.Part(text="Hi")]), types.Content(role="model", parts=calls)]


REQUESTS: Mapping[str, tuple[type[BaseModel], Ask]] = {
    "generate": (
        types.GenerateContentConfig,
        lambda client, config: client.models.generate_content(model=FLASH, contents="Hi", config=config),
    ),
    "converse": (
        types.Content,
        lambda client, content: client.models.generate_content(model=FLASH, contents=[*make_calls(content), content]),
    ),
    "count": (
        types.CountTokensConfig,
        lambda client, config: client.models.count_tokens(model=FLASH, contents="Hi", config=config),
    ),
    "count a content": (
        types.Content,
        lambda client, content: client.models.count_tokens(model=FLASH, contents=[content]),
    ),
    "embed": (
        types.EmbedContentConfig,
        lambda client, config: client.models.embed_content(model=EMBEDDING, contents="Hi", config=config),
    ),
    "embed with a new model": (
        types.EmbedContentConfig,
        lambda client, config: client.models.embed_content(model=NEW_EMBEDDING, contents="Hi", config=config),
    ),
    "embed a content": (
        types.Content,
        lambda client, content: client.models.embed_content(model=NEW_EMBEDDING, contents=content),
    ),
    "cache": (
        types.CreateCachedContentConfig,
        lambda client, config: client.caches.create(model=FLASH, config=config),
    ),
    "change a cache": (types.UpdateCachedContentConfig, change_cache),
    "upload": (types.UploadFileConfig, upload),
    "list files": (types.ListFilesConfig, lambda client, config: client.files.list(config=config)),
    "list caches": (types.ListCachedContentsConfig, lambda client, config: client.caches.list(config=config)),
    "list models": (types.ListModelsConfig, lambda client, config: client.models.list(config=config)),
}


def refusals(backend: Backend, kind: type[BaseModel], ask: Ask) -> dict[str, str]:
    """Why values of a type are refused, by their paths."""
    refused = dict[str, str]()
    for path, value in Walk().values(kind):
        made = kind.model_validate(value)
        before = len(backend.sent)
        try:
            ask(backend.client, made)
        except errors.APIError as error:
            refused[path] = str(error.message).strip()
        except ValueError:
            if len(backend.sent) > before:
                raise  # it is not the client's own refusal
    return refused


def test_all_that_the_client_sends_is_accepted_but_for_good_reasons(backend: Backend) -> None:
    needed = set[str]()
    for name, (kind, ask) in REQUESTS.items():
        refused = refusals(backend, kind, ask)
        assert {path: why for path, why in refused.items() if not reasons(path, why)} == {}, name
        needed.update(*(reasons(*each) for each in refused.items()))
    assert needed == REFUSED.keys()


def test_the_walk_goes_everywhere() -> None:
    found = {path for path, _ in Walk().values(types.GenerateContentConfig)}
    for name in types.GenerateContentConfig.model_fields.keys() - NOT_SENT:
        assert any(fullmatch(rf"\.{name}\b.*", path) for path in found), name
    assert found >= {".response_schema.any_of", ".tools.function_declarations.parameters", ".tools.mcp_servers.name"}
