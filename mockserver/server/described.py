"""A request as a person describes it, and the operation of a dialect that it reaches."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from mockserver.core.call import Call, Json
from mockserver.core.errors import ConfigError
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects import Dialect, Operation, discover
from mockserver.server.namespaces import DEFAULT
from mockserver.server.routes import Place, find, meant, nearest, places
from mockserver.server.snapshot import query_from


@dataclass(frozen=True, slots=True)
class Described:
    """A request as a person writes it: method, path with query, headers, body as JSON or as bytes."""

    path: str
    body: Json
    method: str = "POST"
    headers: Mapping[str, str] | None = None
    namespace: str = DEFAULT


def read_request(text: str, file: str, dialect: str, path: str | None = None) -> Described:
    """A request file: the JSON body itself, or {method, path, headers, body}. Raises ConfigError.

    Where neither the file nor `path` says where it goes, the body does.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{file}: not JSON: {error}") from error
    return described(content, file, dialect, path)


def described(content: Json, file: str, dialect: str, path: str | None = None) -> Described:
    """The same of JSON that has been read."""
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: wants a JSON object: the body of a request, or method, path, headers and body")
    if not _describes(content):
        content = {"body": content}
    body, headers = content.get("body", {}), content.get("headers")
    if not isinstance(headers, dict | None):
        raise ConfigError(f"{file}: headers must be an object of names and values")
    method = content.get("method", "POST" if "body" in content else "GET")
    return Described(str(content.get("path") or path or path_for(body, dialect)), body, str(method), headers)


def path_for(body: Json, dialect: str) -> str:
    """Where a body goes by the looks of it: its dialect's chat, unless only another operation takes it."""
    keys = body if isinstance(body, dict) and "messages" not in body else {}
    served = {operation.name for operation in _spoken(dialect).operations}
    meant = next((name for name, key, word in _LOOKS if key in keys and word in str(keys.get("model")).lower()), "chat")
    if meant == "responses" and meant not in served:
        meant = "embeddings"  # the other one that takes an input
    return usual_path(dialect, meant if meant in served else "chat")


def usual_path(dialect: str, operation: str = "chat") -> str:
    """Where an operation of a dialect stands, with the query that its client always sends. Raises ConfigError."""
    spoken = _spoken(dialect)
    found = next((served for served in spoken.operations if served.name == operation), None)
    if found is None:
        names = ", ".join(served.name for served in spoken.operations if served.name in BODIES)
        raise ConfigError(f'"{dialect}" has no operation "{operation}"; it has {names}')
    query = "&".join(f"{name}={value}" for name, value in found.query.items())
    return spoken.mounts[0] + found.path + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True)
class Reached:
    """The place and the operation there that a request reaches, and the request itself."""

    place: Place
    operation: Operation
    http: HttpRequest

    def call(self, *, strict: bool) -> Call:
        """The call that the request makes. Raises ConfigError where the provider would refuse it."""
        try:
            return self.operation.parse(self.http, strict)
        except Failure as failure:
            words = f"the provider would refuse this request to {self.http.path}: {failure}"
            raise ConfigError(words) from failure


def reach(described: Described, dialect: str) -> Reached:
    """What a described request reaches where the bare paths speak this dialect. Raises ConfigError."""
    try:
        url = urlsplit(described.path)
    except ValueError as error:
        raise ConfigError(f"{described.path} is no path: {error}") from error
    known = places(discover(), dialect)
    place, params = _found(described.method, url.path, known)
    operation = meant(described.method, place.operations)
    if operation is None:
        raise ConfigError(f"{url.path} takes {', '.join(place.operations)}, not {described.method}")
    body = described.body
    http = HttpRequest(
        method=described.method,
        path=url.path,
        query=query_from(url.query.encode()),
        headers=tuple((_raw(n.lower()), _raw(str(v))) for n, v in (described.headers or {}).items()),
        body=body if isinstance(body, bytes) else json.dumps(body).encode(),
        namespace=described.namespace,
        path_params=params,
    )
    return Reached(place, operation, http)


def _raw(text: str) -> bytes:
    """Text of a header as bytes; half a character, which no client can send, as a question mark."""
    return text.encode("utf-8", "replace")


def _describes(content: Mapping[str, Json]) -> bool:
    """Whether a request file describes a whole request; else it is the body of one."""
    return "body" in content or ("path" in content and content.keys() <= {"method", "path", "headers"})


def _spoken(dialect: str) -> Dialect:
    spoken = discover().get(dialect)
    if spoken is None:
        raise ConfigError(f'unknown dialect "{dialect}"; known: {", ".join(discover())}')
    return spoken


def _found(method: str, path: str, known: tuple[Place, ...]) -> tuple[Place, dict[str, str]]:
    found = find(path, known)
    if found is None:
        near = nearest(method, path, known)
        raise ConfigError(f"nothing stands at {path}" + (f"; the nearest: {near}" if near else ""))
    return found


# How a text is put to an operation.
BODIES: Mapping[str, Callable[[str], dict[str, Json]]] = {
    "chat": lambda text: {"messages": [{"role": "user", "content": text}]},
    "completions": lambda text: {"prompt": text},
    "responses": lambda text: {"input": text},
    "embeddings": lambda text: {"input": [text]},
    "moderations": lambda text: {"input": text},
}
# Which operation a body is for that is no chat's: by a key, and by a word in its model's name.
_LOOKS = (
    ("completions", "prompt", ""),
    ("embeddings", "input", "embed"),
    ("moderations", "input", "moderation"),
    ("responses", "input", ""),
)
