"""For unittest: a test case with a server of its own, and functions that are called with one."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from unittest import TestCase, TestResult

from mockserver.config.errors import ConfigError, MockserverError
from mockserver.testing.options import Options
from mockserver.testing.server import MockServer
from mockserver.testing.setup import warn_of

__tracebackhide__ = True  # pytest shows the line of the test instead

T = TypeVar("T", bound=Callable[..., Any])
Files = str | Path | tuple[str | Path, ...]


class MockServerTestCase(TestCase):
    """A test case whose class has a server: `self.mockserver`, cleared for each test, which fails for its problems.

    `mockserver_rules` (a file or several) and `mockserver_options` say what it is like. It asks nothing of `setUp` and
    its kin, which tests may have without calling ours. To be awaited: (MockServerTestCase, IsolatedAsyncioTestCase).
    """

    mockserver: ClassVar[MockServer]
    mockserver_rules: ClassVar[Files] = ()
    mockserver_options: ClassVar[Options] = {}

    @classmethod
    def setUpClass(cls) -> None:
        """Start the server, for what a class sets up itself. Raises MockserverError."""
        super().setUpClass()
        cls._serve()

    def run(self, result: TestResult | None = None) -> TestResult | None:
        """Run the test, to whose server clients are led; come to its end, it fails for what that complains of."""
        if getattr(type(self), "__unittest_skip__", False):
            return super().run(result)  # unittest neither sets up nor cleans up its class
        with ExitStack() as led:
            try:
                led.enter_context(self._led())
            except MockserverError as error:
                vars(self)["setUp"] = partial(_raise, error)  # it is this test that cannot run, not all of them
            return super().run(result)

    def debug(self) -> None:
        """The same, without collecting what goes wrong. Raises MockserverError."""
        with self._led():
            super().debug()

    @classmethod
    def _serve(cls) -> MockServer:
        """The server of this class, which runs until the class is done."""
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
    def _led(self) -> Iterator[None]:
        server = self._serve()
        server.reset()
        name, own = self._testMethodName, vars(self)
        before = own.get(name)  # pytest has put one there, and takes it away itself
        own[name] = _followed(getattr(self, name), self._look_back)
        try:
            with server.environ():
                yield
        finally:
            del own[name]
            if before is not None:
                own[name] = before

    def _look_back(self) -> None:
        self.mockserver.verify()
        warn_of(self.mockserver.close_open())


def _raise(error: Exception) -> None:
    raise error


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
    def call() -> Any:
        returned = test()
        after()
        return returned  # which unittest warns of

    @wraps(test)
    async def awaited() -> None:
        await test()
        after()

    return awaited if inspect.iscoroutinefunction(test) else call


def _without(signature: inspect.Signature) -> inspect.Signature:
    kept = [each for each in signature.parameters.values() if each.name != "mockserver"]
    return signature.replace(parameters=kept)
