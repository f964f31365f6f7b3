"""A program run as a shell would run it: exit codes, signals, scripts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver.cli.child_process import run_child
from mockserver.server.programs import Completed, run_captured
from tests.kit.served import ROOT

ENVIRON = {"PATH": os.environ["PATH"]}
PYTHON = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("kill -INT $$", 130)],
)
def test_the_exit_code_is_that_of_the_program(script: str, code: int) -> None:
    assert run_child(["sh", "-c", script], ENVIRON) == code


def test_what_cannot_be_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("exit 0")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF\0\0")
    broken.chmod(0o755)
    programs = {
        "no-such-program": 127,
        "rules.yaml": 127,
        str(file): 126,
        str(tmp_path): 126,
        str(broken): 126,
        "a\0": 127,
    }
    for program, code in programs.items():
        with pytest.raises(SystemExit, match=str(code)):
            run_child([program], ENVIRON)
    said = capsys.readouterr().err.splitlines()
    not_found = "program not found; install it, or name it with its path"
    assert said[0] == f"mockserver: cannot run 'no-such-program': {not_found}"
    assert said[1] == f"mockserver: cannot run 'rules.yaml': {not_found}; rules files follow -r"
    assert said[2].startswith(f"mockserver: cannot run '{file}': it is not a program that you may run;")
    assert len(said) == 6


# The signal may come while what it interrupts is printed: print does not bear that.
TRAPS = """
import os, signal, sys, time
def told(number, _):
    os.write(1, f"told {signal.Signals(number).name}\\n".encode())
    sys.exit(5)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, told)
os.write(1, b"ready\\n")
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_are_passed_on_and_the_program_has_the_last_word(number: signal.Signals) -> None:
    program = [sys.executable, "-c", TRAPS]
    imports = "import sys, os; from mockserver.cli.child_process import run_child"
    ours = f"{imports}; sys.exit(run_child({program!r}, os.environ))"
    command, quiet = [sys.executable, "-c", ours], subprocess.DEVNULL
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=quiet, text=True, start_new_session=True, env=PYTHON
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        told = process.stdout.read()
    assert told == f"told {number.name}\n"
    assert process.returncode == 5


@pytest.mark.parametrize(
    ("script", "limit", "expected"),
    [
        ("echo out; echo err >&2; exit 3", 20, Completed(3, "out\n", "err\n")),
        ("kill -TERM $$", 20, Completed(143, "", "")),
        ("cat; echo done", 20, Completed(0, "done\n", "")),  # no input
        ("echo begun; sleep 60; echo never", 0.3, Completed(None, "begun\n", "")),
        ("trap '' TERM; echo begun; sleep 60 & wait; sleep 60", 0.3, Completed(None, "begun\n", "")),
    ],
)
def test_what_a_program_prints_is_kept_and_its_time_is_limited(script: str, limit: float, expected: Completed) -> None:
    assert run_captured(["sh", "-c", script], ENVIRON, limit) == expected
