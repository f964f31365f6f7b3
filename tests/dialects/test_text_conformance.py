"""Every dialect x every feature of a text completion, plain and streamed, held against the laws and the types."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from mockserver.dialects import discover
from tests.dialects import laws, text_laws
from tests.dialects.features import FAILURES, rules, spoken
from tests.dialects.text_features import TEXT_FEATURES, TEXT_URLS, text_request
from tests.kit.asgi import App, app
from tests.kit.local import Answered
from tests.kit.strict import WITH_PREAMBLE, check_text, check_text_chunk, frames

Json = Any
# Where a stream tells its usage when the request does not ask for it.
UNASKED_USAGE: Mapping[str, str] = {"openai": "absent", "azure_openai": "absent", "fireworks": "finish"}
URLS = {dialect: url for dialect, url in TEXT_URLS.items() if dialect in discover()}
PAIRS = [pytest.param(dialect, name, id=f"{dialect}-{name}") for dialect, name in spoken(URLS, TEXT_FEATURES)]


@cache
def server() -> App:
    return app(rules(TEXT_FEATURES))


def ask(dialect: str, name: str, *, stream: bool = False, usage: bool = False) -> Answered:
    return server().ask(URLS[dialect], text_request(name, stream=stream, usage=usage))


def streamed(dialect: str, name: str, *, usage: bool = False) -> laws.Stream:
    answered = ask(dialect, name, stream=True, usage=usage)
    assert answered.status == 200, answered.body
    assert answered.headers["content-type"] == "text/event-stream; charset=utf-8"
    return laws.Stream(answered.body)


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_plain(dialect: str, name: str) -> None:
    answered = ask(dialect, name)
    assert answered.status == 200, answered.body
    for law in text_laws.TEXT_PLAIN_LAWS:
        law(answered)
    laws.has_shape(answered.json, dialect, "text_completion")
    check_text(answered.body, dialect)
    assert ask(dialect, name).body == answered.body
    asked = TEXT_FEATURES[name].body
    prompts = asked.get("prompt")
    several = len(prompts) if isinstance(prompts, list) and not isinstance(prompts[0], int) else 1
    assert len(answered.json["choices"]) == several * asked.get("n", 1)


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_stream(dialect: str, name: str) -> None:
    stream = streamed(dialect, name)
    for law in text_laws.TEXT_STREAM_LAWS:
        law(stream)
    assert (stream.preamble is not None) == (dialect in WITH_PREAMBLE)
    for frame in frames(stream.body)[:-1]:
        check_text_chunk(frame, dialect)
    for chunk in stream.chunks:
        laws.has_shape(chunk, dialect, "text_chunk")
    shown = [chunk.get("usage", "absent") for chunk in stream.chunks]
    if UNASKED_USAGE[dialect] == "finish":
        assert shown == [None] * (len(shown) - 1) + [ask(dialect, name).json["usage"]]
    else:
        assert shown == ["absent"] * len(shown)


@pytest.mark.parametrize(("dialect", "name"), [pair for pair in PAIRS if pair.values[0] != "fireworks"])
def test_stream_with_usage(dialect: str, name: str) -> None:
    asked, unasked = streamed(dialect, name, usage=True), streamed(dialect, name)
    last = asked.chunks[-1]
    assert last["choices"] == []
    assert last["usage"] == ask(dialect, name).json["usage"]
    assert {json.dumps(chunk["usage"]) for chunk in asked.chunks[:-1]} == {"null"}
    assert [chunk["choices"] for chunk in asked.chunks[:-1]] == [chunk["choices"] for chunk in unasked.chunks]


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_stream_and_plain_say_the_same(dialect: str, name: str) -> None:
    answered, stream = ask(dialect, name), streamed(dialect, name)
    assert text_laws.joined_texts(stream) == text_laws.told_texts(answered)
    for key in ("id", "object", "created", "model"):
        assert stream.chunks[0][key] == answered.json[key]
    assert stream.chunks[-1].get("perf_metrics") == answered.json.get("perf_metrics")
    if stream.preamble is not None:
        assert stream.preamble["prompt_filter_results"] == answered.json["prompt_filter_results"]


@pytest.mark.parametrize("dialect", URLS)
def test_the_first_token_of_an_echo(dialect: str) -> None:
    """Nothing stands before it: OpenAI says null, Fireworks (whose types know no null) a number."""
    block = ask(dialect, "repeated-with-logprobs").json["choices"][0]["logprobs"]
    assert (block["token_logprobs"][0] is None) == (block["top_logprobs"][0] is None) == (dialect != "fireworks")
    assert None not in block["token_logprobs"][1:]


@pytest.mark.parametrize("dialect", URLS)
@pytest.mark.parametrize("name", FAILURES)
def test_failures(dialect: str, name: str) -> None:
    plain, stream = ask(dialect, name), ask(dialect, name, stream=True)
    assert plain.status >= 400
    laws.a_body_is_one_line(plain)
    laws.has_shape(plain.json, dialect, "error")
    assert (stream.status, stream.body) == (plain.status, plain.body)
