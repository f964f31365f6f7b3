"""Reads articles for people in a hurry, over plain HTTP."""

import json
import os
from collections.abc import Iterator
from typing import Any

import httpx


def summary(article: str) -> str:
    """An article in a sentence. Raises httpx.HTTPStatusError."""
    with connected() as client:
        answer = client.post("chat/completions", json=request(article)).raise_for_status().json()
    return str(answer["choices"][0]["message"]["content"])


def streamed(article: str) -> Iterator[str]:
    """The same while it is written. Raises httpx.HTTPStatusError."""
    with connected() as client, client.stream("POST", "chat/completions", json=request(article, stream=True)) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                yield json.loads(line[6:])["choices"][0]["delta"].get("content") or ""


def connected() -> httpx.Client:
    """A client for whoever speaks as OpenAI does."""
    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    return httpx.Client(base_url=base, headers={"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"})


def request(article: str, **more: Any) -> dict[str, Any]:
    """What is asked of the model."""
    orders = {"role": "system", "content": "Sum up in one sentence."}
    return {"model": "gpt-4o-mini", "messages": [orders, {"role": "user", "content": article}], **more}
