"""Follows a page in a copy of an example, whose files it shows as they are."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

from tests.house.pages import Reader, find_blocks, find_examples

ROOT = Path(__file__).parents[2]
EXAMPLES, PAGES = ROOT / "examples", ROOT / "docs"


def guide(example: str) -> tuple[Path, str]:
    """The page that follows an example, and what it says of it; else the example's own."""
    for page in sorted(PAGES.rglob("*.md")):
        if example in (found := find_examples(page.read_text())):
            return page, found[example]
    own = EXAMPLES / example / "README.md"
    return own, own.read_text()


def follow_guide(example: str, folder: Path, **reader: Any) -> list[str]:
    """What does not come out as the page says."""
    _, page = guide(example)
    left_behind = ignore_patterns("__pycache__", ".*_cache")
    copytree(EXAMPLES / example, folder, dirs_exist_ok=True, ignore=left_behind)
    return [*_differences(page, folder), *Reader(folder, **reader).follow(page)]


def _differences(page: str, folder: Path) -> Iterator[str]:
    for block in find_blocks(page):
        if block.title and not ((file := folder / block.title).exists() and file.read_text() == block.body):
            yield f"line {block.line}: {block.title} is another one in the example"
