"""Folders of cassettes, and episodes to put into them."""

import atexit
import json
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.config.settings import MatchSettings
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.server.recording.cassette_store import CassetteStore

CHAT = "/v1/chat/completions"
AT = 1_795_340_000.0  # 2026-11-22
HEADERS = (("content-type", "application/json"), ("x-request-id", "req_1"))
STREAM_HEADERS = (("content-type", "text/event-stream"),)


class Folder:
    def __init__(self) -> None:
        self.path = Path(mkdtemp())
        atexit.register(rmtree, self.path, ignore_errors=True)

    def file(self, name: str) -> CassetteFile:
        return CassetteFile(self.path / f"{name}.yaml")

    def store(self) -> CassetteStore:
        return CassetteStore(self.path, MatchSettings())


def folder(**held: list[Episode]) -> Folder:
    made = Folder()
    for name, episodes in held.items():
        made.file(name).rewrite(lambda _, episodes=episodes: tuple(episodes))  # type: ignore[misc]
    return made


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}


def episode(
    body: Mapping[str, Any] | None,
    reply: Recorded | str,
    *,
    path: str = CHAT,
    dialect: str = "openai",
    operation: str = "chat",
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> Episode:
    """A request and what it got; a text is a plain answer with just these bytes."""
    plain, _, query = path.partition("?")
    fields = tuple({"content-type": "application/json", **(headers or {})}.items())
    sent = Sent(method, plain, query, fields, b"" if body is None else json.dumps(body).encode())
    recorded = Recorded(200, HEADERS, reply.encode(), took=0.5) if isinstance(reply, str) else reply
    return Episode(dialect, operation, str((body or {}).get("model", "")), sent, recorded, AT)


def make_recorded_stream(*frames: str, every: float = 0.1) -> Recorded:
    beats = tuple((every * at, f"data: {frame}\n\n".encode()) for at, frame in enumerate(frames, 1))
    return Recorded(200, STREAM_HEADERS, frames=beats, took=every * len(frames))
