"""Coroutines that are begun at once and mostly need no task, as those of Python 3.12's eager tasks."""

from collections.abc import Awaitable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class MustWait(Exception):  # noqa: N818  # it is not an error
    """A coroutine that was begun has to wait; whoever awaits `rest`, in a task, goes on with it."""

    def __init__(self, rest: Awaitable[Any]) -> None:
        super().__init__("a coroutine waits for something that nobody here can wait for")
        self.rest = rest


def run_at_once(begun: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that waits for nothing. Raises MustWait when it waits, and all that it raises.

    So what waits for nothing costs no task. The price: until it waits, it has no current task, so that
    `asyncio.timeout` or anyio would fail there.
    """
    try:
        awaited = begun.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise MustWait(_continue(begun, awaited))


@coroutine
def _continue(begun: Coroutine[Any, Any, T], awaited: object) -> Generator[Any, Any, T]:
    """Go on with a coroutine, and with what it awaits: hand each thing on to the task, and its outcome back."""
    while True:
        try:
            try:
                yield awaited
            except BaseException as thrown:
                awaited = begun.throw(thrown)
            else:
                awaited = begun.send(None)
        except StopIteration as done:
            result: T = done.value
            return result


async def fail(error: Exception) -> Any:
    """Raise an error that a coroutine has raised when it was begun, where others would await its rest."""
    raise error
