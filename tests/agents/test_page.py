"""The guide is true: what it shows is run here, where the agents are."""

import os
from pathlib import Path

import pytest

from tests.kit.guides import followed
from tests.kit.npm import installed

pytestmark = pytest.mark.timeout(600)  # several runs of programs that take their time


def test_guide_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{installed('claude-code') / '.bin'}{os.pathsep}{os.environ['PATH']}")
    wrong = followed("coding-agents", tmp_path)
    assert not wrong, "\n".join(wrong)
