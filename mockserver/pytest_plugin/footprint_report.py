"""Footprints in pytest: registered when they are asked for, measures the calls of each test that has the fixture."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence, Set
from typing import Any

import msgspec
import pytest

from mockserver.config.errors import MockserverError
from mockserver.config.types import parse_share
from mockserver.core.text import count_noun, limit_lines
from mockserver.pytest_plugin import USE
from mockserver.pytest_plugin.plugin_options import FAULT, FOOTPRINT_VALUES, name_ini_file
from mockserver.reports.footprint import (
    CallFootprint,
    Footprint,
    Prices,
    Total,
    compute_cost,
    describe_changes,
    find_growth,
    find_unpriced,
    measure_calls,
    parse_prices,
    read_footprints,
    write_footprints,
    write_totals,
)

FILE = "mockserver-footprint.yaml"
GROWTH = "10%"
_MEASURED = "mockserver_footprint"  # the attribute of reports for what a test used, and the key of a worker's output
_MAX_LISTED = 20  # tests
_UPDATE = "--mockserver-footprint-update"


class FootprintOptions(msgspec.Struct, frozen=True):
    """What was asked for: only compare, `update` the file, or `prune` the entries of deleted tests as well."""

    update: bool
    prune: bool
    growth: float
    texts: bool
    prices: Prices


def read_footprint_options(config: pytest.Config) -> FootprintOptions:
    """Return what command line and ini file ask for. Raises UsageError that names the key with a mistake."""
    prune = config.getoption("mockserver_footprint_prune")
    update = prune or config.getoption("mockserver_footprint_update")
    growth_key, prices_key = FOOTPRINT_VALUES
    try:
        growth = parse_share(config.getini(growth_key) or GROWTH)
    except ValueError as error:
        raise pytest.UsageError(f"{name_ini_file(growth_key, config)}{growth_key}: {error}") from None
    try:
        prices = parse_prices(config.getini(prices_key))
    except MockserverError as error:
        raise pytest.UsageError(f"{name_ini_file(prices_key, config)}{prices_key}: {error}") from None
    texts = bool(config.getini("mockserver_footprint_texts"))
    return FootprintOptions(update=update, prune=prune, growth=growth, texts=texts, prices=prices)


class FootprintReport:
    """The plugin for one run. Each process compares its own tests; the one that has all reports writes the file."""

    def __init__(self, config: pytest.Config, options: FootprintOptions) -> None:
        self._options = options
        self._path = config.rootpath / (config.getini("mockserver_footprint") or FILE)
        self._recorded: dict[str, Footprint] = self._read()
        self._measured: dict[str, Footprint] = {}
        self._deleted: Set[str] = frozenset()  # recorded tests that do not exist any more
        self._whole_files = set[str]()  # of which all tests are collected
        self._message = ""  # what became of the file

    def _read(self) -> dict[str, Footprint]:
        try:
            return read_footprints(self._path.read_text("utf-8"), self._path.name)
        except FileNotFoundError:
            if self._options.update:
                return {}
            raise pytest.UsageError(f"there is no {self._path.name} yet; write it with {_UPDATE}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise pytest.UsageError(f"{self._path}: cannot be read: {error}") from None
        except MockserverError as error:
            raise pytest.UsageError("\n".join(mistake.render() for mistake in error.mistakes)) from None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test that passes; fail it if it exceeds its footprint."""
        result = yield
        use = item.stash.get(USE, None)
        if use is None or _has_fault(item):
            return result
        found = item.stash[_CALLS] = measure_calls(use.server.calls, with_texts=self._options.texts)
        if not self._options.update and (why := self._explain(item.nodeid, found)):
            pytest.fail(why, pytrace=False)
        return result

    def _explain(self, test: str, found: Footprint) -> str:
        """Return why a test fails; empty if it does not."""
        before = self._recorded.get(test)
        if before is None:
            new = f"{self._path.name} has no footprint of this test; add it with {_UPDATE}: {Total.add_up(found)}"
            return new if found else ""
        options = self._options
        grown = find_growth(before, found, self._options.growth)
        if not grown:
            return ""
        costs = [compute_cost(calls, options.prices) for calls in (before, found)]
        lines = [f"the footprint grew by more than {options.growth * 100:g}%: {', '.join(map(str, grown))}"]
        lines += [f"  cost {costs[0]:.6f} -> {costs[1]:.6f}"] if options.prices else []
        lines += [f"  {line}" for line in describe_changes(before, found)]
        return "\n".join([*lines, f"  if it is intended, accept it with {_UPDATE}"])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add what was measured to the report, which xdist sends to the process that writes the file."""
        report = yield
        if call.when == "call" and (found := item.stash.get(_CALLS, None)) is not None:
            del item.stash[_CALLS]
            setattr(report, _MEASURED, msgspec.to_builtins(found))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test used; of one that is run again, the last run counts."""
        found = getattr(report, _MEASURED, None)
        if found is not None and (report.passed or not self._options.update):
            self._measured[report.nodeid] = msgspec.convert(found, tuple[CallFootprint, ...])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note the files that could be collected."""
        if report.passed:
            self._whole_files.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        """Find the tests that were deleted, before tests are deselected."""
        collected = {item.nodeid for item in items}
        in_part = getattr(config.option, "lf", False) or any("::" in argument for argument in config.args)
        whole = set[str]() if in_part else self._whole_files
        files = {test: test.partition("::")[0] for test in self._recorded.keys() - collected}
        self._deleted = {test for test, file in files.items() if file in whole or not (config.rootpath / file).exists()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over which tests were deleted: only workers collect."""
        output: Mapping[str, Any] = getattr(node, "workeroutput", {})
        self._deleted = self._deleted | set(output.get(_MEASURED, ()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file, if that is wanted, in the process that knows all tests."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_MEASURED] = sorted(self._deleted)
        elif self._options.update and not session.config.option.collectonly and not self._write():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write(self) -> bool:
        """Write the file, and return whether it could be written."""
        deleted = self._deleted if self._options.prune else frozenset[str]()
        wanted = {**self._recorded, **self._measured}
        text = write_footprints({test: calls for test, calls in wanted.items() if test not in deleted})
        try:
            if not self._path.exists() or self._path.read_text("utf-8") != text:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.write_text(text, "utf-8", newline="\n")
                self._message = f"{self._path.name} written"
            else:
                self._message = f"{self._path.name} is up to date"
        except OSError as error:
            self._message = f"cannot write {self._path}: {error.strerror or error}"
            return False
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the totals of the tests that ran, what was recorded of them before, and what is to be done."""
        measured = self._measured
        options = self._options
        if not (measured or self._deleted or self._message):
            return
        terminalreporter.section("mockserver: footprint", sep="-")
        before = [call for test in sorted(measured) for call in self._recorded.get(test, ())]
        now = [call for test in sorted(measured) for call in measured[test]]
        lines = [*write_totals({"recorded": before, "this run": now}, options.prices)]
        if options.prices and (unpriced := find_unpriced(now, options.prices)):
            lines.append(f"without a price: {', '.join(unpriced)}")
        lines += self._list_changed()
        if self._deleted:
            count = count_noun(len(self._deleted), "deleted test")
            advice = "removed" if options.prune else "to remove them, use --mockserver-footprint-prune"
            lines.append(f"entries of {count}: {advice}")
            lines += limit_lines([f"  {test}" for test in sorted(self._deleted)], _MAX_LISTED)
        for line in (*lines, *filter(None, (self._message,))):
            terminalreporter.write_line(line)

    def _list_changed(self) -> list[str]:
        """List the tests whose footprints were updated; else how many use less than the file says."""
        changed = [
            test for test in sorted(self._measured) if tuple(self._recorded.get(test, ())) != self._measured[test]
        ]
        if not self._options.update:
            count = sum(test in self._recorded for test in changed)
            return [f"{count_noun(count, 'footprint')} changed; {_UPDATE} writes them"] if count else []
        lines = [self._describe_update(test) for test in changed]
        return list(limit_lines(lines, _MAX_LISTED))

    def _describe_update(self, test: str) -> str:
        after = Total.add_up(self._measured[test])
        if test not in self._recorded:
            return f"new      {test}: {after}"
        before = Total.add_up(self._recorded[test])
        pairs = ((name, getattr(before, name), getattr(after, name)) for name in Total.__struct_fields__)
        moved = [f"{name} {one} -> {other}" for name, one, other in pairs if one != other]
        return f"changed  {test}: {', '.join(moved) or 'the same totals'}"


_CALLS = pytest.StashKey[tuple[CallFootprint, ...]]()


def _has_fault(item: pytest.Item) -> bool:
    """Return whether a test runs under a fault, which decides how often it calls."""
    callspec: Any = getattr(item, "callspec", None)
    return callspec is not None and FAULT in callspec.params
