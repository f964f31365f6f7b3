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
    data: bytes = b""  # what `out` was decoded from


def run(*arguments: object) -> Ran:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True)
    err = io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            data = out.buffer.getvalue()
            return Ran(int(ended.code or 0), data.decode("utf-8", "backslashreplace"), err.getvalue(), data)
    raise AssertionError("main returns only by SystemExit")
