"""`mockserver` itself: help, version, and one line for each mistake of the user."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver.cli import COMMANDS
from mockserver.cli.cassette import COMMANDS as CASSETTE_COMMANDS
from tests.kit.program import run

ROOT = Path(__file__).parents[2]


def test_help_lists_every_command() -> None:
    ran = run("--help")
    assert ran.code == 0
    for name, (_, text) in COMMANDS.items():
        assert name in ran.out
        assert " ".join(text.split()[:3]) in ran.out


@pytest.mark.parametrize("name", [*COMMANDS, *(f"cassette {name}" for name in CASSETTE_COMMANDS)])
def test_every_command_has_help(name: str) -> None:
    ran = run(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: mockserver {name}")


def test_version() -> None:
    assert run("--version").out.startswith("mockserver, version ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sevre"], 'mockserver: unknown command "sevre"; did you mean "serve"?\n'),
        (
            ["zzz"],
            'mockserver: unknown command "zzz"; choose one of '
            "serve, run, env, faults, check, explain, ask, mcp, schema, cassette, init\n",
        ),
        (["cassette", "lst"], 'mockserver: unknown command "lst"; did you mean "list"?\n'),
        (["lint"], 'mockserver: unknown command "lint"; did you mean "check"?\n'),
        (["cassette", "check"], 'mockserver: unknown command "check"; did you mean "verify"?\n'),
        (
            ["record"],
            'mockserver: unknown command "record"; did you mean "serve --record new_episodes --cassette NAME"?\n',
        ),
        (
            ["serve", "--known-models", "maybe"],
            "mockserver: Option '--known-models' does not take a value, such as 'maybe'."
            " Write --known-models or --no-known-models.\n",
        ),
        (
            ["serve", "--no-reload=yes"],
            "mockserver: Option '--no-reload' does not take a value. Write --reload or --no-reload.\n",
        ),
        (["serve", "--prt", "1"], "mockserver: No such option '--prt'. Did you mean '--port'?\n"),
        (["ask"], "mockserver: Missing argument 'TEXT'.\n"),
        (
            ["check", "-r", "a.yaml"],
            "mockserver: No such option '-r'. Name rules files without it, as arguments.\n",
        ),
        (
            ["ask", "hello", "a.yaml"],
            "mockserver: Got unexpected extra argument (a.yaml). Rules files follow -r.\n",
        ),
    ],
)
def test_a_mistake_is_one_line_before_the_usage_and_exit_code_2(arguments: list[str], message: str) -> None:
    ran = run(*arguments)
    first, *usage = ran.err.splitlines(keepends=True)
    assert (ran.code, ran.out, first) == (2, "", message)
    assert [line.startswith("Usage: ") for line in usage] in ([], [True])


PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    ("locale", "printed"),
    [
        ({"LC_ALL": "C"}, "Grüße, 世界\n".encode()),
        (PLAIN, "Grüße, 世界\n".encode()),
        ({"PYTHONIOENCODING": "ascii"}, "Grüße, 世界\n".encode()),
        ({"PYTHONIOENCODING": "latin-1"}, "Grüße, \\u4e16\\u754c\n".encode("latin-1")),
        ({"PYTHONIOENCODING": "cp1252"}, "Grüße, \\u4e16\\u754c\n".encode("cp1252")),
    ],
)
def test_letters_that_a_terminal_does_not_have(locale: dict[str, str], printed: bytes, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text('rules: [{when: {last_user: "日本"}, then: {text: "Grüße, 世界"}}]', "utf-8")
    command = [sys.executable, "-m", "mockserver", "ask", "日本"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    environ = {**kept, "PYTHONPATH": str(ROOT), **locale}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


@pytest.mark.parametrize("command", ["serve", "ask", "explain"])
def test_a_broken_rules_file_is_one_line(command: str, tmp_path: Path) -> None:
    rules, request = tmp_path / "rules.yaml", tmp_path / "request.json"
    rules.write_text("rules:\n  - when: {last_user: {contain: x}}\n    then: {text: a}\n  - then: {txt: b}\n")
    request.write_text("{}")
    arguments = {"serve": [rules], "ask": ["hi", "-r", rules], "explain": [request, rules]}[command]
    ran = run(command, *arguments)
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert f'{rules}:2:24: unknown predicate "contain"; did you mean "contains"?' in ran.err
    assert "more; mockserver check shows them all" in ran.err


def test_a_missing_rules_file_is_named(tmp_path: Path) -> None:
    ran = run("serve", tmp_path / "none.yaml")
    told = "mockserver: {0}: cannot be read: No such file or directory; mockserver init {0} creates one\n"
    assert (ran.code, ran.err) == (2, told.format(tmp_path / "none.yaml"))


def test_a_full_disk_behind_standard_output_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "mockserver", "schema"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "mockserver: output: No space left on device\n")
