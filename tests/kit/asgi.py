"""The whole server in this process: requests pass its routes, limits and delivery, but no socket."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.types import Message

from mockserver.server.app import Site
from tests.kit.local import Answered, local


@dataclass(frozen=True)
class App:
    site: Site

    def ask(
        self, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None, method: str = "POST"
    ) -> Answered:
        """One request; a body that is not bytes is sent as JSON."""
        return asyncio.run(self.answer(path, body, headers=headers or {}, method=method))

    async def answer(self, path: str, body: Any, *, headers: Mapping[str, str], method: str = "POST") -> Answered:
        """The same inside a running loop."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        incoming: list[Message] = [{"type": "http.request", "body": data}]
        outgoing: list[Message] = []

        async def receive() -> Message:
            return incoming.pop() if incoming else await asyncio.Future()

        async def send(message: Message) -> None:
            outgoing.append(message)

        await self.site(make_scope_of(path, headers, method), receive, send)
        head = outgoing[0]
        fields = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head["headers"]}
        sent = b"".join(message["body"] for message in outgoing[1:])
        return Answered(head["status"], fields, sent, fields.get("x-mockserver-source", ""))


def app(rules: str = "", **settings: Any) -> App:
    """A server with these rules (the text of a rules file) and settings."""
    return App(Site(local(rules, **settings).live))


def make_scope_of(path: str, headers: Mapping[str, str], method: str) -> dict[str, Any]:
    raw, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw),
        "raw_path": raw.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 12345),
        "server": ("127.0.0.1", 8000),
    }
