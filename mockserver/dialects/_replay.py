"""Replay rules: the changed histories that a live provider refuses, as one table of each dialect.

A rule is in a table only if it is sure. A rule of `call.body` sees what was sent, which may hold anything; one of
`call.raw` what its dialect could read, whose shape is sure only if `call.is_checked`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.validation import HistoryProblem, Validation

Problems = Iterator[HistoryProblem]
History = Callable[[Call, Validation], Sequence[HistoryProblem]]


class ReplayRule(Struct, frozen=True):
    """A rule of models whose names match `models` (none: of all). `check` gets a call and its history.

    `modes` are those of validation in which it is applied: the others refuse the same, or want to know nothing of it.
    """

    check: Callable[[Call, Any], Problems]
    models: re.Pattern[str] | None = None
    modes: Sequence[Validation] = tuple(Validation)

    def applies(self, call: Call, validation: Validation) -> bool:
        return validation in self.modes and (self.models is None or self.models.match(call.model) is not None)


def make_history_check(read: Callable[[Call], Any], *rules: ReplayRule) -> History:
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


UNLESS_LIVE = (Validation.OFF, Validation.PUBLISHED)
IF_OFF = (Validation.OFF,)
# For bounds that `live` checks, and that the servers which `off` is for, as they are merely compatible, do not have.
IF_PUBLISHED = (Validation.PUBLISHED,)
