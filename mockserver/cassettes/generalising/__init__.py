"""Rules out of episodes: one for each request that differs from the others in meaning, general where they vary alike.

What tells requests apart becomes `when`: as little as it takes. What they are answered becomes `then`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mockserver.cassettes.generalising.answers import UnfitError, then
from mockserver.cassettes.generalising.asked import READ, Asked, Rule, Then
from mockserver.cassettes.generalising.conditions import conditioned
from mockserver.cassettes.generalising.spans import generalised
from mockserver.cassettes.generalising.writing import written
from mockserver.core.json_text import compact

__all__ = ["READ", "Asked", "Generalised", "Rule", "rules", "written"]


@dataclass(frozen=True, slots=True)
class Generalised:
    """Rules, the more special first; and the episodes that none could be made of, with the reason."""

    rules: tuple[Rule, ...]
    left: tuple[tuple[str, str], ...] = ()


def rules(asked: Iterable[Asked]) -> Generalised:
    """The rules that answer what was asked as it was answered."""
    fit, left = list[tuple[Asked, Then]](), list[tuple[str, str]]()
    for one in asked:
        try:
            if one.fields.get("operation") not in _FOR_RULES:
                raise UnfitError(f"no rule is made for {one.fields.get('operation')}: keep its cassette")
            said = dict(then(one.told, one.retry_after))
            if _HALF.search(compact([said, one.fields])):
                raise UnfitError("it holds half of a character")
            fit.append((one, said))
        except UnfitError as unfit:
            left.append((one.source, str(unfit)))
    made = conditioned(fit)
    for field in ("last_user", "last_message"):
        made = generalised(made, field)
    return Generalised(tuple(_ordered(made)), tuple(left))


def _ordered(made: Sequence[Rule]) -> Iterator[Rule]:
    """The more special before the more general; else as they were recorded."""
    yield from sorted(made, key=_generality)


def _generality(rule: Rule) -> tuple[bool, int, int, int]:
    text = rule.when.get("last_user", rule.when.get("last_message"))
    if text is None:
        pattern, fixed = 2, 0
    else:
        open_ended = "regex" in text if isinstance(text, dict) else "*" in str(text)
        pattern, fixed = int(open_ended), len(str(text)) if open_ended else 0
    return "tool_result" not in rule.when, pattern, -fixed, -len(rule.when)


_HALF = re.compile(r"[\ud800-\udfff]")
_FOR_RULES = ("chat", "completions", "responses")
