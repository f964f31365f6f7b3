"""Engines made from another at little cost: with more rules in front, or with another memory."""

from collections.abc import Sequence
from dataclasses import fields

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
    index = JoinedIndex(front, len(rules), engine._index)
    attempts = engine._counts_attempts or any("attempt" in condition.uses for condition in conditions)
    return _twin(engine, rules=(*rules, *engine.rules), _index=index, _counts_attempts=attempts)


def playing(engine: Engine, tapes: Tapes) -> Engine:
    """The engine with other cassettes."""
    return _twin(engine, tapes=tapes)


def remembering(engine: Engine, store: Store, memory: Memory) -> Engine:
    """The engine with other counters and other kept answers."""
    return _twin(engine, store=store, memory=memory)


def _twin(engine: Engine, **other: object) -> Engine:
    """An engine of the same parts but for a few: it is made for every test, and must not index the rules again."""
    made = object.__new__(Engine)
    for part in _PARTS:
        object.__setattr__(made, part, other[part] if part in other else getattr(engine, part))
    return made


_PARTS = tuple(field.name for field in fields(Engine))
