"""What a request costs: server CPU beside a bare uvicorn app that answers fixed bytes, or beside OpenAI's chat.

Every body is new unless a row says `equal`. The servers take turns, and the least of each row counts.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from math import inf
from pathlib import Path

from load import WARM_UP, free_port, measure, post, server

HERE = Path(__file__).parent
COUNT = 3_000
TURNS = 4
NO_MEMO = "--no-memo"
SYSTEM = "You are a helpful assistant."
Request = Callable[[str, bool], bytes]  # of a text, streamed or not


def chat(text: str, stream: bool = False, *, path: str = "/v1/chat/completions", **more: object) -> bytes:
    """A chat request for the model `gpt-4o`."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    return post(path, json.dumps({"model": "gpt-4o", "messages": messages, **_streamed(stream), **more}).encode())


def completion(text: str, stream: bool = False) -> bytes:
    return post("/v1/completions", json.dumps({"model": "gpt-4o", "prompt": text, **_streamed(stream)}).encode())


def response(text: str, stream: bool = False) -> bytes:
    body = {"model": "gpt-4o", "instructions": SYSTEM, "input": text, **_streamed(stream)}
    return post("/v1/responses", json.dumps(body).encode())


def embedding(text: str, stream: bool = False) -> bytes:
    return post(
        "/v1/embeddings",
        json.dumps({"model": "text-embedding-3-small", "input": text, "encoding_format": "base64"}).encode(),
    )


def message(text: str, stream: bool = False) -> bytes:
    """A request to Anthropic's dialect."""
    messages = [{"role": "user", "content": text}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 500, "system": SYSTEM, "messages": messages}
    return post(
        "/v1/messages", json.dumps({**body, **_streamed(stream)}).encode(), **{"anthropic-version": "2023-06-01"}
    )


def content(text: str, stream: bool = False) -> bytes:
    """A request to Gemini's dialect."""
    parts, method = [{"text": text}], "streamGenerateContent?alt=sse" if stream else "generateContent"
    body = {"contents": [{"role": "user", "parts": parts}], "systemInstruction": {"parts": [{"text": SYSTEM}]}}
    return post(
        f"/gemini/v1beta/models/gemini-2.5-flash:{method}", json.dumps(body).encode(), **{"x-goog-api-key": "k"}
    )


def _streamed(stream: bool) -> Mapping[str, bool]:
    return {"stream": True} if stream else {}


def _chat_at(path: str) -> Request:
    return lambda text, stream: chat(text, stream, path=path)


DIALECTS: Mapping[str, Request] = {
    "azure_openai": _chat_at("/azure-openai/openai/v1/chat/completions"),
    "azure": _chat_at("/azure/models/chat/completions?api-version=2024-05-01-preview"),
    "fireworks": _chat_at("/fireworks/inference/v1/chat/completions"),
    "skytells": _chat_at("/skytells/v1/chat/completions"),
    "crazyrouter": _chat_at("/crazyrouter/v1/chat/completions"),
    "tzafon": _chat_at("/tzafon/v1/chat/completions"),
    "anthropic": message,
    "gemini": content,
}
OPERATIONS: Mapping[str, Request] = {"completions": completion, "responses": response}


def _rows() -> Iterator[tuple[str, str, Request, str, bool]]:
    """Each row: its name, the row it is compared with, its request, what is said, and whether it is streamed."""
    yield "chat, equal bodies", "bare", chat, "hello", False
    yield "chat", "bare", chat, "hello {}", False
    yield "chat without a rule", "bare", chat, "on the topic of {}", False
    yield "embeddings", "bare", embedding, "hello {}", False
    yield "stream of 50 pieces", "bare", chat, "fifty {}", True
    for name, request in (*OPERATIONS.items(), *DIALECTS.items()):
        yield name, "chat", request, "hello {}", False
        yield f"{name}, stream of 50 pieces", "stream of 50 pieces", request, "fifty {}", True


def costs() -> Mapping[str, float]:
    """The cost of each row, divided by that of the row it is compared with."""
    rows = tuple(_rows())
    with ExitStack() as running:
        ports = {"bare": free_port(), "mock": free_port()}
        commands = {
            "bare": (str(HERE / "servers.py"), "bare", str(ports["bare"])),
            "mock": serving(rules(10), ports["mock"]),
        }
        pids = {name: running.enter_context(server(*commands[name], port=ports[name])) for name in ports}
        least = dict.fromkeys(("bare", *(row[0] for row in rows)), inf)
        for turn in range(TURNS):
            asked = [("bare", "bare", [chat("hello")])]
            for name, _, request, text, stream in rows:
                new = COUNT + WARM_UP
                numbers = range(turn * new, (turn + 1) * new) if "{}" in text else (0,)
                asked.append((name, "mock", [request(text.format(number), stream) for number in numbers]))
            for name, which, requests in asked:
                least[name] = min(least[name], measure(pids[which], ports[which], requests, count=COUNT).cpu)
    return {f"{name} / {than}": least[name] / least[than] for name, than, *_ in rows}


def serving(file: Path, port: int) -> tuple[str, ...]:
    """The command that serves these rules; with `--no-memo` no answer is remembered."""
    if NO_MEMO in sys.argv:
        return str(HERE / "servers.py"), "forgetful", str(port), str(file)
    return "-m", "mockserver", "serve", str(file), "--port", str(port), "--no-reload"


def rules(count: int) -> Path:
    """A file of this many rules, of which the last but one answers `hello`."""
    shapes = ('"*topic {}-*"', "{{contains: 'subject {} of'}}", '"question {}"')
    listed = [_rule(f"rule {n}", shapes[n % 3].format(n), f"answer {n}") for n in range(count - 2)]
    listed.append(_rule("hello", '"*hello*"', "Hello! How can I help you today?"))
    listed.append(_rule("stream", '"*fifty*"', "fifty" + " words" * 49))
    path = Path(tempfile.mkdtemp()) / f"{count}.yaml"
    path.write_text("version: 1\nrules:\n" + "".join(listed))
    return path


def _rule(name: str, condition: str, text: str) -> str:
    return f"  - name: {name}\n    when: {{last_user: {condition}}}\n    then: {{text: {text!r}}}\n"
