"""The guide is true: what it shows is run here, where the agents are."""

import os
from pathlib import Path

import pytest

from tests.kit.guides import follow_guide
from tests.kit.npm import install_packages

pytestmark = pytest.mark.timeout(600)  # several runs of programs that take their time


def test_guide_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{install_packages('claude-code') / '.bin'}{os.pathsep}{os.environ['PATH']}")
    wrong = follow_guide("coding-agents", tmp_path)
    assert not wrong, "\n".join(wrong)
