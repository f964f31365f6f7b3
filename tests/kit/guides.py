"""Follows a guide in a copy of its example, whose files it shows as they are."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

from tests.house.pages import Reader, blocks

ROOT = Path(__file__).parents[2]
EXAMPLES, GUIDES = ROOT / "examples", ROOT / "docs" / "guides"


def followed(name: str, folder: Path, **reader: Any) -> list[str]:
    """What does not come out as a guide says."""
    page = (GUIDES / f"{name}.md").read_text()
    copytree(EXAMPLES / name, folder, dirs_exist_ok=True)
    return [*_differences(page, folder), *Reader(folder, **reader).follow(page)]


def _differences(page: str, folder: Path) -> Iterator[str]:
    for block in blocks(page):
        if block.title and not ((file := folder / block.title).exists() and file.read_text() == block.body):
            yield f"line {block.line}: {block.title} is another one in the example"
