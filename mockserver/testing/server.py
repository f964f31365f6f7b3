# size: all that a test can say to its server, in methods of a few lines
"""MockServer: a running server for tests, with rules declared in Python and a look at the calls that came."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from mockserver.config.errors import ConfigError, MockserverError, Place
from mockserver.config.source import Document, did_you_mean
from mockserver.core.json import Json
from mockserver.core.seed import monotonic
from mockserver.dialects import discover
from mockserver.reports.coverage_watch import watch
from mockserver.reports.failures import Budget, Problem, Tape, failing, told, unanswered, unmatched, unmet
from mockserver.rules.load import Rule
from mockserver.server.app import DefaultDialect
from mockserver.server.live import compiled, start
from mockserver.server.namespaces import DEFAULT
from mockserver.server.run import Running, base_url, environment
from mockserver.state.journal import Journal
from mockserver.testing.calls import Assertions, Call, Calls
from mockserver.testing.clients import async_client, client, led, usual, without_ours
from mockserver.testing.declare import Declared, Names
from mockserver.testing.options import Options, When, beside
from mockserver.testing.setup import Held, Setup, Setups, more, warn_of
from mockserver.testing.transport import Transport
from mockserver.testing.transport.in_process import Clock

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

__tracebackhide__ = True  # pytest shows the line of the test instead


class MockServer(Assertions):  # size: all that a test can say to its server, in methods of a few lines
    """A server on a free port of this machine, in a thread of its own, from `start` to `stop` or in a `with` block.

    It takes rules files and options (settings by their names). Raises MockserverError where these are mistaken.
    """

    def __init__(self, *rules: str | Path, **options: Unpack[Options]) -> None:
        self._setups = Setups()
        self._setup = self.usual = Setup.of(*rules, **options)
        self._live = start(self._setup.sources)
        self.clock = Clock()
        self._live.now = self.clock.now
        self._running: Running | None = None
        self._transport: Transport | None = None
        self._declared: list[Declared] = []
        self._loaded: tuple[Rule, ...] = ()
        self._standing: tuple[Declared, ...] = ()
        self._laid: tuple[Rule, ...] = ()
        self._stack = ExitStack()
        self._client: OpenAI | None = None
        self.errors: list[tuple[str, Exception]] = []  # of functions that answer: where each is declared, and why
        self.reset()

    # From start to stop.

    def start(self) -> Self:
        """Listen on a free port of this machine, until `stop`. Raises ConfigError, also where it does already."""
        if self._running is not None:
            raise ConfigError(f"this server runs already, at {self.url}; stop it first, or make another MockServer")
        running = Running(self._live)
        running.start()
        self._running = running
        return self

    def stop(self) -> None:
        """Stop listening; an answer that is still going out ends here."""
        running, self._running = self._running, None
        if running is not None:
            running.hang_up()
            running.stop()

    def environ(self) -> AbstractContextManager[None]:
        """As long as this lasts, official clients of this process and of those it starts come here by themselves."""
        return led(self.env)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self.start().stop)
            stack.enter_context(self.environ())
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if error is None:
                self.verify()
                warn_of(self.close_open())

    @property
    def url(self) -> str:
        """Where it listens: http://127.0.0.1:49152."""
        return self._listening.address

    def base_url(self, dialect: str = "openai") -> str:
        """What the official client of a dialect takes as its base URL (or endpoint)."""
        if dialect not in discover():
            raise ConfigError(f'there is no dialect "{dialect}"{did_you_mean(dialect, discover())}')
        return base_url(self.url, dialect)

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variables that lead the official clients here; for a program that is started, for one."""
        return environment(self.url, self._live.settings, without_ours())

    def client(self, dialect: str = "openai", **options: Any) -> "OpenAI":
        """OpenAI's client for a dialect that it can speak, with options of its own. Raises ConfigError.

        Without options and for OpenAI it is the same one each time, whose connections are used again.
        """
        if not options and dialect == "openai":
            self._client = usual(self.env, self._client)
            return self._client
        return client(self.env, dialect, **options)

    def async_client(self, dialect: str = "openai", **options: Any) -> "AsyncOpenAI":
        """The same that is awaited, a new one each time: it belongs to the loop that it is used in."""
        return async_client(self.env, dialect, **options)

    # Without a socket.

    def transport(self) -> Transport:
        """What clients of httpx and httpx2 take as their `transport`, to come here without a socket.

        The server need not have been started. Waits take no time: they put `clock` forward. It is the same one each
        time, as good for many clients as for one.
        """
        if self._transport is None:
            self._transport = Transport(DefaultDialect(self._live), self.clock)
        return self._transport

    # Rules.

    def on(self, name: str | None = None, /, **when: Unpack[When]) -> Declared:
        """Declare a rule for requests that are so (all requests, if nothing is said); say then what it answers.

        Rules that are declared stand before those of files, the first that holds answers. A name is shown in reports.
        """
        declared = Declared(self, name, when)
        self._declared.append(declared)
        return declared

    @property
    def declares(self) -> bool:
        """Whether rules have been declared since the last reset."""
        return bool(self._declared)

    def load(self, path: str | Path) -> None:
        """Have the rules of one more file behind those declared; it is named beside the test, or from here.

        Raises MockserverError.
        """
        try:
            self._loaded += more(beside(path), self._live.settings.profiles)
        except MockserverError as error:
            raise error.with_traceback(None) from None  # the line of the test says enough
        self.changed()

    def lay(self, *rules: Rule) -> None:
        """Have these rules before all others until the next reset, and none that were laid so before."""
        self._laid = rules
        self.changed()

    def keep(self) -> None:
        """What has been declared stands from now on, whatever is reset: behind what is declared later."""
        self._standing, self._declared = (*self._standing, *self._declared), []

    def reset(self, setup: Setup | None = None) -> None:
        """Begin anew, with another setup or the usual one: no calls, no counters, no rules but those that stand.

        The address stays, and so do clients that were made before; an answer that is still going out is broken off.
        """
        self.close_open()
        self._setup = setup or self.usual
        settings, engine = self._setups.composed(self._setup)
        journal = Journal(count=settings.journal_calls, size=settings.journal_bytes)
        journal.keeps_calls = True
        if (watched := watch()) is not None:
            journal.on_close = watched.note
            watched.declares(engine.rules)
        self._live.renew(settings, engine, journal, timed=self._setup.timed)
        if settings.upstream:
            self._live.sources = self._setup.sources  # its key may have come to the environment by now
        self._declared, self._loaded, self._laid, self.errors = [], (), (), []
        self._budget, self.names = Budget(), Names(one.rule for one in self._standing if one.rule is not None)
        self._held = Held.of(self._live)
        self.changed()

    def check(self, setup: Setup) -> None:
        """Raise MockserverError where a setup is mistaken."""
        self._setups.composed(setup)

    def quieten(self, seconds: float) -> None:
        """Return when no answer is going out any more to a client that is still there, or after so many seconds."""
        end, pause = monotonic() + seconds, Event()
        while self._live.journal.tally.open and monotonic() < end:
            self._listening.hang_up(all_of_them=False)
            pause.wait(_LOOK)

    def close_open(self) -> Calls:
        """Break off the answers that are still going out; the calls that they belong to."""
        if not self._live.journal.tally.open:
            return Calls(())
        left = self.calls.of(lambda call: call.ended == "open")
        if left and self._running is not None:
            self._running.hang_up()
        if left and self._transport is not None:
            self._transport.hang_up()
        return left

    # What came.

    @property
    def calls(self) -> Calls:
        """All calls since the last reset, in order of arrival; those that are still being answered too."""
        self._check_here()
        if self._running is not None:
            self._running.settle()
        return Calls.of_rows(tuple(self._live.journal))

    def snapshot(self) -> str:
        """What was asked so far, as a stable text for approval tests."""
        return self.calls.snapshot()

    def budget(self, *, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        """A test in which more calls come, or take more tokens all together, fails."""
        self._budget = Budget(max_calls, max_tokens)

    def problems(self) -> tuple[Problem, ...]:
        """What a test should fail for: unmatched calls, unmet times, failed functions, a budget that was passed."""
        calls, rules = self.calls, self._live.engine_of(DEFAULT).rules
        failed: dict[tuple[str, str], list[Exception]] = {}
        for where, error in self.errors:
            failed.setdefault((where, repr(error)), []).append(error)
        found = [failing(where, errors) for (where, _), errors in failed.items()]
        found += unmatched(calls, rules)
        for one in self._declared:
            if one.rule is None:
                found.append(unanswered(one.where))
            elif one.wanted is not None and (came := len(one.calls)) < one.wanted:
                found.append(unmet(one.rule, one.wanted, came, calls))
        return (*found, *self._budget.passed(calls))

    def verify(self) -> None:
        """Raise AssertionError with all problems, if there are any."""
        if problems := self.problems():
            raise AssertionError(told(problems))

    def _came(self) -> tuple[Call, ...]:
        return tuple(self.calls)

    def played(self) -> Tape | None:
        """The cassette of this setup, if it has one that is played: what it held, and what has been played of it."""
        return None if self._held is None else self._held.played(self.calls)

    # What declared rules ask for.

    def compiled(self, rule: Mapping[str, Json], place: Place) -> Rule:
        """A rule that stands at a place of a program. Raises RuleError."""
        document = Document.at({"rules": [rule]}, place)
        return compiled((document,), self._live.settings.profiles)[0]

    def changed(self) -> None:
        """Have the rules that are declared now."""
        self._check_here()
        every = (*self._declared, *self._standing)
        declared = tuple(one.rule for one in every if one.rule is not None)
        if (watched := watch()) is not None:
            watched.declares(self._loaded)
            watched.declares(declared, declared=True)
        self._live.namespaces.touch(DEFAULT).put((*self._laid, *declared, *self._loaded))

    def removed(self, declared: Declared) -> None:
        """A rule is no more."""
        self._declared = [one for one in self._declared if one is not declared]
        self._standing = tuple(one for one in self._standing if one is not declared)
        self.changed()

    def failed(self, declared: Declared, error: Exception) -> None:
        """A function that answers has failed; one of a rule that is gone belongs to the test before."""
        if declared in (*self._declared, *self._standing):
            self.errors.append((declared.where, error))

    def _check_here(self) -> None:
        if self._running is not None:
            self._running.check_here()

    @property
    def _listening(self) -> Running:
        if self._running is None:
            raise ConfigError("this server does not run; use it in a with block, or call start()")
        return self._running


_LOOK = 0.01  # seconds between two looks at who is still there
