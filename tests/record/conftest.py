"""One upstream in a process of its own for all, with every script."""

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
