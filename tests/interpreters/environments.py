"""The Pythons that PYTHONS names, each with the project's own dependencies in an environment that is kept."""

import fcntl
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
OUTSIDE = dict(os.environ)  # before the tests trust a single certificate
OLDEST = (3, 11)


def named_pythons() -> dict[str, Path]:
    """The interpreters of PYTHONS by their versions. Raises UsageError if there is none, or one cannot be used."""
    paths = os.environ.get("PYTHONS", "").split()
    if not paths:
        raise pytest.UsageError('name the interpreters: make interpreters PYTHONS="/usr/bin/python3.12 python3.14"')
    return {_version(path): Path(path) for path in paths}


def environment(version: str, interpreter: Path) -> Path:
    """The Python of `.venv-<version>`, made from the pinned versions and kept until those change."""
    folder = ROOT / f".venv-{version}"
    pinned, mark = _pinned(), folder / "pinned"
    with _alone():
        if not mark.exists() or mark.read_text() != sha256(pinned.encode()).hexdigest():
            _run(interpreter, "-m", "venv", "--clear", "--without-pip", folder)
            listed = folder / "pinned.txt"
            listed.write_text(pinned)
            pip = (sys.executable, "-m", "pip", "--python", folder / "bin/python", "--disable-pip-version-check")
            _run(*pip, "install", "--quiet", "--no-deps", "--no-compile", "--require-hashes", "--requirement", listed)
            mark.write_text(sha256(pinned.encode()).hexdigest())
    return folder / "bin/python"


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process of the tests makes an environment."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _version(python: str) -> str:
    asked = "import sys, venv; print(*sys.version_info[:3], sep='.')"
    try:
        done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    except OSError as error:
        raise pytest.UsageError(f"PYTHONS: {python} cannot be started: {error.strerror}") from None
    version = done.stdout.strip()
    if done.returncode or tuple(map(int, version.split(".")[:2])) < OLDEST:
        raise pytest.UsageError(f"PYTHONS: {python} is not Python 3.11 or newer: {version or done.stderr.strip()}")
    return version


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, env=OUTSIDE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"


def _pinned() -> str:
    """The lines of constraints.txt, hashes included, for what mockserver needs to run, and pytest."""
    needed = _needed()
    blocks = re.split(r"\n(?=[a-z0-9])", (ROOT / "constraints.txt").read_text())
    return "\n".join(block for block in blocks if block.partition("==")[0] in needed) + "\n"


def _needed() -> set[str]:
    todo = [*tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"], "pytest"]
    found: set[str] = set()
    while todo:
        requirement = Requirement(todo.pop())
        name = canonicalize_name(requirement.name)
        if name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            found.add(name)
            todo.extend(requires(name) or ())
    return found
