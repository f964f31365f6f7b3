"""What a relay adds to a stream: each frame says when it left the upstream, and is read past the relay and through it.

`CLOCK_MONOTONIC` is one clock for all processes of a machine.
"""

import json
import re
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from load import cpu_seconds, free_port, post, server

HERE = Path(__file__).parent
STREAMS, FRAMES = 20, 200
_STAMP = re.compile(rb'"at":([\d.]+)\}')
_MODES = {
    "relayed": ("rules: [{then: {forward: true}}]", ()),
    "recorded": ("version: 1", ("--record", "all", "--cassette", "tape")),
}
_BODY = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "go"}]}


def relaying() -> Mapping[str, float]:
    """A stream of 200 frames, a millisecond apart, straight from its upstream, relayed, and relayed and recorded."""
    upstream, found = free_port(), dict[str, float]()
    with TemporaryDirectory() as folder, server(str(HERE / "servers.py"), "stamps", str(upstream), port=upstream):
        direct = _lateness(upstream)
        for name, (rules, flags) in _MODES.items():
            port, path = free_port(), Path(folder) / f"{name}.yaml"
            path.write_text(rules)
            flags = (*flags, "--upstream", f"openai=http://127.0.0.1:{upstream}/v1", "--cassettes", folder)
            command = ("-m", "mockserver", "serve", str(path), "--port", str(port), "--no-reload", *flags)
            with server(*command, port=port) as pid:
                _lateness(port, streams=2)  # warm up
                began = cpu_seconds(pid)
                late = _lateness(port)
                spent = (cpu_seconds(pid) - began) / (STREAMS * FRAMES)
            found[f"{name}: microseconds that a frame comes later, median"] = 1e6 * (_middle(late) - _middle(direct))
            found[f"{name}: microseconds of CPU for a frame"] = 1e6 * spent
    return found


def _lateness(port: int, streams: int = STREAMS) -> list[float]:
    """By how many seconds each frame came after it was sent."""
    late = list[float]()
    request = post("/v1/chat/completions", json.dumps(_BODY).encode())
    for _ in range(streams):
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(request)
            held = b""
            while not held.endswith(b"0\r\n\r\n"):
                piece = sock.recv(1 << 16)
                now = time.monotonic()
                if not piece:
                    raise RuntimeError(f"the stream broke off: {held!r}")
                held += piece
                stamps = list(_STAMP.finditer(held))
                late += [now - float(stamp[1]) for stamp in stamps]
                held = held[stamps[-1].end() :] if stamps else held
    if len(late) != streams * FRAMES:
        raise RuntimeError(f"{len(late)} frames came, not {streams * FRAMES}")
    return late


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
