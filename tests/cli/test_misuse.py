"""What a command says if it is called in a wrong way: what is wrong, where, and what to do, in a line or two."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from mockserver.cli import LazyGroup, commands
from mockserver.config.settings import Settings
from tests.kit.program import run

WEATHER = Path(__file__).parents[2] / "cassettes" / "tour.yaml"


def list_commands(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, LazyGroup):
            yield from list_commands(command, *names, name)
        else:
            yield (*names, name), command


def is_switch(annotation: object) -> bool:
    return annotation in (bool, bool | None)


COMMANDS = dict(list_commands(commands))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of each kind, in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "cassettes").mkdir()
    first = WEATHER.read_text("utf-8").split("\n---\n", 2)[:2]
    (tmp_path / "cassettes" / "weather.yaml").write_text("\n---\n".join(first), "utf-8")
    (tmp_path / "cassettes" / "broken.yaml").write_text("version: [")
    (tmp_path / "rules.yaml").write_text("rules: [{then: {text: Hello}}]")
    (tmp_path / "text.txt").write_text("x")
    (tmp_path / "app.py").write_text("print(1)")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\0")
    (tmp_path / "half.json").write_text("{")
    return tmp_path


def misuse(*arguments: str, code: int = 2) -> Sequence[str]:
    """Return the lines on stderr of a command that fails."""
    ran = run(*arguments)
    lines = ran.err.splitlines()
    assert (ran.code, len(lines) in (1, 2)) == (code, True), ran
    assert "Errno" not in ran.err
    assert "Traceback" not in ran.err
    return lines


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_a_command_says_how_it_is_called(names: tuple[str, ...]) -> None:
    command = " ".join(("mockserver", *names))
    told = misuse(*names, "--nope")
    assert told[0].startswith("mockserver: No such option '--nope'.")
    assert told[1].startswith(f"Usage: {command} ")
    assert told[1].endswith(f"  ({command} --help explains it)")
    needed = [each for each in COMMANDS[names].params if each.required]
    if needed:
        told = misuse(*names)
        assert told[0].startswith("mockserver: Missing ")
        for each in needed:
            assert each.make_metavar(click.Context(COMMANDS[names])) in told[1]


FLAGS = [
    f"--{name.replace('_', '-')}" for name, field in Settings.model_fields.items() if not is_switch(field.annotation)
]


@pytest.mark.parametrize("flag", FLAGS)
def test_a_wrong_value_of_a_setting_names_its_flag_and_what_it_takes(flag: str) -> None:
    (told,) = misuse("run", flag, "{a: b}", "--", "true")
    assert flag in told
    assert any(words in told for words in (" must be ", " accepts ", "; choose one of ")), told


SURPLUS = "Got unexpected extra argument"
NOT_FOUND = "program not found; install it, or name it with its path"
NO_FILE = "cannot be read: No such file or directory"
NO_FOLDER = "cannot be written: No such file or directory; create its folder first"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("ask hello there", f"{SURPLUS} (there). Put a text of several words in quotes."),
        ("cassette show weather 3", f"{SURPLUS} (3). The number of an episode follows the name: weather#3."),
        ("cassette show weather#99", "cassettes/weather.yaml has 1 episode; there is no #99"),
        ("cassette show wether", 'there is no cassette "wether" in cassettes; did you mean "weather"?'),
        ("cassette verify --max-age soon", '"soon" is not an age; write 90d, 2w or 12h'),
        (
            "cassette verify --journal http://127.0.0.1:9",
            "http://127.0.0.1:9: no server answers: Connection refused; start it, or check the address",
        ),
        ("check -", f"-: {NO_FILE}; standard input is /dev/stdin"),
        ("cassette verify --journal nope", f"nope: {NO_FILE}; give a server's URL, or its saved /__mockserver__/api/"),
        ("cassette export weather --output folder --force", "folder is a folder; name a file in it"),
        ("cassette export weather --output new/x.har", f"new/x.har: {NO_FOLDER}"),
        ("cassette prune weather --number 3-", '"3-" is not an episode number; write 3, or 2-5'),
        ("mcp serve files", 'there is no MCP server "files": define it under mcp: in a rules file, or choose its reco'),
        ("mcp import files no-such-program", f"cannot run 'no-such-program': {NOT_FOUND}"),
        ("ask hi --dialect opnai", 'not "opnai"; did you mean "openai"?'),
        ("ask hi --operation chats", "Invalid value for '--operation': 'chats' is not one of 'chat', 'completions', "),
        ("ask hi -r folder", "folder: cannot be read: Is a directory; name a file in this folder"),
        ("ask hi -r nope.yaml", f"nope.yaml: {NO_FILE}; mockserver init nope.yaml creates one"),
        ("ask hi -r bytes.yaml", "bytes.yaml:1:1: the byte 0xff is not UTF-8; save the file as UTF-8"),
        ("explain nope.json", f"nope.json: {NO_FILE}; name a file with a request, or - for standard input"),
        ("explain folder", "folder: cannot be read: Is a directory; name a file in this folder"),
        ("explain half.json", "half.json: not JSON: "),
        ("init new/rules.yaml", f"new/rules.yaml: {NO_FOLDER}"),
        ("init rules.yaml", "rules.yaml already exists; choose another name: mockserver init other.yaml"),
        ("env --for nobody --home home", 'there is no coding agent "nobody"; there are claude-code, codex, '),
        ("serve --port 65536", '--port must be at most 65535, not "65536"'),
        ("serve --host nowhere.invalid", "cannot listen on nowhere.invalid:8000: this is no address of this machine;"),
        ("run --max-calls 0 -- true", "write a whole number of at least 1, not '0'"),
        ("faults --fault cat -- true", 'unknown fault "cat"; did you mean "cut"?'),
    ],
)
def test_a_mistake_says_what_to_do(arguments: str, told: str) -> None:
    assert told in misuse(*arguments.split())[0]


@pytest.mark.parametrize(
    ("program", "code", "told"),
    [
        ("no-such-program", 127, NOT_FOUND),
        ("app.py", 127, "it is a file of Python; write: python app.py"),
        ("./text.txt", 126, "it is not a program that you may run; check its name, or chmod +x it"),
    ],
)
def test_a_program_that_cannot_run(program: str, code: int, told: str) -> None:
    assert misuse("run", "--", program, code=code) == [f"mockserver: cannot run '{program}': {told}"]


WRONG = ("", "nope.yaml", "folder", "text.txt", "bytes.yaml", "half.json", "broken", "weather#x", "../x", "*")
TAKES_A_FILE = [
    *(("check",), ("explain",), ("mcp", "serve"), ("mcp", "config")),
    *(("cassette", name) for name in ("list", "show", "verify", "scrub", "rules", "export")),
    *(("cassette", "prune", "--number", "1"), ("cassette", "import", "--into", "new")),
]


@pytest.mark.parametrize("command", TAKES_A_FILE, ids=" ".join)
def test_every_kind_of_wrong_file_is_a_short_message(command: tuple[str, ...]) -> None:
    for value in WRONG:
        ran = run(*command, value)
        assert ran.code == 2, (value, ran)
        assert "Errno" not in ran.err
        assert all(len(line) < 500 for line in ran.err.splitlines()), ran.err
