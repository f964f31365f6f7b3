"""A client that asks for responses over a WebSocket, frame by frame."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from websockets.sync.client import ClientConnection, connect

LAST = ("response.completed", "response.failed", "response.incomplete", "error")


def create(text: str, **more: Any) -> dict[str, Any]:
    """The event that asks a text; nothing is stored unless it says so."""
    return {"type": "response.create", "model": "gpt-4o", "input": text, "store": False, **more}


@dataclass(frozen=True)
class Socket:
    connection: ClientConnection

    def send(self, *events: Any) -> "Socket":
        """Send events, or texts and bytes as they are."""
        for event in events:
            self.connection.send(event if isinstance(event, str | bytes) else json.dumps(event))
        return self

    def receive(self) -> Any:
        """The next frame, parsed."""
        return json.loads(self.connection.recv(timeout=10))

    def answer(self) -> list[Any]:
        """The next frames, up to the last one of an answer."""
        frames = [self.receive()]
        while frames[-1]["type"] not in LAST:
            frames.append(self.receive())
        return frames

    def ask(self, text: str, **more: Any) -> list[Any]:
        return self.send(create(text, **more)).answer()


@contextmanager
def socket(url: str, path: str = "/v1/responses", key: str = "sk-test", **options: Any) -> Iterator[Socket]:
    """A connection to a server at `http://…`."""
    headers = {"Authorization": f"Bearer {key}", **options.pop("headers", {})}
    with connect(f"ws{url.removeprefix('http')}{path}", additional_headers=headers, **options) as connection:
        yield Socket(connection)


def text_of(frames: list[Any]) -> str:
    """The text that an answer's deltas add up to."""
    return "".join(frame["delta"] for frame in frames if frame["type"] == "response.output_text.delta")
