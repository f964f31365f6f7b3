"""A rule and a call over the socket."""

from functools import cache

from answer import greeted
from openai import OpenAI


def client() -> OpenAI:
    return OpenAI(max_retries=0)


shared = cache(client)


def test_greets(mockserver, turn, own):
    mockserver.on(last_user=f"*hello {turn}*").reply(f"Hi {turn}!")
    assert greeted(client() if own else shared(), turn) == f"Hi {turn}!"
