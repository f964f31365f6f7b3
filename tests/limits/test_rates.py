"""What clients see of limits of requests and tokens, over real sockets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.kit.served import Served


@dataclass(frozen=True)
class Asking:
    server: Served
    namespace: str

    def chat(self, text: str = "hi", model: str = "gpt-4o", key: str = "sk-test", **more: Any) -> httpx.Response:
        return self.post("openai", "/chat/completions", _chat(text, model, **more), key=key)

    def post(self, dialect: str, path: str, body: Mapping[str, Any], *, key: str = "sk-test") -> httpx.Response:
        url = self.server.base(dialect, self.namespace) + path
        return httpx.post(url, json=body, headers={"authorization": f"Bearer {key}"}, trust_env=False)


def _chat(text: str, model: str = "gpt-4o", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


@pytest.fixture
def ask(server: Served, namespace: str) -> Asking:
    return Asking(server, namespace)


def seconds(told: str) -> float:
    total, number = 0.0, ""
    for letter in told.replace("ms", "u"):
        if letter in "hmsu":
            total, number = total + float(number) * {"h": 3600, "m": 60, "s": 1, "u": 0.001}[letter], ""
        else:
            number += letter
    return total


def test_the_fourth_of_three_is_refused_in_the_words_of_the_provider(ask: Asking) -> None:
    answers = [ask.chat() for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    left = [answer.headers["x-ratelimit-remaining-requests"] for answer in answers]
    assert left == ["2", "1", "0", "0"]
    refused = answers[3]
    error, headers = refused.json()["error"], refused.headers
    wait = seconds(error["message"].partition("try again in ")[2].partition(". ")[0])
    assert error["message"].startswith(
        "Rate limit reached for gpt-4o in organization mockserver on requests per min (RPM): "
        "Limit 3, Used 3, Requested 1. Please try again in "
    )
    assert (error["type"], error["param"], error["code"]) == ("requests", None, "rate_limit_exceeded")
    assert float(headers["retry-after"]) == float(headers["retry-after-ms"]) / 1000 == wait
    assert 10 < wait <= 20
    assert 50 < seconds(headers["x-ratelimit-reset-requests"]) <= 60
    assert headers["x-ratelimit-limit-requests"] == "3"
    assert headers["x-ratelimit-remaining-tokens"] == "2000000"  # these have no limit here
    assert headers["x-mockserver-source"] == "limited"


def test_each_model_and_each_key_has_its_own(ask: Asking) -> None:
    assert [ask.chat().status_code for _ in range(4)] == [200, 200, 200, 429]
    assert ask.chat(model="gpt-4o-mini").status_code == 200
    assert [ask.chat(key="sk-poor").status_code for _ in range(2)] == [200, 429]
    assert {ask.chat(key="sk-rich").status_code for _ in range(9)} == {200}


def test_streams_and_other_operations_draw_from_the_same(ask: Asking) -> None:
    assert ask.chat(stream=True).headers["x-ratelimit-remaining-requests"] == "2"
    body = {"model": "gpt-4o", "input": "hi"}
    assert ask.post("openai", "/responses", body).headers["x-ratelimit-remaining-requests"] == "1"
    assert ask.post("openai", "/completions", {"model": "gpt-4o", "prompt": "hi"}).status_code == 200
    assert ask.post("azure", "/chat/completions?api-version=2024-05-01-preview", _chat("hi")).status_code == 429


def test_looking_up_and_mistakes_cost_nothing(ask: Asking) -> None:
    base = ask.server.base("openai", ask.namespace)
    for _ in range(9):
        assert httpx.get(f"{base}/models", headers={"authorization": "Bearer sk-test"}).status_code == 200
        assert ask.chat(model="none").status_code == 404
        assert ask.post("openai", "/chat/completions", {"model": "gpt-4o"}).status_code == 400
    assert ask.chat().headers["x-ratelimit-remaining-requests"] == "2"


def test_a_refused_request_uses_up_no_rule(ask: Asking) -> None:
    assert [ask.chat("hi").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert ask.chat("once").status_code == 429
    other = ask.chat("once", key="sk-rich").json()["choices"][0]["message"]["content"]
    assert other == "The first time."


def test_tokens_of_prompt_and_answer_are_drawn(ask: Asking) -> None:
    first, second = (ask.chat(model="talkative") for _ in range(2))
    names = ("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens")
    assert [first.headers[name] for name in names] == ["100", "60"]
    assert 20 < seconds(first.headers["x-ratelimit-reset-tokens"]) <= 24  # 40 of 100 come back
    assert 17 <= int(second.headers["x-ratelimit-remaining-tokens"]) <= 23
    assert first.headers["x-ratelimit-limit-requests"] == "10000"  # without limit here


def test_an_answer_may_leave_a_debt_which_is_waited_for(ask: Asking) -> None:
    spent = ask.chat("long", model="talkative")
    assert (spent.status_code, spent.headers["x-ratelimit-remaining-tokens"]) == (200, "0")
    assert 80 < seconds(spent.headers["x-ratelimit-reset-tokens"]) <= 90
    refused = ask.chat("long", model="talkative")
    error = refused.json()["error"]
    assert (refused.status_code, error["type"]) == (429, "tokens")
    assert "on tokens per min (TPM): Limit 100, Used 100, Requested " in error["message"]
    assert float(refused.headers["retry-after"]) > 30


def test_what_is_larger_than_the_limit_is_told_so_and_not_to_come_back(ask: Asking) -> None:
    refused = ask.chat("word " * 200, model="talkative")
    error = refused.json()["error"]
    assert (refused.status_code, error["type"], error["code"]) == (429, "tokens", "rate_limit_exceeded")
    assert error["message"].startswith(
        "Request too large for talkative in organization mockserver on tokens per min (TPM): Limit 100, Requested 2"
    )
    assert {"retry-after", "retry-after-ms"}.isdisjoint(refused.headers)
    assert refused.headers["x-ratelimit-remaining-tokens"] == "100"


def test_a_day_is_waited_for(ask: Asking) -> None:
    assert [ask.chat(model="daily").status_code for _ in range(2)] == [200, 200]
    error = ask.chat(model="daily").json()["error"]["message"]
    assert "on requests per day (RPD): Limit 2, Used 2, Requested 1. Please try again in 11h59m" in error


def test_what_a_rule_says_stands(ask: Asking) -> None:
    for left in ("77", "77"):
        told = ask.chat("told").headers
        assert told.get_list("x-ratelimit-remaining-requests") == [left]
        assert told["x-ratelimit-limit-requests"] == "3"
    busy = ask.chat("busy")
    assert (busy.status_code, busy.headers["retry-after"]) == (429, "7")
    assert busy.headers.get_list("x-ratelimit-limit-requests") == ["10000"]
    assert busy.headers["x-mockserver-source"].startswith("rule ")


@pytest.mark.parametrize(
    ("dialect", "path", "there"),
    [
        ("azure", "/chat/completions?api-version=2024-05-01-preview", set()),
        ("azure_openai", "/openai/v1/chat/completions", {"retry-after", "retry-after-ms", "x-ratelimit-remaining"}),
        ("crazyrouter", "/chat/completions", {"retry-after"}),
        ("fireworks", "/chat/completions", {"retry-after", "x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens"}),
        ("skytells", "/chat/completions", {"retry-after"}),
        ("tzafon", "/chat/completions", {"retry-after"}),
    ],
)
def test_each_dialect_has_its_own_headers(ask: Asking, dialect: str, path: str, there: set[str]) -> None:
    answers = [ask.post(dialect, path, _chat("hi"), key="sk-poor") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    found = [name for name in answers[1].headers if name.startswith(("retry-after", "x-ratelimit"))]
    assert all(any(name.startswith(start) for start in there) for name in found)
    assert all(any(name.startswith(start) for name in found) for start in there)
    if "retry-after" in there:
        assert 50 < float(answers[1].headers["retry-after"]) <= 60


def test_a_model_that_the_key_may_not_ask(ask: Asking) -> None:
    refused = ask.chat(model="daily", key="sk-narrow")
    assert refused.status_code == 403
    assert refused.json()["error"] == {
        "message": "Project `proj_mockserver` does not have access to model `daily`",
        "type": "invalid_request_error",
        "param": None,
        "code": "model_not_found",
    }
    assert ask.chat(key="sk-narrow").status_code == 200
