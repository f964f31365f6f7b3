"""A client of Realtime sessions, event by event."""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mockserver.media.samples import FORMATS
from mockserver.media.tone import write_tone
from tests.kit.sockets import Socket, socket

SILENCE = bytes(48_000)  # a second
MANUAL: Any = {"audio": {"input": {"turn_detection": None}}}


def user(text: str, **more: Any) -> dict[str, Any]:
    """The event that adds what a user has written."""
    content = [{"type": "input_text", "text": text}]
    return {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}, **more}


def respond(**fields: Any) -> dict[str, Any]:
    return {"type": "response.create", **({"response": fields} if fields else {})}


def update(**session: Any) -> dict[str, Any]:
    return {"type": "session.update", "session": {"type": "realtime", **session}}


def append(audio: bytes) -> dict[str, Any]:
    return {"type": "input_audio_buffer.append", "audio": b64encode(audio).decode()}


def speech(text: str, form: str = "audio/pcm") -> bytes:
    """The sound of a text, as mockserver makes it itself."""
    return FORMATS[form].encode(write_tone(text))


class Talk(Socket):
    """One session, whose first event was read."""

    def until(self, kind: str) -> list[Any]:
        """The next events, up to one of this type."""
        events = [self.receive()]
        while events[-1]["type"] != kind:
            events.append(self.receive())
        return events

    def tell(self, *events: Any, until: str = "rate_limits.updated") -> list[Any]:
        self.send(*events)
        return self.until(until)

    def ask(self, text: str, **fields: Any) -> Any:
        """The response to a text."""
        return next(event for event in self.tell(user(text), respond(**fields)) if event["type"] == "response.done")[
            "response"
        ]

    def fail(self, *events: Any) -> Any:
        """The error that events lead to."""
        return self.tell(*events, until="error")[-1]["error"]


@contextmanager
def talk(url: str, query: str = "?model=gpt-realtime", **options: Any) -> Iterator[Talk]:
    path = options.pop("path", "/v1/realtime")
    with socket(url, f"{path}{query}", **options) as opened:
        client = Talk(opened.connection)
        assert client.receive()["type"] == "session.created"
        yield client


def types(events: list[Any]) -> list[str]:
    """The types of events, each once where several follow each other, without what they all begin with."""
    names = [event["type"] for event in events]
    return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]


def join_sound(events: list[Any]) -> bytes:
    """The sound of a response."""
    return b"".join(b64decode(event["delta"]) for event in events if event["type"] == "response.output_audio.delta")


def join_said(response: Any) -> str:
    """What the messages of a response say."""
    parts = [part for item in response["output"] for part in item.get("content", ())]
    return "".join(part.get("transcript") or part.get("text") or "" for part in parts)
