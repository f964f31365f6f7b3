"""A server without a socket: rules as text, requests as values, replies as bytes."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mockserver.core.event_stream import is_prelude, read_message, split_messages
from mockserver.core.frames import write_event
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Plan
from mockserver.server.compose import start
from mockserver.server.live import Live
from mockserver.server.respond import Responder
from mockserver.server.sources import Sources


@dataclass(frozen=True)
class Answered:
    status: int
    headers: Mapping[str, str]
    body: bytes
    source: str
    remarks: tuple[str, ...] = ()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def frames(self) -> list[Any]:
        """The data of each frame of a stream, parsed, but for the terminator; or its lines, or messages with types."""
        if is_prelude(self.body):
            messages = filter(None, map(read_message, split_messages(self.body)))
            return [{message.name: json.loads(message.text)} for message in messages]
        if "ndjson" in self.headers["content-type"]:
            return [json.loads(line) for line in self.body.splitlines()]
        lines = [frame.partition(b"data: ")[2] for frame in self.body.split(b"\n\n") if b"data: " in frame]
        return [line.decode() if line == b"[DONE]" else json.loads(line) for line in lines]


@dataclass(frozen=True)
class Local:
    live: Live

    def ask(
        self,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
        namespace: str = "default",
    ) -> Answered:
        url = urlsplit(path)
        place = self.live.routes.find(url.path)
        assert place is not None, f"nothing stands at {path}"
        http = HttpRequest(
            method=method,
            path=url.path,
            query=dict(parse_qsl(url.query, keep_blank_values=True)),
            headers=tuple((name.lower().encode(), value.encode()) for name, value in (headers or {}).items()),
            body=body if isinstance(body, bytes) else json.dumps(body).encode(),
            path_params=place.params,
            namespace=namespace,
        )
        responder = Responder(self.live, place.endpoint)
        response = asyncio.run(responder.respond(responder.admit(http)))
        return _show_answer(response.reply, response.plan)


def local(rules: str = "", **settings: Any) -> Local:
    """A server with these rules (the text of a rules file) and settings."""
    if not rules:
        return Local(start(Sources((), settings, {})))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "rules.yaml"
        file.write_text(rules)
        return Local(start(Sources((file,), settings, {})))


def _show_answer(reply: Reply, plan: Plan) -> Answered:
    body = reply.body + b"".join(map(write_event, reply.frames or reply.pieces or ()))
    headers = {name.lower(): value for name, value in reply.headers}
    return Answered(reply.status, headers, body, plan.source, (*plan.remarks, *plan.history_remarks))
