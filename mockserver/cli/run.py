"""`mockserver run -- CMD`: run a program with a server of its own, then report the calls that it made."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from msgspec.structs import replace

from mockserver.cli import resume_collection
from mockserver.cli.child_process import run_child
from mockserver.cli.log_lines import log_errors, make_request_logger
from mockserver.cli.options import GroupedCommand, add_setting_flags, find_server_sources, rules_option
from mockserver.cli.run_report import RunReport
from mockserver.cli.serve import list_warnings
from mockserver.config.settings import Settings
from mockserver.config.spelling import FLAGS
from mockserver.core.http import CONTROL
from mockserver.core.json import Json
from mockserver.core.seed import pause
from mockserver.server.agents import AGENTS, check_unmatched, find_agent
from mockserver.server.agents import RULES as AGENT_RULES
from mockserver.server.compose import start
from mockserver.server.programs import MAX_RUN_CALLS, CallBudget

_FOR = "Run a coding agent: point it here, switch off its telemetry, and answer what it asks on its own; repeatable."
_MAX_CALLS = "How many calls an agent may make before it is stopped."


class _Count(click.ParamType[int]):
    """A whole number of at least 1; click's messages about one speak of ranges."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            count = int(value)
        except ValueError:
            count = 0
        return count if count >= 1 else self.fail(f"write a whole number of at least 1, not {value!r}", param, ctx)


@click.command(name="run", cls=GroupedCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", metavar="-- CMD", nargs=-1, required=True, type=click.UNPROCESSED)
@rules_option
@click.option("--for", "agents", multiple=True, metavar="|".join(AGENTS), help=_FOR)
@click.option("--max-calls", metavar="N", type=_Count(), default=MAX_RUN_CALLS, show_default=True, help=_MAX_CALLS)
@click.option("--show-service", is_flag=True, help="Also report the calls that an agent made on its own.")
@click.option("--let-it-run", is_flag=True, help="Let an agent act on generated answers.")
@click.option(
    "--inspect", is_flag=True, help="Keep the server running until Ctrl-C, and print the address of its inspector."
)
@add_setting_flags(*Settings.model_fields)
def run_command(
    program: tuple[str, ...],
    rules: tuple[Path, ...],
    agents: tuple[str, ...],
    max_calls: int,
    show_service: bool,
    let_it_run: bool,
    inspect: bool,
    **flags: Json,
) -> None:
    """Run CMD against a server of its own, then report its calls. The exit code is that of CMD.

    The server listens on a free local port. Variables that clients read (OPENAI_BASE_URL, ...) point to it. The report
    goes to stderr.

    \b
    mockserver run -- pytest
    mockserver run --for claude-code -- claude -p "say hi"
    mockserver run --record once --cassette chat --upstream openai=https://api.openai.com/v1 -- python app.py
    """
    from mockserver.server.client_environment import list_mcp_servers, make_environment
    from mockserver.server.run import Running  # uvicorn is slow to import; report mistakes in rules first

    resume_collection()
    led = [find_agent(name) for name in dict.fromkeys(agents)]
    given = find_server_sources(rules, flags)
    if led:
        given = replace(given, presets=(AGENT_RULES,))
    live = start(given)
    if led:
        check_unmatched(live.settings, FLAGS, let_it_run=let_it_run)
        live.budgets = {agent.name: CallBudget(max_calls) for agent in led}
    report = RunReport(live, live.player.store.episode_counts, shows_service=show_service)
    live.journal.on_close = report.count_calls(make_request_logger(live.settings.log, err=True))
    if live.save_episode is not None:
        live.save_episode = report.count_episodes(live.save_episode)
    log_errors("mockserver.recorder")  # the report says what was not recorded
    reloads = list[str]()  # what reloading changed files said; the last holds
    with (
        TemporaryDirectory(prefix="mockserver-", ignore_cleanup_errors=True) as homes,
        Running(live, given, say=reloads.append) as running,
    ):
        for line in list_warnings(live):
            click.echo(line, err=True)
        if inspect:
            click.echo(f"mockserver: the inspector is at {running.address}{CONTROL}/", err=True)
        servers = list_mcp_servers(live.engine.servers, live.settings, live.player.recorded_servers)
        environ = {
            **os.environ,
            **make_environment(running.address, live.settings, environ=os.environ, servers=servers),
        }
        for agent in led:
            address = f"{running.address}/ns/{agent.name}"
            environ = agent.set_up(Path(homes, agent.name), address=address, environ=environ)
        code = run_child(program, environ)
        if inspect:
            click.echo(f"mockserver: the program ended with code {code}; Ctrl-C stops the server", err=True)
            with suppress(KeyboardInterrupt):
                pause()
    for line in (*reloads[-1:], *report.list_lines()):
        click.echo(line, err=True)
    sys.exit(code)
