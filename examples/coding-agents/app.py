"""Has Claude Code mend a file."""

import subprocess
from pathlib import Path


def mend(file: Path) -> bool:
    """Return whether the file has changed."""
    before = file.read_text()
    command = ["claude", "-p", f"mend {file.name}", "--permission-mode", "acceptEdits"]
    subprocess.run(command, cwd=file.parent, stdin=subprocess.DEVNULL, check=True)
    return file.read_text() != before
