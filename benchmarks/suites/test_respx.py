"""The same with respx, which looks at a request as the rule does."""

from functools import cache

import httpx
from answer import HEADERS, completion, greeted
from openai import OpenAI


def client() -> OpenAI:
    http = httpx.Client()
    return OpenAI(base_url="https://api.openai.com/v1", api_key="sk", http_client=http, max_retries=0)


shared = cache(client)


def test_greets(respx_mock, turn, own):
    route = respx_mock.post("https://api.openai.com/v1/chat/completions")
    route.respond(json=completion(f"Hi {turn}!"), headers=HEADERS)
    assert greeted(client() if own else shared(), turn) == f"Hi {turn}!"
