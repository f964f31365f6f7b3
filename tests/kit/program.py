"""The program `mockserver`, in this process: what it prints and its exit code."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from mockserver.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def run(*arguments: object) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            return Ran(int(ended.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("main returns only by SystemExit")
