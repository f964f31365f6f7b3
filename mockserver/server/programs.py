"""Programs that run beside a server: started without input, for a time at most, with what they print."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from mockserver.config.errors import ConfigError

_GRACE = 2.0  # seconds between the signals of _TERMINATION
_TERMINATION = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGKILL") if hasattr(signal, name))


class Completed(Struct, frozen=True):
    """A program that has ended: its exit code, None after the time limit, and what it printed."""

    code: int | None
    out: str
    err: str


def run_captured(
    program: Sequence[str], environ: Mapping[str, str], limit: float, *, folder: Path | None = None
) -> Completed:
    """Run the program without input, for `limit` seconds at most; `folder` is where it works.

    Raises ConfigError if it cannot be run.
    """
    try:
        process = subprocess.Popen(  # noqa: S603  # the user's command
            find_command(program),
            env=environ,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot run {program[0]!r}: {getattr(error, 'strerror', None) or error}") from None
    try:
        out, err = process.communicate(timeout=limit)
        code: int | None = read_exit_code(process.returncode)
    except subprocess.TimeoutExpired:
        (out, err), code = _terminate(process), None
    except BaseException:
        _terminate(process)
        raise
    return Completed(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def find_command(program: Sequence[str]) -> Sequence[str]:
    """Return the program with its path, if it must be looked up: Windows itself finds `node`, but not `npx.cmd`."""
    if sys.platform != "win32":
        return program
    from shutil import which

    return (which(program[0]) or program[0], *program[1:])


def read_exit_code(returncode: int) -> int:
    return returncode if returncode >= 0 else 128 - returncode


def _terminate(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    for number in _TERMINATION:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number) if hasattr(os, "killpg") else process.kill()
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_GRACE)
    return b"", b""
