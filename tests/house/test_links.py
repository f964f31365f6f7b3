"""Links between the pages lead somewhere: to a file that is there, and to a heading of it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("examples/*/README.md"))]
_LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<file>[^)#\s]*)(?:#(?P<heading>[^)\s]+))?\)")
_HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def find_dead_links(page: Path) -> Iterator[str]:
    """Yield the links of a page that lead nowhere."""
    for link in _LINK.finditer(_CODE.sub("", page.read_text())):
        target = page.parent / link["file"] if link["file"] else page
        if not target.exists():
            yield link["file"]
        elif link["heading"] and link["heading"] not in find_anchors(target.read_text()):
            yield f"{link['file']}#{link['heading']}"


def find_anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings."""
    titles = (found["title"].lower() for found in _HEADING.finditer(_CODE.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert list(find_dead_links(page)) == []


def test_every_page_is_linked() -> None:
    linked = {
        (page.parent / link["file"]).resolve()
        for page in PAGES
        for link in _LINK.finditer(page.read_text())
        if link["file"]
    }
    assert {page for page in PAGES if page.parent != ROOT} <= linked


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# One two\n[x](b.md) [y](#one-two) [z](#three) [w](a.md#four) [v](https://example.org)\n")
    assert list(find_dead_links(page)) == ["b.md", "#three", "a.md#four"]


NAMED = re.compile(r"`((?:tests|mockserver|benchmarks|clients|deploy)/[\w./-]+\.\w+)`")
IMAGINED = {"mockserver/dialects/acme.py"}  # the dialect that somebody may add


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_of_the_house_that_a_page_names_are_there(page: Path) -> None:
    named = set(NAMED.findall(page.read_text()))
    assert {name for name in named if not (ROOT / name).exists()} <= IMAGINED
