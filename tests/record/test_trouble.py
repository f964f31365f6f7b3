"""Disks and folders that take nothing: the client has its answer whole, the log says why it is on no record, and what
was recorded before is as it was.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.recording import recording
from tests.kit.scripts import ANSWER, HI, STREAM, base
from tests.kit.upstream import Upstream


def in_the_way(folder: Path) -> None:
    folder.write_text("no folder")


def in_its_place(folder: Path) -> None:
    (folder / "chat.yaml").mkdir(parents=True)


def foreign(folder: Path) -> None:
    folder.mkdir()
    (folder / "chat.yaml").write_text("hello: world\n")


def torn(folder: Path) -> None:
    folder.mkdir()
    (folder / "chat.yaml").write_text("version: 1\n---\ncall: half of somethi")


def immense(folder: Path) -> None:
    folder.mkdir()
    (folder / "chat.yaml").touch()
    os.truncate(folder / "chat.yaml", 100_000_000)


def led_away(folder: Path) -> None:
    folder.mkdir()
    (folder.parent / "elsewhere.yaml").write_text("version: 1\n")
    (folder / "chat.yaml").symlink_to("../elsewhere.yaml")


HINDRANCES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a file in the folder's place": (in_the_way, "cannot be created: "),
    "a folder in the cassette's place": (in_its_place, "cannot be written: Is a directory"),
    "a file that is no cassette": (foreign, "chat.yaml:1:1: "),
    "a cassette that was cut off": (torn, "chat.yaml:3:"),
    "a file of 100 MB": (immense, "100,000,000 bytes are more than the limit for a cassette"),
    "a link to elsewhere": (led_away, "this link leads out of"),
}


def all_of(folder: Path) -> dict[str, object]:
    return {str(each): (each.stat().st_size, each.stat().st_mtime_ns) for each in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("which", HINDRANCES)
def test_what_stands_in_the_way(up: Upstream, tmp_path: Path, which: str, caplog: pytest.LogCaptureFixture) -> None:
    hinder, told = HINDRANCES[which]
    with recording(base(up, "plain"), tmp_path / "tapes") as relay:
        hinder(tmp_path / "tapes")
        before = all_of(tmp_path)
        for request in (HI, STREAM):
            caplog.clear()
            assert relay.ask(request).body == ANSWER
            assert told in caplog.text
            assert "cassette chat: an answer is not recorded: " in caplog.text
        assert all_of(tmp_path) == before
