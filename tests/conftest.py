"""Options and helpers of the whole suite."""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import certifi
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


@pytest.fixture(scope="session", autouse=True)
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each client would read all certificates of the system, which takes 25 ms; no test calls a public server."""
    path = tmp_path_factory.mktemp("trusted") / "one.pem"
    path.write_text("".join(certifi.contents().partition("-----END CERTIFICATE-----")[:2]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return Path(__file__).parents[1]
