"""Which rules come nearest to a call that none of them answers, and how that is told to people.

What the request says is shown cut and escaped, so that no request can write lines of its own into a report.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from itertools import islice
from typing import Generic, Protocol, TypeVar

from mockserver.core.call import Call
from mockserver.core.exchange import ConditionResult
from mockserver.rules.match.conditions import Condition

SHOWN = 80  # characters of a value
MOST_LINES = 12  # findings of one rule
_POOL = 24  # rules whose texts are compared letter by letter
_COMPARED = 200  # letters of each of these texts
_EFFORT = 20_000_000  # letters that may be searched: a huge request is held against fewer rules
_WORD = re.compile(r"\w+")


class Named(Protocol):
    """A rule, as far as this module looks at it."""

    @property
    def name(self) -> str:
        """What its author calls it, or nothing."""

    @property
    def where(self) -> str:
        """The file and line where it stands."""

    @property
    def when(self) -> Condition:
        """What it wants of a call."""


R = TypeVar("R", bound=Named)


@dataclass(frozen=True, slots=True)
class Near(Generic[R]):
    """A rule that came near to a call, and what each of its conditions found."""

    rule: R
    findings: tuple[ConditionResult, ...]

    @property
    def name(self) -> str:
        """What the rule's author calls it, or nothing."""
        return self.rule.name

    @property
    def where(self) -> str:
        """The file and line where it stands."""
        return self.rule.where

    @property
    def held(self) -> int:
        """How many of its conditions hold."""
        return sum(finding.ok for finding in self.findings)


def nearest(rules: Sequence[R], call: Call, *, limit: int = 3) -> tuple[Near[R], ...]:
    """The rules of which the greatest share of conditions holds; among equals those with the closest texts go first."""
    letters = 1_000 + sum(len(message.text) for message in call.messages)
    looked_at = max(limit, _EFFORT // letters)
    shares = [(_share(rule.when, call), -row) for row, rule in enumerate(islice(rules, looked_at))]
    worst = min(nlargest(limit, shares), default=(0.0, 0))[0]
    ties = [entry for entry in shares if entry[0] >= worst]
    if len(ties) > _POOL:
        words = cache(_words)  # of the request: many rules look at the same few texts
        ties = nlargest(_POOL, ties, key=lambda tie: (tie[0], _shared_words(rules[-tie[1]].when, call, words), tie[1]))
    ranked = [(share, row, rules[-row].when.results(call)) for share, row in ties]
    best = nlargest(limit, ranked, key=lambda entry: (entry[0], closeness(entry[2]), entry[1]))
    return tuple(Near(rules[-row], findings) for _, row, findings in best)


def report(near: Sequence[Near[R]]) -> str:
    """The nearest rules as text for people: what of each held, what did not, and what stood there instead."""
    if not near:
        return "no rule answers this request: there are no rules that answer"
    told = [line for rule in near for line in _told(rule)]
    return "\n".join(("no rule answers this request; the nearest:", *told))


def lines(findings: Iterable[ConditionResult]) -> Iterator[str]:
    """A line for each: `ok    model equals "gpt-4o"`, or `MISS  model equals "gpt-4o": got "o3"`."""
    for finding in findings:
        wanted = f"{plain(finding.field)} {finding.predicate} {shown(finding.expected)}"
        if finding.ok:
            yield f"ok    {wanted}"
        else:
            yield f"MISS  {wanted}: got {'nothing' if finding.actual is None else shown(finding.actual)}"


def shown(value: object) -> str:
    """A value as JSON on one line: cut, and with every character escaped that would not show as itself."""
    text = ""
    for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(_cut(value)):
        text += piece
        if len(text) > SHOWN + 2:
            return plain(text[: SHOWN + 1]) + "…"
    return plain(text)


def _cut(value: object) -> object:
    return f"{value[: SHOWN - 1]}…" if isinstance(value, str) and len(value) > SHOWN else value


def plain(text: str) -> str:
    """A text on one line, in which every character shows as itself or is escaped."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


def _told(rule: Near[R]) -> Iterator[str]:
    yield f"  {plain(rule.where)}{f' {shown(rule.name)}' if rule.name else ''}: {_verdict(rule)}"
    findings = rule.findings
    if len(findings) > MOST_LINES:
        findings = tuple(sorted(findings, key=lambda finding: finding.ok)[:MOST_LINES])
    for line in lines(findings):
        yield f"    {line}"
    if len(rule.findings) > MOST_LINES:
        yield f"    ... and {len(rule.findings) - MOST_LINES} more"


def _verdict(rule: Near[R]) -> str:
    total = len(rule.findings)
    if rule.held == total:
        return "its conditions hold, but its times are used up or its state is another"
    return f"{rule.held} of {total} condition{'s' * (total != 1)} hold{'s' * (total == 1)}"


def _share(condition: Condition, call: Call) -> float:
    held, total = condition.share(call)
    return held / total if total else 1.0


def _shared_words(condition: Condition, call: Call, words: Callable[[str], frozenset[str]]) -> float:
    """Of the words that a text of the condition wants, the part that stands in the request; of several texts the least.

    This is rough, but quick.
    """
    least = 1.0
    for leaf in condition.leaves:
        if isinstance(leaf.expected, str) and not leaf.negative:
            wanted = leaf.expected.lower().replace("*", " ").split()  # a pattern of words costs twice as much
            actual = leaf.field.read(call)
            if wanted and isinstance(actual, str):
                least = min(least, sum(map(words(actual).__contains__, wanted)) / len(wanted))
            elif wanted:
                least = 0.0
    return least


def _words(text: str) -> frozenset[str]:
    text = text.lower()
    return frozenset((*text.split(), *_WORD.findall(text)))  # with the marks beside them, and without


def closeness(findings: Iterable[ConditionResult]) -> float:
    """How alike the missed texts are to what stands there, from 0 to 1."""
    from difflib import SequenceMatcher  # only misses need it

    texts = [
        (finding.expected[:_COMPARED], finding.actual[:_COMPARED])
        for finding in findings
        if not finding.ok and isinstance(finding.expected, str) and isinstance(finding.actual, str)
        if not finding.predicate.startswith("not ")  # whose text is only too close
    ]
    ratios = [SequenceMatcher(None, wanted.lower(), actual.lower()).ratio() for wanted, actual in texts]
    return sum(ratios) / len(ratios) if ratios else 0.0
