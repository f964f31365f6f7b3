"""Options and helpers of the whole suite."""

import gc
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("hypothesis"):  # it is not in the environment of tests/frameworks
    from hypothesis import HealthCheck, settings

    # The same examples each time, however slow the machine; `make fuzz` looks for others.
    settings.register_profile(
        "suite", deadline=None, derandomize="FUZZ" not in os.environ, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files and cases; review them by diff")


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """All tests stay to the end: to look through them for garbage took half a second each time, and servers waited."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return Path(__file__).parents[1]
