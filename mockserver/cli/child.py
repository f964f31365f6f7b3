"""Run a program as a shell would: with our input and output, our signals and its exit code."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
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
    with _forwarding_signals() as child:
        try:
            child.process = subprocess.Popen(_runnable(program, environ), env=environ)  # noqa: S603  # the user's command
        except OSError as error:
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            why = "program not found" if missing else error.strerror or str(error)
            click.echo(f"mockserver: cannot run {program[0]}: {why}", err=True)
            return NOT_FOUND if missing else NOT_EXECUTABLE
        except ValueError as error:  # a NUL
            click.echo(f"mockserver: cannot run {program[0]!r}: {error}", err=True)
            return NOT_FOUND
        child.send_pending()
        return _exit_code(child.process.wait())


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
            _runnable(program, environ),
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
    """End a program and its children. Return what it printed."""
    for number in _TERMINATION:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number) if hasattr(os, "killpg") else process.kill()
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_GRACE)
    return b"", b""


class _Child:
    """The program, and the signals that arrived before it ran."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._pending: list[int] = []

    def handle(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and _is_foreground():
            return  # the terminal sends it to the child too; many programs abort at a second one
        if self.process is None:
            self._pending.append(number)
        else:
            self._send(number)

    def send_pending(self) -> None:
        for number in self._pending:
            self._send(number)

    def _send(self, number: int) -> None:
        assert self.process is not None  # noqa: S101  # both callers know
        with suppress(ProcessLookupError):
            self.process.send_signal(number)


@contextmanager
def _forwarding_signals() -> Iterator[_Child]:
    """Send signals that end a program to the child instead of ending this process."""
    child = _Child()
    before = {number: signal.signal(number, child.handle) for number in _FORWARDED}
    try:
        yield child
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_foreground() -> bool:
    """Whether this process is in the terminal's foreground group, where Ctrl-C reaches the child too."""
    try:
        return os.tcgetpgrp(sys.__stdin__.fileno() if sys.__stdin__ else 0) == os.getpgrp()
    except (AttributeError, OSError, ValueError):  # not on this platform; no terminal; closed
        return False


def _runnable(program: Sequence[str], environ: Mapping[str, str]) -> Sequence[str]:
    """The command; a script without `#!` runs in /bin/sh, as in every shell."""
    from shutil import which

    found = which(program[0], path=environ.get("PATH"))
    if found is None or os.name == "nt":
        return program
    with suppress(OSError), open(found, "rb") as file:
        start = file.read(64)
        if start[:2] != b"#!" and start.isascii() and b"\0" not in start:
            return ["/bin/sh", found, *program[1:]]
    return program
