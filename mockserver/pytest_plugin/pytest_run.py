"""A run of pytest: the server of this process, and each test's use of it. Imported with the first such test."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import Struct, field
from msgspec.structs import asdict

from mockserver.config.errors import MockserverError
from mockserver.core.seed import pause
from mockserver.pytest_plugin.configuration import PYTEST, Configuration, configure
from mockserver.pytest_plugin.plugin_options import CASSETTE
from mockserver.reports.activity import Activity
from mockserver.reports.failures import (
    PlayedCassette,
    Problem,
    describe_unrecorded,
    find_unplayed,
    summarize_unplayed,
    write_failure,
    write_server_report,
)
from mockserver.testing import MockServer, Setup
from mockserver.testing.clients import EnvironmentPatch, patch_environ
from mockserver.testing.setup import MockServerWarning


class Run:
    """The server of this process, configured for each test.

    `options` are those of ini file and command line, by the keys of the mark; `may_record`: marks can record.
    `inspects`: the server of the first failed test is kept.
    """

    def __init__(self, options: Mapping[str, Any], *, may_record: bool, inspects: bool) -> None:
        self._options = options
        self._may_record = may_record
        self._inspects = inspects
        self._server: MockServer | None = None
        self._running = ExitStack()
        self._recorded = set[str]()  # cassettes that this run began to record
        self._mistake: MockserverError | None = None  # in the options

    def make_server(self) -> MockServer:
        """Return the server with the options of ini file and command line, perhaps not running; made with the first.

        With mistakes in these, it has none of them: tests whose marks name others can run, the rest fail.
        """
        if self._server is None:
            options = {name: value for name, value in self._options.items() if name not in _TEST_OPTIONS}
            try:
                self._server = MockServer(*self._options.get("rules", ()), **options)
            except MockserverError as error:
                self._server = MockServer()
                self._mistake = error
        return self._server

    def start(self) -> MockServer:
        """Return the server, running until `close`. Raises MockserverError if it cannot listen."""
        server = self.make_server()
        if not server.local.is_running:
            self._running.callback(server.start().stop)
        return server

    def check(self) -> None:
        """Raise MockserverError for mistakes in the options."""
        self.make_server()
        if self._mistake is not None:
            raise self._mistake

    def set_environ(self) -> None:
        """Start the server, and set the environment for clients until `close`. Raises MockserverError."""
        self._running.enter_context(patch_environ(self.start().env))

    def close(self) -> None:
        """Stop the server, and restore the environment."""
        self._running.close()

    def report_mistakes(self, items: Iterable[pytest.Item]) -> Iterator[pytest.CollectReport]:
        """Yield a report of each mistake in the tests' configuration, which says how many tests fail for it."""
        found: dict[str, list[pytest.Item]] = {}
        for item in items:
            try:
                self.make_server().local.check(self._configure(item).make_setup())
            except MockserverError as error:
                found.setdefault("\n".join(mistake.render() for mistake in error.mistakes), []).append(item)
        for text, affected in found.items():
            first = affected[0].nodeid
            more = f" and {len(affected) - 1} more" if len(affected) > 1 else ""
            file = first.partition("::")[0]
            yield pytest.CollectReport(file, "failed", f"{text}\nrequired by {first}{more}", [])

    @contextmanager
    def serve(self, item: pytest.Item, server: MockServer) -> Iterator["ServerUse"]:
        """Configure a server for a test, and lead its clients there. Raises MockserverError."""
        local = server.local
        config = self._configure(item, {} if server is self._server else local.default_setup.options)
        local.rules.keep_declared()
        local.reset(self._make_setup(config))
        server.limit_calls(config.max_calls)
        plays_all = config.plays_own and item.config.getini("mockserver_unplayed") == "fail"
        use = ServerUse(server, config, plays_all=plays_all)
        use.begin()
        yield use
        for text in use.end():
            item.warn(MockServerWarning(text))

    def show_failed(self, item: pytest.Item, use: "ServerUse") -> None:
        """With --mockserver-inspect, keep the server of the first failed test until Ctrl-C."""
        if not self._inspects:
            return
        self._inspects = False
        plugins = item.config.pluginmanager
        capture: Any = plugins.get_plugin("capturemanager")
        reporter: Any = plugins.get_plugin("terminalreporter")
        with capture.global_and_fixture_disabled(), suppress(KeyboardInterrupt):
            reporter.ensure_newline()
            reporter.write_line(
                f"mockserver: {item.nodeid} failed; look at its calls: {use.server.url}/__mockserver__/"
            )
            reporter.write_line("mockserver: press Ctrl-C to continue")
            reporter.flush()
            pause()

    def _configure(self, item: pytest.Item, defaults: Mapping[str, Any] = MappingProxyType({})) -> Configuration:
        return configure(item, {**defaults, **self._options}, may_record=self._may_record)

    def _make_setup(self, config: Configuration) -> Setup:
        """Return the setup of a test; with `once`, it adds to a cassette that another test of this run began."""
        if config.values.get("record") != "once" or config.cassette is None:
            return config.make_setup()
        if config.cassette_file in self._recorded:
            return config.make_setup(record="new_episodes")
        if not os.path.exists(config.cassette_file):
            self._recorded.add(config.cassette_file)
        return config.make_setup()


