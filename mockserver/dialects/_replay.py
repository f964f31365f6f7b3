"""Replay rules: the changed histories that a live provider refuses, as one table per dialect.

A rule is in a table only if it is certain. A rule that reads `call.body` sees the body as sent, which may contain
anything; one that reads `call.raw` sees what its dialect could read, whose shape is certain only if `call.is_checked`.
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
    """A rule for models whose names match `models` (None: all models). `check` gets a call and its history.

    `modes` are the validation modes in which it applies: the others refuse such histories already, or accept them.
    """

    check: Callable[[Call, Any], Problems]
    models: re.Pattern[str] | None = None
    modes: Sequence[Validation] = tuple(Validation)

    def applies(self, call: Call, validation: Validation) -> bool:
        """Return whether the rule is for this mode and the model of this call."""
        return validation in self.modes and (self.models is None or self.models.match(call.model) is not None)


def make_history_check(read: Callable[[Call], Any], *rules: ReplayRule) -> History:
    """Return a function that finds the problems of a call: the first of each rule, in their order.

    `read` returns the history as the rules see it, or None if nothing in it can be wrong, as in most.
    """

    def find(call: Call, validation: Validation) -> Sequence[HistoryProblem]:
        history = read(call)
        if history is None:
            return ()
        found = (rule.check(call, history) for rule in rules if rule.applies(call, validation))
        return [problem for problems in found for problem in islice(problems, 1)]

    return find


def refuse_history(history: History, call: Call) -> None:
    """Raise the failure of a history's first problem, as the live service does, whatever the setting `replay` says."""
    for problem in history(call, Validation.LIVE):
        raise problem.failure


UNLESS_LIVE = (Validation.OFF, Validation.PUBLISHED)
IF_OFF = (Validation.OFF,)
# For bounds that `live` checks, and that the servers which `off` is for, as they are merely compatible, do not have.
IF_PUBLISHED = (Validation.PUBLISHED,)
