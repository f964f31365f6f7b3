"""How large the package is stands in docs/explain/design.md, and is about so.

`pytest tests/house/test_size.py --update` writes the numbers into the page.
"""

import re
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mockserver"
FILE = ROOT / "docs" / "explain" / "design.md"
PAGE = FILE.read_text(encoding="utf-8")
_SIZE = re.compile(r"^\| (?P<patterns>`[^|]+`) \| (?P<lines>[\d,]+) \| (?P<number>\d+) \|", re.MULTILINE)
NEAR = 0.05  # of a number that stands in the table, so that not every change must update it


@cache
def count_lines() -> dict[str, int]:
    """Return the lines of each module, by its path in the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8").count("\n")
        for path in PACKAGE.rglob("*.py")
    }


def find_modules(patterns: str) -> set[str]:
    """Return the modules that a row is for. Each of its patterns has to match one."""
    found = set[str]()
    for pattern in re.findall(r"`([^`]+)`", patterns):
        matching = {*filter(partial(fnmatchcase, pat=pattern), count_lines())}
        assert matching, f"no module is called {pattern}"
        found |= matching
    return found


def count_row(row: re.Match[str]) -> tuple[int, int]:
    """Return the lines and the number of the modules of a row."""
    modules = find_modules(row["patterns"])
    return sum(count_lines()[name] for name in modules), len(modules)


def write_row(row: re.Match[str]) -> str:
    lines, number = count_row(row)
    return f"| {row['patterns']} | {lines:,} | {number} |"


def test_sizes_on_the_page_are_about_those_of_the_code(update: bool) -> None:
    page = _SIZE.sub(write_row, PAGE) if update else PAGE
    if update:
        FILE.write_text(page, encoding="utf-8")
    rows = [*_SIZE.finditer(page)]
    assert len(rows) > 20
    for row in rows:
        lines, number = count_row(row)
        message = f"{row['patterns']}: {lines:,} lines in {number} modules; run this file with --update"
        assert int(row["lines"].replace(",", "")) == pytest.approx(lines, rel=NEAR), message
        assert int(row["number"]) == pytest.approx(number, rel=NEAR, abs=2), message


def test_every_module_is_counted_once() -> None:
    everything, *rows = _SIZE.finditer(PAGE.split("<!-- size -->")[1])
    assert find_modules(everything["patterns"]) == {*count_lines()}
    counted = [name for row in rows for name in find_modules(row["patterns"])]
    assert sorted(counted) == sorted({*count_lines()} - {"__init__.py", "__main__.py"})


def test_more_than_a_quarter_of_the_modules_are_short() -> None:
    assert "more than a quarter have fewer than 100 lines" in PAGE
    share = sum(lines < 100 for lines in count_lines().values()) / len(count_lines())
    assert 0.25 < share < 0.3
