"""The calls of a test as a sequence, and assertions on them."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from re import Pattern
from typing import Any, Unpack, overload

from msgspec.structs import replace

from mockserver.config.errors import ConfigError, Mistake
from mockserver.config.nearest_names import NamesNearest
from mockserver.config.source import Document
from mockserver.core.call import Call
from mockserver.core.row import Row
from mockserver.engine.counters import Attempts
from mockserver.reports.calls import ReceivedCall, list_calls, write_snapshot
from mockserver.reports.failures import Expectation, explain_sequence, explain_too_few, explain_too_many
from mockserver.rules.match.parse import compile_when
from mockserver.testing.callers import find_caller
from mockserver.testing.options import When, merge_text

__tracebackhide__ = True  # pytest shows the line of the test instead


def compile_expectation(when: Mapping[str, Any], text: Sequence[str | Pattern[str]] = ()) -> Expectation:
    """Return the keywords, and the text, of `on(...)` as a condition. Raises MockserverError with the line."""
    place = find_caller()
    spec = Document.from_place(merge_text(text, when), place).data
    mistakes = list[Mistake]()
    condition = compile_when(spec, lambda message, path: mistakes.append(Mistake(message, place)))
    if mistakes:
        raise ConfigError(*mistakes)
    return Expectation(condition, spec)


class Assertions(NamesNearest):
    """Assertions on calls, with the same text and keywords as `on(...)`; without any, every call matches."""

    @abstractmethod
    def _list_received(self) -> "Calls": ...

    def assert_called(self, *text: str | Pattern[str], **when: Unpack[When]) -> None:
        """Assert that at least one call matches."""
        expected = compile_expectation(when, text)
        calls = self._list_received()
        if not _select_matching(calls, expected):
            raise AssertionError(explain_too_few(calls, expected, number="at least 1", among=calls.among))

    def assert_called_once(self, *text: str | Pattern[str], **when: Unpack[When]) -> None:
        """Assert that exactly one call matches; there can be others that don't."""
        self.assert_called_times(1, *text, **when)

    def assert_called_times(self, number: int, /, *text: str | Pattern[str], **when: Unpack[When]) -> None:
        """Assert that exactly this number of calls matches."""
        if not isinstance(number, int):
            where = find_caller().where
            raise ConfigError(
                f'{where}: assert_called_times takes a whole number first, not {number!r}; write (2, "*text*")'
            )
        expected = compile_expectation(when, text)
        calls = self._list_received()
        found = _select_matching(calls, expected)
        if len(found) < number:
            raise AssertionError(explain_too_few(calls, expected, number=str(number), among=calls.among))
        if len(found) > number:
            raise AssertionError(explain_too_many(found, expected, number))

    def assert_called_once_with(self, *text: str | Pattern[str], **when: Unpack[When]) -> None:
        """Assert that there was exactly one call, and that it matches."""
        calls = self._list_received()
        if len(calls) > 1:
            raise AssertionError(explain_too_many(calls, compile_expectation({}), 1))
        self.assert_called_times(1, *text, **when)

    def assert_not_called(self, *text: str | Pattern[str], **when: Unpack[When]) -> None:
        """Assert that no call matches."""
        expected = compile_expectation(when, text)
        if found := _select_matching(self._list_received(), expected):
            raise AssertionError(explain_too_many(found, expected, 0))

    def assert_sequence(self, *steps: str | Mapping[str, Any]) -> None:
        """Assert that the calls match these steps, in order; a step is a table like `on`'s keywords.

        A text is short for `{"last_user": text}`.
        """
        expected = [compile_expectation({"last_user": step} if isinstance(step, str) else step) for step in steps]
        calls = self._list_received()
        matches = [step.matches(call) for step, call in zip(expected, calls, strict=False)]
        if len(calls) != len(expected) or not all(matches):
            raise AssertionError(explain_sequence(calls, expected))


def _select_matching(calls: Sequence[ReceivedCall], expected: Expectation) -> list[ReceivedCall]:
    return [call for call in calls if expected.matches(call)]


class Calls(Assertions, Sequence[ReceivedCall]):
    """The received calls in order of arrival."""

    def __init__(self, calls: Iterable[ReceivedCall], among: "Sequence[ReceivedCall]" = ()) -> None:
        self._calls = tuple(calls)
        self.among = among

    @classmethod
    def from_rows(
        cls, rows: Sequence[Row], *, service: bool = False, recall: Callable[[Call], Call] | None = None
    ) -> "Calls":
        """Return the calls of a journal's rows: those that count, or those that service rules answered.

        `recall` returns a request after the conversation that it continues.
        """
        attempts = Attempts()
        found = list[ReceivedCall]()
        rows = [row for row in rows if row.is_service is service]
        attempts.update(rows)
        for row in rows:
            asked = row.call and _number_attempt(row.call, attempts.found[row.seq].number)
            goes_on = asked is not None and (asked.previous_response_id is not None or asked.references is not None)
            found.append(ReceivedCall(row, asked, recall(asked) if asked and goes_on and recall else None))
        return cls(found)

    @overload
    def __getitem__(self, at: int) -> ReceivedCall: ...
    @overload
    def __getitem__(self, at: slice) -> "Calls": ...
    def __getitem__(self, at: int | slice) -> "ReceivedCall | Calls":
        if isinstance(at, slice):
            return self._select(self._calls[at])
        try:
            return self._calls[at]
        except IndexError:
            raise IndexError(f"there is no call [{at}]; {list_calls(self._calls, self.among)}") from None

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[ReceivedCall]:
        return iter(self._calls)

    def __repr__(self) -> str:
        return repr(list(self._calls)) if self._calls else "<no calls>"

    def of(self, fits: Callable[[ReceivedCall], bool]) -> "Calls":
        """Return the calls for which a function returns true."""
        return self._select(filter(fits, self._calls))

    def where(self, *text: str | Pattern[str], **when: Unpack[When]) -> "Calls":
        """Return the calls that match a text and keywords, as in `on(...)`."""
        return self._select(_select_matching(self._calls, compile_expectation(when, text)))

    def snapshot(self) -> str:
        """Return the requests as a stable text for approval tests; ids that vary are numbered."""
        return write_snapshot(call.asked for call in self._calls if call.asked is not None)

    def _list_received(self) -> "Calls":
        return self

    def _select(self, calls: Iterable[ReceivedCall]) -> "Calls":
        return Calls(calls, self.among or self._calls)


def _number_attempt(call: Call, attempt: int) -> Call:
    """Return the request with its attempt, which the server counts only if a rule needs it."""
    return call if call.attempt == attempt else replace(call, attempt=attempt)
