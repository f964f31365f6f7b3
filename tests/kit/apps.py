"""Apps of several kinds, each with clients of its own that know the environment only, and what each does when asked."""

import json
import os
import threading
from collections.abc import Iterator
from typing import Any

import httpx
from openai import AsyncOpenAI, OpenAI

HELLO: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
SAID = "Hello to you, friend!"
KEPT: list[tuple[httpx.Client, Iterator[str]]] = []  # by the app that leaves streams open


def official(stream: bool = True, **options: Any) -> str:
    """OpenAI's client, which tries again by itself."""
    with OpenAI(**options) as client:
        if not stream:
            return client.chat.completions.create(**HELLO).choices[0].message.content
        chunks = client.chat.completions.create(stream=True, **HELLO)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


async def awaited(**options: Any) -> str:
    """The same that is awaited."""
    async with AsyncOpenAI(**options) as client:
        chunks = await client.chat.completions.create(stream=True, **HELLO)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks])


def naive() -> str:
    """Takes what comes, and its end for the end of the answer."""
    with httpx.stream("POST", _url(), json={**HELLO, "stream": True}, timeout=0.5) as answer:
        return "".join(_read(answer))


def leaving() -> str:
    """Has enough soon, and leaves without closing the stream."""
    client = httpx.Client()
    answer = client.send(client.build_request("POST", _url(), json={**HELLO, "stream": True}), stream=True)
    pieces = _read(answer)
    KEPT.append((client, pieces))
    return next(pieces) + next(pieces)


def impatient() -> str:
    """Comes again at once, whatever it is told."""
    while (answer := httpx.post(_url(), json=HELLO)).status_code == 429:
        pass
    return str(answer.json()["choices"][0]["message"]["content"])


def deaf() -> None:
    """Wait for something that never comes, and is not an answer."""
    httpx.post(_url(), json=HELLO)
    threading.Event().wait()


def _url() -> str:
    return os.environ["OPENAI_BASE_URL"] + "/chat/completions"


def _read(answer: httpx.Response) -> Iterator[str]:
    answer.raise_for_status()
    for line in answer.iter_lines():
        if line.startswith("data: {"):
            yield json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
