"""Every field and variant that Google's own client can send is accepted, at the Developer API and at Vertex AI's paths.

The client's types are walked: each request holds one field, with the smallest value that it takes, and the client's own
converters decide what becomes of it. What the client itself refuses for a backend is not sent there.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from io import BytesIO
from typing import Any, Literal, get_args, get_origin

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
_FUNCTIONS = {"tools": [{"function_declarations": [{"name": "x"}]}]}
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
}
# Fields whose annotation does not say what they hold.
TYPES: Mapping[tuple[type[BaseModel], str], Any] = {(types.GenerateContentConfig, "tools"): list[types.Tool]}
# What says how the client works, and is not sent.
NOT_SENT = {"http_options", "should_return_http_response", "automatic_function_calling", "automatic_continuation"}
# What is refused, and why.
REFUSED: Mapping[str, str] = {}


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


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture(scope="module", params=["developer", "vertex"])
def client(request: pytest.FixtureRequest, server: Served) -> Iterator[genai.Client]:
    http = types.HttpOptions(base_url=f"{server.address}/gemini")
    vertex = {"vertexai": True, "project": "p", "location": "l", "credentials": Credentials(token="any")}
    with genai.Client(http_options=http, **(vertex if request.param == "vertex" else {"api_key": "k"})) as client:
        yield client


def generate(client: genai.Client, config: Fields) -> None:
    client.models.generate_content(model=FLASH, contents="Hi", config=types.GenerateContentConfig(**config))


def converse(client: genai.Client, content: Fields) -> None:
    client.models.generate_content(model=FLASH, contents=[types.Content(**content)])


def count(client: genai.Client, config: Fields) -> None:
    client.models.count_tokens(model=FLASH, contents="Hi", config=types.CountTokensConfig(**config))


def count_content(client: genai.Client, content: Fields) -> None:
    client.models.count_tokens(model=FLASH, contents=[types.Content(**content)])


def embed(client: genai.Client, config: Fields) -> None:
    client.models.embed_content(model=EMBEDDING, contents="Hi", config=types.EmbedContentConfig(**config))


def embed_anew(client: genai.Client, config: Fields) -> None:
    client.models.embed_content(model=NEW_EMBEDDING, contents="Hi", config=types.EmbedContentConfig(**config))


def embed_content(client: genai.Client, content: Fields) -> None:
    client.models.embed_content(model=NEW_EMBEDDING, contents=types.Content(**content))


def cache(client: genai.Client, config: Fields) -> None:
    client.caches.create(model=FLASH, config=types.CreateCachedContentConfig(**config))


def change_cache(client: genai.Client, config: Fields) -> None:
    made = client.caches.create(model=FLASH, config=types.CreateCachedContentConfig(contents="Hi"))
    client.caches.update(name=made.name or "", config=types.UpdateCachedContentConfig(**config))


def upload(client: genai.Client, config: Fields) -> None:
    client.files.upload(file=BytesIO(b"a"), config=types.UploadFileConfig(**{"mime_type": "text/plain", **config}))


def list_files(client: genai.Client, config: Fields) -> None:
    list(client.files.list(config=types.ListFilesConfig(**config)))


def list_caches(client: genai.Client, config: Fields) -> None:
    list(client.caches.list(config=types.ListCachedContentsConfig(**config)))


def list_models(client: genai.Client, config: Fields) -> None:
    list(client.models.list(config=types.ListModelsConfig(**config)))


REQUESTS: tuple[tuple[Callable[[genai.Client, Fields], None], type[BaseModel]], ...] = (
    (generate, types.GenerateContentConfig),
    (converse, types.Content),
    (count, types.CountTokensConfig),
    (count_content, types.Content),
    (embed, types.EmbedContentConfig),
    (embed_anew, types.EmbedContentConfig),
    (embed_content, types.Content),
    (cache, types.CreateCachedContentConfig),
    (change_cache, types.UpdateCachedContentConfig),
    (upload, types.UploadFileConfig),
    (list_files, types.ListFilesConfig),
    (list_caches, types.ListCachedContentsConfig),
    (list_models, types.ListModelsConfig),
)


@pytest.mark.parametrize(("ask", "kind"), REQUESTS, ids=[ask.__name__ for ask, _ in REQUESTS])
def test_all_that_the_client_sends_is_accepted(
    client: genai.Client, ask: Callable[[genai.Client, Fields], None], kind: type[BaseModel]
) -> None:
    refused = dict[str, str]()
    for path, value in Walk().values(kind):
        try:
            ask(client, value)
        except ValueError as e:  # the client's own refusal
            if "-v" in __import__("sys").argv:
                print(path, repr(e)[:200])
        except errors.APIError as error:
            refused[path] = str(error.message).strip()
    unexpected = {path: why for path, why in refused.items() if f"{ask.__name__}{path}" not in REFUSED}
    assert unexpected == {}, "\n".join(f"@@{p}: {w}" for p, w in unexpected.items())
