"""A server in this process and its control API: ask it as clients do, look at it as people do."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mockserver.server.app import Site
from mockserver.server.compose import start
from mockserver.server.live import Live
from mockserver.server.sources import Sources
from tests.kit.asgi import App
from tests.kit.local import Answered
from tests.kit.openapi import check_answer

API = "/__mockserver__/api/"
_HEADERS = {"host": "127.0.0.1:8000", "content-type": "application/json"}


@dataclass(frozen=True)
class ControlledServer:
    app: App
    live: Live

    def chat(self, text: str, *, namespace: str = "", **more: Any) -> Answered:
        path = f"/ns/{namespace}/v1/chat/completions" if namespace else "/v1/chat/completions"
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}
        return self.app.ask(path, body, headers=_HEADERS)

    def api(
        self, path: str, body: Any = None, *, method: str = "", headers: Mapping[str, str] | None = None
    ) -> Answered:
        """A control request: POST where it has a body. Its answer must be as the OpenAPI file says."""
        method = method or ("GET" if body is None else "POST")
        got = self.app.ask(API + path, body, headers={**_HEADERS, **(headers or {})}, method=method)
        if got.headers.get("content-type") == "application/json":
            check_answer(method, f"/api/{path}", got.status, got.json)
        return got

    def get(self, path: str) -> Any:
        got = self.api(path)
        assert got.status == 200, got.body
        return got.json

    def post(self, path: str, body: Any = b"") -> Any:
        got = self.api(path, body)
        assert got.status in (200, 201), got.body
        return got.json

    def calls(self, query: str = "") -> list[Any]:
        found: list[Any] = self.get(f"calls{query}")["calls"]
        return found


def controlled_server(folder: Path, rules: str = "", **settings: Any) -> ControlledServer:
    """A server with these rules in a file of the folder, and settings."""
    file = folder / "rules.yaml"
    file.write_text(rules or "version: 1\n")
    live = start(Sources((file,), settings, {}))
    return ControlledServer(App(Site(live)), live)


def rule(name: str, text: str, **more: Any) -> dict[str, Any]:
    """A rule that answers every chat."""
    written: dict[str, Any] = json.loads(json.dumps({"name": name, "then": {"text": text}, **more}))
    return written
