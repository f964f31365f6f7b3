"""One request through the whole application, over ASGI."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from mockserver.server.app import build_app
from mockserver.server.live import Live

CHAT = "/v1/chat/completions"
BODY = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}).encode()


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    body: bytes
    sends: int

    @property
    def error(self) -> Any:
        return json.loads(self.body)["error"]


def request(  # size: the parts of a request
    live: Live, path: str, body: bytes = BODY, *, method: str = "POST", headers: Any = ()
) -> Got:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": tuple(headers),
    }
    asyncio.run(build_app(live)(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Got(sent[0]["status"], headers, b"".join(message["body"] for message in sent[1:]), len(sent) - 1)
