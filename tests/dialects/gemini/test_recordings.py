"""Recordings of Gemini: taken by the proxy and replayed, read alike plain and streamed, and turned into rules."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from mockserver.cassettes.formats import parse_answer
from mockserver.cassettes.parsed_response import ParsedResponse
from mockserver.cassettes.to_rules import write_rules_file
from mockserver.cassettes.verify import find_misshapen
from mockserver.testing import MockServer
from tests.cassettes.convert.test_rules import learned
from tests.dialects.features import FEATURES, rules
from tests.dialects.gemini.features import STREAM_URL, URL, names, request
from tests.kit.episodes import episode
from tests.kit.local import local

Json = Any
SERVER = local(rules())
# What is not in the bytes: a call that a limit has cut, several candidates of a rule, hidden thoughts, filters.
UNSEEN = ("max-tokens", "generated", "filtered", "annot", "reasoning", "parts", "logprobs", "usage", "template", "echo")
RULED = [name for name in names() if FEATURES[name].then and not name.startswith(UNSEEN)]


def both(name: str) -> tuple[ParsedResponse, ParsedResponse]:
    recorded = [episode(SERVER, url.format(model=name), request(name)) for url in (URL, STREAM_URL)]
    assert [list(find_misshapen(each)) for each in recorded] == [[], []]
    plain, streamed = (parse_answer(each) for each in recorded)
    return plain, streamed


@pytest.mark.parametrize("name", names())
def test_a_stream_says_what_a_plain_answer_says(name: str) -> None:
    plain, streamed = both(name)
    assert [choice.parts for choice in plain.choices] == [choice.parts for choice in streamed.choices]
    assert [choice.finish for choice in plain.choices] == [choice.finish for choice in streamed.choices]
    assert (plain.model, plain.complete, plain.usage) == (streamed.model, streamed.complete, streamed.usage)


ONE = {"content": {"parts": [{"text": "sea"}]}, "outputDimensionality": 3}
OTHERS = {
    "/gemini/v1beta/models/gemini-embedding-001:embedContent": ONE,
    "/gemini/v1beta/models/gemini-embedding-001:batchEmbedContents": {
        "requests": [{"model": "models/gemini-embedding-001", **ONE}]
    },
    "/gemini/v1beta1/publishers/google/models/text-embedding-005:predict": {"instances": [{"content": "sea"}]},
}


@pytest.mark.parametrize("path", OTHERS)
def test_recorded_embeddings_are_whole(path: str) -> None:
    found = episode(SERVER, path, OTHERS[path])
    assert (found.reply.status, list(find_misshapen(found))) == (200, [])


def test_recorded_models_are_whole() -> None:
    for path in ("/gemini/v1beta/models", "/gemini/v1beta1/publishers/google/models", "/gemini/v1beta/models/x"):
        found = episode(SERVER, path, method="GET")
        assert (found.reply.status, list(find_misshapen(found))) == (200, [])


@pytest.mark.parametrize("name", RULED)
def test_rules_answer_as_it_was_recorded(name: str) -> None:
    made, skipped = learned(episode(SERVER, STREAM_URL.format(model=name), request(name)))
    assert not skipped
    again = local(write_rules_file(made), unmatched="error")
    first, second = (server.ask(URL.format(model=name), request(name)).json for server in (SERVER, again))
    assert [shown(each) for each in first["candidates"]] == [shown(each) for each in second["candidates"]]


def shown(candidate: Json) -> Json:
    parts = [{key: value for key, value in part.items() if key != "thoughtSignature"} for part in _parts(candidate)]
    return {**candidate, "content": parts}


def _parts(candidate: Json) -> Json:
    return candidate["content"].get("parts", [])


def test_the_proxy_records_and_replays_without_keys(tmp_path: Path) -> None:
    key = "AIzaSyD-secretsecretsecretsecretsecret1"
    body = {"contents": [{"role": "user", "parts": [{"text": "Say something about the sea."}]}]}

    def answers(server: MockServer) -> list[bytes]:
        base = f"{server.base_url('gemini')}/v1beta/models/gemini-2.5-flash"
        verbs = ("generateContent?", "streamGenerateContent?alt=sse&", "streamGenerateContent?x=1&")
        asked = [f"{base}:{verb}key={key}" for verb in verbs]
        return [httpx.post(url, json=body, headers={"x-goog-api-key": key}, trust_env=False).content for url in asked]

    stated: Json = {"cassette": "sea", "cassettes": str(tmp_path)}
    with (
        MockServer(unmatched="generate") as real,
        MockServer(record="all", upstream={"gemini": real.base_url("gemini")}, **stated) as server,
    ):
        first = answers(server)
    text = (tmp_path / "sea.yaml").read_text()
    assert "secretsecret" not in text
    assert text.count("operation: chat") == 3
    with MockServer(**stated) as server:
        assert answers(server) == first


def test_the_transport_knows_the_host() -> None:
    with MockServer(unmatched="generate") as server:
        server.on("hello").reply("Hi!")
        with httpx.Client(transport=server.transport()) as client:
            url = (
                "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
            )
            with client.stream("POST", url, json={"contents": [{"parts": [{"text": "hello"}]}]}) as answer:
                lines = [line for line in answer.iter_lines() if line]
    assert [line.startswith("data: {") for line in lines] == [True] * 2


@pytest.mark.parametrize(
    "then", ['{"content_filter": {"on": "prompt", "category": "hate"}}', '{"error": "content_filter"}']
)
def test_rules_block_a_prompt_as_it_was_recorded(then: str) -> None:
    blocking = local(f'{{"rules": [{{"then": {then}}}]}}')
    for url in (URL, STREAM_URL):
        made, skipped = learned(episode(blocking, url.format(model="x"), request("x")))
        assert not skipped
        again = local(write_rules_file(made), unmatched="error")
        first, second = (server.ask(URL.format(model="x"), request("x")).json for server in (blocking, again))
        assert first["promptFeedback"] == second["promptFeedback"]
