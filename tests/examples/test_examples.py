"""Examples and guides are true: each guide is followed in a copy of its example, and shows files as they are there."""

from pathlib import Path

import pytest

from tests.house.pages import find_examples
from tests.kit.guides import EXAMPLES, PAGES, follow_guide, guide

ELSEWHERE = {"coding-agents", "langchain"}  # run by tests/agents and tests/frameworks, where those programs are
NAMES = {folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()}


@pytest.mark.parametrize("name", sorted(NAMES - ELSEWHERE))
def test_an_example_does_what_its_guide_says(name: str, tmp_path: Path, programs: Path) -> None:
    wrong = follow_guide(name, tmp_path, programs=programs)
    assert not wrong, "\n".join([f"{guide(name)[0].name}:", *wrong])


@pytest.mark.parametrize("name", sorted(NAMES))
def test_an_example_is_run_by_its_guide(name: str) -> None:
    assert "\n$ pytest" in guide(name)[1]


def test_every_guide_has_an_example() -> None:
    assert {name for page in PAGES.rglob("*.md") for name in find_examples(page.read_text())} <= NAMES


def test_a_file_that_differs_from_the_example_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = '```text title="a.txt"\nhi\n```\n```text title="b.txt"\nhi\n```\n```text title="c.txt"\nhi\n```\n'
    for name, text in {"a.txt": "hi\n", "b.txt": "ho\n", "README.md": page}.items():
        (tmp_path / "examples" / "one" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "examples" / "one" / name).write_text(text)
    monkeypatch.setattr("tests.kit.guides.EXAMPLES", tmp_path / "examples")
    assert follow_guide("one", tmp_path / "copy") == [
        "line 4: b.txt is another one in the example",
        "line 7: c.txt is another one in the example",
    ]
