"""Options and helpers of the whole suite."""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import certifi
import pytest
from _pytest.runner import runtestprotocol

from tests.house.warm import start_warm
from tests.kit.programs import PROGRAMS, list_missing_programs, list_needed_programs

LEFT_OUT = pytest.StashKey[dict[str, int]]()  # how many tests need each program that is missing

if find_spec("hypothesis"):  # it is not in the environment of tests/frameworks
    from hypothesis import HealthCheck, settings

    # The same examples each time, however slow the machine; `make fuzz` looks for others.
    settings.register_profile(
        "suite", deadline=None, derandomize="FUZZ" not in os.environ, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files and cases; review them by diff")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = {}
    if os.environ.get("ALL_TESTS") and (missing := list_missing_programs()):
        raise pytest.UsageError(f"ALL_TESTS is set, and {_describe(missing)}")


def pytest_report_header() -> list[str]:
    return [f"tests that need it are left out: {_describe([name])}" for name in list_missing_programs()]


@pytest.hookimpl(trylast=True)  # of the tests that are chosen by marks and names
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that start a program that is missing."""
    missing = set(list_missing_programs())
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        lacking = next((name for name in list_needed_programs(item) if name in missing), None)
        (kept if lacking is None else left_out).append(item)
        if lacking is not None:
            counts = config.stash[LEFT_OUT]
            counts[lacking] = counts.get(lacking, 0) + 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker of xdist left out, as all of them did."""
    node.config.stash[LEFT_OUT].update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for name, count in config.stash[LEFT_OUT].items():
        terminalreporter.write_line(f"{count} tests were left out: {_describe([name])}", yellow=True)


def _describe(missing: list[str]) -> str:
    return "; ".join(f"{name} is missing ({PROGRAMS[name]})" for name in missing)


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """All tests stay to the end: to look through them for garbage took half a second each time, and servers waited.

    What earlier tests have left was still looked through so often that it took a seventh of all time.
    """
    gc.freeze()
    gc.set_threshold(700, 10, 1000)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker of xdist sends one message of a test that passed, not six: to write and read them took a millisecond."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.fixture(scope="session", autouse=True)
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each client would read all certificates of the system, which takes 25 ms; no test calls a public server."""
    path = tmp_path_factory.mktemp("trusted") / "one.pem"
    path.write_text("".join(certifi.contents().partition("-----END CERTIFICATE-----")[:2]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_proxies() -> Iterator[None]:
    """Tests call this machine alone, whatever proxies it has; those about proxies set their own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.lower() in ("http_proxy", "https_proxy", "all_proxy", "ws_proxy", "wss_proxy"):
                patch.delenv(name)
        yield


@pytest.fixture
def frozen_heap() -> None:
    """As `serve` does: a full collection scans what the test makes, not all that earlier ones have left."""
    gc.freeze()


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of programs that are started before they are asked for."""
    with start_warm(tmp_path_factory.mktemp("warm")) as found:
        yield found


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return Path(__file__).parents[1]
