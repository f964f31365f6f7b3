"""Rules that answer so many times, or in one state of a scenario."""

from mockserver.engine.counters import START, ScenarioState
from mockserver.state.memory import MemoryStore
from tests.kit.rules import loaded

TWICE = "{name: twice, times: 2, then: {text: a}}"
ASKED = "{name: asked, state: {is: start, becomes: asked}, then: {text: a}}"


async def test_a_rule_answers_as_often_as_it_says_in_each_namespace() -> None:
    (rule,), store = loaded(f"rules: [{TWICE}]"), MemoryStore()
    assert [await ScenarioState("one", store).opens(rule) for _ in range(3)] == [True, True, False]
    assert await ScenarioState("other", store).opens(rule)


async def test_a_scenario_goes_from_state_to_state() -> None:
    (rule,), store = loaded(f"rules: [{ASKED}]"), MemoryStore()
    assert START == "start"
    assert await ScenarioState("one", store).opens(rule)
    assert await store.get("one", "state") == "asked"
    assert not await ScenarioState("one", store).opens(rule)


async def test_a_request_finds_one_state_whatever_its_rules_make_of_it() -> None:
    first, second, stays = loaded(
        "rules: [{name: first, state: {becomes: b}, then: {faults: [cut]}},"
        " {name: second, state: {is: b, becomes: c}, then: {faults: [slow]}},"
        " {name: stays, state: {}, then: {text: a}}]"
    )
    store, opens = MemoryStore(), list[list[bool]]()
    for _ in range(3):
        scene = ScenarioState("one", store)
        opens.append([await scene.opens(rule) for rule in (first, second, stays)])
    assert opens == [[True, False, True], [False, True, False], [False, False, False]]
    assert await store.get("one", "state") == "c"
