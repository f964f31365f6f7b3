"""The documentation site stays small, and loads nothing from other hosts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
MAX_PAGES, MAX_WORDS = 45, 1500
_LOADS = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["'](?:https?:)?//|<link\b[^>]*\bhref=["'](?:https?:)?//"""
)
_IN_CSS = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""")


def find_prose(page: str) -> list[str]:
    """Return the words of a page, except those of tables, code and comments."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", page, flags=re.MULTILINE | re.DOTALL)
    return [word for line in text.splitlines() if not line.startswith("|") for word in line.split()]


def test_pages_are_few() -> None:
    assert len(PAGES) <= MAX_PAGES
    assert {page.relative_to(ROOT / "docs").parts[0] for page in PAGES} == {
        "index.md",
        "start",
        "guides",
        "reference",
        "explain",
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_pages_are_short(page: Path) -> None:
    assert len(find_prose(page.read_text(encoding="utf-8"))) <= MAX_WORDS


def test_only_prose_is_counted() -> None:
    page = "# A title\n<!-- a -->\n| b | c |\n```sh\nd\n```\nTwo words.\n"
    assert find_prose(page) == ["#", "A", "title", "Two", "words."]


def test_the_site_loads_nothing_from_other_hosts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)  # and one for what is not found
    assert [page.name for page in pages if _LOADS.search(page.read_text(encoding="utf-8"))] == []
    assert [path.name for path in tmp_path.rglob("*.css") if _IN_CSS.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("tag", ['<script async src="https://a.b/c.js">', "<link rel=x href='//a.b/c.css'>"])
def test_what_loads_from_other_hosts_is_found(tag: str) -> None:
    assert _LOADS.search(tag)
    assert not _LOADS.search('<script src="assets/a.js"><a href="https://a.b">')
