"""A test run: the server of this process and the tests that use it. Imported with the first such test."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import Struct, field
from msgspec.structs import asdict

from mockserver.config.errors import ConfigError, MockserverError
from mockserver.config.source import did_you_mean
from mockserver.reports.failures import (
    PlayedCassette,
    Problem,
    find_unplayed,
    make_problem,
    summarize_unplayed,
    write_failure,
    write_server_report,
)
from mockserver.testing import MockServer, MockServerTestCase, Setup
from mockserver.testing.clients import EnvironmentPatch, patch_environ
from mockserver.testing.options import ServerOptions, name_cassette, shorten_path
from mockserver.testing.setup import MockServerWarning, find_left_open, find_unrecorded

MARK = "mockserver"
FAULTS = "mockserver_faults"
FOLDER = "cassettes"  # next to the test file
KEYS = ("rules", "verify", "max_calls", *ServerOptions.__annotations__)
MAX_CALLS = 10_000  # of a test, unless its mark allows more: an agent that is always told to call a tool never stops
_CHOICES: Mapping[str, tuple[object, ...]] = {
    "verify": (True, False),
    "record": ("none", "once", "new_episodes", "all"),
}

Config = dict[str, Any]  # by the keys of the mark


def configure(item: pytest.Item, options: Mapping[str, Any]) -> Config:
    """Return the configuration of a test: `options` of ini file and command line, then marks, the closest last.

    Raises ConfigError.
    """
    if item.get_closest_marker(FAULTS) is not None:
        from mockserver.pytest_plugin.fault_marks import find_matrix

        find_matrix(item)
        if not hasattr(item, "callspec"):
            raise ConfigError(f"@pytest.mark.{FAULTS} is for functions and plain classes, not for a TestCase")
    found = dict(options)
    for node, mark in reversed(tuple(item.iter_markers_with_node(MARK))):
        if isinstance(node, pytest.Class | pytest.Function) and _has_own_server(item):
            raise ConfigError(f"@pytest.mark.{MARK} is not for a MockServerTestCase: {_OWN}")
        _check(mark)
        found |= mark.kwargs
    found["rules"] = [_find_file(file, item) for file in _list_files(found.get("rules"))]
    if "cassettes" in found or "cassette" in found:
        found["cassettes"] = str(item.path.parent / found.get("cassettes", FOLDER))
    return found


def make_setup(config: Config) -> Setup:
    """Return the setup of a configuration; mistakes are raised when it is used."""
    options = {name: value for name, value in config.items() if name not in ("rules", "verify", "max_calls")}
    if options.get("cassette") is None:
        options.pop("record", None)
    return Setup.make(*config["rules"], **options)


def add_cassette(item: pytest.Item, config: Config) -> Config:
    """Add the test's own cassette to a configuration that names none, if it exists or is to be recorded."""
    if "cassette" in config:
        return config
    shared = config.get("cassettes")
    folder = shared or str(item.path.parent / FOLDER)
    replays = config.get("record", "none") == "none"
    if replays and not os.path.isdir(folder):  # as for most tests; the rest is slower
        return config
    name = name_cassette(_split_name(item, with_folders=shared is not None))
    if replays and not os.path.exists(f"{folder}/{name}.yaml"):
        return config
    return {**config, "cassette": name, "cassettes": folder}


def find_absent_cassette(item: pytest.Item, config: Config) -> Iterator[Problem]:
    """Say that a test has no cassette, if there are others that may be meant.

    They are those of other parameters or of an earlier form of the test, which may be renamed, or else those that
    belong to no test by their name.
    """
    shared = config.get("cassettes")
    folder = Path(shared or item.path.parent / FOLDER)
    file = folder / f"{name_cassette(_split_name(item, with_folders=shared is not None))}.yaml"
    test = file.stem.partition("[")[0]
    others = sorted(each for each in file.parent.glob("*.yaml") if each.stem.partition("[")[0] == test)
    advice = "rename one, or record"
    if not others:
        others = sorted(folder.glob("*.yaml"))
        likely = next((each.stem for each in others if each.stem in test), others[0].stem if others else "")
        advice = f'name one in @pytest.mark.{MARK}(cassette="{likely}"), or record'
    if others:
        names = [each.name for each in others]
        found = f"there is {', '.join(names[:_MAX_OTHERS])}{', ...' if len(names) > _MAX_OTHERS else ''}"
        yield make_problem(
            f"no cassette {shorten_path(file)}; {found}", [f"{advice} with --record once and --upstream"]
        )


_MAX_OTHERS = 3


