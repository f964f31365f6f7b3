"""MockServer: a running server for tests, with rules declared in Python and the calls it received."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from re import Pattern
from typing import TYPE_CHECKING, Any, Self, Unpack

from mockserver.config.errors import ConfigError, MockserverError
from mockserver.config.spelling import KEYWORDS
from mockserver.dialects import discover_all
from mockserver.reports.failures import Budget, Problem, write_failure
from mockserver.server.agents import check_unmatched, find_agent
from mockserver.server.client_environment import list_mcp_servers, make_base_url, make_environment, name_mcp_variable
from mockserver.server.namespaces import DEFAULT
from mockserver.server.programs import MAX_RUN_CALLS, CallBudget
from mockserver.server.unreachable_rules import find_unreachable
from mockserver.testing.assertions import Assertions, Calls
from mockserver.testing.callers import find_caller, resolve_path
from mockserver.testing.clients import (
    add_to_environ,
    check_dialect,
    find_own_environ,
    find_socket_mount,
    is_usable,
    make_openai_client,
    patch_environ,
)
from mockserver.testing.clock import Clock
from mockserver.testing.coding_agents import AgentEnvironment, CodingAgent
from mockserver.testing.declared import Declared
from mockserver.testing.mcp_mock import McpMock, McpSettings, find_mcp_key
from mockserver.testing.options import ServerOptions, When, merge_text
from mockserver.testing.resettable_server import ResettableServer
from mockserver.testing.setup import MockServerWarning, Setup

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    from mockserver.testing.transport import Transport

__tracebackhide__ = True  # pytest shows the line of the test instead


class MockServer(Assertions):
    """A server on a free port of this machine, in its own thread, from `start` to `stop` or in a `with` block.

    Takes rules files and options (settings by their names). Raises MockserverError for mistakes in them. `local` is
    the server without these conveniences, for test runners such as our pytest plugin.
    """

    def __init__(self, *rules: str | Path, **options: Unpack[ServerOptions]) -> None:
        self.local = ResettableServer(Setup.make(*rules, **options))
        self._client: OpenAI | None = None
        self._stack = ExitStack()

    if not TYPE_CHECKING:  # else type checkers would let every name be set

        def __setattr__(self, name: str, value: Any) -> None:
            if name in ServerOptions.__annotations__:
                raise AttributeError(
                    f'"{name}" is an option, and cannot be changed once the server is created: use'
                    f" @pytest.mark.mockserver({name}=...) or MockServer({name}=...)"
                )
            super().__setattr__(name, value)

    @property
    def clock(self) -> Clock:
        """The time of the server: real time plus what was skipped."""
        return self.local.clock

    def start(self) -> Self:
        """Listen on a free port of this machine until `stop`. Raises ConfigError, also if it is running."""
        self.local.start()
        return self

    def stop(self) -> None:
        """Stop listening; answers that are still being sent are aborted. The usual client is closed."""
        client = self._client
        self._client = None
        if client is not None:
            client.close()
        self.local.stop()

    @contextmanager
    def environ(self) -> Iterator[None]:
        """Lead the official clients of this process and its children to this server within a block.

        Connections of this process to providers are stopped, except to `allow_hosts`.
        """
        guard = self.local.guard
        with patch_environ(self.env), ExitStack() as stack:
            if not guard.is_active:  # else the block around this one, or the test, ends it
                guard.start()
                stack.callback(guard.stop)
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
                self.local.end()
            elif isinstance(error, Exception) and (problems := self.problems()):
                error.add_note(write_failure(problems))  # they may be its cause

    @property
    def url(self) -> str:
        """Its address, such as http://127.0.0.1:49152."""
        return self.local.address

    def base_url(self, dialect: str = "openai") -> str:
        """Return the base URL (or endpoint) for the official client of a dialect."""
        hosts = self.local.live.settings.hosts
        if dialect in hosts:
            return self.url + discover_all(hosts)[dialect].mounts[0]
        check_dialect(dialect)
        return make_base_url(self.url, dialect)

    def websocket_base_url(self, dialect: str = "openai") -> str:
        """Return the `websocket_base_url` for a client whose `transport()` has no socket; starts the server if need be.

        Raises ConfigError for a dialect without WebSockets.
        """
        mount = find_socket_mount(dialect)
        return f"ws{self.local.find_address().removeprefix('http')}{mount}"

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variables with which official clients connect to this server."""
        live = self.local.live
        mocked = (*live.engine.servers, *self.local.mcp_mocks)
        servers = list_mcp_servers(mocked, live.settings, live.player.recorded_servers)
        return make_environment(self.url, live.settings, environ=find_own_environ(), servers=servers)

    def client(self, dialect: str = "openai", **options: Any) -> "OpenAI":
        """Return OpenAI's client for a dialect that it supports; `options` are the client's. Raises ConfigError.

        Without arguments it is the same client each time, which reuses its connections until `stop`; close others.
        """
        shared = not options and dialect == "openai"
        if shared and self._client is not None and is_usable(self._client, self.env):
            return self._client
        made: OpenAI = make_openai_client("OpenAI", self.env, dialect=dialect, options=options)
        if shared:
            self._client = made
        return made

    def async_client(self, dialect: str = "openai", **options: Any) -> "AsyncOpenAI":
        """Return the asynchronous client, a new one each time, as it belongs to an event loop."""
        made: AsyncOpenAI = make_openai_client("AsyncOpenAI", self.env, dialect=dialect, options=options)
        return made

    def transport(self) -> "Transport":
        """Return a `transport` for clients of httpx and httpx2 that reaches this server without a socket.

        The server need not be started. Waits take no time: they advance `clock`. All clients can share the transport.
        A WebSocket alone is a connection to the server, which is started for it.
        """
        return self.local.open_transport()

    def environment_for(
        self, agent: str, *, max_calls: int = MAX_RUN_CALLS, let_it_run: bool = False
    ) -> AgentEnvironment:
        """Return the environment in which a coding agent (`claude-code`, `codex`, `gemini-cli`, `opencode`) runs here.

        It is a mapping for `subprocess`, and a context manager that sets it in this process. The agent gets a home of
        its own until the test ends, and an error once it has made `max_calls` calls. Raises ConfigError, also for a
        server that makes answers up, unless you `let_it_run`.
        """
        led = find_agent(agent)
        check_unmatched(self.local.live.settings, KEYWORDS, let_it_run=let_it_run)
        return self.local.lead_agent(led, {**os.environ, **self.env}, max_calls=max_calls)

    def agent(
        self,
        name: str,
        *,
        cwd: str | Path,
        allow: Sequence[str] = (),
        max_calls: int = MAX_RUN_CALLS,
        let_it_run: bool = False,
    ) -> CodingAgent:
        """Return a coding agent that works in a folder; `run` gives it a prompt, `on` declares what it is answered.

        `allow` names what it may do without asking, besides reading: `write`, `edit`, `run`. Skips the test if its
        program is not installed. Raises ConfigError.
        """
        environment = self.environment_for(name, max_calls=max_calls, let_it_run=let_it_run)
        return CodingAgent(self.local.rules, environment, folder=Path(cwd), allow=allow)

    def on(self, *text: str | Pattern[str], name: str | None = None, **when: Unpack[When]) -> Declared:
        """Declare a rule for the requests that match; without text and keywords, for all. Reports show its name.

        A text is short for `last_user`: what the user says, with `*` as wildcard. Declared rules are tried before those
        of files, in order.
        """
        declared = Declared(self.local.rules, text, name=name, when=when)
        self.local.rules.add(declared)
        return declared

    def mcp(self, name: str, **settings: Unpack[McpSettings]) -> McpMock:
        """Return the MCP server of a name, to declare tools and to look at their calls.

        Settings are those of a rules file, such as `sessions=True`.
        """
        mock = self.local.mcp_mocks.get(name)
        if mock is None:
            mock = self.local.mcp_mocks[name] = McpMock(self.local.rules, name)
            if self.local.is_running:
                add_to_environ(self.url, {name_mcp_variable(name): mock.url})
        return mock.configure(**settings) if settings else mock

    @property
    def mcp_key(self) -> str | None:
        """The key that clients of MCP servers must show, if there is one."""
        return find_mcp_key(self.local.live.settings)

    def load(self, path: str | Path) -> None:
        """Add the rules of a file after those declared; the path is relative to the test or the working directory.

        Raises MockserverError.
        """
        try:
            self.local.rules.load(resolve_path(path))
        except MockserverError as error:
            raise error.with_traceback(None) from None

    def reset(self, setup: Setup | None = None) -> None:
        """Start again with a setup (by default its own): without calls, counters and declared rules.

        The address stays the same, so clients keep working. Answers that are still being sent are aborted.
        """
        if not isinstance(setup, Setup | None):
            raise ConfigError(f"reset takes a Setup of mockserver.testing, such as Setup(seed=7), not {setup!r}")
        self.local.reset(setup)

    @property
    def calls(self) -> Calls:
        """All calls since the last reset in order of arrival, including those still being answered."""
        return self.local.calls

    @property
    def service_calls(self) -> Calls:
        """The calls that rules with `service: true` answered, which `calls` leaves out; and whole Realtime sessions."""
        return self.local.service_calls

    def snapshot(self) -> str:
        """Return the requests so far as a stable text for approval tests."""
        return self.calls.snapshot()

    def budget(self, *, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        """Fail the test if there are more calls, or if they use more tokens in total."""
        self.local.budget = Budget(max_calls, max_tokens)

    def limit_calls(self, count: int) -> None:
        """Refuse the calls beyond this number until the next reset, so that an agent that never stops ends."""
        self.local.live.budgets[DEFAULT] = CallBudget(count, "test")

    def problems(self) -> tuple[Problem, ...]:
        """List what would fail the test: calls that are blocked, failed or unmatched, uncalled rules, a budget."""
        return self.local.activity.find_problems()

    def verify(self) -> None:
        """Raise AssertionError with all problems, if there are any."""
        self.local.verify()

    def assert_not_called(self, *text: str | Pattern[str], **when: Unpack[When]) -> None:
        """Assert that no call matches. Warns of a path that neither a dialect nor a rule knows, as none could."""
        super().assert_not_called(*text, **when)
        if "path" in when and not any(rule.stubs for rule in self.local.live.find_engine(DEFAULT).rules):
            rule = self.local.rules.compile({"when": merge_text(text, when), "then": {"text": ""}}, find_caller())
            for remark in find_unreachable([rule], self.local.live.settings.dialect):
                warnings.warn(
                    MockServerWarning(f"assert_not_called cannot fail: {remark.text.partition(': ')[2]}"), stacklevel=2
                )

    def _list_received(self) -> Calls:
        return self.calls
