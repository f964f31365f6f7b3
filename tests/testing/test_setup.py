"""The configuration of a test's server, its cassette, and answers left open."""

import os
from pathlib import Path

import httpx
import pytest

from mockserver.config.errors import CassetteError, ConfigError, MockserverError
from mockserver.reports.failures import PlayedCassette
from mockserver.testing import MockServer, MockServerWarning, Setup
from mockserver.testing.setup import Composer, load_rules


def test_the_settings_of_the_environment_change_no_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCKSERVER_SEED", "9")
    monkeypatch.setenv("MOCKSERVER_UPSTREAM_KEY_OPENAI", "sk-1")
    settings, _ = Composer().compose(Setup.make())
    assert (settings.seed, settings.unmatched, settings.reload) == (0, "error", False)
    assert Setup.make().sources.environ["MOCKSERVER_UPSTREAM_KEY_OPENAI"] == "sk-1"


def test_files_are_read_once_and_again_when_they_change(tmp_path: Path) -> None:
    file, setups = tmp_path / "rules.yaml", Composer()
    file.write_text("rules: [{name: a, then: {text: a}}]")
    setup = Setup.make(file)
    first, again = setups.compose(setup)[1], setups.compose(setup)[1]
    assert first.rules is again.rules
    assert first.counters is not again.counters
    assert first.memory.store is not again.memory.store
    file.write_text("rules: [{name: b, then: {text: b}}]")
    os.utime(file, (1, 1))
    assert [rule.name for rule in setups.compose(setup)[1].rules] == ["b"]


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rules files come without a keyword: MockServer\('my.yaml'\)"):
        MockServer(rules="my.yaml")  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="unknown setting"):
        Composer().compose(Setup.make(colour="red"))
    with pytest.raises(ConfigError, match=r'^seed must be a whole number, not "x"$'):
        Composer().compose(Setup.make(seed="x"))
    with pytest.raises(MockserverError, match=r"missing.yaml: cannot be read: No such file"):
        Composer().compose(Setup.make(tmp_path / "missing.yaml"))


def test_settings_of_one_more_file_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text("settings: {seed: 3}\nrules: [{name: more, then: {text: x}}]")
    with pytest.warns(MockServerWarning, match=r"the settings of .*more\.yaml are ignored: the server has its own"):
        [rule] = load_rules(file, None)
    assert rule.name == "more"


def asked(server: MockServer, text: str) -> int:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(server.base_url() + "/chat/completions", json=body).status_code


def test_what_was_there_and_what_was_played(server: MockServer, tmp_path: Path) -> None:
    upstream = MockServer(unmatched="generate").start()
    where = {"upstream": {"openai": upstream.base_url()}, "cassettes": str(tmp_path), "cassette": "in/one.yaml"}
    server.reset(Setup.make(**where, record="once"))
    assert server.local.find_played_cassette() == PlayedCassette(
        str(tmp_path / "in" / "one.yaml"), 0, ()
    )  # all of it is to be recorded
    assert [asked(server, text) for text in "abc"] == [200] * 3
    upstream.stop()
    server.reset(Setup.make(**where))
    assert [asked(server, text) for text in "caa"] == [200] * 3
    assert server.local.find_played_cassette() == PlayedCassette(str(tmp_path / "in" / "one.yaml"), 3, (1, 3))
    server.reset(Setup.make(**where, record="all"))
    assert server.local.find_played_cassette() is None
    server.reset()
    assert server.local.find_played_cassette() is None


def leave(client: httpx.Client) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
    with MockServer(timing=True) as server:
        server.on().reply("a b c d", timing={"per_token": "30s"})
        client.send(client.build_request("POST", server.base_url() + "/chat/completions", json=body), stream=True)


def test_it_is_told_at_the_end_of_a_block() -> None:
    with httpx.Client() as client:
        with pytest.warns(MockServerWarning, match="left an answer open, call 1: chat m") as told:
            leave(client)
        assert told[0].filename == __file__


def test_python_users_are_told_what_to_set_in_python(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match=r'record it, set record="once" and upstream={"DIALECT": "URL"}$'):
        MockServer(cassette="none", cassettes=tmp_path)
    with MockServer(cassette="new", cassettes=tmp_path, record="once") as server:
        asked(server, "hello")
        assert server.calls[0].error.endswith('no upstream for openai; set upstream={"openai": "URL"}')
        server.reset()


def test_python_users_are_told_what_was_not_recorded(server: MockServer, tmp_path: Path) -> None:
    server.on().fail("invalid_key")
    upstream = {"openai": server.base_url()}
    lost = r"an answer was not recorded, call 1: .*: 401: .* \(record_errors=True records it too\)$"
    with (
        pytest.warns(MockServerWarning, match=lost),
        MockServer(upstream=upstream, cassette="new", cassettes=tmp_path, record="once") as recording,
    ):
        assert asked(recording, "hello") == 401
