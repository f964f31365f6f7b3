"""What `mockserver serve` says: where it listens, and a line for each request where that is asked for."""

import json
from pathlib import Path

import pytest

from mockserver.cli.serve import LOGS, banner
from mockserver.core.exchange import Exchange
from mockserver.dialects import discover
from mockserver.server.live import Sources, start

ROW = Exchange(3, "POST", "/v1/ø\n", "openai", "default", "rule rules.yaml:1 é", 200, "complete", 0.0012)


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


def test_a_request_is_one_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    log = LOGS["text"]
    assert log is not None
    log(ROW)
    assert capsys.readouterr().out == r"3 POST /v1/\xf8\n -> 200 rule rules.yaml:1 \xe9, 1.2 ms, complete" + "\n"


def test_a_request_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    log = LOGS["json"]
    assert log is not None
    log(ROW)
    line = json.loads(capsys.readouterr().out)
    assert (line["seq"], line["status"], line["source"]) == (3, 200, "rule rules.yaml:1 é")


def test_nothing_is_logged_by_default() -> None:
    assert LOGS["none"] is None
