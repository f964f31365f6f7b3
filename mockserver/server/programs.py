"""Programs that run beside a server without input, within limits: of time, and of calls that they make.

The answer to a call beyond the limit tells a program that goes in circles to stop, and what repeats.
"""

import errno
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from mockserver.config.errors import ConfigError
from mockserver.core.plan import Answer, Failure, Plan, ToolUse
from mockserver.core.text import count_noun, truncate

MAX_RUN_CALLS = 50  # of a program, unless more are allowed
BUDGET = "budget"  # the source of the answer to a call beyond them
_GRACE = 2.0  # seconds between the signals of _TERMINATION
_TERMINATION = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGKILL") if hasattr(signal, name))


def explain_start(program: str, error: OSError | ValueError) -> str:
    """Say that a program cannot be started, why, and what to do."""
    number = error.errno if isinstance(error, OSError) else None
    if program.endswith(".py") and Path(program).is_file() and number in (errno.ENOENT, errno.EACCES):
        return f"cannot run {program!r}: it is a file of Python; write: python {program}"
    if number in (errno.ENOENT, errno.ENOTDIR):
        why = "program not found; install it, or name it with its path"
    elif number == errno.EACCES:
        why = "it is not a program that you may run; check its name, or chmod +x it"
    else:
        why = getattr(error, "strerror", None) or str(error)  # such as a NUL in its name
    return f"cannot run {program!r}: {why}"


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
        raise ConfigError(explain_start(program[0], error)) from None
    try:
        out, err = process.communicate(timeout=limit)
        code: int | None = read_exit_code(process.returncode)
    except subprocess.TimeoutExpired:
        out, err = _terminate(process)
        code = None
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
    """Return the exit code of a process as shells have it: 128 and the number of the signal that ended it."""
    return returncode if returncode >= 0 else 128 - returncode


def _terminate(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """End a process and those that it started; return what it printed: standard output and error."""
    for number in _TERMINATION:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number) if hasattr(os, "killpg") else process.kill()
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_GRACE)
    return b"", b""


class CallBudget(Struct):
    """How many calls a run may make, and how many it has `spent`; calls beyond are `refused`.

    Messages call the run by the word `run`.
    """

    limit: int = MAX_RUN_CALLS
    run: str = "run"
    spent: int = 0
    refused: int = 0
    answers: Counter[str] = field(default_factory=Counter)  # to the calls, by what gave them
    usual: str = ""  # the answer of most of them

    def spend(self, plan: Plan) -> Plan:
        """Count the call that a plan answers, and return the plan; beyond the limit, one that ends the run."""
        if plan.is_service:
            return plan
        if self.spent >= self.limit:
            self.refused += 1
            return Plan(Failure("bad_parameter", self.explain(), headers=_FINAL), BUDGET)
        self.spent += 1
        answer = _describe_plan(plan)
        self.answers[answer] += 1
        if self.answers[answer] > self.answers[self.usual]:
            self.usual = answer
        return plan

    def explain(self) -> str:
        """Say that the budget is used up, and what answered most of the calls."""
        said = f"This {self.run} has reached its limit of {count_noun(self.limit, 'call')}"
        count = self.answers[self.usual]
        if count < 2:
            return f"{said}."
        loops = self.usual.endswith(")")
        advice = " Put a rule with tool_result before it, so that the result of the tool is answered." if loops else ""
        return f"{said}: {self.usual} answered {count} of them.{advice}"


_FINAL = (("x-should-retry", "false"),)
_MAX_SHOWN = 120  # characters of arguments


def _describe_plan(plan: Plan) -> str:
    outcome = plan.outcome
    parts = [part for choice in outcome.choices for part in choice.parts] if isinstance(outcome, Answer) else []
    used = [
        f"{part.call.name}({truncate(part.call.arguments, _MAX_SHOWN)})" for part in parts if isinstance(part, ToolUse)
    ]
    return f"{plan.source} with {' and '.join(used)}" if used else plan.source
