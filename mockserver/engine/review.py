"""What a reader of rules files wants to be told: rules that can never answer, and rules that count.

Knows only how rules were written; no request is needed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from mockserver.core.call import Json
from mockserver.engine.rules import Rule


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a rule that may not be meant."""

    rule: Rule
    text: str


def review(rules: Sequence[Rule]) -> tuple[Remark, ...]:
    """Remarks on shadowed rules and on rules that depend on the order of arrival, in file order."""
    return tuple(remark for at, rule in enumerate(rules) for remark in _remarks(rule, rules[:at]))


def _remarks(rule: Rule, earlier: Sequence[Rule]) -> Iterator[Remark]:
    before = next((other for other in earlier if not other.counts and _covers(other, rule)), None)
    if before is not None:
        yield Remark(
            rule, f'never answers: "{before.name}" ({before.where}) stands before it and holds whenever it does'
        )
    if why := _counts(rule):
        yield Remark(rule, f"depends on the order of arrival: it uses {', '.join(why)}")


def _counts(rule: Rule) -> list[str]:
    stated = {"times": rule.times is not None, "state": rule.state is not None, "attempt": "attempt" in rule.when.uses}
    return [name for name, there in stated.items() if there]


def _covers(general: Rule, special: Rule) -> bool:
    """Whether each condition of the one is implied by a condition of the other, as far as the words tell."""
    mine = list(_conditions(special.spec))
    return all(any(_implied(wanted, given) for given in mine) for wanted in _conditions(general.spec))


def _conditions(spec: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """The conditions that must all hold, one predicate each where nothing modifies it."""
    for field, wanted in (spec.get("when") or {}).items():
        plain = isinstance(wanted, dict) and not {"ignore_case", "ignore_space"} & set(wanted)
        if plain and field not in ("tool_result", "body", "not"):
            yield from ((field, {predicate: value}) for predicate, value in wanted.items())
        else:
            yield field, wanted


def _implied(wanted: tuple[str, Json], given: tuple[str, Json]) -> bool:
    (field, general), (other, special) = wanted, given
    if field != other:
        return False
    if isinstance(general, str) and isinstance(special, str) and "\\" not in general + special and "[" not in general:
        return general == special or ("*" not in special and "?" not in general and fnmatchcase(special, general))
    return json.dumps(general, sort_keys=True) == json.dumps(special, sort_keys=True)
