"""Whether a rule still answers: how often it has, and where its scenario stands. Both are of a namespace."""

from dataclasses import dataclass

from mockserver.core.store import Store
from mockserver.engine.counters import STATE, times
from mockserver.engine.rules import Rule

START = "start"  # the state in which every scenario begins


@dataclass(slots=True)
class Scene:
    """The scenario of a namespace as one request finds it: what its rules change of it is for the next request."""

    namespace: str
    store: Store
    _found: str | None = None  # before this request changed it

    async def opens(self, rule: Rule) -> bool:
        """Whether a rule that holds has its say, by its `times` and `state`; if so, that is counted."""
        state = rule.state
        if state is not None and (self._found or await self.store.get(self.namespace, STATE) or START) != state.is_:
            return False
        if rule.times is not None and await self.store.incr(self.namespace, times(rule.name)) > rule.times:
            return False
        if state is not None and state.becomes != state.is_:
            self._found = state.is_
            await self.store.set(self.namespace, STATE, state.becomes)
        return True
