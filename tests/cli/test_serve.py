"""What `mockserver serve` says: where it listens, and who can reach it there."""

from pathlib import Path

import pytest

from mockserver.cassettes.store import CassetteFile
from mockserver.cli.serve import banner, warned
from mockserver.dialects import discover
from mockserver.server.live import Sources, start
from tests.kit.episodes import chat


def test_the_banner_names_every_base_url(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{then: {text: a}}]")
    sources = Sources((rules,))
    text = banner(start(sources), sources, 8123)
    first, *bases = text.splitlines()
    assert first == f"mockserver listens on http://127.0.0.1:8123  (1 rules from {rules}; unmatched: generate)"
    assert [line.split() for line in bases] == [
        *([name, f"http://127.0.0.1:8123{dialect.mounts[0]}"] for name, dialect in discover().items()),
        ["http://127.0.0.1:8123/v1", "(speaks", "openai)"],
    ]


def test_an_ipv6_address_stands_in_brackets() -> None:
    sources = Sources((), {"host": "::1"})
    assert banner(start(sources), sources, 1).startswith(
        "mockserver listens on http://[::1]:1  (0 rules from no rules file"
    )


@pytest.mark.parametrize(
    ("record", "there", "told"),
    [
        ("none", 1, "  cassette chat.yaml: 1 episode; record: none"),
        ("once", 0, "  cassette chat.yaml: not there yet; record: once; upstream: openai=http://127.0.0.1:9/v1"),
        (
            "new_episodes",
            2,
            "  cassette chat.yaml: 2 episodes; record: new_episodes; upstream: openai=http://127.0.0.1:9/v1",
        ),
    ],
)
def test_the_banner_tells_of_the_cassette(tmp_path: Path, record: str, there: int, told: str) -> None:
    reel = CassetteFile(tmp_path / "chat.yaml")
    for _ in range(there):
        reel.append(chat("Hi", {"text": "Hello"}))
    upstream = {} if record == "none" else {"upstream": {"openai": "http://127.0.0.1:9/v1"}}
    sources = Sources((), {"cassettes": str(tmp_path), "cassette": "chat", "record": record, **upstream})
    first, second, *_ = banner(start(sources), sources, 1).splitlines()
    assert first == "mockserver listens on http://127.0.0.1:1  (0 rules from no rules file; then cassette chat.yaml)"
    assert second == told


def test_upstreams_of_rules_are_told_too() -> None:
    sources = Sources((), {"upstream": {"openai": "http://127.0.0.1:9"}})
    first, second, *_ = banner(start(sources), sources, 1).splitlines()
    assert first.endswith("; unmatched: generate)")
    assert second == "  upstream: openai=http://127.0.0.1:9"


def test_on_loopback_nothing_is_said_of_the_network() -> None:
    assert not list(warned(start(Sources((), {"host": "127.0.0.1"}))))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "mock.test"])
def test_beyond_loopback_it_says_who_can_use_it_and_the_token_that_was_made(host: str) -> None:
    live = start(Sources((), {"host": host}))
    open_to, token = warned(live)
    assert (
        open_to == "  beyond this machine: anybody in the network can use it; --host 127.0.0.1 keeps it to this machine"
    )
    assert token == f"  /__mockserver__ wants a token: authorization: Bearer {live.control_token}"


def test_a_token_that_was_given_is_not_printed() -> None:
    live = start(Sources((), {"host": "0.0.0.0", "control_token": "sesame-open", "keys": "sk-1"}))
    assert list(warned(live)) == [
        "  beyond this machine: anybody in the network who has a key can use it; "
        "--host 127.0.0.1 keeps it to this machine"
    ]


@pytest.mark.parametrize(("folder", "writable"), [("new/deep", True), ("", True), ("file", False), ("file/in", False)])
def test_a_folder_that_cannot_be_written_is_told_where_it_matters(tmp_path: Path, folder: str, writable: bool) -> None:
    (tmp_path / "file").touch()
    settings = {"cassettes": str(tmp_path / folder), "cassette": "chat", "upstream": {"openai": "http://127.0.0.1:9"}}
    told = f"  record is new_episodes, but {tmp_path / folder} cannot be written; set --cassettes FOLDER"
    assert list(warned(start(Sources((), {**settings, "record": "new_episodes"})))) == ([] if writable else [told])
