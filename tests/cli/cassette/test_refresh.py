"""`mockserver cassette refresh` and `verify --live`, end to end: a second server is the provider, and changes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.testing import MockServer, Setup
from tests.cli.cassette.conftest import Place
from tests.kit.episodes import AT
from tests.kit.recording import recording

KEY = "sk-real-key-of-the-provider-123456"
CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}


class Provider:
    """A provider, and what it takes to record it and to record it again."""

    def __init__(self, server: MockServer, place: Place) -> None:
        self.server, self.place = server, place
        self.upstream = f"openai={server.url}/openai/v1"
        self.id = ""  # of the object that was answered last

    def record(self, *asked: tuple[str, str, Any]) -> None:
        """Record requests (method, path, body) into the cassette `chat`, and make the episodes old."""
        with recording(f"{self.server.url}/openai/v1", self.place.folder) as proxy, httpx.Client() as client:
            for method, path, body in asked:
                how = {"files": body} if method == "UPLOAD" else {"json": body} if body is not None else {}
                url = f"http://127.0.0.1:{proxy.port}/openai/v1{path.format(id=self.id)}"
                headers = {"authorization": f"Bearer {KEY}"}
                answer = client.request("POST" if method == "UPLOAD" else method, url, headers=headers, **how)
                self.id = answer.json().get("id", "") if "json" in answer.headers["content-type"] else ""
        CassetteFile(self.place.folder / "chat.yaml").rewrite(lambda all_: tuple(replace(one, at=AT) for one in all_))
        self.server.reset(Setup.make(keys=[KEY], unmatched="generate", seed=2))  # other ids from now on

    def run(self, *arguments: str) -> tuple[int, list[str]]:
        """The exit code of a command, and its lines."""
        ran = self.place.run(*arguments, "--upstream", self.upstream)
        assert ran.err == ""
        return ran.code, ran.out.splitlines()

    @property
    def file(self) -> str:
        return (self.place.folder / "chat.yaml").read_text()


@pytest.fixture
def provider(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider that wants its key, which the environment has."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MOCKSERVER_UPSTREAM_KEY_OPENAI", KEY)
    server = MockServer(keys=[KEY], unmatched="generate", seed=1).start()
    yield Provider(server, place)
    server.stop()


def test_other_words_are_no_change(provider: Provider) -> None:
    provider.server.on().reply("Hello")
    provider.record(("POST", "/chat/completions", CHAT))
    before = provider.file
    provider.server.on().reply("Good day to you")
    summary = "cassettes/chat.yaml: 1 of 1 episode answered again, 0 changed in meaning, 0 failed;"
    assert provider.run("refresh", "chat") == (0, [f"{summary} --write would update the words and times of 1"])
    assert provider.run("verify", "--live") == (0, ["1 cassette, 1 episode, 0 findings"])
    assert provider.file == before
    assert provider.run("refresh", "--write") == (0, [f"{summary} updated the words and times of 1"])
    assert "Good day to you" in provider.file
    assert KEY not in provider.file
    assert provider.place.episodes("chat")[0].at > AT


def test_a_change_of_shape(provider: Provider) -> None:
    provider.server.on().reply("Hello")
    provider.record(("POST", "/chat/completions", CHAT), ("POST", "/chat/completions", {**CHAT, "stream": True}))
    before = provider.file
    provider.server.on(stream=False).then(
        {"text": "Hello", "finish": "length", "faults": [{"missing_field": {"field": "/usage"}}]}
    )
    provider.server.on().reply("Hello", finish="length")
    changes = [
        "cassettes/chat.yaml#1: choices[].finish_reason: stop -> length",
        "cassettes/chat.yaml#1: usage: removed (table)",
        "cassettes/chat.yaml#2: [chunk].choices[].finish_reason: stop -> length",
    ]
    code, told = provider.run("refresh")
    assert (code, told[:-1]) == (1, changes)
    assert provider.run("verify", "--live") == (1, [*changes, "1 cassette, 2 episodes, 3 findings"])
    assert provider.file == before
    assert told[-1].endswith("2 of 2 episodes answered again, 2 changed in meaning, 0 failed; --write would replace 2")
    code, told = provider.run("refresh", "chat#2", "--write")
    assert (code, told[:-1]) == (0, changes[2:])
    assert told[-1].endswith("1 of 2 episodes answered again, 1 changed in meaning, 0 failed; replaced 1")
    code, told = provider.run("refresh", "--max-age", "90d")
    assert told[:-1] == changes[:2]
    assert told[-1].startswith("cassettes/chat.yaml: 1 of 2 episodes answered again, 1 changed in meaning, 0 failed; ")


def test_a_failed_request_leaves_the_old_answer(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    provider.server.on().reply("Hello")
    other = {**CHAT, "messages": [{"role": "user", "content": "Ho"}]}
    provider.record(("POST", "/chat/completions", CHAT), ("POST", "/chat/completions", other))
    provider.server.on(last_user="Hi").fail("rate_limit")
    provider.server.on().reply("Good day")
    code, told = provider.run("refresh", "--write")
    assert code == 2
    assert told[0].startswith("cassettes/chat.yaml#1: the provider answers 429: Rate limit reached")
    assert told[1].endswith(
        "1 of 2 episodes answered again, 0 changed in meaning, 1 failed; updated the words and times of 1"
    )
    one, two = provider.place.episodes("chat")
    assert (one.at, b"Hello" in one.reply.body) == (AT, True)
    assert b"Good day" in two.reply.body
    before = provider.file
    monkeypatch.setenv("MOCKSERVER_UPSTREAM_KEY_OPENAI", "wrong")
    code, told = provider.run("refresh", "--write")
    assert (code, provider.file) == (2, before)
    assert told[0].endswith("; set MOCKSERVER_UPSTREAM_KEY_OPENAI to a valid key")
    ran = provider.place.run("verify", "chat#1", "--live", "--upstream", provider.upstream)
    assert (ran.code, ran.out, ran.err) == (
        2,
        "1 cassette, 1 episode, 0 findings; 1 episode not compared\n",
        f"mockserver: {told[0]}\n",
    )
    provider.server.stop()
    code, told = provider.run("refresh", "--write")
    assert (code, provider.file) == (2, before)
    assert "no new answer: The upstream of openai, " in told[0]
    assert "refuses connections" in told[0]
    ran = provider.place.run("verify", "--live", "--upstream", provider.upstream)
    assert (ran.code, ran.out) == (2, "1 cassette, 2 episodes, 0 findings; 2 episodes not compared\n")
    assert ran.err.startswith("mockserver: cassettes/chat.yaml#1: no new answer: The upstream of openai, ")
    provider.server.start()


def test_files_and_polls_follow_their_new_ids(provider: Provider) -> None:
    upload = {"file": ("a.txt", b"hello", "text/plain"), "purpose": (None, "user_data")}
    provider.record(("UPLOAD", "/files", upload), ("GET", "/files/{id}", None), ("GET", "/files/{id}", None))
    before = [json.loads(each.reply.body)["id"] for each in provider.place.episodes("chat")]
    code, told = provider.run("refresh", "chat#3", "--write")
    summary = "3 of 3 episodes answered again, 0 changed in meaning, 0 failed; updated the words and times of 3"
    assert (code, told) == (0, [f"cassettes/chat.yaml: {summary}"])
    made, *polled = provider.place.episodes("chat")
    after = json.loads(made.reply.body)["id"]
    assert after not in before
    assert [each.request.path for each in polled] == [f"/openai/v1/files/{after}"] * 2
    assert b"hello" in made.request.body


def test_a_conversation_is_recorded_again_as_a_whole(provider: Provider) -> None:
    turns = [*CHAT["messages"], {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "And?"}]
    provider.server.on(turn=0).reply("Hello")
    provider.server.on().fail(429).times(1)
    provider.server.on().reply("Well")
    second = ("POST", "/chat/completions", {**CHAT, "messages": turns})
    provider.record(("POST", "/chat/completions", CHAT), second, second)
    first = provider.server.on(turn=0).reply("Good day")
    broken = provider.server.on().fail(500)
    code, told = provider.run("refresh", "--write")
    assert code == 2
    assert told[0] == "cassettes/chat.yaml#1: stays as it is, as #3 of the same conversation or object failed"
    assert told[-1].endswith("1 of 3 episodes answered again, 0 changed in meaning, 1 failed, 1 kept, 1 skipped")
    assert "Good day" not in provider.file
    first.remove()
    told = provider.run("refresh")[1]
    assert told[-1].endswith("0 of 3 episodes answered again, 0 changed in meaning, 1 failed, 2 not sent")
    provider.server.on(turn=0).reply("Good day")
    broken.remove()
    provider.server.on().reply("Well, well")
    assert provider.run("refresh", "--write")[0] == 0
    _, *later = provider.place.episodes("chat")
    assert [each.reply.status for each in later] == [429, 200]
    assert [json.loads(each.request.body)["messages"][1]["content"] for each in later] == ["Good day"] * 2


def test_without_an_upstream(place: Place) -> None:
    ran = place.run("refresh")
    assert (ran.code, ran.err) == (2, "mockserver: name the provider: --upstream openai=https://api.openai.com/v1\n")
    place.folder.mkdir()
    Path("cassettes/chat.yaml").write_text("hello")
    assert place.run("refresh", "--upstream", "openai=http://127.0.0.1:9").code == 2


def test_what_only_a_program_can_send_is_skipped(provider: Provider) -> None:
    sent = Sent("POST", "/mcp/files", "", (), json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode())
    provider.place.keep("tools", Episode("mcp", "mcp_list", "files", sent, Recorded(200), AT))
    code, told = provider.run("refresh")
    assert (code, told) == (
        0,
        [
            "cassettes/tools.yaml#1: skipped, as it belongs to a session; record it with your program",
            "cassettes/tools.yaml: 0 of 1 episode answered again, 0 changed in meaning, 0 failed, 1 skipped",
        ],
    )


def test_errors_of_a_moment_stay(provider: Provider) -> None:
    provider.server.on().fail(429).times(1)
    provider.server.on().reply("Hello")
    provider.record(("POST", "/chat/completions", CHAT), ("POST", "/chat/completions", CHAT))
    provider.server.on().reply("Good day")
    code, told = provider.run("refresh", "--write")
    assert (code, told[0]) == (0, "cassettes/chat.yaml#1: skipped, as a 429 depends on the moment")
    assert [each.reply.status for each in provider.place.episodes("chat")] == [429, 200]
    assert "Good day" in provider.file


def test_the_key_of_the_providers_own_client(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    provider.server.on().reply("Hello")
    provider.record(("POST", "/chat/completions", CHAT))
    monkeypatch.delenv("MOCKSERVER_UPSTREAM_KEY_OPENAI")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert provider.run("verify", "--live")[0] == 0


def test_each_dialect_needs_its_upstream(provider: Provider) -> None:
    sent = Sent("POST", "/anthropic/v1/messages", "", (), json.dumps({**CHAT, "max_tokens": 9}).encode())
    provider.place.keep("claude", Episode("anthropic", "chat", "claude", sent, Recorded(200), AT))
    code, told = provider.run("refresh")
    assert code == 2
    why = "cassettes/claude.yaml#1: no upstream for anthropic; set --upstream anthropic=URL"
    assert told == [
        why,
        "cassettes/claude.yaml: 0 of 1 episode answered again, 0 changed in meaning, 0 failed, 1 not sent",
    ]
