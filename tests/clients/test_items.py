"""Every item that a rule can write, through OpenAI's own client: whole, as events, and with its helper."""

from collections.abc import Iterator
from typing import Any

import pytest
from openai import APIError, OpenAI

from tests.clients.conftest import KEY
from tests.kit.served import Served, served
from tests.rules.test_items import ACTIONS, BEYOND_OPENAI, HOSTED, SAID

ITEMS = [*HOSTED, *SAID, *(f"{{type: computer_call, action: {action}}}" for action in ACTIONS)]
FAILED = {
    "failed": "{text: Half of it., failed: {message: Out of steam.}}",
    "silent": "{failed: {code: rate_limit_exceeded}}",
    "event": "{text: Half of it., failed: {event: error}}",
}
INCLUDED: dict[str, Any] = {
    "openai": ["web_search_call.action.sources", "file_search_call.results", "code_interpreter_call.outputs"],
    "tzafon": ["file_search_call.results", "code_interpreter_call.outputs"],
}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    rules = [f"  - {{when: {{model: item-{at}}}, then: {{items: [{item}]}}}}\n" for at, item in enumerate(ITEMS)]
    rules += [f"  - {{when: {{model: {name}}}, then: {then}}}\n" for name, then in FAILED.items()]
    with served("rules:\n" + "".join(rules)) as running:
        yield running


@pytest.fixture(params=INCLUDED)
def client(request: pytest.FixtureRequest, server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.address}/{request.param}/v1", api_key=KEY, max_retries=0) as client:
        yield client


def include(client: OpenAI) -> Any:
    return INCLUDED["tzafon" if "tzafon" in str(client.base_url) else "openai"]


def test_items_are_the_same_whole_and_as_events(client: OpenAI) -> None:
    for at, item in enumerate(ITEMS):
        asked: Any = {"model": f"item-{at}", "input": "hello", "include": include(client)}
        whole = client.responses.create(**asked).to_dict(mode="json", warnings=False)
        *_, last = client.responses.create(**asked, stream=True)
        assert last.type == "response.completed"
        assert last.response.to_dict(mode="json", warnings=False)["output"] == whole["output"], item
        if any(name in item for name in BEYOND_OPENAI):  # its helper knows no other actions
            continue
        with client.responses.stream(**asked) as stream:
            stream.until_done()
            final = stream.get_final_response()
        assert [part.type for part in final.output] == [part["type"] for part in whole["output"]], item


def test_ids_of_calls_are_made_and_lead_back(client: OpenAI) -> None:
    at = next(at for at, item in enumerate(ITEMS) if item.startswith("{type: computer_call, action: {type: click"))
    response = client.responses.create(model=f"item-{at}", input="hello")

    [call] = response.output
    assert call.type == "computer_call"
    assert call.call_id.startswith("call_")
    assert (call.status, call.pending_safety_checks) == ("completed", [])


def test_answers_that_break_off(client: OpenAI) -> None:
    failed = client.responses.create(model="failed", input="hello")
    assert (failed.status, failed.output_text) == ("failed", "Half of it.")
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == ("server_error", "Out of steam.")

    silent = client.responses.create(model="silent", input="hello")
    assert silent.error is not None
    assert (silent.status, silent.output, silent.error.code) == ("failed", [], "rate_limit_exceeded")

    for name in ("failed", "silent"):
        *_, last = client.responses.create(model=name, input="hello", stream=True)
        assert last.type == "response.failed"
    with pytest.raises(APIError, match="failed to generate a response") as caught:
        list(client.responses.create(model="event", input="hello", stream=True))
    assert (caught.value.code, caught.value.type) == ("server_error", "server_error")
