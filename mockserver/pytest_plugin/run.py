"""A run of tests: the server of this process, and each test that uses it. Imported when there is one that does."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from mockserver.config.errors import ConfigError, MockserverError
from mockserver.config.source import did_you_mean
from mockserver.reports.failures import Tape, beside, summary, told, unplayed
from mockserver.testing import MockServer, MockServerTestCase, Setup
from mockserver.testing.clients import Environs
from mockserver.testing.options import Options, after
from mockserver.testing.setup import MockServerWarning, left_open, unrecorded

MARK, FAULTS = "mockserver", "mockserver_faults"
FOLDER = "cassettes"  # beside the file of a test
KEYS = ("rules", "verify", *Options.__annotations__)
_CHOICES: Mapping[str, tuple[object, ...]] = {
    "verify": (True, False),
    "record": ("none", "once", "new_episodes", "all"),
}

Wanted = dict[str, Any]  # by the keys of the mark


def wanted(item: pytest.Item, stated: Mapping[str, Any]) -> Wanted:
    """What is said of a test, the closest wins key by key; `stated` is what ini file and command line say.

    Raises ConfigError.
    """
    if item.get_closest_marker(FAULTS) is not None and not hasattr(item, "callspec"):
        raise ConfigError(f"@pytest.mark.{FAULTS} is for functions and plain classes: a TestCase is run once only")
    found = dict(stated)
    for node, mark in reversed(tuple(item.iter_markers_with_node(MARK))):
        if isinstance(node, pytest.Class | pytest.Function) and _serves_itself(item):
            raise ConfigError(f"@pytest.mark.{MARK} is not for a MockServerTestCase: {_OWN}")
        _vet(mark)
        found |= mark.kwargs
    found["rules"] = [_found(file, item) for file in _files(found.get("rules"))]
    if "cassettes" in found or "cassette" in found:
        found["cassettes"] = str(item.path.parent / found.get("cassettes", FOLDER))
    return found


def setup(wanted: Mapping[str, Any]) -> Setup:
    """The setup that this comes to. Raises nothing yet: it is mistaken where it is used."""
    options = {name: value for name, value in wanted.items() if name not in ("rules", "verify")}
    if options.get("cassette") is None:
        options.pop("record", None)
    return Setup.of(*wanted["rules"], **options)


def taped(item: pytest.Item, wanted: Wanted) -> Wanted:
    """The same with the cassette of the test, where it names none: its own, if it is there or to be recorded."""
    if "cassette" in wanted:
        return wanted
    shared = wanted.get("cassettes")
    folder = shared or str(item.path.parent / FOLDER)
    plays = wanted.get("record", "none") == "none"
    if plays and not os.path.isdir(folder):  # as for most tests: the rest takes a while
        return wanted
    name = after(_parts(item, beside=shared is None))
    if plays and not os.path.exists(f"{folder}/{name}.yaml"):
        return wanted
    return {**wanted, "cassette": name, "cassettes": folder}


def recorded_once(wanted: Wanted) -> str | None:
    """The file of the cassette that a test records once, if it does."""
    name = wanted.get("cassette") if wanted.get("record") == "once" else None
    return None if name is None else f"{wanted['cassettes']}/{name.removesuffix('.yaml')}.yaml"


def _parts(item: pytest.Item, *, beside: bool) -> Sequence[str]:
    """The names of a test and of what it stands in: in a folder for all tests the folders too."""
    root, file = item.config.rootpath, item.path
    near = Path(file.name) if beside else Path(os.path.relpath(file, root))
    within = [node.name for node in item.listchain() if node.path == file and not isinstance(node, pytest.File)]
    return (*(near.with_suffix("") if near.suffix == ".py" else near).parts, ".".join(within))


def _serves_itself(item: pytest.Item) -> bool:
    """Whether a test has a server of its class; a mark of its module may still be for the other tests there."""
    kind = item.cls if isinstance(item, pytest.Function) else None
    return kind is not None and issubclass(kind, MockServerTestCase)


def _vet(mark: pytest.Mark) -> None:
    if mark.args:
        raise ConfigError(f"@pytest.mark.{MARK} takes keywords, such as rules={mark.args[0]!r}")
    for name in mark.kwargs:
        if name not in KEYS:
            hint = did_you_mean(name, KEYS) or f"; it takes {', '.join(KEYS)}"
            raise ConfigError(f'@pytest.mark.{MARK} takes no "{name}"{hint}')
    for name, choices in _CHOICES.items():
        if (value := mark.kwargs.get(name, choices[0])) not in choices:
            hint = did_you_mean(str(value), map(str, choices))
            raise ConfigError(
                f"@pytest.mark.{MARK}({name}=...) takes {', '.join(map(str, choices))}, not {value!r}{hint}"
            )


def _files(rules: Any) -> Sequence[str | os.PathLike[str]]:
    if rules is None:
        return ()
    files = (rules,) if isinstance(rules, str | os.PathLike) else rules
    if isinstance(files, list | tuple) and all(isinstance(file, str | os.PathLike) for file in files):
        return files
    raise ConfigError(f"@pytest.mark.{MARK}(rules=...) takes a file or a list of files, not {rules!r}")


def _found(file: str | os.PathLike[str], item: pytest.Item) -> Path:
    """A file that is named beside the test, or from the root of the tests."""
    folders = tuple(dict.fromkeys((item.path.parent, item.config.rootpath)))
    for folder in folders:
        if (folder / file).exists():
            return folder / file
    if Path(file).is_absolute():
        return Path(file)  # which is told when it is read
    raise ConfigError(f"there is no {os.fspath(file)} in {', nor in '.join(map(str, folders))}")


_OWN = "it has a server of its own, which mockserver_rules and mockserver_options are for"


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
        self._begun = set[str]()  # cassettes that this run has begun to record

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
        yield from ((in_pytest(text), held) for text, held in found.items())

    @contextmanager
    def lent(self, item: pytest.Item, server: MockServer) -> Iterator["Use"]:
        """A server for a test, cleared and as the test wants it, to which clients are led. Raises MockserverError."""
        wants = self._wanted(item, {} if server is self._server else server.usual.stated)
        server.keep()
        server.reset(setup(self._gone_on_with(taped(item, wants))))
        strict = "cassette" not in wants and item.config.getini("mockserver_unplayed") == "fail"
        use = Use(server, verify=bool(wants.get("verify", True)), strict=strict)
        use.environs.put(server.env)
        yield use
        use.environs.restore()
        calls, left = server.calls, server.close_open()
        server.reset()
        for warning in (*left_open(left), *unrecorded(calls)) if not use.failed else ():
            item.warn(MockServerWarning(in_pytest(str(warning))))

    def _gone_on_with(self, wants: Wanted) -> Wanted:
        """The same; what this run has begun to record once, for a test that shares its cassette, it goes on with."""
        file = recorded_once(wants)
        if file in self._begun:
            return {**wants, "record": "new_episodes"}
        if file is not None and not os.path.exists(file):
            self._begun.add(file)
        return wants

    def _wanted(self, item: pytest.Item, usual: Mapping[str, Any] = MappingProxyType({})) -> Wanted:
        """What a test wants; `usual` is what a server of the user's own has been told when it was made."""
        found = wanted(item, {**usual, **self._stated})
        return found if self._recording else {**found, "record": "none"}


