"""`mockserver run -- CMD`: run a program with a server of its own, then report the calls that it made."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import click
from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.cassettes.redaction.shown_secrets import Secrets
from mockserver.cli import resume_collection
from mockserver.cli.log_lines import list_remarks, log_errors, make_request_logger
from mockserver.cli.options import GroupedCommand, add_setting_flags, find_server_sources, rules_option
from mockserver.cli.serve import list_warnings
from mockserver.config.errors import RuleError
from mockserver.config.settings import Settings
from mockserver.config.spelling import FLAGS
from mockserver.core.call import Call
from mockserver.core.episode import Episode, name_file
from mockserver.core.http import CONTROL
from mockserver.core.json import Json
from mockserver.core.row import Row
from mockserver.core.seed import pause
from mockserver.core.text import count_noun, escape_line, write_ranges
from mockserver.engine.answer import use_tokenizer
from mockserver.engine.engine import Engine
from mockserver.engine.outcomes import FORWARDED
from mockserver.rules.nearest import find_unmatched
from mockserver.server.agents import AGENTS, check_unmatched, find_agent
from mockserver.server.agents import RULES as AGENT_RULES
from mockserver.server.compose import start
from mockserver.server.explain import explain_call, is_unmatched
from mockserver.server.live import Live, SaveEpisode
from mockserver.server.masking import find_row_secrets
from mockserver.server.programs import BUDGET, MAX_RUN_CALLS, CallBudget, find_command, read_exit_code
from mockserver.server.recording.player import CassetteChoice, Player

MAX_REPORTED = 10  # calls that are explained, and reasons that are listed
_FOR = "Run a coding agent: point it here, switch off its telemetry, and answer what it asks on its own; repeatable."
_MAX_CALLS = "How many calls an agent may make before it is stopped."
_WITHOUT_RULES = frozenset(("generated", "invalid", "limited", "stored"))  # sources that need neither rule nor cassette


@click.command(name="run", cls=GroupedCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", metavar="-- CMD", nargs=-1, required=True, type=click.UNPROCESSED)
@rules_option
@click.option("--for", "agents", multiple=True, metavar="|".join(AGENTS), help=_FOR)
@click.option("--max-calls", type=click.IntRange(min=1), default=MAX_RUN_CALLS, show_default=True, help=_MAX_CALLS)
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
    report = Report(live, live.player.store.episode_counts, shows_service=show_service)
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
            environ = agent.settle(Path(homes, agent.name), address=address, environ=environ)
        code = run_child(program, environ)
        if inspect:
            click.echo(f"mockserver: the program ended with code {code}; Ctrl-C stops the server", err=True)
            with suppress(KeyboardInterrupt):
                pause()
    for line in (*reloads[-1:], *report.list_lines()):
        click.echo(line, err=True)
    sys.exit(code)


class Unanswered(Struct, frozen=True):
    """A call that nothing answered or, if `call` is None, that was rejected as invalid.

    `engine` is the one that it reached: its namespace may get other rules or another cassette later.
    """

    number: int
    request: str
    status: int
    call: Call | None
    secrets: Secrets
    engine: Engine

    def explain(self) -> str:
        """Return what the cassette says about a miss, else the nearest rules."""
        if self.call is None:
            return "rejected before any rule was tried"
        call = use_tokenizer(self.call, self.engine.policy.tokenizer(self.call.model))
        try:
            return asyncio.run(explain_call(self.engine, self.call)).why or asyncio.run(self.engine.explain(call))
        except RuleError as error:
            return str(error)

    def __str__(self) -> str:
        request = escape_line(self.secrets.mask_text(self.request))
        return f"{request} -> {self.status}: {self.secrets.mask_text(self.explain())}"


class Report(Struct):
    """Counts the calls of a server as they end, and keeps the first that nothing answered.

    `episode_counts`: of each cassette that was read at the start, by file. In a namespace with neither rules nor a
    cassette, a generated answer does not count as a miss.
    """

    live: Live
    episode_counts: Mapping[str, int] = {}
    shows_service: bool = False
    calls: int = 0
    expects_rules: bool = False  # whether any call reached rules or a cassette
    shares: Counter[str] = field(default_factory=Counter)  # calls by what answered them
    replayed: Counter[str] = field(default_factory=Counter)  # by source: `cassette chat.yaml#3`
    recorded: Counter[str] = field(default_factory=Counter)  # by cassette file
    new: set[str] = set()  # sources of recorded episodes
    unrecorded: Counter[str] = field(default_factory=Counter)  # by reason
    targets: set[str] = set()  # cassette files that should get an episode
    service: Counter[str] = field(default_factory=Counter)  # calls that service rules answered
    remarks: Counter[str] = field(default_factory=Counter)  # calls by what no model could have answered
    unanswered: list[Unanswered] = []

    def note(self, row: Row) -> None:
        if row.source.startswith("cassette "):
            self.replayed[row.source] += 1
        self.new.update((row.recorded,) if row.recorded else ())
        self.unrecorded.update((row.unrecorded,) if row.unrecorded else ())
        if row.is_service:
            self.service[row.source] += 1
            return
        engine = self.live.find_engine(row.namespace)
        choice = engine.player.choice if isinstance(engine.player, Player) else CassetteChoice()
        expects_rules = bool(engine.rules or choice.name) or row.source not in _WITHOUT_RULES
        self.calls += 1
        self.expects_rules |= expects_rules
        unmatched = expects_rules and is_unmatched(row)
        rejected = row.source == "invalid"
        self.shares[_find_share(row, unmatched=unmatched)] += 1
        if row.source == FORWARDED and choice.name and (choice.forwards or row.unrecorded):
            self.targets.add(name_file(choice.name))
        if row.remarks:
            self.remarks.update(list_remarks(row))
        if (unmatched or rejected) and len(self.unanswered) < MAX_REPORTED:
            request = f"{row.method} {row.path}"
            call = row.call if unmatched else None
            call = call and find_unmatched(engine.rules, call)[0]
            secrets = find_row_secrets(row)
            self.unanswered.append(
                Unanswered(row.seq, request, status=row.status, call=call, secrets=secrets, engine=engine)
            )

    def count_calls(self, log: Callable[[Row], None] | None) -> Callable[[Row], None]:
        if log is None:
            return self.note

        def log_both(row: Row) -> None:
            self.note(row)
            log(row)

        return log_both

    def count_episodes(self, save: SaveEpisode) -> SaveEpisode:
        """Return a function that records an episode, then counts it."""

        async def keep(cassette: str, episode: Episode) -> str:
            self.targets.add(name_file(cassette))
            source = await save(cassette, episode)
            self.recorded[name_file(cassette)] += 1
            return source

        return keep

    def list_lines(self) -> Iterator[str]:
        yield f"mockserver: {count_noun(self.calls, 'call')}{self._write_shares()}"
        for source, count in self.service.items() if self.shows_service else ():
            yield f"{source}: {count_noun(count, 'call')}"
        yield from (f"{name}: {budget.explain()}" for name, budget in self.live.budgets.items() if budget.refused)
        yield from self._describe_cassettes()
        for why, count in self.unrecorded.most_common(MAX_REPORTED):
            yield f"{count_noun(count, 'answer')} not recorded: {why}"
        for remark, count in self.remarks.most_common(MAX_REPORTED):
            yield f"{remark} ({count_noun(count, 'call')})"
        alike = dict[str, list[int]]()  # some clients ask again and again
        for each in self.unanswered:
            alike.setdefault(str(each), []).append(each.number)
        for text, numbers in alike.items():
            yield f"{f'call {numbers[0]}' if len(numbers) == 1 else f'calls {write_ranges(numbers)}'}, {text}"
        left = self.shares["unmatched"] + self.shares["rejected"] - len(self.unanswered)
        if left > 0:
            yield f"... and {left} more"

    def _write_shares(self) -> str:
        if not (self.expects_rules or self.live.engine.rules or self.live.settings.cassette):
            rejected = self.shares["rejected"]
            return f", {rejected} rejected (no rules)" if rejected else " (no rules)"
        counts = [f"{self.shares[share]} {share}" for share in _SHARES if self.shares[share]]
        if lookups := self.shares[_LOOKUP]:
            counts.append(count_noun(lookups, _LOOKUP))
        return f": {', '.join(counts)}" if counts else ""

    def _describe_cassettes(self) -> Iterator[str]:
        choice = self.live.player.choice
        store = self.live.player.store
        targets = {*self.targets, *((name_file(choice.name),) if choice.name and choice.forwards else ())}
        for file in dict.fromkeys((*self.episode_counts, *self.recorded, *sorted(targets))):
            if self.recorded[file]:
                yield f"cassette {file}: {count_noun(self.recorded[file], 'episode')} recorded"
            elif file in targets:
                yield f"cassette {file}: nothing recorded"
            size = self.episode_counts.get(file, 0)
            size = min(size, store.episode_counts.get(file, size))  # recording may have merged equal ones
            sources = {number: f"cassette {file}#{number}" for number in range(1, size + 1)}
            idle = [number for number, source in sources.items() if not (self.replayed[source] or source in self.new)]
            if idle:
                yield f"cassette {file}: {len(idle)} of {count_noun(size, 'episode')} not played: {write_ranges(idle)}"


def _find_share(row: Row, *, unmatched: bool) -> str:
    kind = row.source.partition(" ")[0]
    if unmatched or is_unmatched(row):
        return "unmatched" if unmatched else "generated"
    return {"rule": "by rules", "cassette": "from cassettes", "invalid": "rejected", BUDGET: "over budget"}.get(
        kind, kind if kind in _SHARES else _LOOKUP
    )


_SHARES = ("by rules", "from cassettes", "forwarded", "unmatched", "generated", "rejected", "limited", "over budget")
_LOOKUP = "look-up"


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
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            why = "program not found" if missing else error.strerror or str(error)
            hint = "; rules files follow -r" if program[0].endswith((".yaml", ".yml")) else ""
            click.echo(f"mockserver: cannot run {program[0]}: {why}{hint}", err=True)
            sys.exit(NOT_FOUND if missing else NOT_EXECUTABLE)
        except ValueError as error:  # a NUL
            click.echo(f"mockserver: cannot run {program[0]!r}: {error}", err=True)
            sys.exit(NOT_FOUND)
        start(process)
        return read_exit_code(process.wait())


@contextmanager
def _forward_signals() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Send signals that end a program to the process that the function gets instead of ending this one."""
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
