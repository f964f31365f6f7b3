"""The servers that mockserver is measured against: `python servers.py NAME PORT`.

`bare` is uvicorn with an application that does nothing but read the body and send a chat's bytes; `protocol` is the
same behind mockserver's own protocol. `split` is mockserver itself, but every frame of a stream leaves in a send of its
own. `stamps` streams frames that tell when they left.
`wheel` writes the pieces of the file PIECES at their times, by one timer for all streams, whatever it is asked; `join`
parses a chat and joins its texts before it sends the bytes of `bare`.
"""

import asyncio
import json
import math
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

Send = Callable[[Any], Awaitable[None]]
BODY = (
    b'{"id":"chatcmpl-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9Jj","object":"chat.completion","created":1700000000,"model":"gpt-4o",'
    b'"choices":[{"index":0,"message":{"role":"assistant","content":"Hello! How can I help you today?","refusal":null,'
    b'"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,'
    b'"total_tokens":18},"service_tier":"default","system_fingerprint":"fp_0123456789"}'
)
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())],
}


async def bare(scope: Any, receive: Any, send: Send) -> None:
    """Read the request, send the bytes."""
    while (await receive()).get("more_body"):
        pass
    await send(START)
    await send({"type": "http.response.body", "body": BODY})


def split() -> Any:
    """mockserver with one send for each frame."""
    from mockserver.server.app import Site
    from mockserver.server.compose import start
    from mockserver.server.sources import Sources

    app = Site(start(Sources((Path(os.environ["RULES"]),))))

    async def each(scope: Any, receive: Any, send: Send) -> None:
        async def one_by_one(message: Any) -> None:
            frames = message.get("body", b"").split(b"\n\n")
            if len(frames) < 3:
                await send(message)
                return
            for frame in frames[:-1]:
                await send({**message, "body": frame + b"\n\n", "more_body": True})
            await send({**message, "body": b""})

        await app(scope, receive, one_by_one)

    return each


async def stamps(scope: Any, receive: Any, send: Send) -> None:
    """Stream 200 frames, a millisecond apart."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for number in range(200):
        await asyncio.sleep(0.001)
        frame = b'data: {"number":%d,"at":%.7f}\n\n' % (number, time.monotonic())
        await send({"type": "http.response.body", "body": frame, "more_body": True})
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def join(scope: Any, receive: Any, send: Send) -> None:
    """Parse the JSON of the request, join the texts of its messages, send the bytes."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    "\n".join([message["content"] for message in json.loads(body)["messages"]])
    await send(START)
    await send({"type": "http.response.body", "body": BODY})


class Wheel:
    """One timer for the pieces of all streams; FIRST and EACH are the milliseconds between them."""

    def __init__(self, pieces: list[bytes], first: int, each: int) -> None:
        self.pieces, self.first, self.each = pieces, first, each
        self.due: dict[int, list[Stream]] = {}
        self.turns = False

    def add(self, stream: "Stream") -> None:
        """Write the next piece of a stream when it is due."""
        self.due.setdefault(math.ceil(stream.at), []).append(stream)
        if not self.turns:
            self.turns = True
            self.turn()

    def turn(self) -> None:
        """Write what is due."""
        now, late = time.monotonic() * 1000, sorted(self.due)
        for tick in late:
            if tick > now:
                break
            for stream in self.due.pop(tick):
                stream.go_on(now)
        self.turns = bool(self.due)
        if self.turns:
            asyncio.get_running_loop().call_later(0.001, self.turn)


class Stream(asyncio.Protocol):
    """A connection on which each request gets the pieces of the wheel."""

    def __init__(self, wheel: Wheel) -> None:
        self.wheel = wheel

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self.write = transport.write

    def data_received(self, data: bytes) -> None:
        """Send the head; the first piece is due after a while."""
        self.write(self.wheel.pieces[0])
        self.number, self.at = 1, time.monotonic() * 1000 + self.wheel.first
        self.wheel.add(self)

    def go_on(self, now: float) -> None:
        """Write all that is due by now."""
        pieces, begin = self.wheel.pieces, self.number
        while self.at <= now and self.number < len(pieces):
            self.number += 1
            self.at += self.wheel.each
        self.write(pieces[begin] if self.number == begin + 1 else b"".join(pieces[begin : self.number]))
        if self.number < len(pieces):
            self.wheel.add(self)


async def wheel(port: int) -> None:
    """Serve streams by a wheel."""
    pieces = [piece.encode("latin-1") for piece in json.loads(Path(os.environ["PIECES"]).read_text())]
    turning = Wheel(pieces, int(os.environ["FIRST"]), int(os.environ["EACH"]))
    server = await asyncio.get_running_loop().create_server(lambda: Stream(turning), "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


def protocol(name: str) -> Any:
    """What speaks HTTP for a server."""
    if name != "protocol":
        return "httptools"
    from mockserver.core.http import Reply
    from mockserver.server.http.protocol import ProtocolFactory

    return ProtocolFactory(lambda failure, method, path: Reply(400, ()))


if __name__ == "__main__":
    if sys.argv[1] == "wheel":
        uvloop.run(wheel(int(sys.argv[2])))
        sys.exit()
    plain = {"bare": bare, "protocol": bare, "stamps": stamps, "join": join}
    app = split() if sys.argv[1] == "split" else plain[sys.argv[1]]
    uvicorn.run(
        app,
        port=int(sys.argv[2]),
        http=protocol(sys.argv[1]),
        loop="uvloop",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
    )
