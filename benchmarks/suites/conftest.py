"""Each kind of test as often as is said, by turns, and what a test of each kind takes."""

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

TAKEN: dict[str, list[float]] = defaultdict(list)


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many tests of each kind, and the file that is told what they take."""
    parser.addoption("--count", type=int, default=10)
    parser.addoption("--told", type=Path)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The same test again and again."""
    metafunc.parametrize("own", [False, True], ids=["shared", "own"])
    metafunc.parametrize("turn", range(metafunc.config.getoption("count")))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """By turns."""
    items.sort(key=lambda item: item.callspec.params["turn"])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note what a test takes, from before its setup to after its teardown."""
    began = time.perf_counter()
    result = yield
    client = "own" if item.callspec.params["own"] else "shared"
    TAKEN[f"{item.path.stem.removeprefix('test_')} {client}"].append(time.perf_counter() - began)
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell."""
    if file := session.config.getoption("told"):
        file.write_text(json.dumps({kind: median(taken) for kind, taken in TAKEN.items()}))
