"""Over a transport comes what comes over a socket, to the byte: every dialect's cases, every fault."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from mockserver.testing import MockServer, Setup
from tests.dialects.test_cases import CASES, CHATS, MOUNTS
from tests.faults.cases import CASES as FAULTS
from tests.faults.cases import IN_CALLS, rules
from tests.testing.transport.both import Heard, heard, request

FOLDERS = sorted({file.parent.name for file in CASES})
CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("dialect", FOLDERS)
def test_every_case_of_a_dialect(
    dialect: str, server: MockServer, socket: httpx.Client, direct: httpx.Client, tmp_path: Path
) -> None:
    differing = list[str]()
    for file in (file for file in CASES if file.parent.name == dialect):
        case = yaml.safe_load(file.read_text())
        written = tmp_path / "rules.yaml"
        written.write_text(yaml.safe_dump({"version": 1, "rules": case.get("rules", [])}))
        setup = Setup.of(written, **{"unmatched": "generate", **case.get("settings", {})})
        over = [
            _asked(server, client, setup, _request(server.url, dialect, case["request"])) for client in (socket, direct)
        ]
        if over[0] != over[1]:
            differing.append(f"{file.name}:\n  {over[0]}\n  {over[1]}")
    assert not differing, "\n".join(differing)


def _asked(server: MockServer, client: httpx.Client, setup: Setup, sent: httpx.Request) -> Heard:
    server.reset(setup)
    return heard(server, client, sent)


def _request(url: str, dialect: str, asked: dict[str, Any]) -> httpx.Request:
    path = MOUNTS.get(dialect, f"/{dialect}/v1") + asked.get("path", CHATS.get(dialect, "/chat/completions"))
    body = asked["raw"].encode() if "raw" in asked else asked.get("body")
    return request(url, path, body, method=asked.get("method", "POST"), headers=asked.get("headers"))


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("front", ["", "error ", "raw "])
def test_every_fault(  # size: fixtures
    stream: bool, front: str, server: MockServer, socket: httpx.Client, direct: httpx.Client, tmp_path: Path
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(rules())
    differing = list[str]()
    for fault in FAULTS if not front else [fault for fault in FAULTS if fault not in IN_CALLS]:
        briefly = httpx.Timeout(20.0, read=0.2 if "stall" in fault else 20.0)
        body = {"model": "gpt-4o", "stream": stream, "messages": [{"role": "user", "content": "hello"}]}
        over = []
        for client in (socket, direct):
            server.reset(Setup.of(file))
            sent = request(server.url, CHAT, body, headers={"x-case": front + fault}, timeout=briefly)
            over.append(heard(server, client, sent))
        if over[0] != over[1]:
            differing.append(f"{fault}:\n  {over[0]}\n  {over[1]}")
    assert not differing, "\n".join(differing)
