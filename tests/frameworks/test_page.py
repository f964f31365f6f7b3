"""The pages for those who use a framework are true: what they show is run here, where the frameworks are."""

from pathlib import Path

import pytest

from tests.house.pages import Reader, without_examples
from tests.kit.guides import followed

pytestmark = pytest.mark.timeout(400)  # a new process for each framework, which imports all of it
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "frameworks.md"


def test_page_is_true(tmp_path: Path) -> None:
    wrong = Reader(tmp_path).follow(without_examples(PAGE.read_text()))
    assert not wrong, "\n".join(wrong)


def test_guide_is_true(tmp_path: Path) -> None:
    wrong = followed("langchain", tmp_path)
    assert not wrong, "\n".join(wrong)
