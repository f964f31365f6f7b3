"""The pages for those who use a framework are true: what they show is run here, where the frameworks are."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.pages import Reader, blank_examples
from tests.house.warm import start_warm
from tests.kit.guides import follow_guide

pytestmark = pytest.mark.timeout(400)  # a new process for each framework
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "frameworks.md"
# What the pages import takes seconds.
FRAMEWORKS = (
    "agents", "autogen_agentchat.agents", "autogen_ext.models.openai", "haystack.components.agents",
    "haystack.components.generators.chat", "instructor", "langchain.agents", "langchain_openai", "langgraph.graph",
    "pydantic_ai.models.openai", "pydantic_ai.providers.openai", "smolagents",
)  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with start_warm(tmp_path_factory.mktemp("warm"), *FRAMEWORKS) as found:
        yield found


def test_page_is_true(tmp_path: Path, programs: Path) -> None:
    wrong = Reader(tmp_path, programs=programs).follow(blank_examples(PAGE.read_text()))
    assert not wrong, "\n".join(wrong)


def test_guide_is_true(tmp_path: Path, programs: Path) -> None:
    wrong = follow_guide("langchain", tmp_path, programs=programs)
    assert not wrong, "\n".join(wrong)
