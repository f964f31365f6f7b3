"""The files of a release as git has them, and tools that run apart from them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def tracked() -> list[str]:
    """The files that git has, without those deleted just now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).exists()]


def copy_sources(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def build_wheel(folder: Path) -> Path:
    """Build a wheel in a folder, from what git has."""
    copy_sources(folder / "source")
    tool(folder, "build", "--no-isolation", "--wheel", "--outdir", "dist", "source")
    (wheel,) = folder.glob("dist/*.whl")
    return wheel


def install_wheel(wheel: Path, folder: Path, dependencies: Path) -> Path:
    """Make an environment of a wheel, and return the folder of its programs.

    `dependencies` is the Python of another environment, which lends it what the wheel needs.
    """
    subprocess.run([dependencies, "-m", "venv", "--without-pip", folder], check=True)
    (found,) = folder.glob("lib/python*/site-packages")
    (borrowed,) = dependencies.parents[1].glob("lib/python*/site-packages")
    (found / "dependencies.pth").write_text(f"{borrowed}\n")
    pip_install(folder / "bin", wheel, "--ignore-installed")  # what is lent may be ours, too
    return folder / "bin"


def pip_install(programs: Path, wheel: Path, *options: str) -> None:
    alone = ("--quiet", "--no-deps", "--no-index", "--no-compile", *options)
    tool(programs, "pip", "--python", str(programs / "python"), "install", *alone, str(wheel))


def pip_uninstall(programs: Path, name: str) -> None:
    tool(programs, "pip", "--python", str(programs / "python"), "uninstall", "--quiet", "--yes", name)


def tool(folder: Path, *command: str) -> str:
    """Run a module of this interpreter in a folder, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=clean(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def clean() -> dict[str, str]:
    """This process's environment without what would lead to the sources, or to another server."""
    front = ("PYTHON", "MOCKSERVER", "OPENAI", "PYTEST", "COLUMNS")
    return {name: value for name, value in os.environ.items() if not name.startswith(front)}
