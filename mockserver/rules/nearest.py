"""Near misses: the rules nearest to an unmatched call, and the report that explains them.

Texts of the request are cut and escaped, so that no request can add lines to a report.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nlargest
from itertools import islice

from msgspec import Struct

from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.state import START, STATE, name_times_counter
from mockserver.core.text import count_noun, join_to_line, show_value
from mockserver.rules.load import ONLY_STUBS, Rule, select_answering
from mockserver.rules.match.conditions import Condition, ConditionResult, measure_nearness

MAX_LINES = 12  # results shown of one rule
_POOL = 24  # rules whose texts are compared in detail
_COMPARED = 200  # characters compared of each text
_EFFORT = 20_000_000  # characters searched at most: a huge request is compared with fewer rules
_WORD = re.compile(r"\w+")


class NearMiss(Struct, frozen=True):
    """A rule near to a call, and the results of its conditions."""

    rule: Rule
    results: tuple[ConditionResult, ...]

    @property
    def held(self) -> int:
        """Return how many conditions hold."""
        return sum(result.ok for result in self.results)

    def describe_verdict(self, closed: str) -> str:
        """Describe how many conditions hold; if all do, why the rule does not answer (`closed`)."""
        total = len(self.results)
        if self.held == total:
            return f"matches, but {closed}"
        return f"{self.held} of {count_noun(total, 'condition')} hold{'s' * (total == 1)}"

    def render(self, closed: str) -> Iterator[str]:
        """Render the verdict, and one line for each condition; if there are very many, failed conditions come first."""
        yield f"  {join_to_line(self.rule.where)}{self.rule.quoted_name}: {self.describe_verdict(closed)}"
        shown_results = self.results
        if len(shown_results) > MAX_LINES:
            shown_results = tuple(sorted(shown_results, key=lambda result: result.ok)[:MAX_LINES])
        for line in render_results(shown_results):
            yield f"    {line}"
        if len(self.results) > MAX_LINES:
            yield f"    ... and {len(self.results) - MAX_LINES} more"


def find_nearest(rules: Sequence[Rule], call: Call, *, limit: int = 3) -> tuple[NearMiss, ...]:
    """Return the rules with the greatest share of conditions that hold; ties go to the closest texts."""
    letters = 1_000 + sum(len(message.text) for message in call.messages)
    looked_at = max(limit, _EFFORT // letters)
    shares = [(measure_nearness(rule.when, call), -row) for row, rule in enumerate(islice(rules, looked_at))]
    worst = min(nlargest(limit, shares), default=(0.0, 0))[0]
    ties = [entry for entry in shares if entry[0] >= worst]
    if len(ties) > _POOL:
        words = cache(_split_words)  # of the request: many rules read the same few texts
        ties = nlargest(
            _POOL, ties, key=lambda tie: (tie[0], _measure_shared_words(rules[-tie[1]].when, call, words), tie[1])
        )
    ranked = [(share, row, rules[-row].when.explain(call)) for share, row in ties]
    best = nlargest(limit, ranked, key=lambda entry: (entry[0], measure_closeness(entry[2]), entry[1]))
    return tuple(NearMiss(rules[-row], results) for _, row, results in best)


def find_unmatched(rules: Sequence[Rule], call: Call) -> tuple[Call, ...]:
    """Return the requests of a batch that no rule matches; return any other call as it is."""
    parts = (part for part in call.batch if isinstance(part, Call))
    return tuple(part for part in parts if not any(_holds(rule, part) for rule in select_answering(rules, part))) or (
        call,
    )


def _holds(rule: Rule, call: Call) -> bool:
    try:
        return rule.when.holds(call) is not None
    except RuleError:  # a pattern that takes too long
        return False


def explain_miss(near: Sequence[NearMiss], entries: Mapping[str, str] | None = None) -> str:
    """Explain why no rule answers; `entries` are the counters and the state of the namespace, if they are known."""
    if not near:
        return "no rule answers this request: there are no rules that answer"
    lines = [line for miss in near for line in miss.render(explain_closed(miss.rule, entries))]
    return "\n".join(("no rule answers this request; the nearest:", *lines))


def explain_unmatched(rules: Sequence[Rule], call: Call, entries: Mapping[str, str]) -> str:
    """Explain why none of the rules answers a call; `entries` are the counters of its namespace."""
    return explain_miss(find_nearest(select_answering(rules, call), call), entries)


def explain_no_stub(rules: Sequence[Rule], call: Call, entries: Mapping[str, str]) -> str | None:
    """Explain why none of the rules answers at a path that no dialect knows; None if none is for that path."""
    named = [rule for rule in rules if "path" in rule.when.uses and any(rule.then.answers)]
    unfit = next((rule for rule in named if not rule.stubs and measure_nearness(rule.when, call) == 1), None)
    if unfit is not None:
        return f"{unfit.where}{unfit.quoted_name} matches, but {ONLY_STUBS}"
    near = find_nearest(select_answering(rules, call), call, limit=_POOL)
    closest = sorted(near, key=_misses_path)[:3]
    return explain_miss([each for each in closest if each.held] or closest[:1], entries) if closest else None


def _misses_path(near: NearMiss) -> bool:
    return not any(result.ok for result in near.results if result.field.startswith("path"))


def render_results(results: Iterable[ConditionResult]) -> Iterator[str]:
    """Render one line per result: `ok    model equals "gpt-4o"`, or `MISS  model equals "gpt-4o": got "o3"`."""
    for result in results:
        wanted = f"{join_to_line(result.field)} {result.predicate} {show_value(result.expected)}"
        if result.ok:
            yield f"ok    {wanted}"
        else:
            elsewhere = f"; the request has {join_to_line(result.elsewhere)}" if result.elsewhere else ""
            yield f"MISS  {wanted}: got {'nothing' if result.actual is None else show_value(result.actual)}{elsewhere}"


def explain_closed(rule: Rule, entries: Mapping[str, str] | None = None) -> str:
    """Explain why a matching rule does not answer, or might not if the `entries` of the namespace are unknown."""
    reasons: list[str] = []
    if rule.times is not None and (entries is None or int(entries.get(name_times_counter(rule.name), 0)) >= rule.times):
        reasons.append(f"it is used up: it has answered its {count_noun(rule.times, 'call')} in this namespace")
    if rule.state is not None and (entries is None or entries.get(STATE, START) != rule.state.is_):
        state = "" if entries is None else f"{show_value(entries.get(STATE, START))}, "
        reasons.append(f"the state of this namespace is {state}not {show_value(rule.state.is_)}")
    return (" or " if entries is None else " and ").join(reasons) or "it was not tried"


def _measure_shared_words(condition: Condition, call: Call, words: Callable[[str], frozenset[str]]) -> float:
    """Return the share of expected words in the request; for several texts, the lowest. Rough but fast."""
    least = 1.0
    for leaf in condition.leaves:
        if isinstance(leaf.expected, str) and not leaf.negative:
            wanted = leaf.expected.lower().replace("*", " ").split()  # faster than a regular expression
            actual = leaf.field.read(call)
            if wanted and isinstance(actual, str):
                least = min(least, sum(map(words(actual).__contains__, wanted)) / len(wanted))
            elif wanted:
                least = 0.0
    return least


def _split_words(text: str) -> frozenset[str]:
    text = text.lower()
    return frozenset((*text.split(), *_WORD.findall(text)))  # with and without adjacent punctuation


def measure_closeness(results: Iterable[ConditionResult]) -> float:
    """Return from 0 to 1 how similar the texts are whose comparison failed."""
    from difflib import SequenceMatcher  # only needed for misses

    texts = [
        (result.expected[:_COMPARED], result.actual[:_COMPARED])
        for result in results
        if not result.ok and isinstance(result.expected, str) and isinstance(result.actual, str)
        if not result.predicate.startswith("not ")  # a negated text is too similar by definition
    ]
    ratios = [SequenceMatcher(None, wanted.lower(), actual.lower()).ratio() for wanted, actual in texts]
    return sum(ratios) / len(ratios) if ratios else 0.0