def _split_name(item: pytest.Item, *, with_folders: bool) -> Sequence[str]:
    root = item.config.rootpath
    file = item.path
    near = Path(os.path.relpath(file, root)) if with_folders else Path(file.name)
    within = [node.name for node in item.listchain() if node.path == file and not isinstance(node, pytest.File)]
    return (*(near.with_suffix("") if near.suffix == ".py" else near).parts, ".".join(within))


def _has_own_server(item: pytest.Item) -> bool:
    """Return whether a test is in a MockServerTestCase; marks of its module can be for other tests."""
    kind = item.cls if isinstance(item, pytest.Function) else None
    return kind is not None and issubclass(kind, MockServerTestCase)


def _check(mark: pytest.Mark) -> None:
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
    if type(limit := mark.kwargs.get("max_calls", MAX_CALLS)) is not int or limit < 1:
        raise ConfigError(f"@pytest.mark.{MARK}(max_calls=...) takes a number of calls, not {limit!r}")


def _list_files(rules: Any) -> Sequence[str | os.PathLike[str]]:
    if rules is None:
        return ()
    files = (rules,) if isinstance(rules, str | os.PathLike) else rules
    if isinstance(files, list | tuple) and all(isinstance(file, str | os.PathLike) for file in files):
        return files
    raise ConfigError(f"@pytest.mark.{MARK}(rules=...) takes a file or a list of files, not {rules!r}")


def _find_file(file: str | os.PathLike[str], item: pytest.Item) -> Path:
    folders = tuple(dict.fromkeys((item.path.parent, item.config.rootpath)))
    for folder in folders:
        if (folder / file).exists():
            return folder / file
    if Path(file).is_absolute():
        return Path(file)  # reported when it is read
    raise ConfigError(f"{os.fspath(file)} not found in {' or '.join(map(str, folders))}")


_OWN = "configure its server with mockserver_rules and mockserver_options"


CASSETTE = "mockserver_cassette"  # the attribute of reports for the cassette that the test replayed


class Run:
    """The server of this process, configured for each test.

    `options` are those of ini file and command line, by the keys of the mark; `recording`: marks can record.
    """

    def __init__(self, options: Config, *, recording: bool) -> None:
        self._options = options
        self._recording = recording
        self._server: MockServer | None = None
        self._running = ExitStack()
        self._started = False
        self._recorded = set[str]()  # cassettes that this run began to record
        self.mistake: MockserverError | None = None  # in the options

    @property
    def server(self) -> MockServer:
        """The server with the options of ini file and command line, perhaps not running.

        With mistakes in these, it has none of them, for tests whose marks name others; the rest fail with `mistake`.
        """
        if self._server is None:
            options = {name: value for name, value in self._options.items() if name not in _OF_TESTS}
            try:
                self._server = MockServer(*self._options.get("rules", ()), **options)
            except MockserverError as error:
                self._server = MockServer()
                self.mistake = error
        return self._server

    def start(self) -> MockServer:
        """Return the server, running until `close`. Raises MockserverError if it cannot listen."""
        if not self._started:
            self._running.callback(self.server.start().stop)
            self._started = True
        return self.server

    def check(self) -> None:
        """Raise MockserverError for mistakes in the options."""
        if self.server is not None and self.mistake is not None:
            raise self.mistake

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
                self.server.check(make_setup(add_cassette(item, self._find_configuration(item))))
            except MockserverError as error:
                found.setdefault("\n".join(mistake.render() for mistake in error.mistakes), []).append(item)
        yield from ((rename_options(text), affected) for text, affected in found.items())

    @contextmanager
    def serve(self, item: pytest.Item, server: MockServer) -> Iterator["ServerUse"]:
        """Configure a server for a test, and set the environment. Raises MockserverError."""
        config = self._find_configuration(item, {} if server is self._server else server.default_setup.options)
        server.keep_declared()
        server.rename_options = rename_options
        config, own = add_cassette(item, config), "cassette" not in config
        server.reset(make_setup(self._continue_recording(config)))
        server.limit_calls(config.get("max_calls", MAX_CALLS))
        strict = own and item.config.getini("mockserver_unplayed") == "fail"
        use = ServerUse(server, verify=bool(config.get("verify", True)), strict=strict)
        if own and "cassette" not in config:
            use.absent = partial(find_absent_cassette, item, config)
        use.patch.set(server.env)
        server.guard.error = partial(pytest.fail.Exception, pytrace=False)
        server.guard.start()
        yield use
        use.restore()
        calls = server.calls
        remarks = server.remarks()
        left = server.close_open()
        server.reset()
        texts = (*map(str, (*find_left_open(left), *find_unrecorded(calls))), *(remark.text for remark in remarks))
        for text in texts if not use.failed else ():
            item.warn(MockServerWarning(rename_options(text)))

    def _continue_recording(self, config: Config) -> Config:
        """Return the configuration, adding to a cassette that another test of this run began to record with `once`."""
        if config.get("record") != "once" or config.get("cassette") is None:
            return config
        file = f"{config['cassettes']}/{config['cassette'].removesuffix('.yaml')}.yaml"
        if file in self._recorded:
            return {**config, "record": "new_episodes"}
        if not os.path.exists(file):
            self._recorded.add(file)
        return config

    def _find_configuration(self, item: pytest.Item, defaults: Mapping[str, Any] = MappingProxyType({})) -> Config:
        found = configure(item, {**defaults, **self._options})
        return found if self._recording else {**found, "record": "none"}


