"""What the plugin costs a run of pytest in which no test uses it: to import it, and all that its hooks do.

It is measured within the run, in seconds on the clock; to be run as a script, on the folder of the tests.
"""

import sys
import time
from collections.abc import Callable
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any

import pytest


def idle(folder: str) -> float:
    """Seconds, all together."""
    spent = list[float]()
    plugin = _timed(lambda: __import__("mockserver.pytest_plugin", fromlist=["pytest_plugin"]), spent)()
    for name, value in vars(plugin).items():
        if name.startswith("pytest_") and not isgeneratorfunction(value):  # those are about one test
            setattr(plugin, name, _timed(value, spent))
    if pytest.main(["-q", "-p", "no:cacheprovider", folder]) != pytest.ExitCode.OK:
        raise RuntimeError("the tests fail")
    return sum(spent)


def _timed(work: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    @wraps(work)
    def timed(*arguments: Any, **named: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*arguments, **named)
        finally:
            spent.append(time.perf_counter() - began)

    return timed


if __name__ == "__main__":
    print(idle(sys.argv[1]))
