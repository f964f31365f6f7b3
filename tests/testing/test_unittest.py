"""A server in unittest: classes with one, functions that are called with one."""

import io
import unittest
from pathlib import Path
from typing import ClassVar
from unittest import IsolatedAsyncioTestCase

import pytest
from openai import AsyncOpenAI, OpenAI

from mockserver.config.errors import ConfigError
from mockserver.testing import MockServer, MockServerTestCase, mocked
from mockserver.testing.options import ServerOptions

HELLO = [{"role": "user", "content": "hello"}]


def said(client: OpenAI) -> str | None:
    return client.chat.completions.create(model="gpt-4o", messages=HELLO).choices[0].message.content


class Sync(MockServerTestCase):
    __test__ = False  # one of its tests is to fail

    def test_answers(self) -> None:
        self.mockserver.on(last_user="hello").reply("Hi!")
        with OpenAI() as client:
            assert said(client) == "Hi!"

    def test_begins_anew(self) -> None:
        assert len(self.mockserver.calls) == 0

    def test_unmet(self) -> None:
        self.mockserver.on().reply("Hi!").times(2)
        with OpenAI() as client:
            said(client)


class Ended(MockServerTestCase):
    """Tests that do not come to their end: what they have not asked yet is no failure of its own."""

    __test__ = False

    @classmethod
    def setUpClass(cls) -> None: ...  # as anybody may write it: nothing of ours is called

    def setUp(self) -> None:
        self.mockserver.on().reply("Hi!").times(1)

    def test_skips(self) -> None:
        raise unittest.SkipTest("later")

    @unittest.expectedFailure
    def test_fails_as_expected(self) -> None:
        self.fail()

    @unittest.expectedFailure
    def test_is_to_fail_for_its_server(self) -> None: ...

    def test_fails_by_itself(self) -> None:
        self.fail("by itself")


class Awaited(MockServerTestCase, IsolatedAsyncioTestCase):
    __test__ = False
    mockserver_options: ClassVar[ServerOptions] = {"unmatched": "generate"}

    async def test_answers(self) -> None:
        async with AsyncOpenAI() as client:
            answer = await client.chat.completions.create(model="gpt-4o", messages=HELLO)
        assert answer.choices[0].message.content

    @unittest.expectedFailure
    async def test_unmet(self) -> None:
        self.mockserver.on().reply("Hi!").times(1)


def ran(case: type[unittest.TestCase]) -> unittest.TestResult:
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    return unittest.TextTestRunner(stream=io.StringIO()).run(suite)


def test_a_class_has_one_server_that_every_test_finds_empty() -> None:
    result = ran(Sync)
    assert (result.testsRun, result.errors) == (3, [])
    [(test, text)] = result.failures
    assert test.id().endswith("test_unmet")
    assert "answered 1 of 2 expected calls" in text


def test_only_a_test_that_passes_fails_for_its_server() -> None:
    result = ran(Ended)
    assert (result.testsRun, result.errors) == (4, [])
    assert (len(result.skipped), len(result.expectedFailures)) == (1, 2)
    [(_, text)] = result.failures
    assert "by itself" in text


def test_a_class_that_is_skipped_has_no_server() -> None:
    skipped = type("Skipped", (Sync,), {"__unittest_skip__": True})  # as its decorator does
    assert len(ran(skipped).skipped) == 3
    assert "mockserver" not in vars(skipped)


def test_without_collecting_what_goes_wrong() -> None:
    Sync("test_answers").debug()
    with pytest.raises(AssertionError, match="answered 1 of 2 expected calls"):
        Sync("test_unmet").debug()
    Sync.doClassCleanups()


def test_a_mistake_is_told_by_each_test_and_ends_none_but_them() -> None:
    class Mistaken(MockServerTestCase):
        mockserver_rules = "there-is-none.yaml"

        @classmethod
        def setUpClass(cls) -> None: ...

        def test_one(self) -> None: ...
        def test_two(self) -> None: ...

    result = ran(Mistaken)
    assert result.testsRun == 2
    assert ["there-is-none.yaml: cannot be read" in text for _, text in result.errors] == [True, True]


def test_tests_that_are_awaited() -> None:
    result = ran(Awaited)
    assert result.wasSuccessful()
    assert len(result.expectedFailures) == 1


def test_a_function_gets_a_server(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{then: {text: Hello there.}}]")

    @mocked(rules, options={"seed": 3})
    def greet(client: type[OpenAI], mockserver: MockServer) -> str | None:
        assert len(mockserver.calls) == 0
        with client() as made:
            return said(made)

    assert greet(OpenAI) == "Hello there."


async def test_a_function_that_is_awaited_gets_one_too() -> None:
    @mocked()
    async def greet(mockserver: MockServer) -> int:
        mockserver.on().reply("Hi!").times(1)
        return 1

    with pytest.raises(AssertionError, match="answered 0 of 1 expected call"):
        await greet()


def test_what_cannot_be_decorated() -> None:
    with pytest.raises(ConfigError, match=r"write @mocked\(\)"):
        mocked(ran)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="for a class of tests, subclass MockServerTestCase"):
        mocked()(Sync)
