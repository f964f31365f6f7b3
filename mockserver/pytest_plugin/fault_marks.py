"""Fault matrices in pytest: registered when a test has the mark `mockserver_faults`."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import asdict, replace

from mockserver.config.errors import ConfigError, MockserverError, SourceLocation
from mockserver.pytest_plugin import USE
from mockserver.pytest_plugin.plugin_options import FAULT, FAULT_MARK
from mockserver.reports.calls import NO_CALLS
from mockserver.testing.drivers import EndlessError
from mockserver.testing.fault_cases import FaultCase
from mockserver.testing.fault_matrix import FaultMatrix, FaultRow, RunResult, write_matrix
from mockserver.testing.time_limit import HungError, TimeLimit

if TYPE_CHECKING:
    from mockserver.testing.resettable_server import ResettableServer

_CLOSING = 0.3  # seconds in which a stream can be closed after the test
_NOT_JUDGED = (KeyboardInterrupt, pytest.exit.Exception, pytest.skip.Exception, pytest.xfail.Exception)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Run a marked test once per fault, or if the mark has mistakes, once to report them."""
    try:
        cases = find_matrix(metafunc.definition).cases
    except MockserverError:
        return
    if FAULT not in metafunc.fixturenames:
        metafunc.fixturenames.append(FAULT)
    metafunc.parametrize(FAULT, cases, ids=[case.name for case in cases])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test with the mark under its fault, or without one, as the first row of its matrix."""
    case = _find_case(item)
    if case is None:
        return (yield)
    if case.rule is None:
        return (yield from _run_intact(item, case))
    item.stash[USE].server.local.rules.override(case.rule)
    yield from _run_under_fault(item, case)
    return None


def _run_under_fault(item: pytest.Item, case: FaultCase) -> Generator[None, object, None]:
    """Run the test under a fault, which a rule injects; the verdict on it replaces the test's own result."""
    local = item.stash[USE].server.local
    matrix = find_matrix(item)
    error: BaseException | None = None
    limit = TimeLimit(matrix.limit, lambda: _abort(local))
    try:
        with limit:
            yield
    except _NOT_JUDGED:
        raise
    except BaseException as raised:
        error = raised
    local.wait_until_idle(_CLOSING)
    row = matrix.make_row(_name_test(item, case), case, _judge(error, limit), local.calls)
    local.abort_answers()
    _note(item, row)
    if row.bad:
        _fail(f"{row.fault}: {row.details}", error, hung=limit.exceeded)


def _run_intact(item: pytest.Item, case: FaultCase) -> Generator[None, object, object]:
    """Run the test without a fault, and fail it if it makes no calls."""
    row = FaultRow(_name_test(item, case), case.name, asked="", outcome="recovered", details="passes", bad=False)
    try:
        result = yield
    except _NOT_JUDGED:
        raise
    except BaseException:
        _note(item, replace(row, outcome="failed", details="fails without a fault", bad=True))
        raise
    if not item.stash[USE].server.calls:
        _note(item, replace(row, outcome="failed", details="makes no calls, so no fault could be injected", bad=True))
        pytest.fail(f"no fault could be injected: {NO_CALLS}", pytrace=False)
    _note(item, row)
    return result


def _note(item: pytest.Item, row: FaultRow) -> None:
    """Add a row to the test's report, which xdist sends to the controller."""
    item.user_properties.append((FAULT_MARK, asdict(row)))


def show_matrix(terminal: pytest.TerminalReporter, reports: Iterable[pytest.TestReport]) -> None:
    """Print the rows that the tests' reports have."""
    rows = [value for report in reports for name, value in report.user_properties if name == FAULT_MARK]
    terminal.section("mockserver faults")
    for line in write_matrix([FaultRow(**row) for row in rows]):  # type: ignore[arg-type]
        terminal.write_line(line)


def _abort(local: ResettableServer) -> None:
    """End the answers that a test waits for, and the fault that would hit the next one."""
    local.rules.override()
    local.abort_answers()


def _judge(error: BaseException | None, limit: TimeLimit) -> RunResult:
    hung = (
        f"still waiting after {limit.seconds:g} s{', at ' * bool(limit.where)}{limit.where}" if limit.exceeded else ""
    )
    if isinstance(error, EndlessError):
        hung = hung or "it would wait forever"
    if error is None:
        return RunResult("passed", hung=hung)
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return RunResult("failed", (str(error).splitlines() or ["an assertion"])[0].rstrip(":"), hung=hung)
    names = tuple(kind.__name__ for kind in type(error).__mro__)
    return RunResult("raised", names[0], names=names, hung=hung)


def _fail(why: str, error: BaseException | None, *, hung: bool) -> None:
    """Fail with the verdict, as a note on the test's own error if it raised one."""
    if error is None or hung or isinstance(error, HungError):
        pytest.fail(why, pytrace=False)
    error.add_note(why)
    raise error


def find_matrix(node: pytest.Item) -> FaultMatrix:
    """Return the matrix of a marked test. Raises ConfigError for mistakes in the mark."""
    made: FaultMatrix | None = node.stash.get(_MATRIX, None)
    if made is None:
        mark = node.get_closest_marker(FAULT_MARK)
        assert mark is not None  # `parametrize` is called for marked tests only
        path, line, _ = node.reportinfo()
        try:
            made = FaultMatrix.declare(
                SourceLocation(str(path).removeprefix(f"{node.config.rootpath}/"), (line or 0) + 1, 1),
                *mark.args,
                **mark.kwargs,
            )
        except MockserverError as error:
            named = [replace(each, message=f"@pytest.mark.{FAULT_MARK}: {each.message}") for each in error.mistakes]
            raise ConfigError(*named) from None
        node.stash[_MATRIX] = made
    return made


def _find_case(item: pytest.Item) -> FaultCase | None:
    callspec: Any = getattr(item, "callspec", None)
    found = None if callspec is None else callspec.params.get(FAULT)
    return found if isinstance(found, FaultCase) else None


def _name_test(item: pytest.Item, case: FaultCase) -> str:
    fault = re.escape(case.name)
    return re.sub(rf"-{fault}(?=[-\]])|(?<=\[){fault}-?", "", item.nodeid).removesuffix("[]")


_MATRIX = pytest.StashKey[FaultMatrix]()
