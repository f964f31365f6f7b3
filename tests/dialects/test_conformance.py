"""Every dialect x every feature, plain and streamed, held against the laws, the types and the provider's schema."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from tests.dialects import laws
from tests.dialects.features import FAILURES, FEATURES, HEADERS, URLS, request, rules, spoken
from tests.kit.asgi import App, app
from tests.kit.local import Answered
from tests.kit.strict import WITH_PREAMBLE, check_chunk, check_completion, frames

Json = Any
# Where a stream tells its usage when the request does not ask for it, and what the other chunks show.
UNASKED_USAGE: Mapping[str, str] = {
    "openai": "absent",
    "crazyrouter": "absent",
    "skytells": "null",
    "azure": "finish",
    "tzafon": "absent",
    "azure_openai": "absent",
    "fireworks": "finish",
}

# What its client's types of a chunk do not know: custom tools.
BEYOND_THE_TYPES = {"custom-tool-call", "custom-tool-call-auto", "generated-custom-call"}

PAIRS = [pytest.param(dialect, name, id=f"{dialect}-{name}") for dialect, name in spoken(URLS, FEATURES)]


@cache
def server() -> App:
    return app(rules())


def ask(dialect: str, name: str, *, stream: bool = False, usage: bool = False) -> Answered:
    body = request(name, stream=stream, usage=usage)
    return server().ask(URLS[dialect], body, headers=HEADERS.get(dialect))


def streamed(dialect: str, name: str, *, usage: bool = False) -> laws.Stream:
    answered = ask(dialect, name, stream=True, usage=usage)
    assert answered.status == 200, answered.body
    assert answered.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert "content-length" not in answered.headers
    return laws.Stream(answered.body)


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_plain(dialect: str, name: str) -> None:
    answered = ask(dialect, name)
    assert answered.status == 200, answered.body
    for law in laws.PLAIN_LAWS:
        law(answered)
    laws.has_shape(answered.json, dialect, "completion")
    check_completion(answered.body, dialect)
    limits = FEATURES[name].body
    assert len(answered.json["choices"]) == limits.get("n", 1)
    if "max_tokens" in limits:
        assert answered.json["usage"]["completion_tokens"] <= limits["max_tokens"] * limits.get("n", 1)
        assert {choice["finish_reason"] for choice in answered.json["choices"]} == {"length"}


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_stream(dialect: str, name: str) -> None:
    stream = streamed(dialect, name)
    for law in laws.STREAM_LAWS:
        law(stream)
    for chunk in stream.chunks:
        laws.has_shape(chunk, dialect, "chunk")
    assert (stream.preamble is not None) == (dialect in WITH_PREAMBLE)
    if dialect in WITH_PREAMBLE:
        laws.has_shape(stream.preamble, dialect, "preamble")
    if name not in BEYOND_THE_TYPES:
        for frame in frames(stream.body)[:-1]:
            check_chunk(frame, dialect)
    shown = [chunk.get("usage", "absent") for chunk in stream.chunks]
    if UNASKED_USAGE[dialect] == "finish":
        assert shown[:-1] == ["absent"] * (len(shown) - 1)
        assert shown[-1] == ask(dialect, name).json["usage"]
    else:
        assert shown == [None if UNASKED_USAGE[dialect] == "null" else "absent"] * len(shown)


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_stream_with_usage(dialect: str, name: str) -> None:
    asked, unasked = streamed(dialect, name, usage=True), streamed(dialect, name)
    for law in laws.STREAM_LAWS:
        law(asked)
    last = asked.chunks[-1]
    laws.has_shape(last, dialect, "chunk")
    check_chunk(json.dumps(last).encode(), dialect)
    assert last["choices"] == []
    assert last["usage"] == ask(dialect, name).json["usage"]
    assert {json.dumps(chunk.get("usage")) for chunk in asked.chunks[:-1]} == {"null"}
    assert [chunk["choices"] for chunk in asked.chunks[:-1]] == [chunk["choices"] for chunk in unasked.chunks]


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_stream_and_plain_say_the_same(dialect: str, name: str) -> None:
    answered, stream = ask(dialect, name), streamed(dialect, name)
    assert laws.joined(stream) == laws.told(answered)
    for key in ("id", "created", "model", "system_fingerprint", "service_tier"):
        chunk = stream.chunks[0]
        assert key not in chunk or chunk[key] == answered.json[key]


# What each choice calls that nobody wrote a rule for.
OSLO, ROME = '{"city":"Oslo"}', '{"city":"Rome"}'
CALLED: Mapping[str, list[str]] = {
    "generated-call": [OSLO],
    "generated-calls": [OSLO, ROME],
    "generated-calls-one-by-one": [OSLO],
    "generated-call-of-n": [OSLO],
    "generated-call-with-logprobs": [OSLO],
    "generated-call-and-stop": [OSLO],
    "generated-call-after-thinking": [OSLO],
    "auto-of-a-rule": [OSLO],
    "tool-calls-auto": [OSLO, ROME],
    "generated-of-results": [],
}


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize(("name", "called"), CALLED.items())
def test_what_is_called_without_a_rule(dialect: str, name: str, called: list[str]) -> None:
    for choice in ask(dialect, name).json["choices"]:
        calls = choice["message"].get("tool_calls", [])
        assert [call["function"]["arguments"] for call in calls] == called
        assert choice["finish_reason"] == ("tool_calls" if called else "stop")


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_the_blocks_of_a_stream_add_up(dialect: str, name: str) -> None:
    """Log probabilities, annotations and filter results, where the dialect streams them."""
    answered, stream = ask(dialect, name).json, streamed(dialect, name)
    for choice, steps in zip(answered["choices"], stream.of_each_choice().values(), strict=True):
        if any(step.get("logprobs") for step in steps):
            parts = [part for step in steps if step.get("logprobs") for part in step["logprobs"]["content"]]
            assert parts == choice["logprobs"]["content"]
            assert "".join(part["token"] for part in parts) == choice["message"]["content"]
        if notes := [note for step in steps for note in step["delta"].get("annotations", ())]:
            assert notes == choice["message"]["annotations"]
        assert steps[-1].get("content_filter_results") == choice.get("content_filter_results")
    if "prompt_filter_results" in answered:
        shown = [chunk.get("prompt_filter_results") for chunk in stream.sent]
        assert shown == [answered["prompt_filter_results"]] + [None] * (len(shown) - 1)


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize("name", FAILURES)
def test_failures(dialect: str, name: str) -> None:
    plain, stream = ask(dialect, name), ask(dialect, name, stream=True)
    assert plain.status >= 400
    laws.a_body_is_one_line(plain)
    laws.has_shape(plain.json, dialect, "error")
    assert (stream.status, stream.body, stream.headers["content-type"]) == (
        plain.status,
        plain.body,
        "application/json",
    )
    if dialect in ("azure", "skytells"):  # these tell the status in the body too
        assert (plain.json if dialect == "azure" else plain.json["error"])["status"] == plain.status
    if dialect == "azure":
        assert plain.headers["x-ms-error-code"]
    elif dialect == "azure_openai":
        assert plain.headers["x-request-id"] == plain.headers["apim-request-id"]
    else:
        assert plain.headers["x-request-id"].startswith("req_")
    assert ("retry-after" in plain.headers) == ("retry_after" in FAILURES[name])


@pytest.mark.parametrize("dialect", URLS)
def test_catalogues(dialect: str) -> None:
    if dialect == "azure":
        info = server().ask("/azure/info?api-version=2024-05-01-preview", method="GET")
        laws.has_shape(info.json, dialect, "info")
        return
    root = URLS[dialect].partition("/chat")[0]
    listed = server().ask(f"{root}/models", method="GET")
    laws.has_shape(listed.json, dialect, "models")
    one = server().ask(f"{root}/models/{listed.json['data'][0]['id']}", method="GET")
    laws.has_shape(one.json, dialect, "model")
    assert one.json == listed.json["data"][0]
