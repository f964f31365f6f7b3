"""Runs a program as a shell would: its input and output are ours, signals are passed on, its exit code is told."""

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


def run_child(program: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the program to its end; its exit code, 128 + n where signal n ended it, 127 or 126 where it cannot be run."""
    with _passed_on() as child:
        try:
            child.process = subprocess.Popen(_runnable(program, environ), env=environ)  # noqa: S603  # the user's own words
        except OSError as error:
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            why = "there is no such program" if missing else error.strerror or str(error)
            click.echo(f"mockserver: cannot run {program[0]}: {why}", err=True)
            return NOT_FOUND if missing else NOT_EXECUTABLE
        except ValueError as error:  # a NUL
            click.echo(f"mockserver: cannot run {program[0]!r}: {error}", err=True)
            return NOT_FOUND
        child.catch_up()
        code = child.process.wait()
    return code if code >= 0 else 128 - code


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a program: its exit code, None if it was ended when its time was over, and what it printed."""

    code: int | None
    out: str
    err: str


def run_captured(program: Sequence[str], environ: Mapping[str, str], limit: float) -> Ran:
    """Run the program without input, for so many seconds at most. Raises ConfigError where it cannot be run."""
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(  # noqa: S603  # the user's own words
            _runnable(program, environ),
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot run {program[0]!r}: {getattr(error, 'strerror', None) or error}") from None
    try:
        out, err = process.communicate(timeout=limit)
        return Ran(process.returncode if process.returncode >= 0 else 128 - process.returncode, _text(out), _text(err))
    except subprocess.TimeoutExpired:
        out, err = _ended(process)
        return Ran(None, _text(out), _text(err))
    except BaseException:
        _ended(process)
        raise


def _ended(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """What a program that is ended has printed; with it end those that it has started."""
    for number in _ENDING:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number) if hasattr(os, "killpg") else process.kill()
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_GRACE)
    return b"", b""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class _Child:
    """The program once it runs, and the signals that came before it did."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def pass_on(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and _is_in_front():
            return  # the terminal has told it already, and two of them mean to make haste
        if self.process is None:
            self._early.append(number)
        else:
            self._tell(number)

    def catch_up(self) -> None:
        for number in self._early:
            self._tell(number)

    def _tell(self, number: int) -> None:
        assert self.process is not None  # noqa: S101  # both callers know
        with suppress(ProcessLookupError):
            self.process.send_signal(number)


@contextmanager
def _passed_on() -> Iterator[_Child]:
    """Signals that end a program reach the child, and not us, as long as this lasts."""
    child = _Child()
    before = {number: signal.signal(number, child.pass_on) for number in _SIGNALS}
    try:
        yield child
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_in_front() -> bool:
    """Whether we are what the terminal runs now, so that its Ctrl-C reaches our child too."""
    try:
        return os.tcgetpgrp(sys.__stdin__.fileno() if sys.__stdin__ else 0) == os.getpgrp()
    except (AttributeError, OSError, ValueError):  # no such thing here; no terminal; closed
        return False


def _runnable(program: Sequence[str], environ: Mapping[str, str]) -> Sequence[str]:
    """The command; a script that does not say what runs it goes to the shell, as every shell would have it."""
    from shutil import which

    found = which(program[0], path=environ.get("PATH"))
    if found is None or os.name == "nt":
        return program
    with suppress(OSError), open(found, "rb") as file:
        start = file.read(64)
        if start[:2] != b"#!" and start.isascii() and b"\0" not in start:
            return ["/bin/sh", found, *program[1:]]
    return program


_GRACE = 2.0  # seconds in which a program that is told to end may do so
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGKILL") if hasattr(signal, name))
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
