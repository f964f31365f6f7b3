"""Whatever stands in the folder, however a cassette is called: one clear line, exit code 2, and nothing is harmed."""

import pytest

from tests.cli.cassette.conftest import Place
from tests.kit.program import Ran, run

COMMANDS = (
    ("list",),
    ("show",),
    ("verify",),
    ("scrub",),
    ("rules",),
    ("export",),
    ("prune", "--number", "1"),
)
NAMES = ("../x", "/etc/passwd", "", "#1", "nul\0", "\x1b[2J", "line\nbreak", "\udcff", "x" * 3000)
FILES = {
    "another file": (b"hello: 3\n", "bad.yaml:1:1: not a cassette: a cassette begins with"),
    "no text": (bytes(range(256)), "bad.yaml:2:118: not a cassette: the byte 0x80 is not UTF-8"),
    "an alias bomb": (b"version: 1\n---\na: &a [x, x]\nb: [*a, *a]\n", "bad.yaml:3:4: anchors (&) are not"),
    "no end": (b"version: 1\n---\ncall: x\nat: 2025-01-01T00:0", "bad.yaml:"),
}


def told(ran: Ran) -> str:
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert line.isprintable()
    assert line.startswith("mockserver: ")
    return line


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_names_that_none_can_have_and_files_that_are_no_cassette(place: Place, command: tuple[str, ...]) -> None:
    for name in NAMES:
        assert " is not a valid cassette name: " in told(place.run(command[0], name, *command[1:]))
    place.folder.mkdir()
    bad = place.folder / "bad.yaml"
    for data, words in FILES.values():
        bad.write_bytes(data)
        assert f"mockserver: cassettes/{words}" in told(place.run(command[0], "bad", *command[1:]))
        assert bad.read_bytes() == data


@pytest.mark.parametrize("command", [*(command[0] for command in COMMANDS), "import"])
def test_help_shows_how_it_is_called(command: str) -> None:
    ran = run("cassette", command, "--help")
    assert ran.code == 0
    assert f"\n  mockserver cassette {command} " in ran.out or f"| mockserver cassette {command} " in ran.out