class ServerUse(Struct):
    """A test's use of a server, from `begin` to `end`; `verify` is for the end of the test function.

    `plays_all`: unplayed episodes fail the test, too; `failure`: what `verify` fails it with; `failed`: it has failed
    in some phase; `over`: the server is reset again.
    """

    server: MockServer
    config: Configuration
    plays_all: bool
    environ: EnvironmentPatch = field(default_factory=EnvironmentPatch)
    failure: BaseException | None = None
    failed: bool = False
    over: bool = False

    def begin(self) -> None:
        """Set the environment, and stop connections to providers."""
        self.environ.set(self.server.env)
        guard = self.server.local.guard
        guard.error = partial(pytest.fail.Exception, pytrace=False)
        guard.start()

    def verify(self) -> None:
        """Fail the test for the problems of its server."""
        local = self.server.local
        cassette = local.find_played_cassette() if self.plays_all else None
        unplayed = () if cassette is None else find_unplayed(cassette, PYTEST)
        activity = local.activity
        found = (*self._find_problems(activity), *unplayed) if self.config.verify else ()
        if found:
            self.failure = pytest.fail.Exception(write_failure((*found, *activity.find_remarks())), pytrace=False)
            raise self.failure

    def end(self) -> Sequence[str]:
        """Reset the server, and return what to warn of: what the test left behind, unless it failed."""
        self.over = True
        self.restore()
        left = self.server.local.abort_leftovers()
        self.server.reset()
        return () if self.failed else left

    def restore(self) -> None:
        """Restore the environment, and let connections through."""
        self.environ.restore()
        self.server.local.guard.stop()

    def finish_phase(self, report: pytest.TestReport, error: BaseException | None) -> None:
        """Add what the server saw to the report of a phase, which failed with this error, if it did.

        After the last one, restore everything again: fixtures that were set up before ours may have restored our
        values.
        """
        if report.when == "teardown":
            self.restore()
        if not self.over:
            self.failed |= report.failed
            self._add_to(report, error)

    def _add_to(self, report: pytest.TestReport, error: BaseException | None) -> None:
        """Add what the server saw to a report, unless the test fails with what `verify` says.

        A TestCase that fails by itself is verified, too; the error is its own.
        """
        if error is not None and error is self.failure:
            _point_to_test(report)
        elif report.failed:
            if text := self._describe(report, error):
                report.sections.append(("mockserver", text))
        elif report.passed and report.when == "call" and (cassette := self.server.local.find_played_cassette()):
            setattr(report, CASSETTE, asdict(cassette))

    def _find_problems(self, activity: Activity) -> tuple[Problem, ...]:
        """Return why the test should fail; if calls were unmatched, also that its cassette has another name."""
        found = activity.find_problems()
        if any(call.source == "unmatched" for call in activity.calls):
            return (*found, *self.config.find_absent_cassette())
        return found

    def _describe(self, report: pytest.TestReport, error: BaseException | None) -> str:
        """Return what helps to understand a failed test; empty if it has nothing to do with its server."""
        activity = self.server.local.activity
        calls = activity.calls
        problems = [each for each in self._find_problems(activity) if each.text not in report.longreprtext]
        awaits_calls = (
            report.when == "call"
            and bool(activity.declared)
            and not isinstance(error, MockserverError)
            and not activity.blocked
        )
        closed = (_CLOSED_LOOP,) if "Event loop is closed" in report.longreprtext else ()
        if not (calls or problems or awaits_calls or closed):
            return ""
        texts = (
            *closed,
            *describe_unrecorded(calls),
            *activity.list_hints(),
            *(remark.text for remark in activity.find_remarks()),
            write_server_report(calls, problems),
        )
        return "\n\n".join(texts)


def _point_to_test(report: pytest.TestReport) -> None:
    """Let a failure that the plugin reports be where its test is, not where the plugin is."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        file, line, _ = report.location
        crash.path = file
        crash.lineno = (line or 0) + 1


def list_unplayed(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """Yield a line for each cassette that passing tests, which have these reports, did not play to its end."""
    yield from summarize_unplayed(PlayedCassette(**getattr(report, CASSETTE)) for report in reports)


_CLOSED_LOOP = (
    "a client used a connection of an event loop that is closed: create an asynchronous client in each test, or let "
    "all tests share a loop (with pytest-asyncio: asyncio_default_test_loop_scope = session)"
)
_TEST_OPTIONS = ("rules", "record", "cassettes")  # options that the server does not need until a test does
