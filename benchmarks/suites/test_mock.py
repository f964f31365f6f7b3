"""The same with httpx's own mock transport and a handler, as suites write one for themselves."""

from functools import cache

import httpx
from answer import HEADERS, completion, greeted
from openai import OpenAI


class Stand:
    """Answers with the text that was set last."""

    def __init__(self) -> None:
        self.answer = ""

    def handle(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=completion(self.answer), headers=HEADERS)


stand = Stand()


def client() -> OpenAI:
    http = httpx.Client(transport=httpx.MockTransport(stand.handle))
    return OpenAI(base_url="https://api.openai.com/v1", api_key="sk", http_client=http, max_retries=0)


shared = cache(client)


def test_greets(turn, own):
    stand.answer = f"Hi {turn}!"
    assert greeted(client() if own else shared(), turn) == f"Hi {turn}!"
