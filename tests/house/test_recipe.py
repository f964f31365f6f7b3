"""The recipe of CONTRIBUTING for an endpoint of a new kind: followed to the letter in a copy of the project."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.pages import blocks

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## An endpoint of a new kind")[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("mockserver", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def follow(project: Path) -> None:
    """Write the files of the recipe, and change lines as its diffs say."""
    for block in blocks(RECIPE):
        if block.title is None:
            continue
        file = project / block.title
        if block.language != "diff":
            assert not file.exists(), f"{block.title} exists by now"
            file.write_text(block.body, encoding="utf-8")
            continue
        text, lines = file.read_text(encoding="utf-8"), block.body.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(before) == 1, f"{block.title} does not have these lines once: {before}"
        file.write_text(text.replace(before, after), encoding="utf-8")


def run(project: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(project)}
    environment.pop("ALL_TESTS", None)  # the copy is no repository, which all tests would need
    done = subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_recipe_for_an_endpoint_of_a_new_kind_works(project: Path) -> None:
    follow(project)
    cases = run(project, "-m", "pytest", "-q", "tests/dialects/test_cases.py", "-k", "tokenizations")
    assert "2 passed" in cases  # the case, and how its file is written
    assert run(project, "-m", "mockserver", "ask", "--operation", "tokenizations", "Hello") == "44951\n"
