"""One upstream in a process of its own for all, with every script."""

import os
from collections.abc import Iterator

import pytest

from tests.kit.scripts import SCRIPTS
from tests.kit.upstream import Upstream, upstream


@pytest.fixture(scope="session")
def running() -> Iterator[Upstream]:
    """The process."""
    with upstream(SCRIPTS) as process:
        yield process


@pytest.fixture
def up(running: Upstream) -> Upstream:
    """The upstream, which has forgotten what tests before asked."""
    running.forget()
    return running


@pytest.fixture(autouse=True)
def _no_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of this machine stands between a relay and its upstream."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
