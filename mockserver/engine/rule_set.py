"""Finds the rules that match a call, in the order in which they are tried."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.plan import Forward
from mockserver.core.state import Counters
from mockserver.engine.counters import ScenarioState
from mockserver.engine.offload import on_thread
from mockserver.rules.load import FOR_FEW_RULES, Rule, is_suited
from mockserver.rules.match.conditions import NO_GROUPS, Groups
from mockserver.rules.match.index import FewIndex, Index, JoinedIndex, RuleIndex

FEW_RULES = 8  # this many rules are tried without an index
MAX_AHEAD = 100  # rules that count and are matched before any of them is counted


class RuleSet(Struct, frozen=True, eq=False):
    """Rules in the order in which they are tried, and an index of their conditions.

    `counts_attempts`: a condition asks which attempt a call is. `forwards`: a rule passes calls on. `stubs`: a rule
    names a path, which may be one that no dialect knows.
    """

    rules: tuple[Rule, ...]
    index: Index
    counts_attempts: bool = False
    forwards: bool = False
    stubs: bool = False

    def put_first(self, rules: Sequence[Rule]) -> "RuleSet":
        """Return these rules and then its own, which are not indexed again: every test may put some first."""
        front = describe_rules(rules, FewIndex(len(rules)) if len(rules) <= FEW_RULES else index_conditions(rules))
        return RuleSet(
            rules=(*front.rules, *self.rules),
            index=JoinedIndex(front.index, len(rules), self.index),
            counts_attempts=front.counts_attempts or self.counts_attempts,
            forwards=front.forwards or self.forwards,
            stubs=front.stubs or self.stubs,
        )

    def find_forward(self, call: Call) -> Forward | None:
        """Return what passes a call on that no rule answers, if the first rule that would answer it does so."""
        for at in self.index.find_candidates(call):
            rule = self.rules[at]
            known = rule.then.known
            if known is not None and known.outcome is None:
                continue
            try:
                held = rule.when.check(call)
            except RuleError:
                return None
            if held:
                return known.outcome if known is not None and type(known.outcome) is Forward else None
        return None


def make_rule_set(rules: Sequence[Rule]) -> RuleSet:
    """Return rules with an index of their conditions."""
    return describe_rules(rules, index_conditions(rules))


def index_conditions(rules: Sequence[Rule]) -> RuleIndex:
    return RuleIndex([rule.when for rule in rules])


def describe_rules(rules: Sequence[Rule], index: Index) -> RuleSet:
    uses = frozenset[str]().union(*[rule.when.uses for rule in rules])
    return RuleSet(
        rules=tuple(rules),
        index=index,
        counts_attempts="attempt" in uses,
        forwards=any(map(forwards_calls, rules)),
        stubs="path" in uses,
    )


def forwards_calls(rule: Rule) -> bool:
    """Return whether a rule passes calls on: the provider may know what is unknown here."""
    known = rule.then.known
    return known is not None and type(known.outcome) is Forward


class RuleMatch(Struct, frozen=True):
    """A rule that matches and its groups, or why its condition fails; `is_open`: it answers however often it did."""

    rule: Rule
    groups: Groups = NO_GROUPS
    is_open: bool = True
    failure: RuleError | None = None


class RuleSearch(Struct, eq=False):
    """The search for the rules that match a call, one after the other, until one answers it.

    A `large` call is matched on a thread. If the previous response of a call is `lost`, only rules that match on it or
    pass the call on are found.
    """

    rule_set: RuleSet
    call: Call
    counters: Counters
    large: bool
    lost: bool
    _left: Iterator[int] | None = None  # the numbers of the rules that are not tried yet
    _ahead: list[RuleMatch] = []
    _scenario: ScenarioState | None = None

    async def find_next(self) -> RuleMatch | None:
        """Return the next rule that may answer, or whose condition fails; one that counts its answers is counted."""
        while True:
            if not self._ahead:
                self._ahead = await on_thread(self._look_ahead) if self.large else self._look_ahead()
                if not self._ahead:
                    return None
            at = 0 if self._ahead[0].is_open else await self._find_open()
            if at is None:
                self._ahead = []
            else:
                match = self._ahead[at]
                del self._ahead[: at + 1]
                return match

    def _look_ahead(self) -> list[RuleMatch]:
        """Return the next rules that match, up to the first that always answers: those before it count in one step.

        A rule whose condition fails is the last one.
        """
        call = self.call
        rules = self.rule_set.rules
        if self._left is None:
            self._left = iter(self.rule_set.index.find_candidates(call))
        found: list[RuleMatch] = []
        is_for_few = call.operation in FOR_FEW_RULES
        for at in self._left:
            rule = rules[at]
            if is_for_few and not is_suited(rule, call):
                continue
            if self.lost and "previous_response" not in rule.when.uses and not forwards_calls(rule):
                continue
            try:
                held = rule.when.check(call)
            except RuleError as error:
                found.append(RuleMatch(rule, failure=error))
                break
            if held:
                found.append(RuleMatch(rule, NO_GROUPS if held is True else held, not rule.counts))
                if not rule.counts or len(found) == MAX_AHEAD:
                    break
        return found

    async def _find_open(self) -> int | None:
        """Return the index of the first rule ahead that may answer; count those that are tried."""
        if self._scenario is None:
            self._scenario = ScenarioState(self.call.http.namespace, self.counters)
        last = len(self._ahead) - 1
        at = await self._scenario.find_open([each.rule for each in self._ahead if not each.is_open])
        return last if at is None and self._ahead[last].is_open else at
