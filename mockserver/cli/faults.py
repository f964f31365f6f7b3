"""`mockserver faults -- CMD`: a program is run once for each fault, and what it did is judged."""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from mockserver.cli.child import Ran, run_captured
from mockserver.cli.options import DEFAULT_RULES, setting_flags, sources
from mockserver.config.errors import ConfigError, MockserverError, Place
from mockserver.config.settings import Settings
from mockserver.reports.failures import BAD, Row, fault_line, fault_summary
from mockserver.server.live import Sources, start
from mockserver.testing.calls import Calls
from mockserver.testing.fault_matrix import End, Matrix, Probe, Verdict, judged

_OWN = {"host": "127.0.0.1", "port": 0}
_LONGEST = 100  # letters of what a program says at its end
_SAID = "--fault, --error, --position and their kin"


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("program", metavar="-- CMD", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--fault",
    "-f",
    "faults",
    multiple=True,
    metavar="NAME[@KEY=VALUE]",
    help="A fault to inject; repeatable [a standard set].",
)
@click.option("--error", "errors", multiple=True, metavar="STATUS", help="An error to return; repeatable.")
@click.option(
    "--position",
    "positions",
    multiple=True,
    metavar="POSITION",
    help="A position in the answer for the faults; repeatable.",
)
@click.option(
    "--times", default="1", metavar="N|all", help="How many calls of each run get the fault.", show_default=True
)
@click.option("--limit", default="30s", help="The time limit of each run.", show_default=True)
@click.option("--expect", multiple=True, metavar="FAULT=OUTCOME", help="The expected outcome of a fault.")
@click.option("--allow", multiple=True, type=click.Choice(BAD), help="An outcome to accept.")
@click.option("--output", is_flag=True, help="Show the output of each run.")
@click.option(
    "--rules", "-r", multiple=True, type=click.Path(path_type=Path), help=f"A rules file; repeatable [{DEFAULT_RULES}]."
)
@setting_flags(*Settings.model_fields)
def command(program: tuple[str, ...], rules: tuple[Path, ...], **options: Any) -> None:
    """Run CMD without a fault, then once per fault, each time with a new server, and show how it copes.

    The outcome follows from the exit code of CMD and its calls. The exit code is 1 if any outcome is bad.
    """
    flags = {name: options.pop(name) for name in Settings.model_fields}
    output = options.pop("output")
    matrix = _matrix(options)
    given = sources(rules, {**_OWN, **{name: value for name, value in flags.items() if value is not None}})
    bench, rows = _Bench(program, given, matrix, output), list[Row]()
    click.echo(shlex.join(program))
    for row in bench.rows():
        rows.append(row)
        click.echo(fault_line(row, max(len(probe.name) for probe in matrix.probes)))
    click.echo(fault_summary(rows))
    sys.exit(int(any(row.bad for row in rows)))


def _matrix(said: dict[str, Any]) -> Matrix:
    """The matrix that the command line states. Raises ConfigError."""
    expect: dict[str, list[str]] = {}
    for each in said.pop("expect"):
        name, _, outcome = each.rpartition("=")
        expect.setdefault(name, []).append(outcome)
    times, faults, errors = said.pop("times"), said.pop("faults"), said.pop("errors")
    if times != "all" and not (times.isdecimal() and int(times)):
        raise ConfigError(f'--times takes a whole number of at least 1, or "all", not {times!r}')
    try:
        said |= {"times": None if times == "all" else int(times), "errors": errors or None, "expect": expect}
        return Matrix.of(Place(_SAID, 1, 1), *faults, **said)
    except MockserverError as error:
        raise ConfigError(*(mistake.message for mistake in error.mistakes)) from None


@dataclass(frozen=True, slots=True)
class _Bench:
    """Runs a program with a server, again and again."""

    program: Sequence[str]
    sources: Sources
    matrix: Matrix
    output: bool

    def rows(self) -> Iterator[Row]:
        """What it did under each fault. Raises ConfigError where it fails without any, or makes no call."""
        name, intact = shlex.join(self.program), ""
        for probe in self.matrix.probes:
            ran, calls = self._run(probe)
            if self.output:
                click.echo(ran.out + ran.err, err=True, nl=False)
            if probe.rule is None:
                intact = ran.out
                _checked(ran, calls, self.matrix.limit)
                yield Row(name, probe.name, "stream" if calls[0].stream else "plain", "recovered", "passes", bad=False)
            else:
                verdict = judged(probe, self._end(ran, intact), calls)
                yield self.matrix.standard.row(name, probe, _noted(verdict, ran, intact))

    def _run(self, probe: Probe) -> tuple[Ran, Calls]:
        """The program under a fault, and the calls that it made."""
        from mockserver.server.namespaces import DEFAULT
        from mockserver.server.run import Running, environment

        live = start(self.sources)
        live.journal.keeps_calls = True
        live.namespaces.touch(DEFAULT).put(() if probe.rule is None else (probe.rule,))
        with Running(live, self.sources) as running:
            environ = {**os.environ, **environment(running.address, live.settings, os.environ)}
            ran = run_captured(self.program, environ, self.matrix.limit)
            running.settle()
            running.hang_up()  # nobody listens any more
        return ran, Calls.of_rows(tuple(live.journal))

    def _end(self, ran: Ran, intact: str) -> End:
        """How it ended."""
        if ran.code is None:
            return End("passed", hung=f"still running after {self.matrix.limit:g} s")
        if ran.code == 0:
            return End("passed", same=bool(intact) and ran.out == intact)
        lines = ran.err.strip().splitlines()
        error = next((found[1] for found in map(_ERROR.match, reversed(lines)) if found), "")
        told = error or (lines[-1][:_LONGEST] if lines else "")
        names = (*([error] if error else ()), f"exit {ran.code}")
        return End("raised", f"{told} (exit code {ran.code})" if told else f"exit code {ran.code}", names)


def _checked(ran: Ran, calls: Calls, limit: float) -> None:
    """Whether there is something to be learnt from faults. Raises ConfigError where there is not."""
    if ran.code != 0:
        how = f"was still running after {limit:g} s" if ran.code is None else f"ended with exit code {ran.code}"
        click.echo(ran.out + ran.err, err=True, nl=False)
        raise ConfigError(f"without any fault the program {how}")
    if not calls:
        raise ConfigError("the program made no call, so that no fault can befall it; does it take OPENAI_BASE_URL?")


def _noted(verdict: Verdict, ran: Ran, intact: str) -> Verdict:
    """The verdict, with a word on what is printed where that is something else."""
    if verdict.outcome == "recovered" and ran.out != intact:
        return replace(verdict, told=f"{verdict.told}, and prints something else")
    return verdict


_ERROR = re.compile(r"(?:\w+\.)*([A-Z]\w*(?:Error|Exception|Timeout))(?=: |$)")  # the last line of a traceback
