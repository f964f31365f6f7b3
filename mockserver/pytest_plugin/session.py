"""A test run: the server of this process and the tests that use it. Imported with the first such test."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import Struct, field
from msgspec.structs import asdict

from mockserver.config.errors import MockserverError
from mockserver.pytest_plugin.configuration import PYTEST, Configuration, configure
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
from mockserver.testing.server_session import ServerSession
from mockserver.testing.setup import MockServerWarning

CASSETTE = "mockserver_cassette"  # the attribute of reports for the cassette that the test replayed


class Run:
    """The server of this process, configured for each test.

    `options` are those of ini file and command line, by the keys of the mark; `may_record`: marks can record.
    """

    def __init__(self, options: Mapping[str, Any], *, may_record: bool) -> None:
        self._options = options
        self._may_record = may_record
        self._server: MockServer | None = None
        self._running = ExitStack()
        self._started = False
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
        if not self._started:
            self._running.callback(self.make_server().start().stop)
            self._started = True
        return self.make_server()

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
        self._started = False

    def list_mistakes(self, items: Iterable[pytest.Item]) -> Iterator[tuple[str, Sequence[pytest.Item]]]:
        """Yield each mistake in the tests' configuration once, with the tests that fail for it."""
        found: dict[str, list[pytest.Item]] = {}
        for item in items:
            try:
                self.make_server().session.check(self._configure(item).make_setup())
            except MockserverError as error:
                found.setdefault("\n".join(mistake.render() for mistake in error.mistakes), []).append(item)
        yield from found.items()

    @contextmanager
    def serve(self, item: pytest.Item, server: MockServer) -> Iterator["ServerUse"]:
        """Configure a server for a test, and set the environment. Raises MockserverError."""
        session = server.session
        config = self._configure(item, {} if server is self._server else session.default_setup.options)
        session.rules.keep_declared()
        session.reset(self._make_setup(config))
        server.limit_calls(config.max_calls)
        strict = config.plays_own and item.config.getini("mockserver_unplayed") == "fail"
        use = ServerUse(server, config, strict=strict)
        use.patch.set(server.env)
        session.guard.error = partial(pytest.fail.Exception, pytrace=False)
        session.guard.start()
        yield use
        use.over = True
        use.restore()
        leftovers = session.list_leftovers()
        session.reset()
        for text in leftovers if not use.failed else ():
            item.warn(MockServerWarning(text))

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
    """A test's use of a server.

    `strict`: unplayed episodes fail the test, too; `failure`: what the test is failed with at its end; `failed`: it has
    failed in some phase; `over`: the server is reset again.
    """

    server: MockServer
    config: Configuration
    strict: bool
    patch: EnvironmentPatch = field(default_factory=EnvironmentPatch)
    failure: BaseException | None = None
    failed: bool = False
    over: bool = False

    @property
    def session(self) -> ServerSession:
        """What the server knows of the test."""
        return self.server.session

    def find_problems(self, activity: Activity) -> tuple[Problem, ...]:
        """Return why the test should fail; if calls were unmatched, also that its cassette has another name."""
        found = activity.find_problems()
        if any(call.source == "unmatched" for call in activity.calls):
            return (*found, *self.config.find_absent_cassette())
        return found

    def restore(self) -> None:
        """Restore the environment, and let connections through."""
        self.patch.restore()
        self.session.guard.stop()

    def verify(self) -> None:
        """Fail the test, at its end, for the problems of its server."""
        cassette = self.session.find_played_cassette() if self.strict else None
        unplayed = () if cassette is None else find_unplayed(cassette, PYTEST)
        activity = self.session.activity
        found = (*self.find_problems(activity), *unplayed) if self.config.verify else ()
        if found:
            self.failure = pytest.fail.Exception(write_failure((*found, *activity.find_remarks())), pytrace=False)
            raise self.failure

    def add_to(self, report: pytest.TestReport, error: BaseException | None) -> None:
        """Add what the server saw to the report of a test that fails with this error, unless that is `failure`.

        A TestCase that fails by itself is verified, too; the error is its own.
        """
        self.failed |= report.failed
        if error is not None and error is self.failure:
            _point_to_test(report)
        elif report.failed:
            if text := self._describe(report, error):
                report.sections.append(("mockserver", text))
        elif report.passed and report.when == "call" and (cassette := self.session.find_played_cassette()) is not None:
            setattr(report, CASSETTE, asdict(cassette))

    def _describe(self, report: pytest.TestReport, error: BaseException | None) -> str:
        """Return what helps to understand a failed test; empty if it has nothing to do with its server."""
        activity = self.session.activity
        calls = activity.calls
        problems = [each for each in self.find_problems(activity) if each.text not in report.longreprtext]
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


def list_unplayed(reports: Iterable[object]) -> Iterator[str]:
    """Yield a line for each cassette that passing tests did not play to its end."""
    yield from summarize_unplayed(
        PlayedCassette(**getattr(report, CASSETTE)) for report in reports if hasattr(report, CASSETTE)
    )


_CLOSED_LOOP = (
    "a client used a connection of an event loop that is closed: create an asynchronous client in each test, or let "
    "all tests share a loop (with pytest-asyncio: asyncio_default_test_loop_scope = session)"
)
_TEST_OPTIONS = ("rules", "record", "cassettes")  # options that the server does not need until a test does
