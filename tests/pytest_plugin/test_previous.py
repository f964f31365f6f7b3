"""The fixture on the major version of pytest before this one, which `make setup` has put beside it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from tests.kit.guides import EXAMPLES
from tests.kit.nested import LIGHT

PREVIOUS = Path(sys.prefix) / "previous"
FILES = [file for file in sorted(Path(__file__).parent.glob("test_*.py")) if file != Path(__file__)]


def passes(folder: Path, *arguments: str) -> None:
    """Run tests there on the previous pytest: it has to be that, and all have to pass."""
    assert PREVIOUS.is_dir(), "there is no previous pytest: run `make setup`"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", *LIGHT, "-n", "0", *arguments]
    environment = {**inherited, "PYTHONPATH": str(PREVIOUS)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    if done.returncode:
        pytest.fail(told, pytrace=False)
    found = re.search(r"^platform .*, pytest-(\d+)\.", told, re.MULTILINE)
    assert found, told
    assert int(found[1]) == pytest.version_tuple[0] - 1, "pin another version in tests/previous.txt"


@pytest.mark.parametrize("part", range(3))  # each of which takes its time, at the side of other tests
def test_the_fixture(part: int, root: Path) -> None:
    passes(root, *map(str, FILES[part::3]))


def test_an_example(tmp_path: Path) -> None:
    passes(copytree(EXAMPLES / "ci", tmp_path / "ci"))
