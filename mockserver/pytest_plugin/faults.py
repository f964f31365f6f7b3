"""The part of the pytest plugin for fault matrices; it is there once a test is marked so."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest

from mockserver.config.errors import MockserverError, Place
from mockserver.reports.calls import NONE_CAME
from mockserver.reports.failures import Row
from mockserver.testing.fault_matrix import End, HungError, Limit, Matrix, Probe, judged
from mockserver.testing.transport.in_process import EndlessError

if TYPE_CHECKING:
    from mockserver.testing import MockServer

MARK, PARAMETER, SERVER = "mockserver_faults", "mockserver_fault", "mockserver"
CLOSING = 0.3  # seconds in which a stream may be closed after the test
_OUT = (KeyboardInterrupt, pytest.exit.Exception, pytest.skip.Exception, pytest.xfail.Exception)


def spread(metafunc: pytest.Metafunc) -> None:
    """Have a marked test run once for each fault. Raises CollectError where the marker is mistaken."""
    probes = _matrix(metafunc.definition).probes
    if PARAMETER not in metafunc.fixturenames:
        metafunc.fixturenames.append(PARAMETER)
    metafunc.parametrize(PARAMETER, probes, ids=[probe.name for probe in probes])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test under its fault, and judge what came of it instead of what it raises."""
    probe = _probe(item)
    if probe is None or probe.rule is None:
        return (yield) if probe is None else (yield from _intact(item, probe))
    server: MockServer = item.funcargs[SERVER]  # type: ignore[attr-defined]
    matrix = _matrix(item)
    server.lay(probe.rule)
    error: BaseException | None = None
    limit = Limit(matrix.limit, lambda: _let_go(server))
    try:
        with limit:
            yield
    except _OUT:
        raise
    except BaseException as raised:
        error = raised
    server.quieten(CLOSING)
    verdict = judged(probe, _end(error, limit), server.calls)
    server.close_open()
    row = matrix.standard.row(_test(item, probe), probe, verdict)
    _note(item, row)
    if row.bad:
        _fail(f"{row.fault}: {row.told}", error, hung=limit.passed)
    return None


def _intact(item: pytest.Item, probe: Probe) -> Generator[None, object, object]:
    """The test as it is, which its matrix is headed with."""
    row = Row(_test(item, probe), probe.name, "", "recovered", "passes", bad=False)
    try:
        result = yield
    except _OUT:
        raise
    except BaseException:
        _note(item, replace(row, outcome="failed", told="fails without any fault", bad=True))
        raise
    if not item.funcargs[SERVER].calls:  # type: ignore[attr-defined]
        _note(item, replace(row, outcome="failed", told="makes no call that a fault could befall", bad=True))
        pytest.fail(f"the test makes no call that a fault could befall; {NONE_CAME}", pytrace=False)
    _note(item, row)
    return result


def _note(item: pytest.Item, row: Row) -> None:
    """Have a row shown by who runs the tests, be it another process."""
    item.user_properties.append((MARK, asdict(row)))


def _let_go(server: MockServer) -> None:
    """End what a test waits for: the answers that are going out, and the fault that would befall the next."""
    server.lay()
    server.close_open()


def _end(error: BaseException | None, limit: Limit) -> End:
    """How a test ended."""
    hung = f"still waiting after {limit.seconds:g} s{', at ' * bool(limit.where)}{limit.where}" if limit.passed else ""
    if isinstance(error, EndlessError):
        hung = hung or "it would wait for ever"
    if error is None:
        return End("passed", hung=hung)
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return End("failed", (str(error).splitlines() or ["an assertion"])[0].rstrip(":"), hung=hung)
    names = tuple(kind.__name__ for kind in type(error).__mro__)
    return End("raised", names[0], names, hung)


def _fail(why: str, error: BaseException | None, *, hung: bool) -> None:
    """Fail for what was judged; with the test's own failure, where it has one that says more."""
    if error is None or hung or isinstance(error, HungError):
        pytest.fail(why, pytrace=False)
    error.add_note(why)
    raise error


def _matrix(node: pytest.Item) -> Matrix:
    """What the closest marker of a test says."""
    made: Matrix | None = node.stash.get(_KEPT, None)
    if made is None:
        mark = node.get_closest_marker(MARK)
        assert mark is not None  # noqa: S101  # `spread` has seen it
        path, line, _ = node.reportinfo()
        try:
            made = Matrix.of(Place(_near(str(path), node), (line or 0) + 1, 1), *mark.args, **mark.kwargs)
        except MockserverError as error:
            raise pytest.Collector.CollectError(f"@pytest.mark.{MARK}: {error}") from None
        node.stash[_KEPT] = made
    return made


def _near(path: str, node: pytest.Item) -> str:
    root = f"{node.config.rootpath}/"
    return path.removeprefix(root)


def _probe(item: pytest.Item) -> Probe | None:
    """The fault that a test is to run under."""
    callspec: Any = getattr(item, "callspec", None)
    found = None if callspec is None else callspec.params.get(PARAMETER)
    return found if isinstance(found, Probe) else None


def _test(item: pytest.Item, probe: Probe) -> str:
    """The id of a test without its fault."""
    name = item.nodeid
    for one, other in (
        (f"[{probe.name}]", ""),
        (f"-{probe.name}]", "]"),
        (f"[{probe.name}-", "["),
        (f"-{probe.name}-", "-"),
    ):
        name = name.replace(one, other)
    return name


_KEPT = pytest.StashKey[Matrix]()
