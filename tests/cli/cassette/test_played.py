"""Which episodes were played is asked of a server, or read from a file."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mockserver.cli.cassette.folder import CassetteFolder, find_played
from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.server.compose import start
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from tests.kit.cassette_folder import chat, episode, folder


def where(token: str | None = None) -> CassetteFolder:
    return CassetteFolder(Settings(control_token=token))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
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
    assert find_played(str(file), where()) >= {"chat.yaml#3", "chat.yaml#12", "b/c.yaml#1"}
    file.write_text('{"played": {"chat.yaml#3": 2}}')
    assert find_played(str(file), where()) == {"chat.yaml#3"}


def test_episodes_of_a_server_that_wants_a_token(address: str) -> None:
    assert find_played(f"{address}/", where("open-sesame")) == {"chat.yaml#2"}
    with pytest.raises(ConfigError, match="needs a token; set --control-token or MOCKSERVER_CONTROL_TOKEN"):
        find_played(address, where())
    with pytest.raises(ConfigError, match="refuses this token; set"):
        find_played(address, where("mine"))


def test_what_is_no_journal(tmp_path: Path, address: str) -> None:
    file = tmp_path / "a.json"
    for text in ("", "[]", "7", '{"calls": 3}', '{"calls": [3]}', '{"played": []}', "[" * 100_000):
        file.write_text(text)
        with pytest.raises(ConfigError, match="not a journal"):
            find_played(str(file), where())
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        find_played(str(tmp_path / "none"), where())
    with pytest.raises(ConfigError, match="no server answers"):
        find_played("http://127.0.0.1:9", where())
    with pytest.raises(ConfigError, match="no server answers"):
        find_played("http://[", where())
    with pytest.raises(ConfigError, match="no journal there: 404"):
        find_played(f"{address}/nowhere", where("open-sesame"))
