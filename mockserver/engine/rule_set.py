"""Finds the rules that match a call, in the order in which they are tried."""

from collections.abc import Iterator, Sequence
from itertools import chain

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

    def find_matches(self, call: Call, *, lost: bool = False) -> "Iterator[RuleMatch]":
        """Yield the rules that match a call, in order; one whose condition fails is the last.

        If the previous response of a call is `lost`, only rules that match on it or pass the call on are found.
        """
        rules = self.rules
        candidates = self.index.find_candidates(call)
        if call.operation in FOR_FEW_RULES:
            candidates = [at for at in candidates if is_suited(rules[at], call)]
        if lost:
            candidates = [at for at in candidates if _answers_lost(rules[at])]
        for at in candidates:
            rule = rules[at]
            try:
                held = rule.when.check(call)
            except RuleError as error:
                yield RuleMatch(rule, failure=error)
                return
            if held:
                yield RuleMatch(rule, NO_GROUPS if held is True else held)

    def find_forward(self, call: Call) -> Forward | None:
        """Return what passes a call on that no rule answers, if the first rule that would answer it does so."""
        for match in self.find_matches(call):
            known = match.rule.then.known
            if match.failure is not None or known is None:
                return None
            if known.outcome is not None:  # else it changes only how the answer goes out
                return known.outcome if type(known.outcome) is Forward else None
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


def _answers_lost(rule: Rule) -> bool:
    """Whether a rule may answer a call whose previous response is unknown here."""
    return "previous_response" in rule.when.uses or forwards_calls(rule)


class RuleMatch(Struct, frozen=True):
    """A rule that matches a call and the groups of its patterns, or why its condition fails."""

    rule: Rule
    groups: Groups = NO_GROUPS
    failure: RuleError | None = None

    @property
    def counts(self) -> bool:
        """Return whether the rule answers only some of the calls that it matches."""
        return self.failure is None and self.rule.counts


class RuleSearch:
    """The search for the rules that match a call, one after the other, until one answers it.

    A `large` call is matched on a thread. `lost` is that of `RuleSet.find_matches`.
    """

    def __init__(self, rule_set: RuleSet, call: Call, counters: Counters, *, large: bool, lost: bool) -> None:
        self._matches = rule_set.find_matches(call, lost=lost)
        self._scenario = ScenarioState(call.http.namespace, counters)
        self._large = large

    async def find_next(self) -> RuleMatch | None:
        """Return the next match that may answer, or whose condition fails. One that counts its answers is counted."""
        while True:
            match = await on_thread(next, self._matches, None) if self._large else next(self._matches, None)
            if match is None or not match.counts:
                return match
            ahead = await on_thread(self._look_ahead, match) if self._large else self._look_ahead(match)
            at = await self._find_open(ahead)
            if at is not None:
                self._matches = chain(ahead[at + 1 :], self._matches)
                return ahead[at]

    def _look_ahead(self, first: RuleMatch) -> list[RuleMatch]:
        """Return matches from this one on, up to the first that answers however often it did: all count in one step."""
        ahead = [first]
        for match in self._matches:
            ahead.append(match)
            if not match.counts or len(ahead) == MAX_AHEAD:
                break
        return ahead

    async def _find_open(self, ahead: Sequence[RuleMatch]) -> int | None:
        """Return the index of the first match ahead that may answer; count those that are tried."""
        at = await self._scenario.find_open([match.rule for match in ahead if match.counts])
        last = len(ahead) - 1
        return last if at is None and not ahead[last].counts else at
