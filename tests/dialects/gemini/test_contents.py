"""Every feature of a chat at Gemini's paths, plain and streamed: held against the schema and the client's own types."""

import json
from typing import Any

import pytest

from tests.dialects.features import BROKEN_OFF, FAILURES, FEATURES, rules
from tests.dialects.gemini.features import STREAM_URL, URL, names, request
from tests.dialects.invariants import has_shape
from tests.kit.asgi import App, app
from tests.kit.local import Answered
from tests.kit.strict_contents import check_response, responses

Json = Any
NAMES = names()


@pytest.fixture(scope="module")
def server() -> App:
    return app(rules({**FEATURES, "broken-off": BROKEN_OFF}))


def events(answered: Answered) -> list[Json]:
    assert (answered.status, answered.headers["content-type"]) == (200, "text/event-stream")
    return responses(answered.body)


def joined(found: list[Json]) -> list[Json]:
    """The candidates of a stream, as a plain answer has them: pieces of a text added up."""
    candidates = dict[int, Json]()
    for event in found:
        for candidate in event["candidates"]:
            made = candidates.setdefault(candidate["index"], {"parts": []})
            assert "finishReason" not in made, "something comes after the end"
            for part in candidate["content"].get("parts", ()):
                last = made["parts"][-1] if made["parts"] else {}
                if "text" in part and "text" in last and part.get("thought") == last.get("thought"):
                    made["parts"][-1] = {**last, "text": last["text"] + part["text"]}
                else:
                    made["parts"].append(part)
            made |= {key: value for key, value in candidate.items() if key != "content"}
    return [candidates[index] for index in sorted(candidates)]


@pytest.mark.parametrize("name", NAMES)
def test_plain_and_streamed_say_the_same(server: App, name: str) -> None:
    plain, streamed = (server.ask(url.format(model=name), request(name)) for url in (URL, STREAM_URL))
    assert plain.status == 200, plain.body
    assert plain.headers["content-type"] == "application/json; charset=UTF-8"
    check_response(plain.json)
    found = events(streamed)
    for event in found:
        check_response(event)
    assert found[-1]["usageMetadata"] == plain.json["usageMetadata"]
    assert {(event["responseId"], event["modelVersion"]) for event in found} == {
        (plain.json["responseId"], plain.json["modelVersion"])
    }
    expected = [
        {"parts": candidate["content"].get("parts", []), **{k: v for k, v in candidate.items() if k != "content"}}
        for candidate in plain.json["candidates"]
    ]
    assert joined(found) == expected


@pytest.mark.parametrize("name", ["text", "n", "tool-calls", "logprobs", "reasoning"])
def test_an_array_says_the_same_too(server: App, name: str) -> None:
    array = server.ask(STREAM_URL.format(model=name).partition("?")[0], request(name))
    assert array.headers["content-type"] == "application/json; charset=UTF-8"
    assert array.body.startswith(b"[{\n")
    assert array.body.endswith(b"}\n]\n")
    assert array.json == events(server.ask(STREAM_URL.format(model=name), request(name)))


@pytest.mark.parametrize("name", FAILURES)
def test_failures(server: App, name: str) -> None:
    plain, streamed = (server.ask(url.format(model=name), request(name)) for url in (URL, STREAM_URL))
    if "filter" in json.dumps(FAILURES[name]):  # which is an answer without candidates
        check_response(plain.json)
        assert plain.status == streamed.status == 200
        assert "candidates" not in plain.json
        assert events(streamed) == [plain.json]
        return
    assert plain.status >= 400
    has_shape(plain.json, "gemini", "error")
    assert plain.json["error"]["code"] == plain.status
    assert (streamed.status, streamed.body) == (plain.status, plain.body)
    assert ("retry-after" in plain.headers) == ("retry_after" in FAILURES[name])
    array = server.ask(STREAM_URL.format(model=name).partition("?")[0], request(name))
    assert array.json == [plain.json]
