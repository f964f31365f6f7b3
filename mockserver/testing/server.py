"""MockServer: a running server for tests, with rules declared in Python and the calls it received."""

import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Self, Unpack

from msgspec.structs import replace

from mockserver.config.errors import ConfigError, MockserverError, SourceLocation
from mockserver.config.source import Document
from mockserver.core.call import Call
from mockserver.core.exchange import Exchange
from mockserver.core.json import Json, map_texts
from mockserver.core.mcp_server import McpServer
from mockserver.core.seed import monotonic
from mockserver.core.text import plural
from mockserver.dialects import discover_all
from mockserver.engine.mcp_streams import McpEvent
from mockserver.reports.coverage import find_watch
from mockserver.reports.failures import (
    Budget,
    PlayedCassette,
    Problem,
    count_answers,
    explain_no_answer,
    explain_raised,
    explain_too_few_answers,
    explain_unanswerable,
    explain_unmatched,
    find_impossible_answers,
    find_never_reached,
    find_refused_histories,
    make_problem,
    write_failure,
)
from mockserver.rules.lint.remarks import Remark, find_repeated_calls
from mockserver.rules.load import Rule
from mockserver.server.agents import Agent, check_unmatched, find_agent
from mockserver.server.call_budget import MAX_CALLS, CallBudget
from mockserver.server.client_environment import list_mcp_servers, make_base_url, make_environment
from mockserver.server.compose import start
from mockserver.server.namespaces import DEFAULT
from mockserver.server.programs import run_captured
from mockserver.server.recording.player import Player
from mockserver.server.sources import compile_rules
from mockserver.server.stubs import find_unreachable
from mockserver.state.journal import Journal
from mockserver.testing.agent_runs import AgentEnvironment, AgentRun, begin_with_prompt, load_service_rules
from mockserver.testing.assertions import Assertions, Calls
from mockserver.testing.clients import (
    check_dialect,
    find_own_environ,
    find_socket_mount,
    is_usable,
    make_openai_client,
    patch_environ,
)
from mockserver.testing.clock import Clock
from mockserver.testing.connections import ConnectionGuard
from mockserver.testing.declared import Declared, UniqueNames, literal
from mockserver.testing.mcp_mock import McpMock, McpSettings
from mockserver.testing.options import (
    ServerOptions,
    When,
    find_caller,
    merge_text,
    resolve_path,
)
from mockserver.testing.setup import Composer, LoadedCassette, MockServerWarning, Setup, load_rules, warn_of_test

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    from mockserver.server.run import Running
    from mockserver.testing.transport import Transport

__tracebackhide__ = True  # pytest shows the line of the test instead


