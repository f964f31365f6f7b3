"""A run of tests: the server of this process, and each test that uses it. Imported when there is one that does."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from mockserver.core.errors import MockserverError
from mockserver.pytest_wanted import Wanted, setup, taped, wanted
from mockserver.reports.beside import beside
from mockserver.reports.problems import told
from mockserver.reports.unplayed import Tape, summary, unplayed
from mockserver.testing import MockServer
from mockserver.testing.leftovers import left_open

TAPE = "mockserver_tape"  # what a report has beside its own: what was played of the test's cassette


class Run:
    """The server of this process, and what tests want of it.

    `stated` is what ini file and command line say, by the keys of the mark; `recording`, whether a mark may have a test
    recorded.
    """

    def __init__(self, stated: Mapping[str, Any], *, recording: bool) -> None:
        self._stated, self._recording = stated, recording
        self._server: MockServer | None = None
        self._running = ExitStack()
        self._started = False

    @property
    def server(self) -> MockServer:
        """The server, set up as ini file and command line say; it need not run. Raises MockserverError."""
        if self._server is None:
            options = {name: value for name, value in self._stated.items() if name not in _OF_TESTS}
            self._server = MockServer(*self._stated.get("rules", ()), **options)
        return self._server

    def started(self) -> MockServer:
        """The server, which runs until `close`. Raises MockserverError."""
        if not self._started:
            self._running.callback(self.server.start().stop)
            self._started = True
        return self.server

    def lead(self) -> None:
        """Start the server, and lead the official clients to it until `close`. Raises MockserverError."""
        self._running.enter_context(self.started().environ())

    def close(self) -> None:
        """Stop the server, and put the environment back."""
        self._running.close()
        self._started = False

    def mistakes(self, items: Iterable[pytest.Item]) -> Iterator[tuple[str, Sequence[pytest.Item]]]:
        """What is mistaken in what tests want, each mistake once, with the tests that it keeps from running."""
        found: dict[str, list[pytest.Item]] = {}
        for item in items:
            try:
                self.server.check(setup(self._wanted(item)))
            except MockserverError as error:
                found.setdefault("\n".join(mistake.shown() for mistake in error.mistakes), []).append(item)
        yield from found.items()

    @contextmanager
    def lent(self, item: pytest.Item, server: MockServer) -> Iterator["Use"]:
        """A server for a test, cleared and as the test wants it, to which clients are led. Raises MockserverError."""
        wants = self._wanted(item)
        server.keep()
        server.reset(setup(taped(item, wants)))
        strict = "cassette" not in wants and item.config.getini("mockserver_unplayed") == "fail"
        use = Use(server, verify=bool(wants.get("verify", True)), strict=strict)
        with server.environ():
            yield use
        left = server.close_open()
        server.reset()
        for warning in left_open(left) if not use.failed else ():
            item.warn(warning)

    def _wanted(self, item: pytest.Item) -> Wanted:
        found = wanted(item, self._stated)
        return found if self._recording else {**found, "record": "none"}


@dataclass(slots=True)
class Use:
    """A server as a test has it. `verify`: the test fails for its problems; `strict`: also for unplayed episodes."""

    server: MockServer
    verify: bool
    strict: bool
    failed: bool = False
    complained: bool = False

    def complaint(self) -> str:
        """What the test is to fail for, now that it has come to its end."""
        tape = self.server.played() if self.strict else None
        found = (*self.server.problems(), *(() if tape is None else unplayed(tape))) if self.verify else ()
        self.complained = bool(found)
        return told(found)

    def tell(self, report: pytest.TestReport) -> None:
        """Add to the report of a test what its server saw; where the test fails for that, say that it is the test's."""
        self.failed |= report.failed
        if self.complained and report.when == "call" and (crash := getattr(report.longrepr, "reprcrash", None)):
            crash.path, crash.lineno = report.location[0], (report.location[1] or 0) + 1
        if report.failed and not self.complained:
            if seen := beside(self.server.calls, self.server.problems()):
                report.sections.append(("mockserver", seen))
        elif report.when == "call" and report.passed and (tape := self.server.played()) is not None:
            setattr(report, TAPE, asdict(tape))


def idle(reports: Iterable[object]) -> Iterator[str]:
    """What to say of cassettes that passing tests have not played to the end."""
    yield from summary(Tape(**getattr(report, TAPE)) for report in reports if hasattr(report, TAPE))


_OF_TESTS = ("rules", "record", "cassettes")  # what is nothing to the server as long as no test uses it
