"""Replay rules: the changed histories that a live provider refuses, as one table of each dialect.

A rule is in a table only if it is sure. It sees what was parsed, which may hold anything that no check has refused.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.history import HistoryProblem
from mockserver.core.validation import Validation

Problems = Iterator[HistoryProblem]
History = Callable[[Call, Validation], Sequence[HistoryProblem]]


class ReplayRule(Struct, frozen=True):
    """A rule of models whose names match `models` (none: of all). `check` gets a call and its history.

    `refused_from`: the mode of validation that refuses the same; the rule is for the looser ones.
    """

    check: Callable[[Call, Any], Problems]
    models: re.Pattern[str] | None = None
    refused_from: Validation | None = None

    def applies(self, call: Call, validation: Validation) -> bool:
        if self.refused_from is not None and _MODES.index(validation) >= _MODES.index(self.refused_from):
            return False
        return self.models is None or self.models.match(call.model) is not None


def history_of(read: Callable[[Call], Any], *rules: ReplayRule) -> History:
    """Return what finds the problems of a call: the first that each rule finds, in the order of the rules.

    `read` returns the history as the rules look at it, or None if it holds nothing that could be wrong, as most do.
    """

    def find(call: Call, validation: Validation) -> Sequence[HistoryProblem]:
        history = read(call)
        if history is None:
            return ()
        found = (rule.check(call, history) for rule in rules if rule.applies(call, validation))
        return [problem for problems in found for problem in islice(problems, 1)]

    return find


def is_whole(call: Call) -> bool:
    """Whether nothing of the body was left out because its dialect would refuse it."""
    return call.sent is None or call.sent == call.raw


_MODES = list(Validation)  # from the loosest to the closest
