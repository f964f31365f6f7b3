"""Every name that a user can write stands in the documentation, and every table there says what the code says.

`pytest tests/house/test_tables.py --update` writes the tables into the pages, and the OpenAPI file.
"""

import re
from pathlib import Path
from typing import get_args

import pytest

from mockserver.core.plan import DETECTIONS_OF_COMPLETION, DETECTIONS_OF_PROMPT, HARMS
from mockserver.dialects import discover
from mockserver.rules.schema import Severity, UsageSpec
from mockserver.rules.template_variables import CALL, MEMBERS, VARIABLES
from tests.house.tables import TABLES, fill_tables, list_tables
from tests.kit import openapi

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_say_what_the_code_says(page: Path, update: bool) -> None:
    if update:
        page.write_text(fill_tables(page.read_text()))
    text = page.read_text()
    assert text == fill_tables(text), f"{page.name}: run pytest tests/house/test_tables.py --update"


def test_the_openapi_file_says_what_the_code_says(update: bool) -> None:
    if update:
        openapi.FILE.parent.mkdir(exist_ok=True)
        openapi.FILE.write_text(openapi.text())
    assert openapi.FILE.read_text() == openapi.text(), "run pytest tests/house/test_tables.py --update"


def test_every_table_stands_in_a_page() -> None:
    assert {name for page in PAGES for name in list_tables(page.read_text())} == set(TABLES)


NAMES = {
    "rules.md": [*VARIABLES, *CALL, *MEMBERS["tool_result"], *UsageSpec.model_fields],
    "errors.md": [*HARMS, *DETECTIONS_OF_PROMPT, *DETECTIONS_OF_COMPLETION, *get_args(Severity)],
    "dialects.md": list(discover()),
}


@pytest.mark.parametrize(("page", "word"), [(page, word) for page, words in NAMES.items() for word in words])
def test_every_name_stands_in_its_page(page: str, word: str) -> None:
    (path,) = (path for path in PAGES if path.name == page)
    assert re.search(rf"`[^`\n]*\b{word}\b[^`\n]*`|^## {word}$", path.read_text(), re.MULTILINE)


def test_an_old_table_is_noticed() -> None:
    page = "<!-- table: groups -->\nold\n<!-- end -->\n"
    assert fill_tables(page) != page
    assert fill_tables(fill_tables(page)) == fill_tables(page)
    assert "at least one of these tables matches" in fill_tables(page)
