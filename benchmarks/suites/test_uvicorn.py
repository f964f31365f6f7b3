"""The same with a server that a test suite could have written for itself: uvicorn in a thread, one answer, no more."""

import socket
import threading
import time
from functools import cache

import pytest
import uvicorn
from answer import HEADERS, completion, greeted
from openai import OpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


class Stand:
    def __init__(self) -> None:
        self.answer, self.asked = "", []
        self.app = Starlette(routes=[Route("/v1/chat/completions", self.chat, methods=["POST"])])

    async def chat(self, request: Request) -> JSONResponse:
        self.asked.append(await request.json())
        return JSONResponse(completion(self.answer), headers=HEADERS)


@pytest.fixture(scope="session")
def running():
    stand, listener = Stand(), socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(stand.app, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield stand, f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    server.should_exit = True
    thread.join()


@pytest.fixture
def stand(running, monkeypatch):
    stand, url = running
    stand.asked.clear()
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return stand


def client() -> OpenAI:
    return OpenAI(max_retries=0)


shared = cache(client)


def test_greets(stand, turn, own):
    stand.answer = f"Hi {turn}!"
    assert greeted(client() if own else shared(), turn) == f"Hi {turn}!"
