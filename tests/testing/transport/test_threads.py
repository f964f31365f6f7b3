"""Answers that are broken off while other threads ask for more."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

from mockserver.testing import MockServer

CHAT = "https://api.openai.com/v1/chat/completions"
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_hanging_up_while_others_ask() -> None:
    transport, over = MockServer(unmatched="generate").transport(), threading.Event()

    def ask() -> None:
        with httpx.Client(transport=transport) as client:
            while not over.is_set():
                with suppress(httpx.ReadError):
                    client.post(CHAT, json=BODY)

    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask) for _ in range(2)]
        try:
            for _ in range(20_000):
                transport.hang_up()
        finally:
            over.set()
    assert [each.result() for each in asking] == [None, None]
