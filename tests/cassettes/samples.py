"""Episodes for tests: a plain one and a stream."""

import json

from mockserver.cassettes.format import read_documents
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent
from mockserver.core.json import compact

ASKED = {"model": "gpt-4o", "messages": [{"role": "user", "content": "What is the weather in Oslo?"}]}
JSON_TYPE = (("content-type", "application/json"),)
AT = 1_790_000_000.123


def plain(number: int = 1, *, text: str = "Rain.", size: int = 0) -> Episode:
    """A call and an answer as a whole; `size`: so many letters more."""
    answer = {"id": f"chatcmpl-{number}", "choices": [{"message": {"role": "assistant", "content": text + "x" * size}}]}
    request = Sent("POST", "/v1/chat/completions", "", JSON_TYPE, compact(ASKED).encode())
    return Episode("openai", "chat", "gpt-4o", request, Recorded(200, JSON_TYPE, json.dumps(answer).encode()), AT)


def stream(number: int = 1, *, events: int = 3) -> Episode:
    """A call and an answer in events."""
    frames: list[RecordedEvent] = [(0.3 + at / 80, _event(number, f" wörd{at}")) for at in range(events)]
    frames.append((2.0, b"data: [DONE]\n\n"))
    request = Sent(
        "POST", "/v1/chat/completions", "a=b&c", JSON_TYPE, json.dumps({**ASKED, "stream": True, "n": number}).encode()
    )
    head = (("content-type", "text/event-stream"), ("set-cookie", "a"), ("set-cookie", "b"))
    return Episode("openai", "chat", "gpt-4o", request, Recorded(200, head, b"", tuple(frames), 2.25), AT)


def _event(number: int, text: str) -> bytes:
    chunk = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "choices": [{"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": None}],
    }
    return f"data: {compact(chunk)}\n\n".encode()


def read_episodes(data: bytes, file: str) -> tuple[Episode, ...]:
    return tuple(document.episode for document in read_documents(data, file))
