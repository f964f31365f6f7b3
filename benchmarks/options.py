"""What the options of rules and settings cost: server CPU of a chat, divided by that of one with a fixed text.

Every body is new. The servers take turns, and the least of each counts.
"""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from math import inf
from pathlib import Path

from costs import chat
from load import free_port, measure, server

COUNT, TURNS = 2_000, 4
_TEXT = "Hello! How can I help you today?"
_PLENTY = 1_000_000_000
_LIMITS = f"requests_per_minute: {_PLENTY}, tokens_per_minute: {_PLENTY}, concurrent_requests: 100"
_RULES = (
    'version: 1\nsettings: {{{settings}}}\nrules:\n  - {{when: {{last_user: "*hello*"}}, then: {{{then}}}{more}}}\n'
)
FIXED = "a fixed text"
_OPTIONS: Mapping[str, Mapping[str, str]] = {  # what differs in the rules file
    FIXED: {},
    "a template": {"then": 'text: "You said: {{ last_user }}"'},
    "times": {"more": f", times: {_PLENTY}"},
    "a fault by chance": {"then": f'text: "{_TEXT}", faults: [{{cut: {{after_tokens: 3, probability: 0.000001}}}}]'},
    "limits": {"settings": f"limits: {{{_LIMITS}}}"},
    "timing": {"then": f'text: "{_TEXT}", timing: {{total: 1ms}}'},
    "log: json": {"settings": "log: json"},
    "journal_calls: 0": {"settings": "journal_calls: 0"},
    "generate: prose of 100 tokens": {"then": "generate: {kind: prose, tokens: 100}"},
}


def options() -> Mapping[str, float]:
    """The cost of a chat with each option, divided by that of a fixed text."""
    with ExitStack() as running:
        servers = {name: _serving(running, option) for name, option in _OPTIONS.items()}
        least = dict.fromkeys(servers, inf)
        for turn in range(TURNS):
            requests = [chat(f"hello {number}") for number in range(turn * COUNT, (turn + 1) * COUNT)]
            for name, (pid, port) in servers.items():
                least[name] = min(least[name], measure(pid, port, requests, count=COUNT).cpu)
    return {f"{name} / {FIXED}": cpu / least[FIXED] for name, cpu in least.items() if name != FIXED}


def _serving(running: ExitStack, option: Mapping[str, str]) -> tuple[int, int]:
    """Process and port of a server with these rules."""
    path, port = Path(tempfile.mkdtemp()) / "rules.yaml", free_port()
    path.write_text(_RULES.format(**{"settings": "", "then": f'text: "{_TEXT}"', "more": "", **option}))
    return running.enter_context(server("-m", "mockserver", "serve", str(path), f"--port={port}", port=port)), port
