"""The programs beside Python that tests start: which there are, and which tests need them.

A test says `@pytest.mark.needs("node")`, or takes a fixture of FIXTURES. Where its program is missing it is left out,
and the run says so before and after. ALL_TESTS=1, as in CI, refuses to run instead.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each program, and what to do where it is missing.
PROGRAMS: Mapping[str, str] = {
    "redis-server": "apt-get install redis-server",
    "node": "Node 20 or newer with npm: apt-get install nodejs npm",
    "chromium": "apt-get install chromium-headless-shell, or chromium",
    "git": "apt-get install git, and clone the repository: tests ask git for its files",
    "bash": "apt-get install bash",
    "pgrep": "apt-get install procps",
}
FIXTURES = {
    "running_redis": "redis-server",
    "start_redis": "redis-server",
    "browser": "chromium",
}


@cache
def find_program(name: str) -> str | None:
    """Return the path of a program, if it is there and can be used."""
    match name:
        case "redis-server":
            return shutil.which(name) or shutil.which("valkey-server")
        case "chromium":  # without a window, profiles or extensions, the same engine takes half of the time
            return shutil.which("chromium-headless-shell") or shutil.which(name)
        case "node" if shutil.which("npm") is None or _node_version() < 20:
            return None
        case "git" if _read_output("git", "ls-files", "--error-unmatch", "pyproject.toml") is None:
            return None
    return shutil.which(name)


def list_missing_programs() -> list[str]:
    return [name for name in PROGRAMS if find_program(name) is None]


def list_needed_programs(item: pytest.Item) -> Iterator[str]:
    """The programs that a test starts."""
    for mark in item.iter_markers("needs"):
        yield from mark.args
    for fixture in getattr(item, "fixturenames", ()):
        if fixture in FIXTURES:
            yield FIXTURES[fixture]


def _node_version() -> int:
    said = _read_output("node", "--version") or ""
    return int(said.removeprefix("v").partition(".")[0] or 0)


def _read_output(*command: str) -> str | None:
    """What a program prints; None if it is missing or fails."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
