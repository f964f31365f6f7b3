"""The recipe of CONTRIBUTING for an endpoint of a new kind: followed to the letter in a copy of the project."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.pages import Block, find_blocks

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## An endpoint of a new kind")[2]
COPIED = ("mockserver", "tests", "docs", "benchmarks", "clients/js", "pyproject.toml", "README.md")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in COPIED:
        if (ROOT / name).is_dir():
            unused = shutil.ignore_patterns("__pycache__", "node_modules")
            shutil.copytree(ROOT / name, tmp_path / name, ignore=unused)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def follow(project: Path) -> list[str]:
    """Do what each block of the recipe says, in their order. Return what its commands print."""
    printed = list[str]()
    for block in find_blocks(RECIPE):
        if block.language == "console":
            commands = [line.removeprefix("$ ").split() for line in block.body.splitlines()]
            printed += [run(project, "-m", *command) for command in commands]
        elif block.language == "diff":
            change_lines(project, block)
        else:
            file = project / str(block.title)
            assert not file.exists(), f"{block.title} exists by now"
            file.write_text(block.body, encoding="utf-8")
    return printed


def change_lines(project: Path, block: Block) -> None:
    """Change the lines of a file as a diff says."""
    file = project / str(block.title)
    text = file.read_text(encoding="utf-8")
    lines = block.body.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, f"{block.title} does not have these lines once: {before}"
    file.write_text(text.replace(before, after), encoding="utf-8")


def run(project: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(project)}
    environment.pop("ALL_TESTS", None)  # the copy is not a repository, which all tests would need
    done = subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(400)  # lints, types and runs a copy of all
def test_the_recipe_for_an_endpoint_of_a_new_kind_works(project: Path) -> None:
    tables, style, types, cases = follow(project)
    assert "passed" in tables
    assert style == "All checks passed!\n"
    assert "no issues found in 2 source files" in types
    assert "2 passed" in cases  # the case, and how its file is written
    assert "| `segments` |" in (project / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    assert run(project, "-m", "mockserver", "ask", "--dialect", "jina", "--operation", "segments", "Hi.") == "Hi.\n"
    run(project, "-m", "pytest", "-q", "tests/rules/test_checks.py", "tests/testing/test_options.py")
