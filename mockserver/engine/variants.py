"""Engines made from another at little cost: with more rules in front, or with another memory."""

from collections.abc import Sequence
from copy import copy

from mockserver.core.store import Store
from mockserver.core.tapes import Tapes
from mockserver.engine.engine import Engine
from mockserver.engine.memory import Memory
from mockserver.engine.rules import Rule
from mockserver.engine.when.index import FewIndex, JoinedIndex, RuleIndex

FEW = 8  # rules that are tried one by one


def behind(engine: Engine, rules: Sequence[Rule]) -> Engine:
    """The engine with more rules in front of its own, which are not looked through again."""
    conditions = [rule.when for rule in rules]
    front = FewIndex(len(rules)) if len(rules) <= FEW else RuleIndex(conditions)
    attempts = any("attempt" in condition.uses for condition in conditions)
    made = copy(engine)
    object.__setattr__(made, "rules", (*rules, *engine.rules))
    object.__setattr__(made, "_index", JoinedIndex(front, len(rules), engine._index))
    object.__setattr__(made, "_counts_attempts", attempts or engine._counts_attempts)
    return made


def playing(engine: Engine, tapes: Tapes) -> Engine:
    """The engine with other cassettes."""
    made = copy(engine)
    object.__setattr__(made, "tapes", tapes)
    return made


def remembering(engine: Engine, store: Store, memory: Memory) -> Engine:
    """The engine with other counters and other kept answers."""
    made = copy(engine)
    object.__setattr__(made, "store", store)
    object.__setattr__(made, "memory", memory)
    return made
