"""Recordings of Ollama: taken by the proxy and replayed, read alike plain and streamed, and turned into rules."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from mockserver.cassettes.formats import parse_answer
from mockserver.cassettes.parsed_response import ParsedResponse
from mockserver.cassettes.to_rules import write_rules_file
from mockserver.cassettes.verify import find_misshapen
from mockserver.testing import MockServer, MockServerWarning
from tests.cassettes.convert.test_rules import learned
from tests.dialects.features import FEATURES, rules
from tests.dialects.ollama.features import GENERATE_URL, URL, names, request
from tests.kit.episodes import episode
from tests.kit.local import local

Json = Any
SERVER = local(rules())
CHAT = {"model": "llama3.2", "messages": [{"role": "user", "content": "Hello"}]}
# What is not in the bytes: a call that a limit has cut, hidden parts, log probabilities.
UNSEEN = ("max-tokens", "generated", "logprobs", "usage", "template", "parts", "refusal", "resolved")
RULED = [name for name in names() if FEATURES[name].then and not name.startswith(UNSEEN)]


def both(name: str) -> tuple[ParsedResponse, ParsedResponse]:
    recorded = [episode(SERVER, URL, request(name, stream=stream)) for stream in (False, True)]
    assert [list(find_misshapen(each)) for each in recorded] == [[], []]
    plain, streamed = (parse_answer(each) for each in recorded)
    return plain, streamed


@pytest.mark.parametrize("name", names())
def test_a_stream_says_what_a_plain_answer_says(name: str) -> None:
    plain, streamed = both(name)
    assert plain == streamed


@pytest.mark.parametrize("name", RULED)
def test_rules_answer_as_it_was_recorded(name: str) -> None:
    made, skipped = learned(episode(SERVER, URL, request(name, stream=True)))
    assert not skipped
    again = local(write_rules_file(made), unmatched="error")
    first, second = (server.ask(URL, request(name)).json for server in (SERVER, again))
    assert shown(first) == shown(second)


def shown(answer: Json) -> Json:
    message = answer["message"]
    return message["content"], [call["function"] for call in message.get("tool_calls", ())], answer["done_reason"]


OTHERS: dict[str, Json] = {
    "/ollama/api/embed": {"model": "nomic-embed-text", "input": ["sea", "land"], "dimensions": 3},
    "/ollama/api/embeddings": {"model": "nomic-embed-text", "prompt": "sea"},
    "/ollama/api/show": {"model": "llama3.2"},
    "/ollama/api/pull": {"model": "llama3.2"},
    GENERATE_URL: {"model": "llama3.2", "prompt": "Hello"},
    "/ollama/v1/chat/completions": CHAT,
    "/ollama/v1/completions": {"model": "llama3.2", "prompt": "Hello", "stream": True},
    "/ollama/v1/embeddings": {"model": "nomic-embed-text", "input": "Hello"},
    "/ollama/v1/responses": {"model": "llama3.2", "input": "Hello", "stream": True},
    "/ollama/v1/messages": {**CHAT, "max_tokens": 9, "stream": True},
}


@pytest.mark.parametrize("path", OTHERS)
def test_other_answers_are_whole(path: str) -> None:
    found = episode(SERVER, path, OTHERS[path])
    assert (found.reply.status, list(find_misshapen(found))) == (200, [])


def test_the_list_of_models_is_whole() -> None:
    assert list(find_misshapen(episode(SERVER, "/ollama/api/tags", method="GET"))) == []


def test_a_stream_is_recorded_line_by_line_and_replayed(tmp_path: Path) -> None:
    with MockServer() as provider:
        provider.on("Hello").reply("Hi there, grüße!")
        upstream = {"ollama": provider.base_url("ollama")}
        with MockServer(cassettes=str(tmp_path), cassette="ollama", record="once", upstream=upstream) as proxy:
            recorded = httpx.post(f"{proxy.base_url('ollama')}/api/chat", json=CHAT, trust_env=False)
    written = (tmp_path / "ollama.yaml").read_text()
    assert "ends: bare" in written
    assert written.count('"done": false') == len(recorded.content.splitlines()) - 1
    with MockServer(cassettes=str(tmp_path), cassette="ollama") as player:
        replayed = httpx.post(f"{player.base_url('ollama')}/api/chat", json=CHAT, trust_env=False)
        (call,) = player.calls
    assert replayed.content == recorded.content
    assert replayed.headers["content-type"] == "application/x-ndjson"
    assert len(call.frames) == len(recorded.content.splitlines())


def test_a_secret_that_a_stream_splits_is_redacted(tmp_path: Path) -> None:
    key = "sk-live-0123456789abcdef0123456789"
    with MockServer() as provider:
        provider.on("Hello").reply(f"Your key is {key}.")
        upstream = {"ollama": provider.base_url("ollama")}
        with MockServer(cassettes=str(tmp_path), cassette="ollama", record="once", upstream=upstream) as proxy:
            url, own = f"{proxy.base_url('ollama')}/api/chat", {"authorization": f"Bearer {key}"}
            assert "Your" in httpx.post(url, json=CHAT, headers=own, trust_env=False).text
    written = (tmp_path / "ollama.yaml").read_text()
    assert "Your" in written
    assert "0123456789" not in written.replace(" ", "").partition("sha256")[0]
    assert "abcdef" not in written.partition("sha256")[0]


def test_an_unfinished_stream_is_not_recorded(tmp_path: Path) -> None:
    with MockServer() as provider:
        provider.on("Hello").then({"text": "One two three.", "faults": ["cut"]})
        upstream = {"ollama": provider.base_url("ollama")}
        with (
            pytest.warns(MockServerWarning, match="an answer was not recorded"),
            MockServer(cassettes=str(tmp_path), cassette="ollama", record="once", upstream=upstream) as proxy,
        ):
            httpx.post(f"{proxy.base_url('ollama')}/api/chat", json=CHAT, trust_env=False)
    assert not (tmp_path / "ollama.yaml").exists()
