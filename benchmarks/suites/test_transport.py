"""A rule and a call without a socket."""

from functools import cache

import httpx
from answer import greeted
from openai import OpenAI


def client(transport) -> OpenAI:
    http = httpx.Client(transport=transport)
    return OpenAI(base_url="https://api.openai.com/v1", api_key="sk", http_client=http, max_retries=0)


shared = cache(client)


def test_greets(mockserver, turn, own):
    mockserver.on(last_user=f"*hello {turn}*").reply(f"Hi {turn}!")
    there = mockserver.transport()
    assert greeted(client(there) if own else shared(there), turn) == f"Hi {turn}!"
