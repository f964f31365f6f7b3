"""The fixture on the major version of pytest before this one, which `make setup` installs to the side."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.nested import LIGHT

pytestmark = pytest.mark.slow

PREVIOUS = Path(sys.prefix) / "previous"
FILES = ("test_plugin.py", "test_marks.py", "test_coverage.py")
# What depends on the server or on processes, and not on pytest, is tested once.
CHOSEN = "not worker and not proxy and not provider and not no_model and not never_stops and not closed_loop"


def test_the_fixture(root: Path) -> None:
    assert PREVIOUS.is_dir(), "there is no previous pytest: run `make setup`"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    files = [str(Path(__file__).with_name(name)) for name in FILES]
    command = [sys.executable, "-m", "pytest", *LIGHT, "-n", "0", "-k", CHOSEN, *files]
    environment = {**inherited, "PYTHONPATH": str(PREVIOUS)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    if done.returncode:
        pytest.fail(told, pytrace=False)
    found = re.search(r"^platform .*, pytest-(\d+)\.", told, re.MULTILINE)
    assert found, told
    assert int(found[1]) == pytest.version_tuple[0] - 1, "pin another version in tests/previous.txt"
