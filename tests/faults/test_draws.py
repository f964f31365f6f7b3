"""Chance and counts of faults, as clients meet them: the same in every process, by attempt, as often as stated."""

from collections.abc import Iterator, Mapping

import httpx
import pytest

from tests.kit.served import Served, served

RULES = """
version: 1
rules:
  - {when: {model: chance}, then: {text: x, faults: [{drop_usage: {probability: 50%}}]}}
  - {when: {model: twice}, then: {text: x, faults: [{drop_usage: {times: 2}}]}}
  - when: {model: both}
    then: {text: x, faults: [{drop_usage: {probability: 50%, times: 2}}]}
"""
TEXTS, TRIES = [f"text {number}" for number in range(6)], 5
CLIENT = httpx.Client(trust_env=False)
Drawn = list[bool]  # whether the fault befell each request


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    CLIENT.close()


def ask(  # size: where, what, and what is said along with it
    server: Served, namespace: str, model: str, text: str, headers: Mapping[str, str] | None = None
) -> bool:
    """Whether the fault befell the answer."""
    body = {"model": model, "messages": [{"role": "user", "content": text}]}
    url = server.base("openai", namespace) + "/chat/completions"
    return "usage" not in CLIENT.post(url, json=body, headers=headers).json()


def counted(server: Served, namespace: str) -> Drawn:
    """Each text again and again, by a client that tells of no attempt."""
    return [ask(server, namespace, "chance", text) for text in TEXTS for _ in range(TRIES)]


def told(server: Served, namespace: str) -> Drawn:
    """The same by a client that does, in another order."""
    drawn = {
        (text, attempt): ask(server, namespace, "chance", text, {"x-stainless-retry-count": str(attempt)})
        for attempt in reversed(range(TRIES))
        for text in TEXTS
    }
    return [drawn[text, attempt] for text in TEXTS for attempt in range(TRIES)]


@pytest.fixture(scope="module")
def first() -> Drawn:
    """What one process draws."""
    with served(RULES) as server:
        return counted(server, "one")


def test_another_process_draws_the_same_for_each_attempt(first: Drawn) -> None:
    with served(RULES) as server:
        assert counted(server, "other") == told(server, "another") == first
    assert 5 < sum(first) < len(first) - 5
    tries = [first[at : at + TRIES] for at in range(0, len(first), TRIES)]
    assert any(each[0] and not all(each) for each in tries)  # a retry may fare better


def test_times_are_those_that_it_befell_in_each_namespace() -> None:
    with served(RULES) as server:
        for namespace in ("one", "two"):
            assert [ask(server, namespace, "twice", "same") for _ in range(4)] == [True, True, False, False]
        drawn = [ask(server, "three", "both", "same") for _ in range(12)]
    assert sum(drawn) == 2
    assert drawn[:2] != [True, True]
