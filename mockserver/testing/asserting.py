"""Assertions on the calls that came; each fails with the calls held against what was wanted."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Unpack

from mockserver.reports.came import Came
from mockserver.reports.expected import any_but, not_none, sequence, too_few
from mockserver.testing.fitting import wanted
from mockserver.testing.options import When

__tracebackhide__ = True  # pytest shows the line of the test instead


class Assertions:
    """What is wanted of a call is said as in `on(...)`; without it every call will do."""

    @abstractmethod
    def _came(self) -> tuple[Came, ...]:
        """The calls so far."""

    def assert_called(self, **when: Unpack[When]) -> None:
        """At least one call was so."""
        asked = wanted(when)
        came = self._came()
        if not any(asked.fits(call.asked) for call in came):
            raise AssertionError(too_few(came, asked, "at least 1"))

    def assert_called_once(self, **when: Unpack[When]) -> None:
        """Exactly one call was so; there may be others that were not."""
        self.assert_called_times(1, **when)

    def assert_called_times(self, number: int, /, **when: Unpack[When]) -> None:
        """Exactly so many calls were so."""
        asked, came = wanted(when), self._came()
        fitting = [call for call in came if asked.fits(call.asked)]
        if len(fitting) < number:
            raise AssertionError(too_few(came, asked, str(number)))
        if len(fitting) > number:
            raise AssertionError(any_but(fitting, asked, number))

    def assert_called_once_with(self, **when: Unpack[When]) -> None:
        """There was exactly one call, and it was so."""
        came = self._came()
        if len(came) > 1:
            raise AssertionError(any_but(came, wanted({}), 1))
        self.assert_called_times(1, **when)

    def assert_not_called(self, **when: Unpack[When]) -> None:
        """No call was so."""
        asked, came = wanted(when), self._came()
        fitting = [call for call in came if asked.fits(call.asked)]
        if fitting:
            raise AssertionError(not_none(fitting, asked))

    def assert_sequence(self, *steps: str | Mapping[str, Any]) -> None:
        """The calls were these and no others, in this order; each a table as for `on`, or the last user's text."""
        asked = [wanted({"last_user": step} if isinstance(step, str) else step) for step in steps]
        came = self._came()
        fits = len(came) == len(asked) and all(one.fits(call.asked) for one, call in zip(asked, came, strict=True))
        if not fits:
            raise AssertionError(sequence(came, asked))
