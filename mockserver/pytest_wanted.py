"""What a test wants of its server: what its marks say, and where they are silent ini file and command line."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.errors import ConfigError
from mockserver.positions import did_you_mean
from mockserver.testing import MockServerTestCase, Setup
from mockserver.testing.naming import after
from mockserver.testing.options import Options

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
