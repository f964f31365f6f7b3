"""Whether a rule still answers: how often it has, and where its scenario stands. Both are of a namespace."""

from mockserver.core.store import Store
from mockserver.engine.counters import STATE, times
from mockserver.engine.rules import Rule

START = "start"  # the state in which every scenario begins


async def opened(rule: Rule, namespace: str, store: Store) -> bool:
    """Whether a rule that holds answers, by its `times` and `state`; if so, that is counted."""
    if rule.state is not None and (await store.get(namespace, STATE) or START) != rule.state.is_:
        return False
    if rule.times is not None and await store.incr(namespace, times(rule.name)) > rule.times:
        return False
    if rule.state is not None:
        await store.set(namespace, STATE, rule.state.becomes)
    return True
