"""Examples and guides are true: each guide is followed in a copy of its example, and shows files as they are there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.warm import warm
from tests.kit.guides import EXAMPLES, GUIDES, followed

ELSEWHERE = {"langchain"}  # run by tests/frameworks, where the frameworks are
NAMES = {folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with warm(tmp_path_factory.mktemp("warm")) as found:
        yield found


@pytest.mark.parametrize("name", sorted(NAMES - ELSEWHERE))
def test_guide_is_true(name: str, tmp_path: Path, programs: Path) -> None:
    wrong = followed(name, tmp_path, programs=programs)
    assert not wrong, "\n".join([f"{name}:", *wrong])


def test_every_example_has_a_guide_and_every_guide_an_example() -> None:
    assert {guide.stem for guide in GUIDES.glob("*.md")} == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_an_example_says_what_it_is(name: str) -> None:
    said = (EXAMPLES / name / "README.md").read_text()
    assert f"../../docs/guides/{name}.md" in said
    assert "pytest" in said
