"""The servers that mockserver is measured against: `python servers.py NAME PORT`.

`bare` is uvicorn with an application that does nothing but read the body and send a chat's bytes; `protocol` is the
same behind mockserver's own protocol. `split` is mockserver
itself, but every frame of a stream leaves in a send of its own. `stamps` streams frames that tell when they left.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

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
    from pathlib import Path

    from mockserver.server.app import build_app
    from mockserver.server.live import Sources, start

    app = build_app(start(Sources((Path(os.environ["RULES"]),))))

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


def protocol(name: str) -> Any:
    """What speaks HTTP for a server."""
    if name != "protocol":
        return "httptools"
    from mockserver.server.http.protocol import protocol_factory

    return protocol_factory()


if __name__ == "__main__":
    app = {"bare": lambda: bare, "protocol": lambda: bare, "split": split, "stamps": lambda: stamps}[sys.argv[1]]()
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
