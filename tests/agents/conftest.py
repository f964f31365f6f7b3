"""The coding agents themselves, at the versions of tests/kit/npm.py: `make agents` installs and runs them."""

import os
from pathlib import Path

import pytest

from mockserver.testing import CodingAgent, MockServer
from tests.kit.npm import AGENTS, install_packages


@pytest.fixture(params=sorted(AGENTS))
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an agent, whose program is found."""
    monkeypatch.setenv("PATH", f"{install_packages(request.param) / '.bin'}{os.pathsep}{os.environ['PATH']}")
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where an agent works."""
    (tmp_path / "note.txt").write_text("blue heron\n")
    return tmp_path


@pytest.fixture
def agent(name: str, folder: Path, mockserver: MockServer) -> CodingAgent:
    """An agent that may do everything there."""
    return mockserver.agent(name, cwd=folder, allow=["write", "edit", "run"])
