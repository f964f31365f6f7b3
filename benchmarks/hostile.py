"""What hostile input costs a server: CPU and memory of one request, growth with its size, and how late `health` is.

Each request goes to a server of its own, which is killed if it takes longer than PATIENCE.
"""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from load import cpu_seconds, free_port, post, server

PATIENCE = 20  # seconds
ASKED = "What is the weather in Oslo on Monday? "
Make = Callable[[int], bytes]


@dataclass(frozen=True)
class Bound:
    """What one request cost: seconds of CPU, megabytes at most, seconds that `health` waited at most."""

    cpu: float
    memory: float
    late: float


def _chat(**more: Any) -> bytes:
    text = more.pop("text", "Go on")
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}
    return post("/v1/chat/completions", json.dumps(body).encode())


def _schema(schema: Mapping[str, Any], *, strict: bool = False) -> bytes:
    form = {"type": "json_schema", "json_schema": {"name": "x", "strict": strict, "schema": schema}}
    return _chat(response_format=form)


def _doubled(keyword: str) -> Make:
    def make(n: int) -> bytes:
        links = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(n)}
        return _schema({"$ref": "#/$defs/d0", "$defs": {**links, f"d{n}": {"type": "string"}}})

    return make


def _unevaluated(n: int) -> bytes:
    links = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2, "unevaluatedItems": False} for i in range(n)}
    return _schema({"$ref": "#/$defs/d0", "$defs": {**links, f"d{n}": {"type": "array"}}})


def _patterns(n: int) -> bytes:
    return _schema({"type": "object", "properties": {f"p{i}": {"pattern": rf"(?=a)\w{{200}}{i}"} for i in range(n)}})


def _nested(n: int) -> bytes:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(n):
        schema = {"type": "object", "properties": {"a": schema, "b": schema}, "required": ["a", "b"]}
    return _schema({"$ref": "#/$defs/x", "$defs": {"x": schema}}) if n < 12 else _schema(schema)


