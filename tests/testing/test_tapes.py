"""What a test has played of its cassette."""

from pathlib import Path

import httpx

from mockserver.reports.failures import PlayedCassette
from mockserver.testing import MockServer, Setup


def asked(server: MockServer, text: str) -> int:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(server.base_url() + "/chat/completions", json=body).status_code


def test_what_was_there_and_what_was_played(server: MockServer, tmp_path: Path) -> None:
    upstream = MockServer(unmatched="generate").start()
    where = {"upstream": {"openai": upstream.base_url()}, "cassettes": str(tmp_path), "cassette": "in/one.yaml"}
    server.reset(Setup.of(**where, record="once"))
    assert server.played_cassette() == PlayedCassette(
        str(tmp_path / "in" / "one.yaml"), 0, ()
    )  # all of it is to be recorded
    assert [asked(server, text) for text in "abc"] == [200] * 3
    upstream.stop()
    server.reset(Setup.of(**where))
    assert [asked(server, text) for text in "caa"] == [200] * 3
    assert server.played_cassette() == PlayedCassette(str(tmp_path / "in" / "one.yaml"), 3, (1, 3))
    server.reset(Setup.of(**where, record="all"))
    assert server.played_cassette() is None
    server.reset()
    assert server.played_cassette() is None
