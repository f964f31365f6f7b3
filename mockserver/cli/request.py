"""A request described in a file or by flags, put to the engine in this process, without a socket."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from mockserver.core.call import Call, Json
from mockserver.core.errors import ConfigError
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure, Plan
from mockserver.dialects import Operation, discover
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


def read_request(text: str, file: str, path: str) -> Described:
    """A request file: the JSON body itself, or {method, path, headers, body}. Raises ConfigError."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{file}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: wants a JSON object: the body of a request, or method, path, headers and body")
    if "body" not in content:
        return Described(path, content)
    try:
        return Described(
            str(content.get("path", path)), content["body"], str(content.get("method", "POST")), content.get("headers")
        )
    except (TypeError, AttributeError) as error:
        raise ConfigError(f"{file}: {error}") from error


def chat_path(dialect: str) -> str:
    """Where a dialect's chat stands, with the query that its client always sends. Raises ConfigError."""
    spoken = discover().get(dialect)
    if spoken is None:
        raise ConfigError(f'unknown dialect "{dialect}"; known: {", ".join(discover())}')
    chat = next(operation for operation in spoken.operations if operation.name == "chat")
    query = "&".join(f"{name}={value}" for name, value in chat.query.items())
    return spoken.mounts[0] + chat.path + (f"?{query}" if query else "")


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
        raise ConfigError(f"the provider would refuse this request: {failure}") from failure


def planned(call: Call, live: Live) -> Plan:
    """What the engine answers; a refusal of its own, such as an unlisted model, is an outcome like any other."""
    try:
        return asyncio.run(live.engine.plan(call))
    except Failure as failure:
        return Plan(failure, "invalid")


def _found(method: str, path: str, known: tuple[Place, ...]) -> tuple[Place, dict[str, str]]:
    found = find(path, known)
    if found is None:
        near = nearest(method, path, known)
        raise ConfigError(f"nothing stands at {path}" + (f"; the nearest: {near}" if near else ""))
    return found
