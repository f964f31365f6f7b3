"""Which episodes were played is asked of a server, or read from a file."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mockserver.cli.cassette.folder import Folder, PlayedEpisodes
from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.server.live import Sources, start
from mockserver.server.run import Running
from tests.kit.reels import chat, episode, folder


def where(token: str | None = None) -> Folder:
    return Folder(Settings(control_token=token))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server that has played one of two episodes in a namespace, and wants a token."""
    held = folder(chat=[episode(chat("one"), "{}"), episode(chat("two"), "{}")])
    live = start(
        Sources((), {"port": 0, "cassette": "chat", "control_token": "open-sesame", "cassettes": str(held.path)}, {})
    )
    with Running(live) as running:
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "two"}]}
        httpx.post(f"{running.address}/ns/x/v1/chat/completions", json=body, trust_env=False)
        yield running.address


def test_episodes_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    sources = ["cassette chat.yaml#3", "cassette b/c.yaml#1", "rule a", None, "cassette chat.yaml#12"]
    file.write_text(json.dumps({"calls": [{"source": source} for source in sources]}))
    played = PlayedEpisodes.of(str(file), where())
    assert played.of_cassette("chat.yaml") == {3, 12}
    assert played.of_cassette("b/c.yaml") == {1}
    assert played.of_cassette("c.yaml") == frozenset()
    file.write_text('{"played": {"chat.yaml#3": 2}}')
    assert PlayedEpisodes.of(str(file), where()).of_cassette("chat.yaml") == {3}


def test_episodes_of_a_server_that_wants_a_token(address: str) -> None:
    assert PlayedEpisodes.of(f"{address}/", where("open-sesame")).of_cassette("chat.yaml") == {2}
    with pytest.raises(ConfigError, match="needs a token; set --control-token or MOCKSERVER_CONTROL_TOKEN"):
        PlayedEpisodes.of(address, where())
    with pytest.raises(ConfigError, match="refuses this token; set"):
        PlayedEpisodes.of(address, where("mine"))


def test_what_is_no_journal(tmp_path: Path, address: str) -> None:
    file = tmp_path / "a.json"
    for text in ("", "[]", "7", '{"calls": 3}', '{"calls": [3]}', '{"played": []}', "[" * 100_000):
        file.write_text(text)
        with pytest.raises(ConfigError, match="not a journal"):
            PlayedEpisodes.of(str(file), where())
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        PlayedEpisodes.of(str(tmp_path / "none"), where())
    with pytest.raises(ConfigError, match="no server answers"):
        PlayedEpisodes.of("http://127.0.0.1:9", where())
    with pytest.raises(ConfigError, match="no server answers"):
        PlayedEpisodes.of("http://[", where())
    with pytest.raises(ConfigError, match="no journal there: 404"):
        PlayedEpisodes.of(f"{address}/nowhere", where("open-sesame"))
