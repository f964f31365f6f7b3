"""Over a transport, every fault is the same as over a socket, byte for byte. All else: tests/server/test_entrances."""

from pathlib import Path

import httpx
import pytest

from mockserver.testing import MockServer, Setup
from tests.faults.cases import CASES as FAULTS
from tests.faults.cases import IN_CALLS, rules
from tests.testing.transport.both import received, request

CHAT = "/v1/chat/completions"


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
            server.reset(Setup.make(file))
            sent = request(server.url, CHAT, body, headers={"x-case": front + fault}, timeout=briefly)
            over.append(received(server, client, sent))
        if over[0] != over[1]:
            differing.append(f"{fault}:\n  {over[0]}\n  {over[1]}")
    assert not differing, "\n".join(differing)