class MockServer(Assertions):
    """A server on a free port of this machine, in its own thread, from `start` to `stop` or in a `with` block.

    Takes rules files and options (settings by their names). Raises MockserverError for mistakes in them.
    """

    def __init__(self, *rules: str | Path, **options: Unpack[ServerOptions]) -> None:
        self._composer = Composer()
        self._setup = self.default_setup = Setup.make(*rules, **options)
        self._live = start(self._setup.sources)
        self.clock = Clock()
        self._live.now = self.clock.now
        self._running: Running | None = None
        self._transport: Transport | None = None
        self._declared: list[Declared] = []
        self._loaded: tuple[Rule, ...] = ()
        self._kept: tuple[Declared, ...] = ()
        self._overrides: tuple[Rule, ...] = ()
        self._service: tuple[Rule, ...] = ()
        self._environments: list[AgentEnvironment] = []
        self._mcp: dict[str, McpMock] = {}
        self._stack = ExitStack()
        self.guard = ConnectionGuard()
        self._client: OpenAI | None = None
        self.errors: list[tuple[str, Exception]] = []  # raised by reply functions, with their places
        self.rename_options: Callable[[str], str] = str  # in messages on cassettes, from the next reset
        self.reset()

    def start(self) -> Self:
        """Listen on a free port of this machine until `stop`. Raises ConfigError, also if it is running."""
        if self._running is not None:
            raise ConfigError(
                f"this server is already running at {self.url}; stop it first, or create another MockServer"
            )
        from mockserver.server.run import Running  # uvicorn is slow to import

        running = Running(self._live)
        running.start()
        self._running = running
        return self

    def stop(self) -> None:
        """Stop listening; answers that are still being sent are aborted. The usual client is closed."""
        client = self._client
        self._client = None
        if client is not None:
            client.close()
        self._leave_agents()
        running = self._running
        self._running = None
        if running is not None:
            running.hang_up()
            running.stop()

    @contextmanager
    def environ(self) -> Iterator[None]:
        """Lead the official clients of this process and its children to this server within a block.

        Connections of this process to providers are stopped, except to `allow_hosts`.
        """
        with patch_environ(self.env), ExitStack() as stack:
            if not self.guard.is_active:  # else the block around this one, or the test, ends it
                self.guard.start()
                stack.callback(self.guard.stop)
            yield

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self.start().stop)
            stack.enter_context(self.environ())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        with self._stack:
            if error is None:
                self.verify()
                remarks = self.remarks()
                warn_of_test(self.close_open(), remarks)
            elif isinstance(error, Exception) and (problems := self.problems()):
                error.add_note(write_failure(problems))  # which may be its cause

    @property
    def url(self) -> str:
        """Its address, such as http://127.0.0.1:49152."""
        return self._listening.address

    def base_url(self, dialect: str = "openai") -> str:
        """Return the base URL (or endpoint) for the official client of a dialect."""
        hosts = self._live.settings.hosts
        if dialect in hosts:
            return self.url + discover_all(hosts)[dialect].mounts[0]
        check_dialect(dialect)
        return make_base_url(self.url, dialect)

    def websocket_base_url(self, dialect: str = "openai") -> str:
        """Return the `websocket_base_url` for a client whose `transport()` has no socket; starts the server if need be.

        Raises ConfigError for a dialect without WebSockets.
        """
        mount = find_socket_mount(dialect)
        return f"ws{self._find_address().removeprefix('http')}{mount}"

    def _find_address(self) -> str:
        """Return the address of this server, which is started if need be."""
        if self._running is None:
            self.start()
        return self.url

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variables with which official clients connect to this server."""
        return make_environment(
            self.url, self._live.settings, environ=find_own_environ(), servers=self._list_mcp_servers()
        )

    def _list_mcp_servers(self) -> Sequence[str]:
        live = self._live
        return list_mcp_servers((*live.engine.servers, *self._mcp), live.settings, live.player.recorded_servers)

    def client(self, dialect: str = "openai", **options: Any) -> "OpenAI":
        """Return OpenAI's client for a dialect that it supports; `options` are the client's. Raises ConfigError.

        Without arguments it is the same client each time, which reuses its connections until `stop`; close others.
        """
        shared = not options and dialect == "openai"
        if shared and self._client is not None and is_usable(self._client, self.env):
            return self._client
        made: OpenAI = make_openai_client("OpenAI", self.env, dialect, options)
        if shared:
            self._client = made
        return made

    def async_client(self, dialect: str = "openai", **options: Any) -> "AsyncOpenAI":
        """Return the asynchronous client, a new one each time, as it belongs to an event loop."""
        made: AsyncOpenAI = make_openai_client("AsyncOpenAI", self.env, dialect, options)
        return made

    def transport(self) -> "Transport":
        """Return a `transport` for clients of httpx and httpx2 that reaches this server without a socket.

        The server need not be started. Waits take no time: they advance `clock`. All clients can share the transport.
        A WebSocket alone is a connection to the server, which is started for it.
        """
        if self._transport is None:
            from mockserver.server.app import Site  # slow: Starlette
            from mockserver.testing.transport import Transport

            self._transport = Transport(Site(self._live), self.clock, self._find_address)
        return self._transport

    def environment_for(self, agent: str, *, max_calls: int = MAX_CALLS, let_it_run: bool = False) -> AgentEnvironment:
        """Return the environment in which a coding agent (`claude-code`, `codex`, `gemini-cli`, `opencode`) runs here.

        It is a mapping for `subprocess`, and a context manager that sets it in this process. The agent gets a home of
        its own until the test ends, and an error once it has made `max_calls` calls. Raises ConfigError, also for a
        server that makes answers up, unless you `let_it_run`.
        """
        led = find_agent(agent)
        live = self._live
        check_unmatched(live.settings, let_it_run=let_it_run)
        if not self._environments:
            self._service = load_service_rules()
            policy = live.engine.policy  # a 404 it takes for a missing model
            live.engine = replace(live.engine, policy=replace(policy, error={"status": 400, **policy.error}))
        namespace = led.name if led.name not in live.budgets else f"{led.name}-{len(self._environments) + 1}"
        live.budgets[namespace] = CallBudget(max_calls)
        environ = {**os.environ, **self.env}
        made = AgentEnvironment(led, address=f"{self.url}/ns/{namespace}", environ=environ, namespace=namespace)
        self._environments.append(made)
        self.update_rules()
        return made

    def agent(
        self,
        name: str,
        *,
        cwd: str | Path,
        allow: Sequence[str] = (),
        max_calls: int = MAX_CALLS,
        let_it_run: bool = False,
    ) -> "CodingAgent":
        """Return a coding agent that works in a folder; `run` gives it a prompt, `on` declares what it is answered.

        `allow` names what it may do without asking, besides reading: `write`, `edit`, `run`. Skips the test if its
        program is not installed. Raises ConfigError.
        """
        environment = self.environment_for(name, max_calls=max_calls, let_it_run=let_it_run)
        return CodingAgent(self, environment, folder=Path(cwd), allow=allow)

    def on(self, *text: str, name: str | None = None, **when: Unpack[When]) -> Declared:
        """Declare a rule for the requests that match; without text and keywords, for all. Reports show its name.

        A text is short for `last_user`: what the user says, with `*` as wildcard. Declared rules are tried before those
        of files, in order.
        """
        declared = Declared(self, text, name=name, when=when)
        self._declared.append(declared)
        return declared

    def declare(self, declared: Declared) -> None:
        """Try a rule that is about to get its answer after those declared before."""
        if declared not in self._declared:
            self._declared.append(declared)

    def mcp(self, name: str, **settings: Unpack[McpSettings]) -> McpMock:
        """Return the MCP server of a name, to declare tools and to look at their calls.

        Settings are those of a rules file, such as `sessions=True`.
        """
        if name not in self._mcp:
            self._mcp[name] = McpMock(self, name)
        return self._mcp[name].configure(**settings) if settings else self._mcp[name]

    def serve_mcp(self, mock: McpMock, declared: McpServer) -> McpServer:
        """Serve what a test declares of an MCP server, with what files say of it; return that."""
        space = self._live.namespaces.touch(DEFAULT)
        served = mock.extend(self._live.engine.servers.get(mock.name), declared)
        space.servers = {**space.servers, mock.name: served}
        return served

    def tell_mcp(self, name: str, event: McpEvent) -> None:
        """Tell the clients that listen to an MCP server of a change."""
        self._live.engine.streams.publish(DEFAULT, name, event)

    @property
    def mcp_key(self) -> str | None:
        """The key that clients of MCP servers must show, if there is one."""
        keys = self._live.settings.keys or {}
        return next((key for key, its in keys.items() if its.allowed), None)

    @property
    def declares(self) -> bool:
        """Whether rules were declared since the last reset."""
        return bool(self._declared)

    def load(self, path: str | Path) -> None:
        """Add the rules of a file after those declared; the path is relative to the test or the working directory.

        Raises MockserverError.
        """
        try:
            self._loaded += load_rules(resolve_path(path), self._live.settings)
        except MockserverError as error:
            raise error.with_traceback(None) from None
        self.update_rules()

    def override(self, *rules: Rule) -> None:
        """Try these rules before all others until the next reset; they replace previous overrides."""
        self._overrides = rules
        self.update_rules()

    def keep_declared(self) -> None:
        """Keep the rules declared so far through resets; they are tried after those declared later."""
        self._kept = (*self._kept, *self._declared)
        self._declared = []

    def reset(self, setup: Setup | None = None) -> None:
        """Start again with a setup (by default its own): without calls, counters and declared rules.

        The address stays the same, so clients keep working. Answers that are still being sent are aborted.
        """
        self.close_open()
        self._leave_agents()
        self._setup = setup or self.default_setup
        settings, engine = self._composer.compose(self._setup)
        if isinstance(engine.player, Player):
            engine = replace(engine, player=replace(engine.player, rename_options=self.rename_options))
        journal = Journal(count=settings.journal_calls, size=settings.journal_bytes)
        journal.keeps_calls = True
        if (watch := find_watch()) is not None:
            journal.on_close = watch.record
            watch.add_rules(engine.rules)
        self._live.renew(settings, engine, journal, timed=self._setup.timed)
        if settings.upstream:
            self._live.sources = self._setup.sources  # the environment may have its key by now
        self._declared = []
        self._loaded = ()
        self._overrides = ()
        self.errors = []
        for mock in self._mcp.values():
            mock.clear()
        self.guard.allowed = self._setup.allow_hosts
        self.guard.blocked = []
        self._budget = Budget()
        self.names = UniqueNames(one.rule for one in self._kept if one.rule is not None)
        self._cassette = LoadedCassette.find(self._live)
        self.update_rules()

    def _leave_agents(self) -> None:
        for each in self._environments:
            each.close()
        self._environments = []
        self._service = ()

    def check(self, setup: Setup) -> None:
        """Raise MockserverError if a setup has mistakes."""
        self._composer.compose(setup)

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until no answer is being sent to a connected client, at most so many seconds."""
        end = monotonic() + seconds
        pause = Event()
        while self._live.journal.tally.open and monotonic() < end:
            self._listening.hang_up(all_of_them=False)
            pause.wait(_POLL)

    def close_open(self) -> Calls:
        """Abort the answers that are still being sent, and return their calls."""
        if not self._live.journal.tally.open:
            return Calls(())
        left = self.calls.of(lambda call: call.ended == "open")
        if left and self._running is not None:
            self._running.hang_up()
        if left and self._transport is not None:
            self._transport.hang_up()
        return left

    @property
    def calls(self) -> Calls:
        """All calls since the last reset in order of arrival, including those still being answered."""
        return Calls.from_rows(self._list_settled_rows(), recall=self._recall)

    @property
    def service_calls(self) -> Calls:
        """The calls that rules with `service: true` answered, which `calls` leaves out; and whole Realtime sessions."""
        return Calls.from_rows(self._list_settled_rows(), service=True)

    def _list_settled_rows(self) -> tuple[Exchange, ...]:
        self._check_here()
        if self._running is not None:
            self._running.settle()
        return tuple(self._live.journal)

    def _recall(self, call: Call) -> Call:
        """Return a request after the conversation that it continues."""
        from mockserver.server.explain import recall_conversation  # few tests need it

        recalling = recall_conversation(self._live.find_engine(call.http.namespace), call)
        try:
            recalling.send(None)  # which awaits nothing: what a fixture's server keeps is in memory
        except StopIteration as done:
            recalled: Call = done.value
            return recalled
        raise AssertionError("this server waits for what it remembers")

    def snapshot(self) -> str:
        """Return the requests so far as a stable text for approval tests."""
        return self.calls.snapshot()

    def budget(self, *, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        """Fail the test if there are more calls, or if they use more tokens in total."""
        self._budget = Budget(max_calls, max_tokens)

    def limit_calls(self, count: int) -> None:
        """Refuse the calls beyond this number until the next reset, so that an agent that never stops ends."""
        self._live.budgets[DEFAULT] = CallBudget(count, "test")

    def problems(self) -> tuple[Problem, ...]:
        """List why the test should fail: blocked or unmatched calls, uncalled rules, functions that raise, a budget."""
        calls = self.calls
        rules = self._live.find_engine(DEFAULT).rules
        failed: dict[tuple[str, str], list[Exception]] = {}
        for where, error in self.errors:
            failed.setdefault((where, repr(error)), []).append(error)
        found = [
            explain_no_answer(one.where) for one in self._declared if one.rule is None
        ]  # first, as the cause of misses
        found += [*self.guard.blocked, *(explain_raised(where, errors) for (where, _), errors in failed.items())]
        found += explain_unmatched(calls, rules)
        for one in self._declared:
            if one.rule is not None and one.expected_calls and count_answers(one.rule, calls) < one.expected_calls:
                found.append(explain_too_few_answers(one.rule, one.expected_calls, calls, self.service_calls))
        if self._live.settings.lint == "error":
            found += find_impossible_answers(calls)
        for name, each in self._live.budgets.items():
            if each.refused and name == DEFAULT:
                found.append(make_problem(each.explain(), ["to allow more: @pytest.mark.mockserver(max_calls=...)"]))
            elif each.refused:
                found.append(make_problem(f"{name}: {each.explain()}"))
        return (*found, *self._budget.find_exceeded(calls))

    def remarks(self) -> tuple[Problem, ...]:
        """Return what is probably a mistake, but fails no test.

        Rules that hide others, answers that no model could give, histories that a live provider would refuse.
        """
        lint = self._live.settings.lint
        rules = [one.rule for one in self._declared if one.rule is not None]
        wide = not all("name" in rule.spec or rule.spec["when"] for rule in rules)
        hidden = tuple(find_never_reached(rules)) if wide else ()
        repeated = () if hidden else find_repeated_calls(rules)
        missed = [each for each in repeated if not count_answers(each.rule, self.calls)]
        answered = [row.source for row in self._live.journal if row.source.startswith("rule ")]
        if len(set(answered)) < len(answered):  # else no rule has answered again
            loaded = [rule for rule in self._live.find_engine(DEFAULT).rules if rule not in rules]
            missed += [each for each in find_repeated_calls(loaded) if _is_repeated(each, self.calls)]
        remarked = self.calls if any(row.remarks for row in self._live.journal) else ()
        paths = [rule for rule in (*rules, *self._loaded) if "path" in rule.when.uses]
        never = explain_unanswerable(find_unreachable(paths, self._live.settings.dialect)) if paths else ()
        impossible = find_impossible_answers(remarked) if lint == "warn" else ()  # as an error, it is a problem
        return (*hidden, *explain_unanswerable(missed), *never, *impossible, *find_refused_histories(remarked))

    def list_hints(self) -> Iterator[str]:
        """Yield why a test may fail though its rules answer: timing that tests ignore, a step that is repeated."""
        for one in self._declared:
            then = one.rule.spec["then"] if one.rule is not None else {}
            if "timing" in then and not self._setup.timed:  # answers take no time in tests unless that is asked for
                yield f"{one.where}: its timing is ignored; set timing=True in the mark, or for the MockServer"
            turns = [call.asked.turn for call in one.calls if call.asked is not None] if "steps" in then else []
            if len(turns) > len(set(turns)) == 1 and turns[0] + 1 < len(then["steps"]):
                yield (
                    f"{one.where}: {len(turns)} calls got step {turns[0] + 1}, as the number of assistant messages in a"
                    " request chooses its step; for one answer per call, declare a rule with times(1) for each"
                )

    def verify(self) -> None:
        """Raise AssertionError with all problems, if there are any."""
        if problems := self.problems():
            raise AssertionError(write_failure(problems))

    def assert_not_called(self, *text: str, **when: Unpack[When]) -> None:
        """Assert that no call matches. Warns of a path that neither a dialect nor a rule knows, as none could."""
        super().assert_not_called(*text, **when)
        if "path" in when and not any(rule.stubs for rule in self._live.find_engine(DEFAULT).rules):
            rule = self.compile_rule({"when": merge_text(text, when), "then": {"text": ""}}, find_caller())
            for remark in find_unreachable([rule], self._live.settings.dialect):
                warnings.warn(
                    MockServerWarning(f"assert_not_called cannot fail: {remark.text.partition(': ')[2]}"), stacklevel=2
                )

    def _list_received(self) -> Calls:
        return self.calls

    def find_played_cassette(self) -> PlayedCassette | None:
        """Return the cassette that is replayed, if any, and which episodes were played."""
        if self._cassette is None:
            return None
        return self._cassette.count_played((*self.calls, *self.service_calls))  # of MCP servers, lists, too

    def compile_rule(self, rule: Mapping[str, Json], place: SourceLocation) -> Rule:
        """Return a rule declared at a place of a program. Raises RuleError."""
        document = Document.from_place({"rules": [rule]}, place)
        return compile_rules((document,), self._live.settings)[0]

    def update_rules(self) -> None:
        """Use the rules that are declared now."""
        self._check_here()
        declared_last = sorted(self._declared, key=lambda one: one.is_last)
        every = (*declared_last, *self._kept)
        declared = tuple(one.rule for one in every if one.rule is not None)
        if (watch := find_watch()) is not None:
            watch.add_rules(self._loaded)
            watch.add_rules(declared, declared=True)
        rules = (*self._service, *self._overrides, *declared, *self._loaded)
        for namespace in (DEFAULT, *(each.namespace for each in self._environments)):
            self._live.namespaces.touch(namespace).rules = rules

    def remove_rule(self, declared: Declared) -> None:
        """Remove a declared rule."""
        self._declared = [one for one in self._declared if one is not declared]
        self._kept = tuple(one for one in self._kept if one is not declared)
        self.update_rules()

    def note_failure(self, declared: Declared, error: Exception) -> None:
        """Note that a reply function raised, unless its rule belongs to a previous test."""
        if declared in (*self._declared, *self._kept):
            self.errors.append((declared.where, error))

    def _check_here(self) -> None:
        if self._running is not None:
            self._running.check_here()

    @property
    def _listening(self) -> "Running":
        if self._running is None:
            raise ConfigError("this server is not running; use it in a with block, or call start()")
        return self._running


_POLL = 0.01  # seconds


class CodingAgent:
    """A coding agent that works in a folder, in an environment that leads it to the server of the test."""

    def __init__(
        self, server: MockServer, environment: AgentEnvironment, folder: Path, allow: Sequence[str] = ()
    ) -> None:
        self.agent = environment.agent
        self.environment = environment
        self.cwd = folder.absolute()
        unknown = [word for word in allow if word not in self.agent.tools]
        if isinstance(allow, str) or unknown:
            raise ConfigError(f"allow takes a list of {', '.join(self.agent.tools)}, not {allow!r}")
        self._server = server
        granted = dict.fromkeys(self.agent.allows[word] for word in allow if word in self.agent.allows)
        self._granted = [argument for arguments in granted for argument in arguments]
        found = shutil.which(self.agent.program, path=environment.get("PATH"))
        if found is None:
            from unittest import SkipTest  # slow to import

            raise SkipTest(f"{self.agent.program} is not installed: npm install --global {self.agent.package}")
        self._program = found

    def on(self, prompt: str) -> "AgentRule":
        """Declare what this agent is answered to a prompt: a text with `*`, or what the prompt contains."""
        wanted: Any = prompt if "*" in prompt else {"contains": prompt}
        declared = self._server.on(last_user=wanted, namespace=self.environment.namespace)
        return AgentRule(self._server, self.agent, declared)

    def run(self, prompt: str, *arguments: str, timeout: float = 120.0) -> AgentRun:
        """Run the agent with a prompt, and more of its own arguments, until it ends.

        Raises TimeoutError if it is still running after so many seconds; it is stopped then.
        """
        before = len(self.calls)
        began = monotonic()
        command = [self._program, *self.agent.arguments, prompt, *self._granted, *arguments]
        environ = {**self.environment, "PWD": str(self.cwd)}  # where opencode looks
        ran = run_captured(command, environ, timeout, folder=self.cwd)
        calls = self.calls[before:]
        if ran.code is None:
            raise TimeoutError(
                f"{self.agent.name} was still running after {timeout:g} s; it made {plural(len(calls), 'call')} and"
                f" printed: {(ran.out + ran.err)[-_SHOWN:]}"
            )
        return AgentRun(ran.out.strip(), ran.code, calls=calls, log=ran.err, seconds=monotonic() - began)

    @property
    def calls(self) -> Calls:
        """The calls of this agent, without those for itself."""
        return self._server.calls.of(lambda call: call.row.namespace == self.environment.namespace)


class AgentRule:
    """What an agent is answered to a prompt: calls of tools, one after the other, then a text."""

    def __init__(self, server: MockServer, agent: Agent, declared: Declared) -> None:
        self._server = server
        self._agent = agent
        self._declared = declared
        self._calls: list[dict[str, object]] = []

    def uses(self, tool: str, **arguments: object) -> Self:
        """Have the agent use a tool: read (path), write (path, text), edit (path, old, new) or run (command).

        Any other name is that of a tool of its own, with the arguments that it takes. These are no templates.
        """
        self._calls.append(map_texts(self._agent.call_tool(tool, arguments), literal))
        return self

    def then(self, text: str) -> Declared:
        """Answer with a text at the end, a template as in rules: `{{ tool_result.text }}`."""
        declared = self._declared.steps(*({"tool_calls": [call]} for call in self._calls), text)
        rule = declared.rule
        assert rule is not None  # noqa: S101  # it has an answer now
        answer = rule.then.respond
        declared.rule = replace(rule, then=replace(rule.then, respond=lambda scope: answer(begin_with_prompt(scope))))
        self._server.update_rules()
        return declared


_SHOWN = 2_000  # characters of what a program printed


def _is_repeated(remark: Remark, calls: Calls) -> bool:
    """Return whether the rule that calls a tool has answered again, and the one for the result never."""
    return (
        remark.before is not None and count_answers(remark.before, calls) > 1 and not count_answers(remark.rule, calls)
    )
