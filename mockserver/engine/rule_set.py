"""Finds the rules that match a call, in the order in which they are tried."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from operator import attrgetter

from msgspec import Struct

from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.plan import Forward
from mockserver.rules.load import FOR_FEW_RULES, Rule, is_suited
from mockserver.rules.match.conditions import NO_GROUPS, Groups
from mockserver.rules.match.index import FewIndex, Index, JoinedIndex, RuleIndex

FEW_RULES = 8  # this many rules are tried without an index


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
        front = make_rule_set(rules, indexed=len(rules) > FEW_RULES)
        return RuleSet(
            rules=(*front.rules, *self.rules),
            index=JoinedIndex(front.index, self.index),
            counts_attempts=front.counts_attempts or self.counts_attempts,
            forwards=front.forwards or self.forwards,
            stubs=front.stubs or self.stubs,
        )

    def find_matches(self, call: Call, *, lost: bool = False) -> "Iterator[RuleMatch]":
        """Yield the rules that match a call, in order, up to the first that surely answers, or whose condition fails.

        If the previous response of a call is `lost`, only rules that match on it or pass the call on are found.
        """
        rules = self.rules
        left = self.index.left
        candidates = self.index.find_candidates(call)
        if lost or call.operation in FOR_FEW_RULES:
            candidates = [at for at in candidates if _may_answer(rules[at], call, lost=lost)]
        for at in candidates:
            try:
                held = left[at].check(call)
            except RuleError as error:
                yield RuleMatch(rules[at], failure=error)
                return
            if held:
                rule = rules[at]
                yield RuleMatch(rule, NO_GROUPS if held is True else held, rule.counts)
                if not rule.counts and all(rule.then.answers):
                    return

    def find_forward(self, call: Call) -> Forward | None:
        """Return the Forward of the first rule that would answer a call, if that rule passes it on."""
        for match in self.find_matches(call):
            known = match.rule.then.known
            if known is not None and known.outcome is None:  # it changes only how the answer goes out
                continue
            if match.failure is not None or known is None:
                return None
            return known.outcome if type(known.outcome) is Forward else None
        return None


def make_rule_set(rules: Sequence[Rule], *, indexed: bool = True) -> RuleSet:
    """Return rules with an index of their conditions; without one, each is tried."""
    conditions = [rule.when for rule in rules]
    index = RuleIndex(conditions) if indexed else FewIndex(conditions)
    uses = frozenset[str]().union(*[rule.when.uses for rule in rules])
    return RuleSet(
        rules=tuple(rules),
        index=index,
        counts_attempts="attempt" in uses,
        forwards=any(map(forwards_calls, rules)),
        stubs="path" in uses,
    )


def forwards_calls(rule: Rule) -> bool:
    """Return whether a rule passes calls on to a provider, which may know what is unknown here."""
    known = rule.then.known
    return known is not None and type(known.outcome) is Forward


def _may_answer(rule: Rule, call: Call, *, lost: bool) -> bool:
    """Return whether a rule may answer a call of an operation that few rules answer, or one that is `lost`."""
    if call.operation in FOR_FEW_RULES and not is_suited(rule, call):
        return False
    return not lost or "previous_response" in rule.when.uses or forwards_calls(rule)


class RuleMatch(Struct, frozen=True):
    """A rule that matches a call and the groups of its patterns, or why its condition fails.

    It `counts` if the rule answers only as its `times` and `state` allow, which is still to be seen.
    """

    rule: Rule
    groups: Groups = NO_GROUPS
    counts: bool = False
    failure: RuleError | None = None


def list_counting(matches: Iterator[RuleMatch]) -> Iterator[Rule]:
    """Yield the rules that count, up to the first match that does not."""
    return (match.rule for match in takewhile(attrgetter("counts"), matches))
