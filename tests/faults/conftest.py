"""One server whose rules do to an answer what the header `x-case` asks for."""

import os
from collections.abc import Iterator

import pytest

from tests.faults.cases import rules
from tests.kit.served import Served, served


@pytest.fixture(scope="session")
def server() -> Iterator[Served]:
    """The server."""
    with served(rules()) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither proxies nor keys of this machine reach a client."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(
            ("OPENAI_", "AZURE_", "FIREWORKS_", "TZAFON_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")
        ):
            monkeypatch.delenv(name)