@dataclass(slots=True)
class Use:
    """A server as a test has it. `verify`: the test fails for its problems; `strict`: also for unplayed episodes.

    `environs` lead clients to it.
    """

    server: MockServer
    verify: bool
    strict: bool
    environs: Environs = field(default_factory=Environs)
    failed: bool = False
    complained: str = ""

    def complaint(self) -> str:
        """What the test is to fail for, now that it has come to its end."""
        tape = self.server.played() if self.strict else None
        found = (*self.server.problems(), *(() if tape is None else unplayed(tape))) if self.verify else ()
        self.complained = in_pytest(told(found))
        return self.complained

    def tell(self, report: pytest.TestReport, error: BaseException | None) -> None:
        """Add to the report of a test what its server saw, unless the test fails for that, or for a mistake in a rule.

        A TestCase that fails by itself has been asked for a complaint too: unittest tells of a failure behind that.
        """
        self.failed |= report.failed
        ours = bool(self.complained) and self.complained in report.longreprtext
        if ours and (crash := getattr(report.longrepr, "reprcrash", None)) is not None:
            crash.path, crash.lineno = report.location[0], (report.location[1] or 0) + 1  # the test's, not the plugin's
        if report.failed and not ours:
            calls, problems = self.server.calls, self.server.problems()
            awaited = self.server.declares and report.when == "call" and not isinstance(error, MockserverError)
            if calls or problems or awaited:
                told_of = (*map(str, unrecorded(calls)), beside(calls, problems))
                report.sections.append(("mockserver", in_pytest("\n\n".join(told_of))))
        elif report.when == "call" and report.passed and (tape := self.server.played()) is not None:
            setattr(report, TAPE, asdict(tape))


def in_pytest(text: str) -> str:
    """A text for people, with options by the names that they have here; what it quotes was said by others."""
    pieces = _QUOTED.split(text)
    for option, ours in _OPTIONS:
        pieces[::2] = (option.sub(ours, piece) for piece in pieces[::2])
    return "".join(pieces)


def idle(reports: Iterable[object]) -> Iterator[str]:
    """What to say of cassettes that passing tests have not played to the end."""
    yield from summary(Tape(**getattr(report, TAPE)) for report in reports if hasattr(report, TAPE))


_OF_TESTS = ("rules", "record", "cassettes")  # what is nothing to the server as long as no test uses it
_QUOTED = re.compile(r'("(?:[^"\\\n]|\\.)*")')
_OPTIONS = (
    (re.compile(r"(?<!\w)--record (?=\w)"), "--mockserver-record="),
    (re.compile(r"(?<!\w)--upstream(?=\W)"), "--mockserver-upstream"),
    (re.compile(r"(?<!\w)--cassette NAME"), "cassette= in the mark"),
    (re.compile(r"(?<!\w)--record-errors records"), "record_errors=True in the mark records"),
)
