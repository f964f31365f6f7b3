"""The page of errors quotes messages as the code has them, so that a search for one finds the page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Error texts\n")[2].partition("\n## ")[0]
MESSAGES = re.findall(r"^\| `([^`]+)`", SECTION, re.MULTILINE)
# Texts may go on in the next line of the code.
SOURCES = [*ROOT.glob("mockserver/**/*.py"), *ROOT.glob("clients/js/*.js")]
CODE = re.sub(r'"\s*f?"', "", "\n".join(path.read_text(encoding="utf-8") for path in SOURCES))


def test_there_are_messages() -> None:
    assert len(MESSAGES) > 10


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_in_the_code(message: str) -> None:
    parts = [part.strip(" :") for part in message.split("…")]
    assert [part for part in parts if part not in CODE] == []
