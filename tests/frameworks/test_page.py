"""The page for those who use a framework is true: what it shows is run here, where the frameworks are."""

from pathlib import Path

from tests.house.pages import Reader

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


def test_page_is_true(tmp_path: Path) -> None:
    wrong = Reader(tmp_path).follow(PAGE.read_text())
    assert not wrong, "\n".join(wrong)
