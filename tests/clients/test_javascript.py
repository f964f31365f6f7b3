"""The package for JavaScript: its own tests against a server, and what npm would publish."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver import __version__

PACKAGE = Path(__file__).parents[2] / "clients" / "js"
ABOUT = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))


def run(*command: str, **environ: str) -> str:
    done = subprocess.run(
        command, cwd=PACKAGE, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_its_own_tests_pass() -> None:
    told = run("node", "--test", "test/", MOCKSERVER_COMMAND=f"{sys.executable} -m mockserver")
    counts = dict(re.findall(r"^# (pass|skipped|todo) (\d+)$", told, re.MULTILINE))
    assert int(counts["pass"]) >= 14, told
    assert (counts["skipped"], counts["todo"]) == ("0", "0")


def test_npm_publishes_what_the_modules_need() -> None:
    (found,) = json.loads(run("npm", "pack", "--dry-run", "--json"))
    code = {path.name for path in PACKAGE.iterdir() if path.suffix in (".js", ".ts")}
    assert {each["path"] for each in found["files"]} == code | {"package.json", "README.md", "LICENSE"}
    targets = {target for each in ABOUT["exports"].values() for target in each.values()}
    assert targets == {f"./{name}" for name in code}
    assert found["size"] < 20_000
    assert "dependencies" not in ABOUT


def test_its_version_is_that_of_the_server() -> None:
    assert ABOUT["version"] == __version__.replace(".dev", "-dev.")


@pytest.mark.parametrize("folder", ["vitest", "jest", "playwright"])
def test_examples_are_programs_and_need_the_package(folder: str) -> None:
    """They are run where npm can install what they need, by .github/workflows/test.yml."""
    example = PACKAGE / "examples" / folder
    sources = sorted(example.glob("*.js"))
    for source in sources:
        run("node", "--check", str(source))
    about = json.loads((example / "package.json").read_text(encoding="utf-8"))
    needed = {*about["dependencies"], *about["devDependencies"]}
    bare = {name for source in sources for name in re.findall(r'from "((?!node:|\.)[^"]+)"', source.read_text())}
    assert {re.sub(r"^((?:@[^/]+/)?[^/]+).*", r"\1", name) for name in bare} <= needed | {"@jest/globals"}
    assert about["devDependencies"]["mockserver-llm"] == "file:../.."
