"""Recordings of Cohere, Jina and Voyage: read alike plain and streamed, turned into rules, recorded and replayed."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from mockserver.cassettes.formats import find_episode_format, parse_answer, parse_response
from mockserver.cassettes.parsed_response import ParsedResponse
from mockserver.cassettes.to_rules import write_rules_file
from mockserver.cassettes.verify import find_misshapen
from mockserver.testing import MockServer
from tests.cassettes.convert.test_rules import learned
from tests.dialects.cohere.features import FEATURES, HI, NEW, OLD, OLD_FEATURES, OTHERS, PATHS, request
from tests.dialects.cohere.test_chat import SERVER
from tests.kit.episodes import episode
from tests.kit.local import local

Json = Any
UNRULED = ("custom call", "filtered", "refusal", "stop")  # whose rules say the same in other words
RULED = [name for name, each in FEATURES.items() if each.then and name not in UNRULED]


def read(name: str, *, stream: bool) -> ParsedResponse:
    recorded = episode(SERVER, NEW, request(name, stream=stream))
    assert list(find_misshapen(recorded)) == []
    return parse_answer(recorded)


@pytest.mark.parametrize("name", FEATURES)
def test_a_stream_is_read_as_a_plain_answer(name: str) -> None:
    plain, streamed = read(name, stream=False), read(name, stream=True)
    assert plain.choices == streamed.choices
    assert plain.usage == streamed.usage
    assert (plain.complete, streamed.complete) == (True, True)


@pytest.mark.parametrize("name", RULED)
def test_rules_answer_as_it_was_recorded(name: str) -> None:
    made, skipped = learned(episode(SERVER, NEW, request(name, stream=True)))
    assert not skipped
    again = local(write_rules_file(made), unmatched="error")
    first, second = (server.ask(NEW, request(name)).json for server in (SERVER, again))
    for answer in (first, second):
        for call in answer["message"].get("tool_calls", ()):
            del call["id"]
    assert first["message"] == second["message"]
    assert first["finish_reason"] == second["finish_reason"]


def test_a_stream_that_breaks_off_is_incomplete() -> None:
    recorded = episode(SERVER, NEW, request("text", stream=True))
    cut = parse_response(
        type(recorded.reply)(200, (), frames=(recorded.reply.frames or ())[:5]), find_episode_format(recorded)
    )
    assert (cut.complete, cut.error) == (False, None)
    assert cut.choices[0].join_texts("text") == "The sea is"


@pytest.mark.parametrize("name", OLD_FEATURES)
def test_answers_of_v1_are_whole(name: str) -> None:
    recorded = episode(SERVER, OLD, {"message": HI["message"], **OLD_FEATURES[name]})
    assert list(find_misshapen(recorded)) == []
    (choice,) = parse_answer(recorded).choices
    assert choice.finish == ("tool_calls" if choice.calls else "stop")
    assert choice.calls or choice.join_texts("text")


@pytest.mark.parametrize(("path", "body"), [(path, body) for path, bodies in PATHS.items() for body in bodies])
def test_other_answers_are_whole(path: str, body: Json) -> None:
    assert list(find_misshapen(episode(SERVER, f"/cohere{path}", {**body, "stream": False}))) == []


def test_what_is_wrong_with_a_recording_is_told() -> None:
    recorded = episode(SERVER, "/cohere/v2/rerank", OTHERS["rerank"][0])
    body = json.loads(recorded.reply.body)
    del body["results"][0]["index"]
    spoilt = type(recorded.reply)(200, (), json.dumps(body).encode())
    found = list(find_misshapen(type(recorded)("cohere", "rerank", "m", recorded.request, spoilt)))
    assert found == ["the answer has no $.results[0].index; add it, or record it again"]


def test_the_proxy_records_and_replays_without_keys(tmp_path: Path) -> None:
    """Every service by its own upstream, plain and streamed, in lines too."""
    ranked = {"model": "m", "query": "the sea", "documents": ["a street", "the sea"]}
    asked: list[tuple[str, str, Json]] = [
        ("cohere", "/v2/chat", {"model": "m", **HI}),
        ("cohere", "/v2/chat", {"model": "m", **HI, "stream": True}),
        ("cohere", "/v1/chat", {"message": "Hello", "stream": True}),
        ("cohere", "/v2/rerank", ranked),
        ("jina", "/rerank", ranked),
        ("voyage", "/embeddings", {"model": "m", "input": ["a"], "encoding_format": "base64"}),
    ]

    def answers(server: MockServer) -> list[bytes]:
        key = {"authorization": "Bearer secretsecretsecretsecret"}
        found = [
            httpx.post(server.base_url(dialect) + path, json=body, headers=key, trust_env=False)
            for dialect, path, body in asked
        ]
        assert [each.status_code for each in found] == [200] * len(asked)
        return [each.content for each in found]

    stated: Json = {"cassette": "sea", "cassettes": str(tmp_path)}
    with MockServer(unmatched="generate") as upstream:
        real = {name: f"{upstream.url}/{name}" for name in ("cohere", "jina", "voyage")}
        with MockServer(record="all", upstream=real, **stated) as server:
            first = answers(server)
    text = (tmp_path / "sea.yaml").read_text()
    assert "secretsecret" not in text
    assert text.count("operation: rerank") == 2
    with MockServer(**stated) as server:
        assert answers(server) == first
