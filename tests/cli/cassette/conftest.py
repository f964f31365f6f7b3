"""A folder of cassettes to call commands on."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.episode import Episode
from tests.cli.cassette.standins import stand_in
from tests.kit.program import Ran, run

stand_in()


class Place:
    """A folder of cassettes, and the command on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, name: str, *episodes: Episode) -> None:
        """Put episodes into a cassette."""
        files: Any = import_module("mockserver.cassettes.files")
        cassette = files.CassetteFile(files.named(self.folder, name))
        for episode in episodes:
            cassette.append(episode)

    def episodes(self, name: str) -> tuple[Episode, ...]:
        """What a cassette holds."""
        files: Any = import_module("mockserver.cassettes.files")
        found: tuple[Episode, ...] = files.CassetteFile(files.named(self.folder, name)).load()
        return found

    def run(self, *arguments: object) -> Ran:
        """`mockserver cassette ARGUMENTS` on the folder."""
        return run("cassette", *arguments)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """An empty folder, called as the setting has it, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return Place(Path("cassettes"))
