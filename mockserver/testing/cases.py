"""For unittest: a test case with a server of its own, and functions that are called with one."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from unittest import TestCase

from mockserver.testing.options import Options
from mockserver.testing.server import MockServer

T = TypeVar("T", bound=Callable[..., Any])


class MockServerTestCase(TestCase):
    """A test case whose class has a server: `self.mockserver`, cleared for each test, which fails for its problems.

    `mockserver_rules` and `mockserver_options` say what it is like. To be awaited: (MockServerTestCase,
    IsolatedAsyncioTestCase).
    """

    mockserver: ClassVar[MockServer]
    mockserver_rules: ClassVar[tuple[str | Path, ...]] = ()
    mockserver_options: ClassVar[Options] = {}

    @classmethod
    def setUpClass(cls) -> None:
        """Start the server. Raises MockserverError."""
        super().setUpClass()
        cls.mockserver = MockServer(*cls.mockserver_rules, **cls.mockserver_options).start()
        cls.addClassCleanup(cls.mockserver.stop)

    def setUp(self) -> None:
        """Begin anew, and lead the official clients here."""
        super().setUp()
        self.mockserver.reset()
        self.enterContext(self.mockserver.environ())
        self.addCleanup(self.mockserver.verify)


def mocked(*rules: str | Path, options: Options | None = None) -> Callable[[T], T]:
    """Decorate a function (or one that is awaited) to be called as `function(..., mockserver=server)`.

    The server runs as long as the call does. Raises AssertionError for its problems.
    """

    def decorate(function: T) -> T:
        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            with MockServer(*rules, **(options or {})) as server:
                return function(*args, mockserver=server, **named)

        @wraps(function)
        async def awaited(*args: Any, **named: Any) -> Any:
            with MockServer(*rules, **(options or {})) as server:
                return await function(*args, mockserver=server, **named)

        made: Any = awaited if inspect.iscoroutinefunction(function) else call
        made.__signature__ = _without(inspect.signature(function))  # else runners would look for it themselves
        return made  # type: ignore[no-any-return]

    return decorate


def _without(signature: inspect.Signature) -> inspect.Signature:
    kept = [each for each in signature.parameters.values() if each.name != "mockserver"]
    return signature.replace(parameters=kept)
