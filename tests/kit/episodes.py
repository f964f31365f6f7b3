"""Episodes as a recorder makes them: of answers that a server in this process gives."""

import json
from typing import Any
from urllib.parse import urlsplit

from mockserver.cassettes.convert import split_events
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.http import is_stream_type
from mockserver.server.routes import find_routes
from tests.kit.local import Answered, Local, local

AT = 1_760_000_000.0  # 2025-10-09, when all of them were recorded
JSON = (("content-type", "application/json"),)


def episode(asked: Local, path: str, body: Any = None, **how: Any) -> Episode:
    answered = asked.ask(path, body, **how)
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return make_episode_of(path, data, answered, method=how.get("method", "POST"))


def make_episode_of(path: str, data: bytes, answered: Answered, method: str = "POST") -> Episode:
    """The episode of a request to a path and its answer; of a stream each event came 10 ms after the one before."""
    url = urlsplit(path)
    found = find_routes("openai").find(url.path)
    assert found is not None
    operation = found.endpoint.find_operation(method)
    assert operation is not None
    headers = tuple((name, value) for name, value in answered.headers.items() if name in _KEPT)
    frames = None
    if is_stream_type(answered.headers.get("content-type", "")):
        frames = tuple((round(0.3 + at / 100, 3), beat) for at, (_, beat) in enumerate(split_events(answered.body)))
    took = frames[-1][0] if frames else 0.3
    reply = Recorded(answered.status, headers, b"" if frames else answered.body, frames, took)
    sent = Sent(method, url.path, url.query, JSON, data)
    return Episode(found.endpoint.dialect.name, operation.name, _model(data, url.path), sent, reply, AT)


def chats(*said: tuple[str, str], stream: bool = False) -> tuple[Episode, ...]:
    return tuple(chat(asked, {"text": answer}, stream=stream) for asked, answer in said)


def chat(asked: str, then: Any, *, stream: bool = False, **body: Any) -> Episode:
    """One chat of OpenAI that a rule with this `then` answers."""
    whole = {"model": "gpt-4o", "messages": [{"role": "user", "content": asked}], **body}
    server = local(json.dumps({"rules": [{"then": then}]}))
    return episode(server, "/openai/v1/chat/completions", {**whole, "stream": True} if stream else whole)


def _model(data: bytes, path: str) -> str:
    try:
        named = json.loads(data).get("model")
    except (ValueError, AttributeError):
        named = None
    return named if isinstance(named, str) else path.split("/")[4] if "/deployments/" in path else ""


_KEPT = ("content-type", "retry-after", "x-ms-error-code")
