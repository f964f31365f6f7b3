"""Programs from npm, installed once for each version."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-npm"  # ignored by git
OUTSIDE = dict(os.environ)  # before the tests trust a single certificate


def installed(*packages: str) -> Path:
    """Install packages, each pinned as `name@1.2.3`, unless they are there. Returns their `node_modules`."""
    folder = FOLDER / "+".join(package.replace("/", "-") for package in packages)
    if not folder.exists():
        FOLDER.mkdir(exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=FOLDER))
        _install(packages, made)
        try:
            made.rename(folder)
        except OSError:  # another worker of pytest was first
            shutil.rmtree(made)
    return folder / "node_modules"


def program(name: str) -> str:
    """Return the path of `node` or `npm`, or fail."""
    found = shutil.which(name)
    assert found, "this test needs Node 20 or newer with npm: apt-get install nodejs npm"
    return found


def _install(packages: tuple[str, ...], folder: Path) -> None:
    (folder / "package.json").write_text('{"private": true}')
    quiet = ("--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--ignore-scripts")
    command = (program("npm"), "install", *quiet, *packages)
    done = subprocess.run(command, cwd=folder, env=OUTSIDE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"npm could not install {', '.join(packages)}:\n{done.stderr}"
