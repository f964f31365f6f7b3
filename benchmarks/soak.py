"""Ten thousand streams at once: `python benchmarks/soak.py [STREAMS]`.

None may be lost, none corrupt, none out of order; afterwards the server must have as few files open as before, and
hold no more memory after the second round than after the first.
"""

import json
import selectors
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from load import free_port, post, server
from open_streams import Watch
from streams import SPARE, allow, rules, unchunked

STREAMS = 10_000
FIRST, EACH = 40.0, 0.4  # the first token comes once all streams are there: they are idle until then
PATIENCE = 300  # seconds for all of it
TEXT = "one two three four five six seven eight nine ten eleven twelve"


@dataclass(eq=False)
class Reader:
    """One stream: its bytes until it has ended."""

    sock: socket.socket
    number: int
    got: bytearray

    @property
    def ended(self) -> bool:
        """Whether all of it is there."""
        return self.got.endswith(b"0\r\n\r\n")


def soak(request: Callable[..., bytes], streams: int = STREAMS) -> Mapping[str, float]:
    """Two rounds of streams: what was lost, corrupt and out of order, and what the server holds before and after."""
    allow(streams + SPARE)
    port, file = free_port(), rules(FIRST, EACH, TEXT)
    with server("-m", "mockserver", "serve", str(file), "--port", str(port), "--no-reload", port=port) as pid:
        now = Watch(pid)
        _round(port, now, request, 10)
        time.sleep(0.5)
        files, memory = now.open_files(), now.held()
        first = _round(port, now, request, streams)
        after = now.settled(files)
        second = _round(port, now, request, streams)
        at_last = now.settled(files)
        found = {name: first[name] + second[name] for name in ("lost", "corrupt", "reordered")}
        return {
            **found,
            "idle: CPU seconds a second": first["idle"],
            "idle: KB of memory a stream": (first["held"] - memory) / streams,
            "files left open": now.open_files() - files,
            "MB more after the second round": (at_last - after) / 1024,
        }


def _round(port: int, now: Watch, request: Callable[..., bytes], streams: int) -> dict[str, float]:
    selector, readers = selectors.DefaultSelector(), list[Reader]()
    for number in range(streams):
        reader = Reader(socket.create_connection(("127.0.0.1", port)), number, bytearray())
        reader.sock.sendall(request(f"stream {number}", stream=True))
        selector.register(reader.sock, selectors.EVENT_READ, reader)
        readers.append(reader)
    idle, held = _idle(now, readers)
    _read(selector)
    kinds = [_judge(reader) for reader in readers]
    for reader in readers:
        reader.sock.close()
    return {"idle": idle, "held": held, **{kind: kinds.count(kind) for kind in ("lost", "corrupt", "reordered")}}


def _idle(now: Watch, readers: list[Reader]) -> tuple[float, float]:
    """The CPU that waiting takes, in seconds a second, and the memory that it holds, in KB."""
    for reader in readers:
        reader.got += reader.sock.recv(1 << 16)  # the head: all are being answered now
    before = now.cpu()
    time.sleep(3)
    return (now.cpu() - before) / 3, now.held()


def _read(selector: selectors.BaseSelector) -> None:
    deadline = time.monotonic() + PATIENCE
    while selector.get_map() and time.monotonic() < deadline:
        for key, _ in selector.select(1):
            data = key.data.sock.recv(1 << 16)
            key.data.got += data
            if not data or key.data.ended:
                selector.unregister(key.fileobj)


def _judge(reader: Reader) -> str:
    """`good`, `lost` (it does not end), `corrupt` (a frame is no JSON or not its own) or `reordered`."""
    if not reader.ended:
        return "lost"
    try:
        head, _, body = bytes(reader.got).partition(b"\r\n\r\n")
        frames = unchunked(body).split(b"\n\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert frames[-2:] == [b"data: [DONE]", b""]
        chunks = [json.loads(frame.removeprefix(b"data: ")) for frame in frames[:-2]]
        assert len({chunk["id"] for chunk in chunks}) == 1
        text = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
    except (AssertionError, ValueError, LookupError):
        return "corrupt"
    if "".join(text) == TEXT:
        return "good"
    return "reordered" if sorted("".join(text)) == sorted(TEXT) else "corrupt"


def _chat(text: str, **more: object) -> bytes:
    messages = [{"role": "user", "content": text}]
    return post("/v1/chat/completions", json.dumps({"model": "gpt-4o", "messages": messages, **more}).encode())


if __name__ == "__main__":
    for what, value in soak(_chat, int(sys.argv[1]) if sys.argv[1:] else STREAMS).items():
        print(f"{what:<40} {value:8.2f}")
