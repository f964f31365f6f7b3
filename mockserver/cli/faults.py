"""`mockserver faults -- CMD`: run a program once per fault, and judge how it copes."""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from mockserver.cli import resume_collection
from mockserver.cli.options import GroupedCommand, add_setting_flags, find_server_sources, rules_option
from mockserver.config.errors import ConfigError, MockserverError, SourceLocation
from mockserver.config.settings import Settings
from mockserver.server.compose import start
from mockserver.server.programs import Completed, run_captured
from mockserver.server.sources import Sources
from mockserver.testing.assertions import Calls
from mockserver.testing.fault_cases import FaultCase
from mockserver.testing.fault_matrix import BAD, FaultMatrix, FaultRow, RunResult, write_rows, write_totals

_MAX_MESSAGE = 100  # characters of the last line that a program prints
_FLAGS = "--fault, --error, --position and similar flags"
_ERROR = re.compile(r"(?:\w+\.)*([A-Z]\w*(?:Error|Exception|Timeout))(?=: |$)")  # the last line of a traceback


@click.command(name="faults", cls=GroupedCommand, context_settings={"allow_interspersed_args": False})
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
@rules_option
@add_setting_flags(*Settings.model_fields)
def faults_command(program: tuple[str, ...], rules: tuple[Path, ...], **options: Any) -> None:
    """Run CMD without a fault, then once per fault, each time with a new server, and show how it copes.

    The outcome follows from the exit code of CMD and its calls. The exit code is 1 if any outcome is bad.
    """
    resume_collection()
    flags = {name: options.pop(name) for name in Settings.model_fields}
    output = options.pop("output")
    matrix = _make_matrix(options)
    runner = _ProgramRunner(program, find_server_sources(rules, flags), matrix=matrix, output=output)
    rows = list[FaultRow]()
    width = max(len(case.name) for case in matrix.cases)
    click.echo(shlex.join(program))
    for row in runner.try_faults():
        rows.append(row)
        click.echo("\n".join(write_rows([row], width)))
    click.echo(write_totals(rows))
    sys.exit(int(any(row.bad for row in rows)))


def _make_matrix(options: dict[str, Any]) -> FaultMatrix:
    expect: dict[str, list[str]] = {}
    for each in options.pop("expect"):
        name, equals, outcome = each.rpartition("=")
        if not equals:
            raise ConfigError(f'--expect takes FAULT=OUTCOME, such as cut=recovered, not "{each}"')
        expect.setdefault(name, []).append(outcome)
    times = options.pop("times")
    faults = options.pop("faults")
    errors = options.pop("errors")
    if times != "all" and not (times.isdecimal() and int(times)):
        raise ConfigError(f'--times must be "all" or a whole number of at least 1, not {times!r}')
    try:
        options |= {"times": None if times == "all" else int(times), "errors": errors or None, "expect": expect}
        return FaultMatrix.declare(SourceLocation(_FLAGS, 1, 1), *faults, **options)
    except MockserverError as error:
        raise ConfigError(*(mistake.message for mistake in error.mistakes)) from None


class _ProgramRunner(Struct, frozen=True):
    """Runs a program repeatedly, each time with a new server."""

    program: Sequence[str]
    sources: Sources
    matrix: FaultMatrix
    output: bool

    def try_faults(self) -> Iterator[FaultRow]:
        """Yield how it copes with each fault. Raises ConfigError if it fails without one, or makes no calls."""
        name = shlex.join(self.program)
        intact = ""
        for case in self.matrix.cases:
            ran, calls = self._run(case)
            if self.output:
                click.echo(ran.out + ran.err, err=True, nl=False)
            if case.rule is None:
                intact = ran.out
                _check_without_faults(ran, calls, self.matrix.limit)
                yield FaultRow(
                    name,
                    case.name,
                    asked="stream" if calls[0].stream else "plain",
                    outcome="recovered",
                    details="passes",
                    bad=False,
                )
            else:
                yield self.matrix.make_row(name, case, self._summarize_run(ran, intact), calls)

    def _run(self, case: FaultCase) -> tuple[Completed, Calls]:
        from mockserver.server.client_environment import make_environment
        from mockserver.server.namespaces import DEFAULT
        from mockserver.server.run import Running

        live = start(self.sources)
        live.journal.keeps_calls = True
        live.namespaces.touch(DEFAULT).rules = () if case.rule is None else (case.rule,)
        with Running(live, self.sources) as running:
            environ = {**os.environ, **make_environment(running.address, live.settings, os.environ)}
            ran = run_captured(self.program, environ, self.matrix.limit)
            running.wait_for_rows()
            running.hang_up()  # the program has ended
        return ran, Calls.from_rows(tuple(live.journal))

    def _summarize_run(self, ran: Completed, intact: str) -> RunResult:
        if ran.code is None:
            return RunResult("passed", hung=f"still running after {self.matrix.limit:g} s")
        if ran.code == 0:
            return RunResult("passed", same=ran.out == intact if ran.out or intact else None)
        lines = ran.err.strip().splitlines()
        error = next((found[1] for found in map(_ERROR.match, reversed(lines)) if found), "")
        message = error or (lines[-1][:_MAX_MESSAGE] if lines else "")
        names = (*([error] if error else ()), f"exit {ran.code}")
        return RunResult("raised", f"{message} (exit code {ran.code})" if message else f"exit code {ran.code}", names)


def _check_without_faults(ran: Completed, calls: Calls, limit: float) -> None:
    if ran.code != 0:
        how = f"was still running after {limit:g} s" if ran.code is None else f"ended with exit code {ran.code}"
        click.echo(ran.out + ran.err, err=True, nl=False)
        raise ConfigError(f"without faults, the program {how}")
    if not calls:
        raise ConfigError("the program made no API calls, so no fault could be injected; does it read OPENAI_BASE_URL?")