class ServerUse(Struct):
    """A test's use of a server. `verify`: its problems fail the test; `strict`: unplayed episodes do, too."""

    server: MockServer
    verify: bool
    strict: bool
    patch: EnvironmentPatch = field(default_factory=EnvironmentPatch)
    absent: Callable[[], Iterable[Problem]] = tuple
    failed: bool = False
    reported: str = ""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why the test should fail; if calls were unmatched, also that its cassette has another name."""
        found = self.server.problems()
        return (*found, *self.absent()) if any(call.source == "unmatched" for call in self.server.calls) else found

    def restore(self) -> None:
        """Restore the environment, and let connections through."""
        self.patch.restore()
        self.server.guard.stop()

    def explain_failure(self) -> str:
        """Return why the test should fail at its end; empty if it should not."""
        cassette = self.server.find_played_cassette() if self.strict else None
        unplayed = () if cassette is None else find_unplayed(cassette)
        found = (*self.problems, *unplayed) if self.verify else ()
        self.reported = rename_options(write_failure((*found, *self.server.remarks()))) if found else ""
        return self.reported

    def add_to(self, report: pytest.TestReport, error: BaseException | None) -> None:
        """Add what the server saw to the report of a test that failed for another reason.

        A TestCase that fails by itself was asked for its failure, too: unittest reports its own later.
        """
        self.failed |= report.failed
        ours = bool(self.reported) and self.reported in report.longreprtext
        if ours and (crash := getattr(report.longrepr, "reprcrash", None)) is not None:
            # the test's, not the plugin's
            crash.path = report.location[0]
            crash.lineno = (report.location[1] or 0) + 1
        if report.failed and not ours:
            calls = self.server.calls
            problems = [each for each in self.problems if rename_options(each.text) not in report.longreprtext]
            awaited = self.server.declares and report.when == "call" and not isinstance(error, MockserverError)
            awaited = awaited and not self.server.guard.blocked
            if calls or problems or awaited:
                remarks = (*self.server.list_hints(), *(remark.text for remark in self.server.remarks()))
                texts = (*map(str, find_unrecorded(calls)), *remarks, write_server_report(calls, problems))
                report.sections.append(("mockserver", rename_options("\n\n".join(texts))))
        elif report.when == "call" and report.passed and (cassette := self.server.find_played_cassette()) is not None:
            setattr(report, CASSETTE, asdict(cassette))


def rename_options(text: str) -> str:
    """Return a text with options under their pytest names, except in quotes."""
    pieces = _QUOTED.split(text)
    for option, ours in _RENAMED_OPTIONS:
        pieces[::2] = (option.sub(ours, piece) for piece in pieces[::2])
    return "".join(pieces)


def list_unplayed(reports: Iterable[object]) -> Iterator[str]:
    """Yield a line for each cassette that passing tests did not play to its end."""
    yield from summarize_unplayed(
        PlayedCassette(**getattr(report, CASSETTE)) for report in reports if hasattr(report, CASSETTE)
    )


_OF_TESTS = ("rules", "record", "cassettes")  # options that the server does not need until a test does
_QUOTED = re.compile(r'("(?:[^"\\\n]|\\.)*")')
_RENAMED_OPTIONS = (
    (re.compile(r"(?<!\w)--record (?=\w)"), "--mockserver-record="),
    (re.compile(r"(?<!\w)--upstream(?=\W)"), "--mockserver-upstream"),
    (re.compile(r"(?<!\w)--cassette NAME"), "cassette= in the mark"),
    (re.compile(r"(?<!\w)--record-errors records"), "record_errors=True in the mark records"),
)
