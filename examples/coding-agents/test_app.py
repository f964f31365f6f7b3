from pathlib import Path

import pytest

from app import mend
from mockserver.testing import MockServer


@pytest.fixture
def note(tmp_path: Path) -> Path:
    file = tmp_path / "note.txt"
    file.write_text("blue heron\n")
    return file


def test_the_file_is_mended(mockserver: MockServer, note: Path) -> None:
    claude = mockserver.agent("claude-code", cwd=note.parent)
    edit = claude.on("mend note.txt").uses("read", path=note).uses("edit", path=note, old="blue", new="grey")
    edit.then("Done.")
    with claude.environment:
        assert mend(note)
    assert note.read_text() == "grey heron\n"
    assert len(claude.calls) == 3


def test_a_file_that_is_right_stays(mockserver: MockServer, note: Path) -> None:
    mockserver.on("*mend note.txt*").reply("There is nothing to mend.")
    with mockserver.environment_for("claude-code"):
        assert not mend(note)


def test_the_agent_alone(mockserver: MockServer, note: Path) -> None:
    claude = mockserver.agent("claude-code", cwd=note.parent)
    claude.on("read the note").uses("read", path=note).then("It says: {{ tool_result.text }}")
    ran = claude.run("read the note")
    assert "blue heron" in ran.text
    assert ran.code == 0
