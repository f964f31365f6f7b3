"""For unittest: a test case with a server of its own, and functions that are called with one."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from unittest import TestCase, TestResult

from mockserver.core.errors import ConfigError
from mockserver.testing.leftovers import warn_of
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

    def run(self, result: TestResult | None = None) -> TestResult | None:
        """Run the test; if it comes to its end, it fails for what the server has to complain of."""
        test = getattr(self, self._testMethodName)
        setattr(self, self._testMethodName, _followed(test, self._look_back))
        return super().run(result)

    def _look_back(self) -> None:
        self.mockserver.verify()
        warn_of(self.mockserver.close_open())


def mocked(*rules: str | Path, options: Options | None = None) -> Callable[[T], T]:
    """Decorate a function (or one that is awaited) to be called as `function(..., mockserver=server)`.

    The server runs as long as the call does. Raises AssertionError for its problems; ConfigError, where it is not
    called itself, or decorates a class.
    """
    if any(map(callable, rules)):
        raise ConfigError("@mocked takes rules files, if any: write @mocked()")

    def decorate(function: T) -> T:
        if isinstance(function, type):
            raise ConfigError("@mocked() is for functions; a class of tests derives from MockServerTestCase")

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


def _followed(test: Callable[[], Any], after: Callable[[], None]) -> Callable[[], Any]:
    """A test with something to do behind it, unless it fails or skips."""

    @wraps(test)
    def call() -> None:
        test()
        after()

    @wraps(test)
    async def awaited() -> None:
        await test()
        after()

    return awaited if inspect.iscoroutinefunction(test) else call


def _without(signature: inspect.Signature) -> inspect.Signature:
    kept = [each for each in signature.parameters.values() if each.name != "mockserver"]
    return signature.replace(parameters=kept)
