"""Programs from npm, installed once for each version."""

import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-npm"  # ignored by git


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


def _install(packages: tuple[str, ...], folder: Path) -> None:
    npm = shutil.which("npm")
    assert npm, "this test needs Node 20 with npm: apt-get install nodejs npm"
    (folder / "package.json").write_text('{"private": true}')
    quiet = ("--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--ignore-scripts")
    done = subprocess.run((npm, "install", *quiet, *packages), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"npm could not install {', '.join(packages)}:\n{done.stderr}"
