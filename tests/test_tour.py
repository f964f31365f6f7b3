"""The tour in rules.yaml: each of its rules is asked for, and answers as its comment says."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.kit.local import Answered, Local, local
from tests.kit.served import served

TOUR = (Path(__file__).parents[1] / "rules.yaml").read_text()
WEATHER_TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
PERSON = {"type": "json_schema", "json_schema": {"name": "person", "schema": {"type": "object"}}}


def user(text: str, **fields: Any) -> dict[str, Any]:
    """A chat that says one thing."""
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **fields}


def interview(*turns: str) -> dict[str, Any]:
    """An interview with so many turns behind it."""
    messages = [{"role": "system", "content": "This is an interview."}]
    for turn in turns:
        messages += [{"role": "user", "content": "Here I am."}, {"role": "assistant", "content": turn}]
    return {"model": "gpt-4o", "messages": [*messages, {"role": "user", "content": "And now?"}]}


def told() -> dict[str, Any]:
    """A chat in which the tool has answered."""
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    result = {"role": "tool", "tool_call_id": "call_1", "content": '{"city": "Oslo", "sky": "grey"}'}
    asked = user("What is the weather in Oslo?", tools=[WEATHER_TOOL])
    asked["messages"] += [{"role": "assistant", "content": None, "tool_calls": [call]}, result]
    return asked


@pytest.fixture(scope="module")
def tour() -> Local:
    """A server with the tour."""
    return local(TOUR)


TEXTS: list[tuple[str, Mapping[str, Any], str, str]] = [
    ("greeting", user("Hello there"), "Hello! How can I help you today?", "stop"),
    ("weather, told", told(), "It is grey in Oslo.", "stop"),
    ("a person as JSON", user("Invent a person.", response_format=PERSON), '{"name":"Ada Lovelace","age":36}', "stop"),
    ("cut short", user("Tell me a long story."), "Once upon a time there was", "length"),
    ("slow", user("A slow one, please."), "Good things take time.", "stop"),
    ("interview", interview(), "What is your name?", "stop"),
    ("interview", interview("What is your name?"), "And what is your quest?", "stop"),
    ("interview", interview("What is your name?", "And what is your quest?"), "You may pass.", "stop"),
    ("interview", interview("1", "2", "3"), "You may pass.", "stop"),
]


@pytest.mark.parametrize(("rule", "body", "text", "finish"), TEXTS)
def test_rules_that_say_something(tour: Local, rule: str, body: Mapping[str, Any], text: str, finish: str) -> None:
    answered = tour.ask("/v1/chat/completions", body)
    assert answered.source.endswith(f" {rule}")
    assert choice(answered)["message"]["content"] == text
    assert choice(answered)["finish_reason"] == finish


def test_weather_is_asked_for(tour: Local) -> None:
    answered = tour.ask("/v1/chat/completions", user("What is the weather in Oslo?", tools=[WEATHER_TOOL]))
    (call,) = choice(answered)["message"]["tool_calls"]
    assert call["function"] == {"name": "get_weather", "arguments": '{"city":"Oslo"}'}
    assert choice(answered)["finish_reason"] == "tool_calls"


def test_refused(tour: Local) -> None:
    message = choice(tour.ask("/v1/chat/completions", user("Do the forbidden thing.")))["message"]
    assert message["refusal"] == "I can't help with that."
    assert message["content"] is None


def test_filtered_completion(tour: Local) -> None:
    filtered = choice(tour.ask("/skytells/v1/chat/completions", user("Tell me a violent story.")))
    assert filtered["finish_reason"] == "content_filter"
    assert filtered["message"]["content"] == "The knight raised his sword and"
    assert filtered["content_filter_results"]["violence"] == {"filtered": True, "severity": "medium"}


def test_searched_the_web(tour: Local) -> None:
    answered = tour.ask("/v1/responses", {"input": "Any news today?"})
    search, message = answered.json["output"]
    assert (search["type"], search["action"]["query"]) == ("web_search_call", "Any news today?")
    assert message["content"][0]["text"] == "Nothing new under the sun."


def test_broke_off(tour: Local) -> None:
    answered = tour.ask("/v1/responses", {"input": "Please break off."})
    assert answered.json["status"] == "failed"
    assert answered.json["error"] == {"code": "server_error", "message": "The model gave up."}


def test_a_violent_text(tour: Local) -> None:
    (result,) = tour.ask("/v1/moderations", {"input": "Something violent."}).json["results"]
    assert [category for category, flagged in result["categories"].items() if flagged] == ["violence"]
    assert result["category_scores"]["violence"] == 0.92


def test_ranked(tour: Local) -> None:
    asked = {"model": "rerank-v3.5", "query": "How do I change my password?", "documents": ["Prices", "Passwords"]}
    best, other = tour.ask("/cohere/v2/rerank", asked).json["results"]
    assert (best["index"], best["relevance_score"]) == (1, 0.9)
    assert (other["index"], other["relevance_score"]) == (0, 0.1)


def test_slow_takes_its_time(tour: Local) -> None:
    (rule,) = (rule for rule in tour.live.engine.rules if rule.name == "slow")
    assert rule.spec["then"]["timing"] == {"first_token": "500ms", "tokens_per_second": 20}


def test_lost_on_the_way_comes_through_at_the_third_try() -> None:
    with served(TOUR) as server, httpx.Client() as client:
        for _ in range(2):
            with pytest.raises(httpx.TransportError):
                client.post(f"{server.address}/v1/chat/completions", json=user("Get lost."))
        came = client.post(f"{server.address}/v1/chat/completions", json=user("Get lost."))
    assert came.json()["choices"][0]["message"]["content"] == "It got through in the end."


ERRORS: list[tuple[str, Mapping[str, Any], Mapping[str, str], int, str]] = [
    ("wrong key", user("Hi"), {"authorization": "Bearer sk-wrong"}, 401, "invalid_api_key"),
    ("no such model", user("Hi", model="missing-1"), {}, 404, "model_not_found"),
    ("unprocessable", user("Hi", temperature=2), {}, 422, "unprocessable"),
    ("busy", user("Hi", model="busy-1"), {}, 429, "rate_limit_exceeded"),
    ("filtered prompt", user("How to build a bomb?"), {}, 400, "content_policy_violation"),
]


@pytest.mark.parametrize(("rule", "body", "headers", "status", "code"), ERRORS)
def test_rules_that_fail(
    tour: Local, rule: str, body: Mapping[str, Any], headers: Mapping[str, str], status: int, code: str
) -> None:
    answered = tour.ask("/v1/chat/completions", body, headers=headers)
    assert answered.source.endswith(f" {rule}")
    assert answered.status == status
    assert answered.json["error"]["code"] == code
    assert answered.headers.get("retry-after") == ("1" if rule == "busy" else None)


def test_every_rule_is_asked_for() -> None:
    asked = {row[0] for row in (*TEXTS, *ERRORS)} | {"weather, asked", "refused", "filtered completion"}
    asked |= {"searched the web", "broke off", "a violent text", "ranked", "lost on the way"}
    assert [rule["name"] for rule in yaml.safe_load(TOUR)["rules"] if rule["name"] not in asked] == []


def choice(answered: Answered) -> Any:
    """The one choice of an answer."""
    return answered.json["choices"][0]
