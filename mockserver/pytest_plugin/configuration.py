"""How a test configures its server: by its marks, over the options of ini file and command line."""

import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import ConfigError
from mockserver.config.settings import RECORD_MODES
from mockserver.config.source import did_you_mean
from mockserver.config.spelling import KEYWORDS, Spelling, list_texts
from mockserver.core.episode import SUFFIX, name_file
from mockserver.core.json import Json
from mockserver.pytest_plugin.plugin_options import FAULT_MARK, INI_KEYS, MARK, OPTIONS, name_flag, name_ini_file
from mockserver.reports.failures import Problem, make_problem
from mockserver.testing import MockServerTestCase, Setup
from mockserver.testing.callers import shorten_path
from mockserver.testing.options import ServerOptions
from mockserver.testing.setup import name_cassette

FOLDER = "cassettes"  # next to the test file
MAX_TEST_CALLS = 10_000  # unless the mark allows more: an agent that is always told to call a tool never stops
_PLUGIN_KEYS = ("rules", "verify", "max_calls")  # all others are options of the server
MARK_KEYS = (*_PLUGIN_KEYS, *ServerOptions.__annotations__)
_CHOICES: Mapping[str, tuple[object, ...]] = {"verify": (True, False), "record": RECORD_MODES}


def explain_unknown_key(key: str, config: pytest.Config) -> str:
    """Return what is wrong with a key of the ini file that does not exist, and what it may be meant for."""
    option = key[len("mockserver_") :].replace("-", "_")
    place = name_ini_file(key, config)
    if option in MARK_KEYS and option not in OPTIONS:
        return f"{place}{key} is no key of the ini file; set it for tests: @pytest.mark.{MARK}({option}=...)"
    known = [*OPTIONS, "coverage", *(name.removeprefix("mockserver_") for name in INI_KEYS)]
    near = get_close_matches(option, known, n=1)
    listed = ", ".join(f"mockserver_{name}" for name in known)
    meant = f"did you mean mockserver_{near[0]}?" if near else f"choose one of {listed}"
    return f"{place}unknown key {key}; {meant}"


class _PytestSpelling(Struct, frozen=True):
    """The plugin's: options of pytest's command line, and keys of the mark for all others."""

    def name(self, setting: str) -> str:
        return setting

    def write(self, setting: str, value: Json) -> str:
        if setting in OPTIONS:
            return " ".join(f"{name_flag(setting)}={text}" for text in list_texts(value))
        return f"@pytest.mark.{MARK}({KEYWORDS.write(setting, value)})"


PYTEST: Spelling = _PytestSpelling()


class Configuration(Struct, frozen=True):
    """The configuration of a test, by the keys of the mark.

    `plays_own`: no mark names its cassette, so it plays the one of its own name, if there is one.
    """

    item: pytest.Item
    values: Mapping[str, Any]
    plays_own: bool

    @property
    def verify(self) -> bool:
        """Whether problems of the server fail the test."""
        return bool(self.values.get("verify", True))

    @property
    def max_calls(self) -> int:
        """How many calls the test may make."""
        allowed: int = self.values.get("max_calls", MAX_TEST_CALLS)
        return allowed

    @property
    def cassette(self) -> str | None:
        """The name of the cassette that it plays."""
        return self.values.get("cassette")

    @property
    def cassette_file(self) -> str:
        """The path of that cassette."""
        return f"{self.values['cassettes']}/{name_file(str(self.cassette))}"

    def make_setup(self, **more: Any) -> Setup:
        """Return the setup, with more options; mistakes are raised when it is used."""
        options = {name: value for name, value in self.values.items() if name not in _PLUGIN_KEYS}
        if self.cassette is None:
            options.pop("record", None)
        return replace(Setup.make(*self.values["rules"], **{**options, **more}), spelling=PYTEST)

    def find_absent_cassette(self) -> Iterator[Problem]:
        """Say that a test has no cassette, if there are others that may be meant.

        They are those of other parameters or of an earlier form of the test, which may be renamed, or else those that
        belong to no test by their name.
        """
        if self.cassette is not None or not self.plays_own:
            return
        folder = Path(_find_folder(self.item, self.values))
        file = folder / name_file(_name_own_cassettes(self.item, self.values)[0])
        test = file.stem.partition("[")[0]
        others = sorted(each for each in file.parent.glob(f"*{SUFFIX}") if each.stem.partition("[")[0] == test)
        advice = "rename one, or record"
        if not others:
            others = sorted(folder.glob(f"*{SUFFIX}"))
            likely = next((each.stem for each in others if each.stem in test), others[0].stem if others else "")
            advice = f'name one in @pytest.mark.{MARK}(cassette="{likely}"), or record'
        if others:
            names = [each.name for each in others]
            found = f"there is {', '.join(names[:_MAX_OTHERS])}{', ...' if len(names) > _MAX_OTHERS else ''}"
            record = PYTEST.write("record", "once")
            how = f"{advice} with {record} and {PYTEST.write('upstream', {'DIALECT': 'URL'})}"
            yield make_problem(f"no cassette {shorten_path(file)}; {found}", [how])


