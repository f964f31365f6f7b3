"""Whatever stands in the folder, however a cassette is called: one clear line, exit code 2, and nothing is harmed."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cassettes.test_trouble import as_nobody
from tests.cli.cassette.conftest import Place
from tests.kit.episodes import chats
from tests.kit.program import Ran, run

COMMANDS = (
    *(("list",), ("show",), ("verify",), ("scrub",), ("rules",), ("export",)),
    ("prune", "--number", "1"),
)
NAMES = ("../x", "/etc/passwd", "a/../chat", "", "#1", "~", "nul\0", "\x1b[2J", "line\nbreak", "\udcff", "x" * 3000)
FILES = {
    "nothing": (b"", 'bad.yaml:1:1: not a cassette: the file is empty; a cassette begins with "version: 1"'),
    "another file": (b"hello: 3\n", "bad.yaml:1:1: not a cassette: a cassette begins with"),
    "no text": (bytes(range(256)), "bad.yaml:2:118: not a cassette: the byte 0x80 is not UTF-8"),
    "a tag": (b"version: 1\n---\ncall: !!python/object/apply:os.system [id]\n", "bad.yaml:3:7: tags (!) are not"),
    "an alias bomb": (b"version: 1\n---\na: &a [x, x]\nb: [*a, *a]\n", "bad.yaml:3:4: anchors (&) are not"),
    "another version": (
        b"version: 2\n---\n",
        "bad.yaml:1:10: this cassette has version 2; this server reads",
    ),
    "no end": (b"version: 1\n---\ncall: x\nat: 2025-01-01T00:0", "bad.yaml:"),
}


def told(ran: Ran) -> str:
    """The one line of a refusal, which no name and no content of a file has broken or coloured."""
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert line.isprintable()
    assert line.startswith("mockserver: ")
    return line


def call(place: Place, command: tuple[str, ...], name: str) -> Ran:
    return place.run(command[0], name, *command[1:])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_that_none_can_have(place: Place, command: tuple[str, ...], name: str) -> None:
    assert " is not a valid cassette name: " in told(call(place, command, name))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_no_cassette(place: Place, command: tuple[str, ...], file: str) -> None:
    place.folder.mkdir()
    bad, (data, words) = place.folder / "bad.yaml", FILES[file]
    bad.write_bytes(data)
    assert f"mockserver: cassettes/{words}" in told(call(place, command, "bad"))
    assert bad.read_bytes() == data


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_is_too_large_or_no_file(place: Place, command: tuple[str, ...]) -> None:
    place.folder.mkdir()
    with open(place.folder / "large.yaml", "wb") as file:
        file.truncate(100_000_000)
    (place.folder / "folder.yaml").mkdir()
    os.mkfifo(place.folder / "pipe.yaml")
    (place.folder / "away.yaml").symlink_to("/etc/hostname")
    (place.folder / "round.yaml").symlink_to("round.yaml")
    assert "100,000,000 bytes are more than a cassette may have" in told(call(place, command, "large"))
    assert "not a regular file, as a cassette must be" in told(call(place, command, "folder"))
    assert "not a regular file, as a cassette must be" in told(call(place, command, "pipe"))
    assert "this link leads out of cassettes" in told(call(place, command, "away"))
    assert "cassettes/round.yaml: " in told(call(place, command, "round"))


@pytest.fixture
def own(place: Place) -> Iterator[Place]:
    """A folder with a cassette that belong to nobody, once every module that is needed is there for them."""
    place.keep("chat", *chats(("Hi", "Hello"), ("Ho", "Hullo")))
    Path("other.har").write_text(place.run("export", "chat").out.replace("Hello", "Good day"))
    for command in (*COMMANDS[:-1], ("prune", "--number", "1", "--dry-run")):
        assert call(place, command, "chat").code == 0
    assert place.run("import", "other.har", "--into", "warm").code == 0
    (place.folder / "warm.yaml").unlink()
    every = (place.folder.parent, place.folder, *place.folder.rglob("*"))
    for path in every if os.geteuid() == 0 else ():
        os.chown(path, 65534, 65534)
    yield place
    place.folder.chmod(0o700)


def test_a_closed_folder(own: Place) -> None:
    own.folder.chmod(0)
    with as_nobody():
        for command in COMMANDS:
            assert "chat.yaml: cannot be read: Permission denied" in told(call(own, command, "chat"))
        for command in ("list", "verify"):
            assert told(own.run(command)) == "mockserver: cassettes: cannot be read: Permission denied"
        assert "new.yaml: cannot be read: Permission denied" in told(own.run("import", "other.har", "--into", "new"))


def test_a_file_that_nobody_may_write(own: Place) -> None:
    file = own.folder / "chat.yaml"
    before = file.read_bytes()
    file.chmod(0o400)
    with as_nobody():
        assert "chat.yaml: cannot be written: Permission denied" in told(own.run("prune", "chat#1"))
        taken = own.run("import", "other.har", "--into", "chat")
        assert own.run("list", "chat").code == 0
    assert taken.code == 2 or taken.out.endswith("1 already there\n")
    assert "chat.yaml: cannot be written: Permission denied; its content is unchanged" in taken.err
    assert file.read_bytes() == before


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can have more than so many bytes."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk(own: Place) -> None:
    file, there = own.folder / "chat.yaml", Path("there.har")
    before = file.read_bytes()
    there.write_text("before")
    with full_disk():
        assert "chat.yaml: cannot be replaced: File too large" in told(own.run("prune", "chat#1"))
        assert "there.har: cannot be written: File too large" in told(
            own.run("export", "chat", "--output", there, "--force")
        )
        assert "new.yaml: cannot be written: File too large" in own.run("import", "other.har", "--into", "new").err
        assert own.run("show", "chat").code == 0
    assert file.read_bytes() == before
    assert there.read_text() == "before"
    assert not list(Path().glob(".there*"))


def test_output_that_cannot_be_written(own: Place) -> None:
    assert told(own.run("export", "chat", "-o", "/dev/full", "--force")).endswith("No space left on device")
    assert told(own.run("rules", "chat", "-o", "nowhere/rules.yaml")).endswith("No such file or directory")


@pytest.mark.parametrize("command", [*(command[0] for command in COMMANDS), "import"])
def test_help_shows_how_it_is_called(command: str) -> None:
    ran = run("cassette", command, "--help")
    assert ran.code == 0
    assert f"\n  mockserver cassette {command} " in ran.out or f"| mockserver cassette {command} " in ran.out
