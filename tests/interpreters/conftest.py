"""Each test here runs once for each interpreter: make interpreters PYTHONS="/usr/bin/python3.12 python3.14"."""

from pathlib import Path

import pytest

from tests.interpreters.environments import environment, named_pythons


def pytest_configure() -> None:
    named_pythons()  # a mistake in PYTHONS ends the run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "python" in metafunc.fixturenames:
        metafunc.parametrize("python", named_pythons().items(), ids=list(named_pythons()), indirect=True)


@pytest.fixture
def python(request: pytest.FixtureRequest) -> Path:
    """The Python of an environment with what mockserver needs."""
    version, interpreter = request.param
    return environment(version, interpreter)
