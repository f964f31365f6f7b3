"""Recordings of Anthropic: taken by the proxy and replayed, read alike plain and streamed, and turned into rules."""

from pathlib import Path
from typing import Any

import anthropic
import pytest

from mockserver.cassettes.formats import parse_answer, parse_response
from mockserver.cassettes.parsed_response import ParsedResponse
from mockserver.cassettes.to_rules import make_rules, write_rules_file
from mockserver.cassettes.verify import find_misshapen
from mockserver.testing import MockServer
from tests.cassettes.convert.test_rules import learned
from tests.dialects.anthropic.features import FEATURES, PROMPT, request, rules
from tests.kit.episodes import episode
from tests.kit.local import local
from tests.kit.strict_messages import accumulate_message

PATH = "/anthropic/v1/messages"
Json = Any
HELLO = {"role": "user", "content": "Hello"}
CUT = ("max-tokens-of-a-tool-call", "generated-call-cut")  # whose arguments are only in a stream what they were
RULED = [name for name, (then, _) in FEATURES.items() if then and name not in CUT]
SERVER = local(rules())


def both(name: str) -> tuple[ParsedResponse, ParsedResponse]:
    recorded = [episode(SERVER, PATH, request(name, **more)) for more in ({}, {"stream": True})]
    assert [list(find_misshapen(each)) for each in recorded] == [[], []]
    plain, streamed = (parse_answer(each) for each in recorded)
    return plain, streamed


@pytest.mark.parametrize("name", [name for name in FEATURES if name not in CUT])
def test_a_stream_says_what_a_plain_answer_says(name: str) -> None:
    plain, streamed = both(name)
    assert [choice.parts for choice in plain.choices] == [choice.parts for choice in streamed.choices]
    assert (plain.choices[0].finish, plain.model, plain.complete) == (streamed.choices[0].finish, name, True)
    assert streamed.complete


@pytest.mark.parametrize("name", RULED)
def test_rules_answer_as_it_was_recorded(name: str) -> None:
    recorded = episode(SERVER, PATH, request(name, stream=True))
    made, skipped = learned(recorded)
    assert not skipped
    again = local(write_rules_file(made), unmatched="error")
    first, second = (server.ask(PATH, request(name)).json for server in (SERVER, again))
    differing = {"id", "usage", "stop_sequence", "stop_details"}
    if name == "reasoning-omitted":  # nobody knows what was thought
        differing.add("content")
    assert shown(first, differing) == shown(second, differing)


def shown(message: Json, hidden: set[str]) -> Json:
    content = [
        {key: value for key, value in block.items() if key not in ("id", "tool_use_id")} for block in message["content"]
    ]
    kept = {key: value for key, value in message.items() if key not in hidden}
    return {**kept, **({} if "content" in hidden else {"content": content})}


def test_the_proxy_records_and_replays(tmp_path: Path) -> None:
    asked: Json = {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": [{"role": "user", "content": PROMPT}]}

    def answers(server: MockServer) -> Json:
        base = server.base_url("anthropic")
        with anthropic.Anthropic(base_url=base, api_key="sk-ant-api03-secretsecretsecret") as client:
            with client.messages.stream(**asked) as stream:
                streamed = stream.get_final_message().to_dict()
            return client.messages.create(**asked).to_dict(), streamed

    stated: Json = {"cassette": "sea", "cassettes": str(tmp_path)}
    with MockServer(unmatched="generate") as upstream:
        real = upstream.base_url("anthropic")
        with MockServer(record="all", upstream={"anthropic": real}, **stated) as server:
            first = answers(server)
    text = (tmp_path / "sea.yaml").read_text()
    assert text.count("secretsecret") == 0
    assert text.count("operation: chat") == 2
    with MockServer(**stated) as server:
        assert answers(server) == first


def test_a_stream_that_breaks_off_is_incomplete() -> None:
    recorded = episode(SERVER, PATH, request("text", stream=True))
    frames = recorded.reply.frames or ()
    whole = b"".join(data for _, data in frames)
    assert accumulate_message(whole)["content"]
    cut = parse_response(type(recorded.reply)(200, (), frames=frames[:5]), "messages")
    assert (cut.complete, cut.error) == (False, None)
    assert make_rules([])[0] == []


def test_results_of_a_recorded_batch_are_requested_here(tmp_path: Path) -> None:
    """A client requests the `results_url` that it gets, with its key."""
    requests: Json = [{"custom_id": "a", "params": {"model": "m", "max_tokens": 9, "messages": [HELLO]}}]

    def results(server: MockServer) -> Json:
        base = server.base_url("anthropic")
        with anthropic.Anthropic(base_url=base, api_key="sk-x", max_retries=0) as client:
            named = client.messages.batches.create(requests=requests).id
            ended = client.messages.batches.retrieve(named)
            assert ended.results_url == f"{base}/v1/messages/batches/{named}/results"
            assert [each.results_url for each in client.messages.batches.list()] == [ended.results_url]
            return [result.to_dict() for result in client.messages.batches.results(named)]

    stated: Json = {"cassette": "batch", "cassettes": str(tmp_path)}
    with MockServer(unmatched="generate") as upstream:
        real = upstream.base_url("anthropic")
        with MockServer(record="all", upstream={"anthropic": real}, **stated) as server:
            first = results(server)
    text = (tmp_path / "batch.yaml").read_text()
    assert text.count("operation: batch_results") == 1
    assert f"{real}/v1/messages/batches" in text
    with MockServer(**stated) as server:
        assert results(server) == first
