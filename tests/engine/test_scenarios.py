"""Rules that answer so many times, or in one state of a scenario."""

from mockserver.engine.scenarios import START, opened
from mockserver.state.memory import MemoryStore
from tests.kit.rules import loaded

TWICE = "{name: twice, times: 2, then: {text: a}}"
ASKED = "{name: asked, state: {is: start, becomes: asked}, then: {text: a}}"


async def test_a_rule_answers_as_often_as_it_says_in_each_namespace() -> None:
    (rule,), store = loaded(f"rules: [{TWICE}]"), MemoryStore()
    assert [await opened(rule, "one", store) for _ in range(3)] == [True, True, False]
    assert await opened(rule, "other", store)


async def test_a_scenario_goes_from_state_to_state() -> None:
    (rule,), store = loaded(f"rules: [{ASKED}]"), MemoryStore()
    assert START == "start"
    assert await opened(rule, "one", store)
    assert await store.get("one", "state") == "asked"
    assert not await opened(rule, "one", store)
