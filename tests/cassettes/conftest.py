"""A cassette that does not exist yet, what is said of it, and what is left in its folder."""

from pathlib import Path

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.config.errors import CassetteError


@pytest.fixture
def cassette(tmp_path: Path) -> CassetteFile:
    return CassetteFile(tmp_path / "cassettes" / "chat.yaml")


def complaint(action: object, *given: object) -> str:
    with pytest.raises(CassetteError) as caught:
        action(*given)  # type: ignore[operator]
    return str(caught.value)


def left(cassette: CassetteFile) -> list[str]:
    return sorted(each.name for each in cassette.path.parent.iterdir())
