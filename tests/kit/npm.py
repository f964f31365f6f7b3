"""Packages from npm, installed once for each version; `python -m tests.kit.npm` (`make npm`) installs them all.

But for the coding agents, which take more than a gigabyte: `make agents` installs and runs those.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-npm"  # ignored by git
OUTSIDE = dict(os.environ)  # before the tests trust a single certificate
# What each test installs together.
PACKAGES = {
    "types": ("typescript@7.0.2", "openai@6.49.0"),
    "language server": ("yaml-language-server@2.0.0",),
    "vitest": ("vitest@4.1.12", "openai@6.49.0"),
    "sockets": ("openai@7.59.0", "ws@8.23.0"),
    "jest": ("jest@30.5.2", "@anthropic-ai/sdk@1.12.0"),
    "playwright": ("@playwright/test@1.65.1", "@google/genai@2.32.0"),
}
# Coding agents by their names; some fetch their program when they are installed. NEWEST=1 takes those of today.
AGENTS = {
    "claude-code": ("@anthropic-ai/claude-code@2.1.332",),
    "codex": ("@openai/codex@0.171.0",),
    "gemini-cli": ("@google/gemini-cli@0.61.0",),
    "opencode": ("opencode-ai@1.18.33",),
}
if os.environ.get("NEWEST"):
    AGENTS = {name: (f"{package.rpartition('@')[0]}@latest",) for name, (package,) in AGENTS.items()}


def install_packages(name: str) -> Path:
    """Install the packages of that name, unless they are there. Returns their `node_modules`."""
    packages = (PACKAGES | AGENTS)[name]
    folder = FOLDER / "+".join(package.replace("/", "-") for package in packages)
    if not folder.exists():
        FOLDER.mkdir(exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=FOLDER))
        _install(packages, made, scripts=name in AGENTS)
        try:
            made.rename(folder)
        except OSError:  # another worker of pytest was first
            shutil.rmtree(made)
    return folder / "node_modules"


def _install(packages: tuple[str, ...], folder: Path, *, scripts: bool) -> None:
    (folder / "package.json").write_text('{"private": true}')
    quiet = ("--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--prefer-offline")
    command = ("npm", "install", *quiet, *(() if scripts else ("--ignore-scripts",)), *packages)
    done = subprocess.run(command, cwd=folder, env=OUTSIDE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"npm could not install {', '.join(packages)}:\n{done.stderr}"


if __name__ == "__main__":
    for each in PACKAGES:
        install_packages(each)
