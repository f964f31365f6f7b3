"""Google's errors for OpenAI's clients, whose paths are beside Gemini's."""

from typing import Any

import pytest

from tests.kit.local import Answered, Local, local

Json = Any
MODEL = "gemini-2.5-flash"
LIVE = local(validation="live")
UNKNOWN = 'Invalid JSON payload received. Unknown name "{}": Cannot find field.'


def ask(server: Local, more: Json = None, path: str = "/gemini/v1beta/openai") -> Answered:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], **(more or {})}
    return server.ask(f"{path}/chat/completions", body)


def read_error(answered: Answered) -> Json:
    (only,) = answered.json
    assert answered.status == only["error"]["code"]
    return only["error"]


@pytest.mark.parametrize("key", ["frequency_penalty", "prompt_cache_key", "seed", "store", "top_k"])
def test_names_that_only_others_know_are_refused_live(key: str) -> None:
    error = read_error(ask(LIVE, {key: None}))
    violation = {"description": UNKNOWN.format(key)}
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]
    assert error == {"code": 400, "message": UNKNOWN.format(key), "status": "INVALID_ARGUMENT", "details": details}
    assert ask(local(), {key: None}).status == 200


def test_every_unknown_name_has_its_line() -> None:
    error = read_error(ask(LIVE, {"frequency_penalty": 0, "seed": 1}))
    assert error["message"] == "\n".join(map(UNKNOWN.format, ("frequency_penalty", "seed")))
    assert len(error["details"][0]["fieldViolations"]) == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"messages": [{"role": "system", "content": "Hi"}]},
            "* GenerateContentRequest.contents: contents is not specified\n",
        ),
        ({"n": 10}, "Invalid value of n: should be between 1 and 8, got 10"),
        ({"n": 2, "model": "models/gemini-3.5-flash"}, "Multiple candidates is not enabled for this model"),
    ],
)
def test_chats_that_google_refuses_live(more: Json, message: str) -> None:
    assert read_error(ask(LIVE, more)) == {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}


@pytest.mark.parametrize(
    "more",
    [
        {"n": 2},
        {"extra_body": {"google": {"thinking_config": {"thinking_budget": 100}}}},
        {"response_format": {"type": "json_object"}},  # OpenAI wants the word JSON in a message
        {"presence_penalty": 0},
    ],
)
def test_chats_that_google_answers(more: Json) -> None:
    assert ask(LIVE, more).status == 200


def test_mistakes_have_no_code_of_openai() -> None:
    error = read_error(ask(local(), {"messages": []}))
    (details,) = error["details"]
    assert [violation["field"] for violation in details["fieldViolations"]] == ["messages"]


def test_keys_that_are_not_valid() -> None:
    server = local("settings: {keys: [right]}\n")
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
    path = "/gemini/v1beta/openai/chat/completions"
    refused = server.ask(path, body, headers={"authorization": "Bearer wrong"})
    wanted = {"code": 400, "message": "Please pass a valid API key", "status": "INVALID_ARGUMENT"}
    assert read_error(refused) == wanted


def test_errors_of_rules() -> None:
    server = local('{"rules": [{"then": {"error": "rate_limit"}}]}')
    error = read_error(ask(server))
    assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert error["message"].endswith(f", model: {MODEL}")
    unknown = read_error(ask(local('{"rules": [{"then": {"error": "model_not_found"}}]}')))
    assert read_error(ask(local('{"rules": [{"then": {"error": "content_filter"}}]}')))["code"] == 400
    assert unknown["message"].startswith(f"models/{MODEL} is not found for API version v1main, or is not supported")


@pytest.mark.parametrize("path", ["/openai/v1", "/cohere/compatibility/v1", "/bedrock/openai/v1"])
def test_elsewhere_errors_are_those_of_openai(path: str) -> None:
    assert ask(LIVE, {"seed": 1}, path).status == 200
    assert ask(LIVE, {"messages": []}, path).json["error"]["param"] == "messages"
