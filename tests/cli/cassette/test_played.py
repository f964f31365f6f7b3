"""Which episodes were played is asked of a server, or read from a file."""

import json
from pathlib import Path

import httpx
import pytest

from mockserver.cli.cassette.played import Played
from mockserver.core.errors import ConfigError
from tests.kit.served import served


def test_sources_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    sources = ["cassette chat.yaml#3", "cassette b/c.yaml#1", "rule a", None, "cassette chat.yaml#12"]
    file.write_text(json.dumps({"calls": [{"source": source} for source in sources]}))
    played = Played.of(str(file))
    assert played.of_cassette("chat.yaml") == {3, 12}
    assert played.of_cassette("b/c.yaml") == {1}
    assert played.of_cassette("c.yaml") == frozenset()


def test_sources_of_a_server() -> None:
    with served("rules: [{then: {text: a}}]") as server:
        body = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
        httpx.post(f"{server.address}/ns/x/v1/chat/completions", json=body)
        assert {source.split()[0] for source in Played.of(f"{server.address}/").sources} == {"rule"}


def test_what_is_no_journal(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for text in ("", "[]", '{"calls": 3}', '{"calls": [3]}', "[" * 100_000):
        file.write_text(text)
        with pytest.raises(ConfigError, match="is no journal"):
            Played.of(str(file))
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        Played.of(str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="no server answers"):
        Played.of("http://127.0.0.1:9")
