"""A request described in a file or by flags, put to the engine in this process, without a socket."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from mockserver.core.call import Call, Json
from mockserver.core.errors import ConfigError
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure, Plan
from mockserver.dialects import Dialect, Operation, discover
from mockserver.server.app import Endpoint
from mockserver.server.live import Live
from mockserver.server.routes import Place, find, nearest, places


@dataclass(frozen=True, slots=True)
class Described:
    """A request as a person writes it: method, path with query, headers, body."""

    path: str
    body: Json
    method: str = "POST"
    headers: Mapping[str, str] | None = None


def read_request(text: str, file: str, dialect: str, path: str | None = None) -> Described:
    """A request file: the JSON body itself, or {method, path, headers, body}. Raises ConfigError.

    Where neither the file nor `path` says where it goes, the body does.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{file}: not JSON: {error}") from error
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


def put(described: Described, live: Live) -> tuple[Endpoint, Operation, HttpRequest]:
    """The endpoint and operation that a described request reaches, and the request itself. Raises ConfigError."""
    url = urlsplit(described.path)
    known = places(discover(), live.settings.dialect)
    place, params = _found(described.method, url.path, known)
    operation = place.operations.get(described.method)
    if operation is None:
        raise ConfigError(f"{url.path} takes {', '.join(place.operations)}, not {described.method}")
    http = HttpRequest(
        method=described.method,
        path=url.path,
        query=dict(parse_qsl(url.query, keep_blank_values=True)),
        headers=tuple((n.lower().encode(), str(v).encode()) for n, v in (described.headers or {}).items()),
        body=json.dumps(described.body).encode(),
        path_params=params,
    )
    return Endpoint(live, place.dialect, place.operations), operation, http


def parsed(operation: Operation, http: HttpRequest, live: Live) -> Call:
    """The call that a request makes. Raises ConfigError where the provider would refuse it."""
    try:
        return operation.parse(http, live.settings.strict)
    except Failure as failure:
        raise ConfigError(f"the provider would refuse this request to {http.path}: {failure}") from failure


def planned(call: Call, live: Live) -> Plan:
    """What the engine answers; a refusal of its own, such as an unlisted model, is an outcome like any other."""
    try:
        return asyncio.run(live.engine.plan(call))
    except Failure as failure:
        return Plan(failure, "invalid")


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
