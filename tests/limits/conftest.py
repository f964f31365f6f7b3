"""A server with limits, in a process of its own."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.kit.served import Served, served

_NAMES = count()
RULES = """
version: 1
settings:
  keys:
    sk-test: {}
    sk-blocked: {allowed: false}
    sk-narrow: {models: [gpt-4o*]}
    sk-poor: {limits: {requests_per_minute: 1}}
    sk-rich: {limits: {requests_per_minute: null}}
  models:
    gpt-4o: {aliases: [gpt-4o-latest]}
    gpt-4o-mini: {}
    talkative: {limits: {requests_per_minute: null, tokens_per_minute: 100}}
    daily: {limits: {requests_per_minute: null, requests_per_day: 2}}
    quick: {limits: {requests_per_minute: 60}}
    hasty: {limits: {requests_per_minute: 120}}
    text-embedding-3-small: {}
  limits: {requests_per_minute: 3}
rules:
  - name: once
    when: {last_user: once}
    times: 1
    then: {text: The first time.}
  - name: told
    when: {last_user: told}
    then: {text: So be it., headers: {x-ratelimit-remaining-requests: "77"}}
  - name: busy
    when: {last_user: busy}
    then: {error: 429, retry_after: 7s}
  - name: long
    when: {last_user: long}
    then: {text: "one two three four five", usage: {prompt_tokens: 30, completion_tokens: 120}}
  - name: words
    when: {last_user: "*"}
    then: {text: Good day., usage: {prompt_tokens: 10, completion_tokens: 30}}
"""


@pytest.fixture(scope="session")
def server() -> Iterator[Served]:
    """One server for all tests; each has a namespace, and so limits, of its own."""
    with served(RULES) as running:
        yield running


@pytest.fixture
def namespace() -> str:
    """A namespace that no other test uses."""
    return f"limits-{next(_NAMES)}"
