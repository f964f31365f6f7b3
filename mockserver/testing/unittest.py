"""For unittest: a test case with its own server, and a decorator for functions that need one."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from unittest import TestCase, TestResult

from mockserver.config.errors import ConfigError, MockserverError
from mockserver.testing.options import ServerOptions
from mockserver.testing.server import MockServer

__tracebackhide__ = True  # pytest shows the line of the test instead

T = TypeVar("T", bound=Callable[..., Any])
Files = str | Path | tuple[str | Path, ...]


class MockServerTestCase(TestCase):
    """A test case whose class has a server, `self.mockserver`, reset for each test; its problems fail the test.

    `mockserver_rules` (one or more files) and `mockserver_options` configure it. Your `setUp` and `tearDown` need not
    call `super()`. For async tests: (MockServerTestCase, IsolatedAsyncioTestCase).
    """

    mockserver: ClassVar[MockServer]
    mockserver_rules: ClassVar[Files] = ()
    mockserver_options: ClassVar[ServerOptions] = {}

    @classmethod
    def setUpClass(cls) -> None:
        """Start the server, for the use of derived `setUpClass` methods. Raises MockserverError."""
        super().setUpClass()
        cls._start()

    def run(self, result: TestResult | None = None) -> TestResult | None:
        """Run the test with clients connected to its server; if it passes, fail it for the server's problems."""
        if getattr(type(self), "__unittest_skip__", False):
            return super().run(result)  # unittest does not set up its class
        with ExitStack() as stack:
            try:
                stack.enter_context(self._serve())
            except MockserverError as error:
                vars(self)["setUp"] = partial(_raise, error)  # this test fails, not all of the class
            return super().run(result)

    def debug(self) -> None:
        """Run the test without collecting its result. Raises MockserverError."""
        with self._serve():
            super().debug()

    @classmethod
    def _start(cls) -> MockServer:
        if "mockserver" not in vars(cls):
            rules = cls.mockserver_rules
            files = (rules,) if isinstance(rules, str | Path) else rules
            cls.mockserver = MockServer(*files, **cls.mockserver_options).start()
            cls.addClassCleanup(cls._close)
        return cls.mockserver

    @classmethod
    def _close(cls) -> None:
        cls.mockserver.stop()
        del cls.mockserver

    @contextmanager
    def _serve(self) -> Iterator[None]:
        server = self._start()
        server.reset()
        name = self._testMethodName
        own = vars(self)
        before = own.get(name)  # pytest sets one, and removes it itself
        own[name] = _run_after(getattr(self, name), server.local.end)
        try:
            with server.environ():
                yield
        finally:
            del own[name]
            if before is not None:
                own[name] = before


def _raise(error: Exception) -> None:
    raise error


def mocked(*rules: str | Path, options: ServerOptions | None = None) -> Callable[[T], T]:
    """Decorate a function, also an async one, to be called with `mockserver=server`, which runs during the call.

    Raises AssertionError for its problems; ConfigError if used without parentheses or on a class.
    """
    if any(map(callable, rules)):
        raise ConfigError("write @mocked(), with parentheses; it takes rules files")

    def decorate(function: T) -> T:
        if isinstance(function, type):
            raise ConfigError("@mocked() is for functions; for a class of tests, subclass MockServerTestCase")

        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            with MockServer(*rules, **(options or {})) as server:
                return function(*args, mockserver=server, **named)

        @wraps(function)
        async def call_async(*args: Any, **named: Any) -> Any:
            with MockServer(*rules, **(options or {})) as server:
                return await function(*args, mockserver=server, **named)

        made: Any = call_async if inspect.iscoroutinefunction(function) else call
        made.__signature__ = _hide_parameter(inspect.signature(function))  # else pytest would look for a fixture
        return made  # type: ignore[no-any-return]

    return decorate


def _run_after(test: Callable[[], Any], after: Callable[[], None]) -> Callable[[], Any]:
    """Return a test that calls `after` at its end, unless it fails or skips."""

    @wraps(test)
    def call() -> Any:
        returned = test()
        after()
        return returned  # unittest warns if that is not None

    @wraps(test)
    async def call_async() -> None:
        await test()
        after()

    return call_async if inspect.iscoroutinefunction(test) else call


def _hide_parameter(signature: inspect.Signature) -> inspect.Signature:
    kept = [each for each in signature.parameters.values() if each.name != "mockserver"]
    return signature.replace(parameters=kept)
