"""Rule coverage in pytest: watches the servers of all tests, and reports at the end which rules were used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.text import count_noun
from mockserver.pytest_plugin.plugin_options import uses_server
from mockserver.reports.coverage import (
    Coverage,
    Watch,
    list_unused_rules,
    watching,
    write_json,
    write_page,
    write_table,
)

_OUTPUT = "mockserver_coverage"  # the key of a worker's output
Report = tuple[str, Path | None]  # its kind and its file


def make_rule_coverage(config: pytest.Config) -> RuleCoverage | None:
    """Return the plugin to register, if anything is to be reported; it watches until the end. Raises UsageError."""
    unused = config.getini("mockserver_unused") or "warn"
    kinds = config.getoption("mockserver_coverage") or config.getini("mockserver_coverage")
    reports = tuple(_read_option(kind, config) for kind in kinds)
    if not reports and unused == "ignore":
        return None
    watch = Watch()
    watching.append(watch)
    config.add_cleanup(partial(watching.remove, watch))
    return RuleCoverage(watch, unused, reports)


def _read_option(option: str, config: pytest.Config) -> Report:
    kind, _, path = option.partition(":")
    if kind not in REPORTS or (kind == "term" and path):
        raise pytest.UsageError(
            f"--mockserver-coverage must be term, html, html:FOLDER, json or json:FILE, not {option!r}"
        )
    default = REPORTS[kind]
    return (kind, config.invocation_params.dir / (path or default) if default else None)


class RuleCoverage:
    """The plugin for one run. Unused rules are reported if all tests ran; those of a test file, if all of its did."""

    def __init__(self, watch: Watch, unused: str, reports: Sequence[Report]) -> None:
        self._unused = unused
        self._reports = reports
        self._watch = watch
        self._partial = False
        self._skipped = set[str]()
        self._passing: dict[str, bool] = {}  # by test file: whether all its tests pass so far

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note that some tests do not run."""
        self._partial = self._partial or bool(items)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note that some tests could not be collected, or are skipped with their module."""
        self._partial = self._partial or not report.passed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note tests skipped or not set up, which might use rules, and the files whose tests fail, perhaps before."""
        file = report.nodeid.partition("::")[0]
        self._passing[file] = self._passing.get(file, True) and report.passed
        self._partial = self._partial or (report.failed and report.when == "setup")
        if report.skipped:
            self._skipped.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker saw; one that crashed sends nothing."""
        output: Mapping[str, Any] | None = getattr(node, "workeroutput", {}).get(_OUTPUT)
        if output is None:
            self._partial = True
        else:
            self._watch.merge(output["watch"])
            self._partial = self._partial or output["partial"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """With `mockserver_unused = fail`, fail the run for unused rules."""
        config = session.config
        skipped = (item for item in session.items if item.nodeid in self._skipped)
        self._partial = self._partial or any(map(uses_server, skipped)) or _is_interrupted(session)
        if hasattr(config, "workeroutput"):
            config.workeroutput[_OUTPUT] = {"watch": self._watch.export(), "partial": self._partial}
        elif self._unused == "fail" and exitstatus == pytest.ExitCode.OK and self._list_unused_rules(config):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Write the reports, and list unused rules."""
        terminalreporter.ensure_newline()
        for kind, path in self._reports:
            _write_report(
                terminalreporter, kind, path=path, coverage=self._watch.compute_coverage(str(config.rootpath))
            )
        if unused := self._list_unused_rules(config):
            failing = self._unused == "fail"
            were = "was" if len(unused) == 1 else "were"
            title = f"mockserver: {count_noun(len(unused), 'rule')} {were} never used"
            terminalreporter.section(title, red=failing, yellow=not failing)
            for line in unused:
                terminalreporter.write_line(line)
            if failing:
                terminalreporter.write_line("the run fails because of mockserver_unused = fail")

    def _list_unused_rules(self, config: pytest.Config) -> list[str]:
        if self._unused == "ignore" or self._partial or self._watch.empty or _is_filtered(config):
            return []
        whole = not _selects_part(config)
        found = list_unused_rules(self._watch.compute_coverage(str(config.rootpath)))
        return [line for file, line in found if self._passing.get(file, whole)]


def _is_interrupted(session: pytest.Session) -> bool:
    return bool(session.shouldstop or session.shouldfail) or session.exitstatus == pytest.ExitCode.INTERRUPTED


def _is_filtered(config: pytest.Config) -> bool:
    """Return whether not even the tests of one file all run."""
    option = config.option
    arguments = [*map(str, config.invocation_params.args), *config.args]
    left_out = any(each.startswith("--ignore") or "::" in each for each in arguments)
    return option.collectonly or getattr(option, "lf", False) or left_out


def _selects_part(config: pytest.Config) -> bool:
    """Return whether the arguments name a file, or folders that do not contain all tests.

    All tests are in `testpaths`; without that, a folder directly in the root might contain all of them.
    """
    if config.args_source is config.ArgsSource.TESTPATHS:
        return False
    folders = [Path(os.path.abspath(config.invocation_params.dir / argument)) for argument in config.args]
    if any(path.is_file() for path in folders):
        return True
    root = config.rootpath
    patterns = config.getini("testpaths")
    known = [root / path for pattern in patterns for path in glob(pattern, root_dir=root, recursive=True)]
    if known:
        return not all(any(path.is_relative_to(folder) for folder in folders) for path in known)
    return not any(root in (folder, folder.parent) or folder in root.parents for folder in folders)


def _write_report(terminal: pytest.TerminalReporter, kind: str, path: Path | None, coverage: Coverage) -> None:
    if path is None:
        terminal.section("mockserver: rule coverage", sep="-")
        for line in write_table(coverage):
            terminal.write_line(line)
    elif kind == "html":
        texts = {file.path: _read_lines(file.path) for file in coverage.files}
        _write(write_page(coverage, texts), path / "index.html", terminal)
    else:
        _write(write_json(coverage), path, terminal)


def _read_lines(path: str) -> Sequence[str]:
    try:
        return Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:  # a file that a test created and removed
        return ()


def _write(text: str, path: Path, terminal: pytest.TerminalReporter) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        terminal.write_line(f"cannot write rule coverage to {path}: {error.strerror or error}", red=True)
    else:
        here = Path.cwd()
        terminal.write_line(f"rule coverage written to {path.relative_to(here) if path.is_relative_to(here) else path}")


REPORTS = {"term": "", "html": "mockserver-coverage", "json": "mockserver-coverage.json"}  # the default file or folder
