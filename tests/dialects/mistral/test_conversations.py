"""Mistral's agents and conversations: what goes on from what is kept."""

import json
from typing import Any

import pytest

from tests.kit.local import Answered, local

Json = Any
RULES = """
rules:
- when: {tool_result: {name: look}}
  then: {text: "It is {{ tool_result.text }}."}
- when: {tools: {includes: look}, last_user: "*sky*"}
  then: {tool_calls: [{name: look, arguments: {city: Oslo}}]}
- when: {system: "*pirate*"}
  then: {text: "Ahoy, {{ call.model }}!"}
- when: {last_user: "*ponder*"}
  then: {reasoning: I think., text: So.}
- then: {steps: [{text: Hello!}, {text: As I said.}]}
"""
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


class Service:
    """A server with these rules, and requests to it."""

    def __init__(self, unmatched: str = "error") -> None:
        self._server = local(RULES, unmatched=unmatched)

    def ask(self, path: str, body: Json = None, method: str = "POST") -> Answered:
        return self._server.ask(f"/mistral/v1{path}", body, method=method)

    def begin(self, inputs: Json, **more: Json) -> Json:
        given = {"inputs": inputs, "model": "mistral-medium-latest"} if "agent_id" not in more else {"inputs": inputs}
        return self.ask("/conversations", {**given, **more}).json

    def go_on(self, name: str, inputs: Json) -> Json:
        return self.ask(f"/conversations/{name}", {"inputs": inputs}).json


def test_a_conversation_goes_on_and_is_told() -> None:
    service = Service()
    begun = service.begin("Hi", name="small talk", instructions="Be kind.")
    name = begun["conversation_id"]
    gone_on = service.go_on(name, "Hi again")
    history = service.ask(f"/conversations/{name}/history", method="GET").json
    shown = service.ask(f"/conversations/{name}", method="GET").json
    listed = service.ask("/conversations", method="GET").json

    assert name.startswith("conv_")
    assert (begun["object"], gone_on["conversation_id"]) == ("conversation.response", name)
    assert [each["outputs"][0]["content"] for each in (begun, gone_on)] == ["Hello!", "As I said."]
    assert gone_on["outputs"][0]["model"] == "mistral-medium-latest"
    assert gone_on["usage"]["prompt_tokens"] > begun["usage"]["prompt_tokens"]
    assert [entry["type"] for entry in history["entries"]] == ["message.input", "message.output"] * 2
    assert len({entry["id"] for entry in history["entries"]}) == 4
    assert (shown["name"], shown["instructions"]) == ("small talk", "Be kind.")
    assert listed == [shown]


def test_a_call_is_answered_with_its_result_alone() -> None:
    service = Service()
    begun = service.begin("How is the sky?", tools=[LOOK, {"type": "web_search"}])
    [call] = begun["outputs"]
    result = {"type": "function.result", "tool_call_id": call["tool_call_id"], "result": "clear"}
    told = service.go_on(begun["conversation_id"], [result])
    messages = service.ask(f"/conversations/{begun['conversation_id']}/messages", method="GET").json["messages"]

    assert (call["type"], call["name"], json.loads(call["arguments"])) == ("function.call", "look", {"city": "Oslo"})
    assert told["outputs"][0]["content"] == "It is clear."
    assert [message["role"] for message in messages] == ["user", "assistant"]


def test_entries_of_a_client_that_keeps_the_history_itself() -> None:
    entries = [
        {"role": "user", "content": "How is the sky?"},
        {"type": "function.call", "tool_call_id": "abcdefghi", "name": "look", "arguments": "{}"},
        {"type": "function.result", "tool_call_id": "abcdefghi", "result": "grey"},
    ]
    service = Service()
    answer = service.begin(entries, store=False)
    assert answer["outputs"][0]["content"] == "It is grey."
    assert service.ask(f"/conversations/{answer['conversation_id']}", method="GET").status == 404


