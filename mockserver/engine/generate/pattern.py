"""Text that a regular expression describes, in bounded steps and the same under every hash seed."""

import re
import string
from collections.abc import Sequence
from itertools import chain
from typing import Any

from rstr.xeger import Xeger

from mockserver.core.seed import Random

_MOST_STEPS = 10_000  # characters and groups of one text
_MORE = 7  # repeats beyond the least where a pattern sets no bound
_LETTERS = string.ascii_letters + string.digits + "_- "


def matching(pattern: str, rng: Random) -> str | None:
    """A text for the pattern, to be held against it: look-arounds are not understood. None where it cannot be read."""
    try:
        return _Writer(rng).xeger(pattern)
    except (re.error, KeyError, IndexError, ValueError, OverflowError, RecursionError):
        return None


class _Writer(Xeger):
    """Xeger picks from sets, whose order differs from process to process, and repeats without a bound of its own."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)  # type: ignore[no-untyped-call, unused-ignore]
        self._steps = 0

    def _handle_state(self, state: Any) -> Any:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise OverflowError
        return super()._handle_state(state)

    def _handle_in(self, value: Any) -> Any:
        candidates = list(chain(*(self._handle_state(item) for item in value)))
        if candidates and candidates[0] is False:
            candidates = [letter for letter in _LETTERS if letter not in candidates[1:]]
        return self._random.choice(candidates)

    def _handle_repeat(self, start_range: int, end_range: int, value: Sequence[Any]) -> str:
        times = self._random.randint(start_range, min(end_range, start_range + _MORE))
        return "".join(self._handle_state(state) for _ in range(times) for state in value)
