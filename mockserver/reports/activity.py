"""What a test did with its server, and what follows from that: problems that fail it, remarks and hints that do not."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.reports.calls import ReceivedCall, was_used
from mockserver.reports.failures import (
    Budget,
    Problem,
    count_answers,
    explain_defects,
    explain_lost,
    explain_no_answer,
    explain_raised,
    explain_too_few_answers,
    explain_unanswerable,
    explain_unmatched,
    find_impossible_answers,
    find_never_reached,
    find_refused_histories,
)
from mockserver.rules.lint.remarks import Remark, find_repeated_calls
from mockserver.rules.load import Rule


class DeclaredRule(Struct, frozen=True):
    """A rule that a test declared at a place: None without an answer; `expected_calls`: as many as it must answer."""

    where: str
    rule: Rule | None
    expected_calls: int | None = None


class RaisedError(Struct, frozen=True):
    """What a reply function of the rule at a place raised, and the defect that its call has in the journal."""

    where: str
    error: Exception
    defect: str


class Activity(Struct, frozen=True):
    """What a test did with its server since it began.

    `rules` are all that are tried now, in order, with the declared ones. `failures` are what reply functions raised.
    `blocked` and `refused` are the connections and calls that were stopped, `unreachable` the rules that no request can
    reach. `lint` is the setting; `timed`: answers take time.
    """

    calls: Sequence[ReceivedCall]
    service_calls: Sequence[ReceivedCall]
    declared: Sequence[DeclaredRule]
    rules: Sequence[Rule]
    failures: Sequence[RaisedError]
    blocked: Sequence[Problem]
    refused: Sequence[Problem]
    unreachable: Sequence[Remark]
    budget: Budget
    lint: str
    timed: bool

    def find_problems(self) -> tuple[Problem, ...]:
        """List what fails the test: calls that are blocked, failed or unmatched, uncalled rules, a budget."""
        return (
            # first, as the cause of misses
            *(explain_no_answer(one.where) for one in self.declared if one.rule is None),
            *self.blocked,
            *self._explain_raised(),
            *self._explain_defects(),
            *explain_unmatched(self.calls, self.rules),
            *self._explain_too_few_answers(),
            *(find_impossible_answers(self.calls) if self.lint == "error" else ()),
            *self.refused,
            *self.budget.find_exceeded(self.calls),
        )

    def find_remarks(self) -> tuple[Problem, ...]:
        """List what is probably a mistake, but fails no test.

        Rules that no call reached or that hide others, answers that no model could give, histories that a live provider
        would refuse.
        """
        declared = [one.rule for one in self.declared if one.rule is not None]
        hides = not all("name" in rule.spec or rule.spec["when"] for rule in declared)
        hidden = tuple(find_never_reached(declared)) if hides else ()
        repeated = self._find_repeated_calls(() if hidden else declared)
        remarked = [call for call in self.calls if call.row.remarks]
        return (
            *(explain_lost(self.calls) if declared else ()),
            *hidden,
            *explain_unanswerable(repeated),
            *explain_unanswerable(self.unreachable),
            *(find_impossible_answers(remarked) if self.lint == "warn" else ()),  # with lint: error, they are problems
            *find_refused_histories(remarked),
        )

    def list_hints(self) -> Iterator[str]:
        """Yield why a test may fail though its rules answer: timing that tests ignore, a step that is repeated."""
        for one in self.declared:
            if one.rule is None:
                continue
            then: Mapping[str, Json] = one.rule.spec["then"]
            if "timing" in then and not self.timed:  # answers take no time in tests unless that is asked for
                yield f"{one.where}: its timing is ignored; set timing=True in the mark, or for the MockServer"
            answered = [call for call in self.calls if "steps" in then and was_used(one.rule, call)]
            turns = [call.asked.turn for call in answered if call.asked is not None]
            if len(turns) > len(set(turns)) == 1 and turns[0] + 1 < len(then["steps"]):
                yield (
                    f"{one.where}: {len(turns)} calls got step {turns[0] + 1}, as the number of assistant messages in a"
                    " request chooses its step; for one answer per call, declare a rule with times(1) for each"
                )

    def _explain_raised(self) -> Iterator[Problem]:
        """Yield the reply functions that raised, each error once."""
        failed: dict[tuple[str, str], list[Exception]] = {}
        for raised in self.failures:
            failed.setdefault((raised.where, repr(raised.error)), []).append(raised.error)
        for (where, _), errors in failed.items():
            yield explain_raised(where, errors)

    def _explain_defects(self) -> Iterator[Problem]:
        """Yield why rules, or mockserver itself, failed on calls, but for the functions that raised."""
        explained = {raised.defect for raised in self.failures}
        calls = (*self.calls, *self.service_calls)
        yield from explain_defects([call for call in calls if call.row.defect not in explained])

    def _explain_too_few_answers(self) -> Iterator[Problem]:
        """Yield the declared rules that did not answer as many calls as they were meant to."""
        for one in self.declared:
            if one.rule is not None and one.expected_calls and count_answers(one.rule, self.calls) < one.expected_calls:
                yield explain_too_few_answers(
                    one.rule, one.expected_calls, calls=self.calls, uncounted=self.service_calls
                )

    def _find_repeated_calls(self, declared: Sequence[Rule]) -> Iterator[Remark]:
        """Yield the rules for results of tools that never answered, as the rule before calls the tool again."""
        for remark in find_repeated_calls(declared):
            if not count_answers(remark.rule, self.calls):
                yield remark
        answered = [call.source for call in self.calls if call.source.startswith("rule ")]
        if len(set(answered)) == len(answered):  # no rule has answered again
            return
        own = [one.rule for one in self.declared]
        for remark in find_repeated_calls([rule for rule in self.rules if rule not in own]):
            has_repeated = remark.before is not None and count_answers(remark.before, self.calls) > 1
            if has_repeated and not count_answers(remark.rule, self.calls):
                yield remark
