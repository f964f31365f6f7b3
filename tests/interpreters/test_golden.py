"""The same bytes under every Python."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.determinism.requests import GOLDEN, assert_same


@pytest.mark.timeout(400)  # it may install an environment first
def test_the_golden_answers(python: Path, root: Path) -> None:
    command = [str(python), "-W", "error", "-m", "tests.determinism.requests", "--shuffle", "3"]
    environ = {**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "random"}
    done = subprocess.run(command, cwd=root, env=environ, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert_same(json.loads(done.stdout), json.loads(GOLDEN.read_text()))
