"""A program that a command runs: started with these variables, told the signals that end it."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

import click

from mockserver.server.programs import explain_start, find_command, read_exit_code

NOT_EXECUTABLE = 126
NOT_FOUND = 127
_FORWARDED = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def run_child(program: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the program. Return its exit code; 128 + n if signal n ended it.

    Exits with 127 or 126 if it cannot be run.
    """
    with _forward_signals() as start:
        try:
            process = subprocess.Popen(find_command(program), env=environ)  # noqa: S603  # the user's command
        except OSError as error:
            hint = "; rules files follow -r" if program[0].endswith((".yaml", ".yml")) else ""
            click.echo(f"mockserver: {explain_start(program[0], error)}{hint}", err=True)
            sys.exit(NOT_FOUND if error.errno in (errno.ENOENT, errno.ENOTDIR) else NOT_EXECUTABLE)
        except ValueError as error:  # a NUL
            click.echo(f"mockserver: {explain_start(program[0], error)}", err=True)
            sys.exit(NOT_FOUND)
        start(process)
        return read_exit_code(process.wait())


@contextmanager
def _forward_signals() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Yield a function that takes the process to which signals go from then on, instead of ending this one.

    Those that came before are sent to it, too.
    """
    started = list["subprocess.Popen[bytes]"]()
    early = list[int]()

    def forward(number: int, _: FrameType | None = None) -> None:
        if number == signal.SIGINT and _is_foreground():
            return  # the terminal sends it to the process too; many programs abort at a second one
        if not started:
            early.append(number)
        for process in started:
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def start(process: "subprocess.Popen[bytes]") -> None:
        started.append(process)
        for number in early:
            forward(number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        yield start
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_foreground() -> bool:
    """Return whether Ctrl-C reaches the child too: in the terminal's foreground group, and in a console of Windows."""
    if not hasattr(os, "tcgetpgrp"):
        return True
    try:
        return os.tcgetpgrp(sys.__stdin__.fileno() if sys.__stdin__ else 0) == os.getpgrp()
    except (OSError, ValueError):  # no terminal; closed
        return False
