"""Over a transport, every dialect's cases and every fault are the same as over a socket, byte for byte."""

from pathlib import Path

import httpx
import pytest

from mockserver.testing import MockServer, Setup
from tests.dialects.case_files import Case, all_cases
from tests.faults.cases import CASES as FAULTS
from tests.faults.cases import IN_CALLS, rules
from tests.testing.transport.both import RawResponse, received, request

DIALECT_CASES = list(all_cases())
CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("dialect", sorted({case.dialect for case in DIALECT_CASES}))
def test_every_case_of_a_dialect(
    dialect: str, server: MockServer, socket: httpx.Client, direct: httpx.Client, tmp_path: Path
) -> None:
    differing = list[str]()
    for case in (case for case in DIALECT_CASES if case.dialect == dialect):
        written = tmp_path / "rules.yaml"
        written.write_text(case.rules)
        setup = Setup.of(written, **{"unmatched": "generate", **case.settings})
        over = [_asked(server, client, setup, _request(server.url, case)) for client in (socket, direct)]
        if over[0] != over[1]:
            differing.append(f"{case.name}:\n  {over[0]}\n  {over[1]}")
    assert not differing, "\n".join(differing)


def _asked(server: MockServer, client: httpx.Client, setup: Setup, sent: httpx.Request) -> RawResponse:
    server.reset(setup)
    return received(server, client, sent)


def _request(url: str, case: Case) -> httpx.Request:
    return request(url, case.path, case.body, method=case.method, headers=case.headers)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("front", ["", "error ", "raw "])
def test_every_fault(
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
            over.append(received(server, client, sent))
        if over[0] != over[1]:
            differing.append(f"{fault}:\n  {over[0]}\n  {over[1]}")
    assert not differing, "\n".join(differing)
