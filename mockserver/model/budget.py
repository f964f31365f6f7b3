"""How much work an answer may take, counted in steps: the same for the same request on every machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Budget:
    """The steps of a request's answers; each of several choices has its own `STEPS`."""

    __slots__ = ("left", "spent")

    def __init__(self) -> None:
        self.left, self.spent = STEPS, 0

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Let the work of one choice spend from this budget."""
        self.left = STEPS
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


def spend(steps: int) -> bool:
    """Spend so many steps, each a few microseconds; False if fewer are left, and the work is to be left out."""
    budget = _CURRENT.get()
    if budget is None:
        return True
    if steps > budget.left:
        return False
    budget.left -= steps
    budget.spent += steps
    return True


STEPS = 60_000
_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)