def test_an_agent_answers_as_it_is_told() -> None:
    service = Service()
    made = service.ask(
        "/agents",
        {"name": "Jim", "model": "mistral-small-latest", "instructions": "You are a pirate.", "tools": [LOOK]},
    ).json
    begun = service.begin("Who are you?", agent_id=made["id"])
    asked = service.go_on(begun["conversation_id"], "How is the sky?")
    changed = service.ask(f"/agents/{made['id']}", {"instructions": "You are kind."}, method="PATCH").json
    kind = service.begin("Who are you?", agent_id=made["id"])

    assert begun["outputs"][0]["content"] == f"Ahoy, {made['id']}!"
    assert begun["outputs"][0]["agent_id"] == made["id"]
    assert asked["outputs"][0]["name"] == "look"
    assert (changed["version"], changed["versions"], changed["model"]) == (1, [0, 1], "mistral-small-latest")
    assert kind["outputs"][0]["content"] == "Hello!"
    assert [each["id"] for each in service.ask("/agents", method="GET").json] == [made["id"]]


def test_agents_of_the_console_are_not_known_here() -> None:
    assert Service().begin("Hi", agent_id="ag_console")["outputs"][0]["content"] == "Hello!"


@pytest.mark.parametrize(("unmatched", "status"), [("error", 404), ("generate", 200)])
def test_a_conversation_that_nobody_began(unmatched: str, status: int) -> None:
    service = Service(unmatched)
    assert service.ask("/conversations/conv_1", {"inputs": "Hi"}).status == status
    assert service.ask("/conversations/conv_1/history", method="GET").status == status


def test_what_was_deleted_is_gone() -> None:
    service = Service("generate")
    name = service.begin("Hi")["conversation_id"]
    agent = service.ask("/agents", {"name": "Jim", "model": "m"}).json["id"]
    assert service.ask(f"/conversations/{name}", method="DELETE").status == 204
    assert service.ask(f"/agents/{agent}", method="DELETE").status == 204
    assert service.ask(f"/conversations/{name}", {"inputs": "Hi"}).status == 404
    assert service.ask(f"/agents/{agent}", method="GET").status == 404


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/conversations", {"inputs": "Hi"}, ["body", "model"]),
        ("/conversations", {"inputs": 1, "model": "m"}, ["body", "inputs"]),
        ("/agents", {"model": "m"}, ["body", "name"]),
    ],
)
def test_mistakes(path: str, body: Json, where: Json) -> None:
    refused = Service().ask(path, body)
    assert (refused.status, refused.json["detail"][0]["loc"]) == (422, where)


@pytest.mark.parametrize("inputs", ["Hi", "ponder", "How is the sky?"])
def test_a_stream_says_what_the_whole_answer_says(inputs: str) -> None:
    service = Service()
    whole = service.begin(inputs, tools=[LOOK])
    sent = service.ask(
        "/conversations", {"inputs": inputs, "model": "mistral-medium-latest", "tools": [LOOK], "stream": True}
    )
    first, *deltas, last = sent.frames
    said = [delta["content"] for delta in deltas if isinstance(delta.get("content"), str)]
    thought = [delta["content"]["thinking"][0]["text"] for delta in deltas if isinstance(delta.get("content"), dict)]
    arguments = "".join(delta.get("arguments", "") for delta in deltas)
    [entry] = whole["outputs"]
    content = entry.get("content", "")
    parts = [{"thinking": [{"text": ""}]}, {"text": content}] if isinstance(content, str) else content

    assert (first["conversation_id"], last["usage"]) == (whole["conversation_id"], whole["usage"])
    assert {delta["id"] for delta in deltas} == {entry["id"]}
    assert ("".join(thought), "".join(said)) == (parts[0]["thinking"][0]["text"], parts[1]["text"])
    assert arguments == entry.get("arguments", "")
    assert sent.body.rpartition(b"event: ")[2].startswith(b"conversation.response.done\n")
