"""What limits cost: a plain chat that is held against them, beside one that is not."""

import json
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from load import free_port, measure, post, server

COUNT, ROUNDS = 1_000, 16
_RULES = 'version: 1\nrules:\n  - {when: {last_user: "*hello*"}, then: {text: Hello! How can I help you today?}}\n'
_PLENTY = 1_000_000_000
_PLENTIFUL = f"requests_per_minute: {_PLENTY}, tokens_per_minute: {_PLENTY}, concurrent_requests: 100"
_LIMITS = f"settings: {{limits: {{{_PLENTIFUL}}}}}\n"


def limits() -> Mapping[str, float]:
    """Server CPU of a plain chat with limits of requests, tokens and concurrency against one without, in turns.

    Of each the least disturbed turn counts.
    """
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello there"}]}
    request = post("/v1/chat/completions", json.dumps(body).encode())
    with ExitStack() as running:
        servers = [_running(running, rules) for rules in (_RULES, _RULES + _LIMITS)]
        costs = [[measure(*one, [request], count=COUNT).cpu for one in servers] for _ in range(ROUNDS)]
    without, within = (min(column) for column in zip(*costs, strict=True))
    return {"plain chat with limits / without": within / without}


def _running(running: ExitStack, rules: str) -> tuple[int, int]:
    """Process and port of a server with these rules."""
    path, port = Path(tempfile.mkdtemp()) / "rules.yaml", free_port()
    path.write_text(rules)
    command = ("-m", "mockserver", "serve", str(path), "--port", str(port), "--no-reload")
    return running.enter_context(server(*command, port=port)), port
