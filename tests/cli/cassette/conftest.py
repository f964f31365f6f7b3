"""A folder of cassettes to call commands on."""

from pathlib import Path

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cassettes.cassette_names import find_path
from mockserver.core.episode import Episode
from tests.kit.program import Ran, run


class Place:
    """A folder of cassettes, and the command on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, name: str, *episodes: Episode) -> None:
        """Put episodes into a cassette."""
        cassette = CassetteFile(find_path(self.folder, name))
        for episode in episodes:
            cassette.append(episode)

    def episodes(self, name: str) -> tuple[Episode, ...]:
        """What a cassette holds."""
        return CassetteFile(find_path(self.folder, name)).load()

    def run(self, *arguments: object) -> Ran:
        """`mockserver cassette ARGUMENTS` on the folder."""
        return run("cassette", *arguments)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """An empty folder, called as the setting has it, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return Place(Path("cassettes"))