def _required(n: int) -> bytes:
    names = [f"property_{i}" for i in range(n)]
    return _schema({"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names})


def _tools(n: int) -> bytes:
    return _chat(text=ASKED * 200, tools=[_tool(f"tool_{i}") for i in range(n)])


def _grammar(n: int) -> bytes:
    parts = " ".join(f'"p{i}"?' for i in range(n))
    form = {"type": "grammar", "grammar": {"syntax": "lark", "definition": f"start: {parts}"}}
    tool = {"type": "custom", "custom": {"name": "x", "format": form}}
    return _chat(tools=[tool], tool_choice={"type": "custom", "custom": {"name": "x"}})


def _completions(prompts: Sequence[str]) -> bytes:
    return post("/v1/completions", json.dumps({"model": "gpt-4o", "prompt": prompts}).encode())


def _inputs(n: int) -> bytes:
    return post("/v1/embeddings", json.dumps({"model": "text-embedding-3-large", "input": ["a"] * n}).encode())


def _choices(n: int) -> bytes:
    return _chat(text="Write a story of 3000 words", n=n, logprobs=True, top_logprobs=20)


def _values(n: int) -> bytes:
    return _chat(metadata={}, unknown=[[]] * n)


def _yaml(text: bytes) -> bytes:
    return post("/__mockserver__/api/rules", text).replace(b"application/json\r\na", b"application/yaml\r\na")


def _tool(name: str, about: str = "", *properties: str) -> dict[str, Any]:
    shape = {"type": "object", "properties": {each: {"type": "string"} for each in properties or ("city", "date")}}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": shape}}


def _named_tools(n: int) -> bytes:
    orders = {"role": "system", "content": "You must call tool_1. Use tool_7 when asked. " * 400}
    said = {"role": "user", "content": "Do it please"}
    return _chat(messages=[orders, said], tools=[_tool(f"tool_{i}") for i in range(n)])


def _described_tools(n: int) -> bytes:
    tools = [_tool(f"t{i}", "Get the weather in a city") for i in range(n)]
    return _chat(text=ASKED * 100, tools=tools, tool_choice="required")


def _properties(n: int) -> bytes:
    names = [f"property_{i}" for i in range(n)]
    return _chat(text=ASKED * 50, tools=[_tool("get_weather", "Get the weather", *names)])


def _said(n: int) -> bytes:
    return _chat(messages=[{"role": "user", "content": "hi"}] * n)


def _results(n: int) -> bytes:
    asked = [{"id": f"c{i}", "type": "function", "function": {"name": "t", "arguments": "{}"}} for i in range(n)]
    results = [{"role": "tool", "tool_call_id": f"c{i}", "content": "x"} for i in range(n)]
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": asked}]
    return _chat(messages=[*said, *results], tools=[_tool("t")])


def _parts(n: int) -> bytes:
    return _chat(messages=[{"role": "user", "content": [{"type": "text", "text": "hi"}] * n}])


def _number(n: int) -> bytes:
    said = b'{"model":"gpt-4o","messages":[{"role":"user","content":"x"}],"max_tokens":' + b"9" * n + b"}"
    return post("/v1/chat/completions", said)


def _deep(n: int) -> bytes:
    said = b'{"model":"gpt-4o","messages":[{"role":"user","content":' + b"[" * n + b"]" * n + b"}]}"
    return post("/v1/chat/completions", said)


def _headers(n: int) -> bytes:
    return _chat().replace(b"\r\nhost", b"\r\nx: y" * n + b"\r\nhost", 1)


def _query(n: int) -> bytes:
    return _chat().replace(b"completions ", b"completions?" + b"a=1&" * n + b" ", 1)


# A request of each kind by its size, and the largest size that is tried; half and a quarter of it are tried first.
KINDS: Mapping[str, tuple[Make, int]] = {
    "definitions that double by anyOf": (_doubled("anyOf"), 32),
    "definitions that double by oneOf": (_doubled("oneOf"), 32),
    "definitions that double by allOf": (_doubled("allOf"), 32),
    "unevaluated items that double": (_unevaluated, 32),
    "patterns of a schema": (_patterns, 400),
    "properties that double": (_nested, 10),
    "required properties": (_required, 20_000),
    "tools with a long prompt": (_tools, 5_000),
    "optional parts of a grammar": (_grammar, 3_000),
    "prompts": (lambda n: _completions(["Say hi"] * n), 2_000),
    "inputs of embeddings": (_inputs, 2_048),
    "choices with log probabilities": (_choices, 32),
    "values of an unknown field": (_values, 2_000_000),
    "letters of a prompt": (lambda n: _chat(text="a b " * (n // 4)), 4_000_000),
    "tools that a system prompt names": (_named_tools, 5_000),
    "tools whose descriptions fit": (_described_tools, 2_000),
    "properties of a tool": (_properties, 5_000),
    "different prompts": (lambda n: _completions([f"Tell me about {i}" for i in range(n)]), 2_000),
    "lines of YAML to the control API": (lambda n: _yaml(b"- a\n" * n), 250_000),
    "tables of YAML to the control API": (lambda n: _yaml(b"rules:\n" + b"- {a: {b: {c: 1}}}\n" * n), 50_000),
    "messages": (_said, 100_000),
    "parts of a message": (_parts, 100_000),
    "results of tools": (_results, 10_000),
    "stop sequences": (lambda n: _chat(stop=["x"] * n), 100_000),
    "keys of logit_bias": (lambda n: _chat(logit_bias={str(i): 1 for i in range(n)}), 100_000),
    "keys of metadata": (lambda n: _chat(metadata={str(i): "x" for i in range(n)}), 100_000),
    "unknown keys": (lambda n: _chat(**{f"k{i}": 1 for i in range(n)}), 100_000),
    "choices": (lambda n: _chat(n=n), 128),
    "digits of a number": (_number, 1_000_000),
    "levels of content": (_deep, 100_000),
    "headers": (_headers, 2_000),
    "query parameters": (_query, 8_000),
    "combining accents": (lambda n: _chat(text="a" + "\u0301" * n), 200_000),
    "opening quotes": (lambda n: _chat(text="“" * n), 200_000),
    "letters of a word": (lambda n: _chat(text="a" * n), 400_000),
}


def _asked(port: int, request: bytes, done: Event) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
        try:
            sock.sendall(request.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1))
            while sock.recv(1 << 20):
                pass
        except OSError:
            pass
    done.set()


def _health(port: int) -> float:
    """How long `health` takes to answer; PATIENCE if it does not."""
    began = time.perf_counter()
    request = b"GET /__mockserver__/api/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
            sock.sendall(request)
            while sock.recv(4096):
                pass
    except OSError:
        return PATIENCE
    return time.perf_counter() - began


def cost(request: bytes) -> Bound:
    """What this one request costs a fresh server."""
    port = free_port()
    command = ("-m", "mockserver", "serve", "--port", str(port), "--no-reload")
    with server(*command, port=port) as pid:
        _health(port)
        before, late, done, until = cpu_seconds(pid), 0.0, Event(), time.monotonic() + PATIENCE
        Thread(target=_asked, args=(port, request, done), daemon=True).start()
        while not done.wait(0.02) and time.monotonic() < until:
            late = max(late, _health(port))
        peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
        bound = Bound(cpu_seconds(pid) - before, int(peak.split()[1]) / 1000, late)
        if not done.is_set():
            os.kill(pid, signal.SIGKILL)
        return bound


def hostile() -> Mapping[str, float]:
    """CPU seconds of the largest request of each kind."""
    found = {}
    for name, (make, most) in KINDS.items():
        bounds = [cost(make(size)) for size in (most // 4, most // 2, most)]
        last = bounds[-1]
        cells = " ".join(f"{bound.cpu:6.2f}" for bound in bounds)
        print(
            f"{name:34} {most:9}  CPU {cells} s  {last.memory:5.0f} MB  health {last.late * 1000:5.0f} ms", flush=True
        )
        found[name] = last.cpu
    return found


if __name__ == "__main__":
    hostile()
