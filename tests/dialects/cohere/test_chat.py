"""Cohere's chats: a stream says what a plain answer says, and both have the published shape."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from mockserver.core.validation import Validation
from mockserver.wire.cohere import make_citations
from tests.dialects.cohere.features import FEATURES, HI, NEW, OLD, OLD_FEATURES, TOOL, request
from tests.dialects.conftest import Speaker
from tests.dialects.invariants import has_shape
from tests.kit.local import local

Json = Any
RULES = [{"when": {"model": name}, "then": each.then} for name, each in FEATURES.items() if each.then is not None]
SERVER = local(yaml.safe_dump({"version": 1, "rules": RULES}))


def events(body: bytes) -> Iterator[Json]:
    """The events of a stream, each with the name that stands in its data, too."""
    *found, last = body.decode().removesuffix("\n\n").split("\n\n")
    assert last == "data: [DONE]"
    for each in found:
        name, data = each.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        yield event


def accumulated(found: list[Json]) -> Json:
    """The answer that a client puts together; fails if an event comes at a place where none may."""
    first, *others = found
    last = others.pop()
    assert (first["type"], last["type"]) == ("message-start", "message-end")
    message: dict[str, Any] = {"role": first["delta"]["message"]["role"]}
    content, calls, citations, logprobs = [], [], [], []
    is_open = False
    for event in others:
        added = event.get("delta", {}).get("message", {})
        match event["type"]:
            case "tool-plan-delta":
                message["tool_plan"] = message.get("tool_plan", "") + added["tool_plan"]
            case "content-start":
                assert event["index"] == len(content)
                content.append({**added["content"]})
            case "content-delta":
                ((key, piece),) = added["content"].items()
                content[event["index"]][key] += piece
                logprobs += [event["logprobs"]] if "logprobs" in event else []
            case "citation-start":
                assert event["index"] == len(citations)
                citations.append(added["citations"])
            case "tool-call-start":
                assert event["index"] == len(calls)
                calls.append(added["tool_calls"])
            case "tool-call-delta":
                calls[event["index"]]["function"]["arguments"] += added["tool_calls"]["function"]["arguments"]
        if event["type"].endswith("-start"):
            is_open = event["type"] != "citation-start" or is_open
        assert is_open or event["type"] == "tool-plan-delta"
    parts = {"content": content, "tool_calls": calls, "citations": citations}
    message |= {key: value for key, value in parts.items() if value}
    whole = {"id": first["id"], "message": message, **last["delta"]}
    return {**whole, "logprobs": logprobs} if logprobs else whole


@pytest.mark.parametrize("name", FEATURES)
def test_a_stream_says_what_a_plain_answer_says(name: str) -> None:
    answered = SERVER.ask(NEW, request(name))
    assert answered.status == 200, answered.body
    plain = answered.json
    has_shape(plain, "cohere", "response")
    streamed = SERVER.ask(NEW, request(name, stream=True))
    assert streamed.headers["content-type"] == "text/event-stream; charset=utf-8"
    whole = accumulated(list(events(streamed.body)))
    has_shape({key: whole[key] for key in plain if key in whole}, "cohere", "response")
    shown = [whole.pop("logprobs", []), plain.pop("logprobs", [])]  # of pieces, and of tokens
    pieces, tokens = ([value for each in one for value in each["logprobs"]] for one in shown)
    assert pieces == tokens
    assert bool(tokens) == (name == "logprobs")
    assert plain == whole


def test_a_client_that_takes_json_alone_gets_a_line_for_each_event() -> None:
    asked = request("calls", stream=True)
    lines = SERVER.ask(NEW, asked, headers={"accept": "application/json"})
    assert lines.headers["content-type"] == "application/stream+json"
    assert [*map(json.loads, lines.body.splitlines())] == [*events(SERVER.ask(NEW, asked).body)]


@pytest.mark.parametrize("name", OLD_FEATURES)
def test_lines_of_v1_say_what_a_plain_answer_says(name: str) -> None:
    body = {"message": HI["message"], **OLD_FEATURES[name]}
    plain, streamed = SERVER.ask(OLD, body), SERVER.ask(OLD, {**body, "stream": True})
    assert streamed.headers["content-type"] == "application/stream+json"
    first, *others, last = map(json.loads, streamed.body.decode().splitlines())
    assert (first["event_type"], last["event_type"]) == ("stream-start", "stream-end")
    assert [line["is_finished"] for line in (first, *others, last)] == [False] * (1 + len(others)) + [True]
    assert last["response"] == plain.json
    assert "".join(line["text"] for line in others if line["event_type"] == "text-generation") == plain.json["text"]


CITED = "We open at nine."
_ADDRESS = {"url": "https://a.test/", "title": "A", "start_index": 0, "end_index": 2}
CITATIONS: Mapping[str, tuple[Json, tuple[int, int, str], Json]] = {
    "own": ({"start": 3, "end": 7, "sources": []}, (3, 7, "open"), []),
    "by words": ({"text": "nine", "sources": []}, (11, 15, "nine"), []),
    "words that are not there": ({"text": "ten", "sources": []}, (0, 3, "We "), []),
    "of a chat": (
        {
            "type": "url_citation",
            "url_citation": _ADDRESS,
        },
        (0, 2, "We"),
        [
            {
                "type": "document",
                "id": "doc:0",
                "document": {"id": "doc:0", "title": "A", "text": "", "url": "https://a.test/"},
            }
        ],
    ),
    "of Anthropic": (
        {"type": "char_location", "cited_text": "nine", "document_index": 1, "document_title": "H"},
        (11, 15, "nine"),
        [{"type": "document", "id": "doc:1", "document": {"id": "doc:1", "title": "H", "text": "nine"}}],
    ),
    "nothing": ({}, (0, 16, CITED), []),
}


@pytest.mark.parametrize(("note", "place", "sources"), CITATIONS.values(), ids=CITATIONS.keys())
def test_annotations_become_citations(note: Json, place: tuple[int, int, str], sources: Json) -> None:
    ((found),) = make_citations(note, CITED)
    assert (found["start"], found["end"], found["text"]) == place
    assert (found["sources"], found["type"]) == (sources, "TEXT_CONTENT")


def test_places_in_a_later_text_count_from_the_first() -> None:
    (citation,) = make_citations({"text": "Two", "sources": []}, "Two.", start=5)
    assert (citation["start"], citation["end"], citation["text"]) == (5, 8, "Two")


def test_the_best_sentence_of_all_documents_is_quoted() -> None:
    documents = ["We sell boats.", {"id": "hours", "data": {"title": "Hours", "text": "No dogs. We open at nine."}}]
    body = {"model": "m", "messages": [{"role": "user", "content": "When do you open?"}], "documents": documents}
    message = local("").ask(NEW, body).json["message"]
    assert message["content"] == [{"type": "text", "text": "We open at nine."}]
    assert [source["id"] for citation in message["citations"] for source in citation["sources"]] == ["hours"]
    for mode in ("OFF", "DISABLED"):
        quiet = local("").ask(NEW, {**body, "citation_options": {"mode": mode}}).json["message"]
        assert "citations" not in quiet


def test_what_is_stated_as_null_is_absent() -> None:
    speaker = Speaker("cohere")
    fields = speaker.operation("chat")
    assert fields.path == "/v2/chat"
    asked = {"model": "m", "messages": HI["messages"]}
    plain = speaker.parse(asked)
    nulls = dict.fromkeys(("tools", "documents", "temperature", "response_format", "logprobs", "thinking"))
    assert speaker.parse({**asked, **nulls}).fingerprint == plain.fingerprint
    for same in ({"temperature": 0.3}, {"k": 0}, {"priority": 3}, {"stream": True}, {"safety_mode": "CONTEXTUAL"}):
        assert speaker.parse({**asked, **same}).fingerprint == plain.fingerprint
    for other in ({"temperature": 0.4}, {"k": 1}, {"tools": [TOOL]}, {"new": 1}):
        assert speaker.parse({**asked, **other}).fingerprint != plain.fingerprint


def test_unknown_fields_are_refused_where_the_live_service_would() -> None:
    reply = Speaker("cohere").refuses({"stop": ["a"]}, validation=Validation.LIVE)
    assert json.loads(reply.body)["message"].startswith("unknown field: parameter 'stop' is not a valid field. ")


ROLES = {
    "SYSTEM": [{"role": "system", "content": "Be brief."}],
    "TOOL": [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ],
}


@pytest.mark.parametrize("messages", ROLES.values(), ids=ROLES.keys())
def test_messages_of_all_roles(messages: Json) -> None:
    call = Speaker("cohere").parse({"messages": messages})
    assert [message.role for message in call.messages] == [message["role"] for message in messages]
    assert "Hm." not in str(call.messages)
