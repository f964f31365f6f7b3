"""Keeps the server of the first failed test, so that its calls can be looked at in a browser."""

from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pytest

from mockserver.core.seed import pause
from mockserver.pytest_plugin import USE


class Inspection:
    """The plugin for one run."""

    def __init__(self) -> None:
        self._done = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Wait until Ctrl-C once the first test has failed whose server is not reset yet."""
        report = yield
        use = item.stash.get(USE, None)
        if report.failed and use is not None and not use.over and not self._done:
            self._done = True
            _wait(item, use.server.url)
        return report


def _wait(item: pytest.Item, url: str) -> None:
    plugins = item.config.pluginmanager
    capture: Any = plugins.get_plugin("capturemanager")
    reporter: Any = plugins.get_plugin("terminalreporter")
    with capture.global_and_fixture_disabled(), suppress(KeyboardInterrupt):
        reporter.ensure_newline()
        reporter.write_line(f"mockserver: {item.nodeid} failed; look at its calls: {url}/__mockserver__/")
        reporter.write_line("mockserver: press Ctrl-C to continue")
        reporter.flush()
        pause()
