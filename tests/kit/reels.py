"""Cassettes without files, and episodes to put into them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mockserver.config.errors import CassetteError
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.server.cassette_store import Change, Opening, Reel

CHAT = "/v1/chat/completions"
AT = 1_795_340_000.0  # 2026-11-22
HEADERS = (("content-type", "application/json"), ("x-request-id", "req_1"))
STREAM_HEADERS = (("content-type", "text/event-stream"),)


@dataclass
class Tape:
    """A cassette in memory."""

    episodes: list[Episode] | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever put into it."""
        return self.episodes is not None

    @property
    def stamp(self) -> object:
        """How it stands: what it holds."""
        return None if self.episodes is None else tuple(self.episodes)

    @property
    def left(self) -> object:
        """The same: nobody else writes here."""
        return self.stamp

    def load(self) -> tuple[Episode, ...]:
        """What it holds."""
        return tuple(self.episodes or ())

    def append(self, episode: Episode) -> int:
        """Put one more behind the others."""
        self.episodes = [*(self.episodes or ()), episode]
        return len(self.episodes)

    def rewrite(self, change: Change) -> tuple[Episode, ...]:
        """Put others in place of its own."""
        self.episodes = list(change(self.load()))
        return self.load()


@dataclass
class Folder:
    """A folder of them, as sources take it."""

    held: dict[str, Tape] = field(default_factory=dict)

    def __call__(self, folder: str) -> Opening:
        return self.open

    @property
    def open(self) -> Opening:
        """What opens them."""
        return Opened(self.held)


@dataclass
class Opened:
    """Opens them."""

    held: dict[str, Tape]

    def __call__(self, name: str) -> Reel:
        if ".." in name:
            raise CassetteError(f'"{name}" is no name of a cassette')
        return self.held.setdefault(name, Tape())

    def absent(self, name: str) -> str:
        """What to say of one that is not there."""
        return f'there is no cassette "{name}"'


def folder(**held: list[Episode]) -> Folder:
    """A folder with these cassettes."""
    return Folder({name: Tape(episodes) for name, episodes in held.items()})


def chat(text: str, **more: Any) -> dict[str, Any]:
    """A chat request of one user message."""
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}


def episode(  # size: the parts of an episode
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


def streamed(*frames: str, every: float = 0.1) -> Recorded:
    """A stream of these events, one after another."""
    beats = tuple((every * at, f"data: {frame}\n\n".encode()) for at, frame in enumerate(frames, 1))
    return Recorded(200, STREAM_HEADERS, frames=beats, took=every * len(frames))
