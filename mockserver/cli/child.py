"""Run a program as a shell would: with our input and output, our signals and its exit code."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

import click

from mockserver.config.errors import ConfigError

NOT_EXECUTABLE, NOT_FOUND = 126, 127
_GRACE = 2.0  # seconds between the signals of _TERMINATION
_TERMINATION = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGKILL") if hasattr(signal, name))
_FORWARDED = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def run_child(program: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the program. Return its exit code; 128 + n if signal n ended it; 127 or 126 if it cannot be run."""
    with _forwarding_signals() as start:
        try:
            process = subprocess.Popen(program, env=environ)  # noqa: S603  # the user's command
        except OSError as error:
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            why = "program not found" if missing else error.strerror or str(error)
            click.echo(f"mockserver: cannot run {program[0]}: {why}", err=True)
            return NOT_FOUND if missing else NOT_EXECUTABLE
        except ValueError as error:  # a NUL
            click.echo(f"mockserver: cannot run {program[0]!r}: {error}", err=True)
            return NOT_FOUND
        start(process)
        return _exit_code(process.wait())


@dataclass(frozen=True, slots=True)
class Completed:
    """A program that has ended: its exit code, None after the time limit, and what it printed."""

    code: int | None
    out: str
    err: str


def run_captured(program: Sequence[str], environ: Mapping[str, str], limit: float) -> Completed:
    """Run the program without input, for `limit` seconds at most. Raises ConfigError if it cannot be run."""
    try:
        process = subprocess.Popen(  # noqa: S603  # the user's command
            program,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot run {program[0]!r}: {getattr(error, 'strerror', None) or error}") from None
    try:
        out, err = process.communicate(timeout=limit)
        code: int | None = _exit_code(process.returncode)
    except subprocess.TimeoutExpired:
        (out, err), code = _terminate(process), None
    except BaseException:
        _terminate(process)
        raise
    return Completed(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def _exit_code(returncode: int) -> int:
    return returncode if returncode >= 0 else 128 - returncode


def _terminate(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    for number in _TERMINATION:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number) if hasattr(os, "killpg") else process.kill()
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_GRACE)
    return b"", b""


@contextmanager
def _forwarding_signals() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Send signals that end a program to the process that the function gets instead of ending this one."""
    started, early = list["subprocess.Popen[bytes]"](), list[int]()

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
    """Whether this process is in the terminal's foreground group, where Ctrl-C reaches the child too."""
    try:
        return os.tcgetpgrp(sys.__stdin__.fileno() if sys.__stdin__ else 0) == os.getpgrp()
    except (AttributeError, OSError, ValueError):  # not on this platform; no terminal; closed
        return False
