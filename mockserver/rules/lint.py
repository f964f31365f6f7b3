"""Lints rules: finds those that can never answer and those that depend on the order of calls.

Knows only how rules were written; no request is needed.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

from mockserver.core.json import Json
from mockserver.rules.load import Rule
from mockserver.rules.match.index import pinned


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a rule that may be unintended."""

    rule: Rule
    text: str


def review(rules: Sequence[Rule]) -> tuple[Remark, ...]:
    """Return remarks on shadowed rules and on rules that depend on the order of calls, in file order."""
    seen = _Seen(rules)
    return tuple(remark for rule in rules for remark in _remarks(rule, seen))


def _remarks(rule: Rule, seen: "_Seen") -> Iterator[Remark]:
    before = seen.wider(rule)
    if before is not None:
        yield Remark(rule, f'never answers: the earlier rule "{before.name}" ({before.where}) matches whenever it does')
    if why := _counts(rule):
        yield Remark(rule, f"depends on the order of calls: it uses {', '.join(why)}")
    if not rule.counts and all(rule.then.answers):
        seen.add(rule)


def _counts(rule: Rule) -> list[str]:
    stated = {"times": rule.times is not None, "state": rule.state is not None, "attempt": "attempt" in rule.when.uses}
    return [*(name for name, there in stated.items() if there), *rule.then.order_dependent]


class _Wanted(NamedTuple):
    """One condition of a rule as written; `text` if it is bare text."""

    field: str
    written: str
    text: str | None = None

    @property
    def pattern(self) -> re.Pattern[str] | None:
        if self.text is None or "*" not in self.text or set("\\[?") & set(self.text):
            return None
        return _compiled(self.text)


class _Seen:
    """Rules that may shadow later ones, each under the condition that the fewest rules share."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._common = Counter(wanted for rule in rules for wanted in _conditions(rule.spec))
        self._unconditional: list[Rule] = []
        self._by_condition: dict[_Wanted, list[Rule]] = defaultdict(list)
        self._patterns: dict[str, dict[_Wanted, re.Pattern[str]]] = defaultdict(dict)

    def add(self, rule: Rule) -> None:
        rarest = min(_conditions(rule.spec), key=lambda wanted: self._common[wanted], default=None)
        if rarest is None:
            self._unconditional.append(rule)
            return
        self._by_condition[rarest].append(rule)
        if pattern := rarest.pattern:
            self._patterns[rarest.field][rarest] = pattern

    def wider(self, rule: Rule) -> Rule | None:
        """Return an earlier rule that matches whenever this one does, as far as their text shows."""
        given = list(_conditions(rule.spec))
        known = [*self._unconditional, *(other for wanted in given for other in self._by_condition.get(wanted, ()))]
        for field, _, text in given:
            if text is not None and "*" not in text:
                for wanted, pattern in self._patterns[field].items():
                    if pattern.match(text):
                        known += self._by_condition[wanted]
        return next((other for other in known if _covers(other, rule, given)), None)


def _covers(general: Rule, special: Rule, given: Sequence[_Wanted]) -> bool:
    """Return whether each condition of one rule is implied by a condition of the other."""
    if any(leaf.implied for leaf in general.when.leaves):
        operations, answered = pinned(special.when, "operation"), pinned(general.when, "operation")
        if operations is None or answered is None or not operations <= answered:
            return False
    return all(any(_implied(wanted, other) for other in given) for wanted in _conditions(general.spec))


def _conditions(spec: Mapping[str, Json]) -> Iterator[_Wanted]:
    """Yield the conditions that must all hold, one predicate each unless a modifier applies."""
    for field, wanted in (spec.get("when") or {}).items():
        plain = isinstance(wanted, dict) and not {"ignore_case", "ignore_space"} & set(wanted)
        if plain and field not in ("tool_result", "body", "not"):
            yield from (_Wanted(field, _written({predicate: value})) for predicate, value in wanted.items())
        else:
            yield _Wanted(field, _written(wanted), wanted if isinstance(wanted, str) and field != "body" else None)


def _implied(general: _Wanted, special: _Wanted) -> bool:
    if general == special:
        return True
    pattern = general.pattern if general.field == special.field else None
    text = special.text
    return pattern is not None and text is not None and not set("*\\") & set(text) and bool(pattern.match(text))


def _written(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


@lru_cache(maxsize=1024)
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(translate(text))
