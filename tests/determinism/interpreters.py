"""The Python versions on this machine, each with the project's own dependencies in a cached environment."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
OUTSIDE = dict(os.environ)  # before the tests trust a single certificate
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


@cache
def others() -> dict[str, Path]:
    """The interpreters of other supported versions: `python3.12` on the path, or one of pyenv's."""
    found = {version: _find(version) for version in VERSIONS if version != RUNNING}
    return {version: path for version, path in found.items() if path is not None}


def environment(version: str) -> Path:
    """The Python of `.venv-<version>`, made from the pinned versions and kept until those change."""
    folder = ROOT / f".venv-{version}"
    pinned, mark = _pinned(), folder / "pinned"
    with _alone():
        if not mark.exists() or mark.read_text() != sha256(pinned.encode()).hexdigest():
            interpreter = Path(sys.executable) if version == RUNNING else others()[version]
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


def _find(version: str) -> Path | None:
    ours = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    named = shutil.which(f"python{version}")
    return next((path for path in (*ours, *([Path(named)] if named else [])) if _speaks(path, version)), None)


def _speaks(python: Path, version: str) -> bool:
    """Whether it runs and can make environments: a shim may stand there for a version that is not installed."""
    asked = "import ensurepip, sys; print(sys.version)"
    told = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    return told.stdout.startswith(f"{version}.")


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
