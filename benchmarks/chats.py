"""Requests to each API, as bytes for a socket; more fields of a body are given by name."""

import json

from load import post

SYSTEM = "You are a helpful assistant."


def chat(text: str, *, path: str = "/v1/chat/completions", origin: str = "", **more: object) -> bytes:
    """Ask for a chat of the model `gpt-4o`, of a web page if there is an origin."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    body = {"model": "gpt-4o", "messages": messages, **more}
    return post(path, json.dumps(body).encode(), **({"origin": origin} if origin else {}))


def completion(text: str, *, path: str = "/v1/completions", **more: object) -> bytes:
    """Ask for the completion of a text."""
    return post(path, json.dumps({"model": "gpt-4o", "prompt": text, **more}).encode())


def response(text: str, **more: object) -> bytes:
    """Ask OpenAI's Responses API."""
    body = {"model": "gpt-4o", "instructions": SYSTEM, "input": text, **more}
    return post("/v1/responses", json.dumps(body).encode())


def embedding(text: str) -> bytes:
    """Ask for an embedding of 1,536 dimensions, in base64 as OpenAI's client does."""
    body = {"model": "text-embedding-3-small", "input": text, "encoding_format": "base64"}
    return post("/v1/embeddings", json.dumps(body).encode())


def message(text: str, **more: object) -> bytes:
    """Ask Anthropic's API."""
    messages = [{"role": "user", "content": text}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 500, "system": SYSTEM, "messages": messages, **more}
    return post("/v1/messages", json.dumps(body).encode(), **{"anthropic-version": "2023-06-01"})


def content(text: str, *, stream: bool = False) -> bytes:
    """Ask Gemini's API."""
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    parts = [{"text": text}]
    body = {"contents": [{"role": "user", "parts": parts}], "systemInstruction": {"parts": [{"text": SYSTEM}]}}
    path = f"/gemini/v1beta/models/gemini-2.5-flash:{method}"
    return post(path, json.dumps(body).encode(), **{"x-goog-api-key": "sk-test"})
