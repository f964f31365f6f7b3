"""An ASGI application of a test's own, served in a thread."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any

import uvicorn

from mockserver.core.http import Reply
from mockserver.core.plan import REASONS, Failure
from mockserver.server.http.any_connection import Refuse
from mockserver.server.http.deadlines import Deadlines
from mockserver.server.http.protocol import ProtocolFactory
from mockserver.server.run import bind


def refuse_plainly(failure: Failure, method: str, path: str) -> Reply:
    """A refusal in no dialect."""
    body = json.dumps({"error": {"message": str(failure)}}).encode()
    return Reply(failure.status or REASONS[failure.reason], (("content-length", str(len(body))),), body)


@contextmanager
def serve_app(app: Any, *, refuse: Refuse | None = None, deadlines: Deadlines | None = None) -> Iterator[int]:
    http: Any = ProtocolFactory(refuse or refuse_plainly, deadlines or Deadlines())
    config = uvicorn.Config(app, http=http, ws="none", lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    server, listener = uvicorn.Server(config), bind("127.0.0.1", 0)
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
    thread.start()
    try:
        while not server.started:
            sleep(0.005)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