_MAX_OTHERS = 3


def configure(item: pytest.Item, options: Mapping[str, Any], *, may_record: bool) -> Configuration:
    """Return the configuration of a test: `options` of ini file and command line, then marks, the closest last.

    Raises ConfigError.
    """
    if item.get_closest_marker(FAULT_MARK) is not None:
        from mockserver.pytest_plugin.fault_marks import find_matrix

        find_matrix(item)
        if not hasattr(item, "callspec"):
            raise ConfigError(f"@pytest.mark.{FAULT_MARK} is for functions and plain classes, not for a TestCase")
    found = dict(options)
    for node, mark in reversed(tuple(item.iter_markers_with_node(MARK))):
        if isinstance(node, pytest.Class | pytest.Function) and _has_own_server(item):
            raise ConfigError(f"@pytest.mark.{MARK} is not for a MockServerTestCase: {_ADVICE}")
        _check(mark)
        found |= mark.kwargs
    found["rules"] = [_find_file(file, item) for file in _list_files(found.get("rules"))]
    plays_own = "cassette" not in found
    if "cassettes" in found or not plays_own:
        found["cassettes"] = str(item.path.parent / found.get("cassettes", FOLDER))
    if not may_record:
        found["record"] = "none"
    if plays_own:
        found |= _find_own_cassette(item, found)
    return Configuration(item, found, plays_own=plays_own)


def _find_own_cassette(item: pytest.Item, values: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the cassette of a test's own name and its folder, if it exists or is to be recorded; else nothing."""
    folder = _find_folder(item, values)
    replays = values.get("record", "none") == "none"
    if replays and not os.path.isdir(folder):  # as for most tests; the rest is slower
        return {}
    names = _name_own_cassettes(item, values)
    existing = next((name for name in names if os.path.exists(f"{folder}/{name_file(name)}")), None)
    return {} if replays and existing is None else {"cassette": existing or names[0], "cassettes": folder}


def _find_folder(item: pytest.Item, values: Mapping[str, Any]) -> str:
    return values.get("cassettes") or str(item.path.parent / FOLDER)


def _name_own_cassettes(item: pytest.Item, values: Mapping[str, Any]) -> Sequence[str]:
    """Return the name of a test's cassette, and that of one which was imported from pytest-recording.

    In a folder that tests of several folders share, these are below those.
    """
    root = item.config.rootpath
    file = item.path
    near = Path(file.name) if values.get("cassettes") is None else Path(os.path.relpath(file, root))
    within = [node.name for node in item.listchain() if node.path == file and not isinstance(node, pytest.File)]
    parts = (near.with_suffix("") if near.suffix == ".py" else near).parts
    test = ".".join(within)
    return [name_cassette((*parts, each)) for each in (test, test.translate(_BY_RECORDING))]


_BY_RECORDING = str.maketrans(dict.fromkeys("<>?%*:|\"'/\\", "-"))  # as pytest-recording names files


def _has_own_server(item: pytest.Item) -> bool:
    """Return whether a test is in a MockServerTestCase; marks of its module can be for other tests."""
    kind = item.cls if isinstance(item, pytest.Function) else None
    return kind is not None and issubclass(kind, MockServerTestCase)


def _check(mark: pytest.Mark) -> None:
    if mark.args:
        raise ConfigError(f"@pytest.mark.{MARK} takes keywords, such as rules={mark.args[0]!r}")
    for name in mark.kwargs:
        if name not in MARK_KEYS:
            hint = did_you_mean(name, MARK_KEYS) or f"; it takes {', '.join(MARK_KEYS)}"
            raise ConfigError(f'@pytest.mark.{MARK} takes no "{name}"{hint}')
    for name, choices in _CHOICES.items():
        if (value := mark.kwargs.get(name, choices[0])) not in choices:
            hint = did_you_mean(str(value), map(str, choices))
            raise ConfigError(
                f"@pytest.mark.{MARK}({name}=...) takes {', '.join(map(str, choices))}, not {value!r}{hint}"
            )
    if type(limit := mark.kwargs.get("max_calls", MAX_TEST_CALLS)) is not int or limit < 1:
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


_ADVICE = "configure its server with mockserver_rules and mockserver_options"
