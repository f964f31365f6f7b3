"""Disks and folders that take nothing: the client has its answer whole, the log says why it is on no record, and what
was recorded before is as it was.
"""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mockserver.cassettes.store import CassetteFile
from tests.kit.raw import Raw
from tests.kit.recording import recording
from tests.kit.scripts import ANSWER, EVENTS, HI, STREAM, base
from tests.kit.served import served
from tests.kit.upstream import Upstream

UNHARMED = "; its content is unchanged"


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
    "a file of 100 MB": (immense, "100,000,000 bytes are more than a cassette may have"),
    "a link to elsewhere": (led_away, "this link leads out of"),
}


def all_of(folder: Path) -> dict[str, object]:
    """Everything that there is, with how much it holds and when that was changed."""
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


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """As a user whom modes of files hold back, which they do not do root; the folder is that user's."""
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize(("which", "mode"), [("folder", 0o500), ("file", 0o400)])
def test_modes_that_let_nobody_write(up: Upstream, which: str, mode: int, caplog: pytest.LogCaptureFixture) -> None:
    with (
        TemporaryDirectory(prefix="cassettes-") as name,
        as_nobody(Path(name)),
        recording(base(up, "plain"), Path(name)) as relay,
    ):
        relay.ask(HI)
        hindered = Path(name) if which == "folder" else relay.cassette.path
        hindered.chmod(mode)
        held = relay.episodes
        assert relay.ask(HI).body == ANSWER
        hindered.chmod(0o700)
        told = f"{relay.cassette.path}: cannot be written: Permission denied{UNHARMED}"
        assert f"cassette chat: an answer is not recorded: {told}" in caplog.messages
        assert relay.episodes == held
        relay.ask(HI)
        assert len(relay.episodes) == 2
        assert os.listdir(name) == ["chat.yaml"]


def test_a_full_disk(up: Upstream, tmp_path: Path) -> None:
    settings = f"upstream: {{openai: '{base(up, 'stream')}'}}, record: all, cassette: chat, cassettes: '{tmp_path}'"
    cassette = CassetteFile(tmp_path / "chat.yaml")
    with served(f"settings: {{{settings}}}") as server, Raw(server.port) as raw:
        assert raw.send(STREAM).hear().body == EVENTS
        held, size = cassette.path.read_bytes(), cassette.path.stat().st_size
        _, most = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        for room in (0, 10, size + 10):  # none at all, not for the note beside it, not for the episode
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (room, most))
            assert raw.send(STREAM).hear().body == EVENTS
            assert server.says("not recorded").endswith(
                f"{cassette.path}: cannot be written: File too large{UNHARMED}\n"
            )
            assert cassette.path.read_bytes() == held
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (most, most))
        assert raw.send(STREAM).hear().body == EVENTS
    assert [episode.reply.bytes for episode in cassette.load()] == [EVENTS, EVENTS]
    assert os.listdir(tmp_path) == ["chat.yaml"]
