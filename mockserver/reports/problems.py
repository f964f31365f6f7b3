"""What a test should fail for, each in one line and in full."""

import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mockserver.core.plan import Usage
from mockserver.engine.nearest import lines, nearest, report
from mockserver.engine.rules import Rule, answering
from mockserver.reports.expected import Came, line


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong: `headline` in one line, `text` in full, beginning with that line."""

    headline: str
    text: str


class Spent(Came, Protocol):
    """A call, and the tokens that it took."""

    @property
    def usage(self) -> Usage | None:
        """The tokens of the answer, where it has such."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many calls and tokens a test may take; None: any number."""

    max_calls: int | None = None
    max_tokens: int | None = None

    def passed(self, calls: Sequence[Spent]) -> Iterator[Problem]:
        """Which bounds the calls went over, and with which call."""
        if self.max_calls is not None and len(calls) > self.max_calls:
            over = calls[self.max_calls]
            yield _problem(f"{len(calls)} calls came, {self.max_calls} may; one too many: {line(over)}")
        spent = 0
        for call in calls if self.max_tokens is not None else ():
            spent += 0 if call.usage is None else call.usage.total
            if spent > (self.max_tokens or 0):
                total = sum(0 if each.usage is None else each.usage.total for each in calls)
                yield _problem(f"{total} tokens were used, {self.max_tokens} may be; passed by {line(call)}")
                return


def unmatched(call: Came, rules: Sequence[Rule]) -> Problem:
    """A call that no rule answered: the nearest rules, and one that would answer it."""
    head = f"no rule answered {line(call)}"
    near = "" if call.asked is None else report(nearest(answering(rules), call.asked))
    return _problem(head, near)


def unmet(rule: Rule, wanted: int, came: int, calls: Sequence[Came]) -> Problem:
    """A rule that answered fewer calls than it was to."""
    head = f"the rule of {rule.where} was to answer {wanted} call{'s' * (wanted != 1)} and answered {came}"
    others = [call for call in calls if call.asked is not None and call.source != rule.source][:3]
    told = []
    for call in others:
        told.append(f"  {line(call)}")
        if call.asked is not None:
            told += [f"    {each}" for each in lines(rule.when.findings(call.asked))]
    return _problem(head, "\n".join(told))


def unanswered(where: str) -> Problem:
    """A rule that was declared without an answer."""
    return _problem(f"{where}: this on(...) says no answer; add .reply(...), .fail(...) or .then({{...}})")


def failing(where: str, error: Exception) -> Problem:
    """A function of a rule that failed."""
    head = f"{where}: the function of this rule failed: {type(error).__name__}: {error}"
    return _problem(head, "".join(traceback.format_exception(error)).rstrip())


def _problem(headline: str, more: str = "") -> Problem:
    return Problem(headline, f"{headline}\n{more}" if more else headline)
