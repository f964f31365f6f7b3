"""Engines made from another share what they do not change."""

import asyncio

from mockserver.engine.engine import FEW, Engine, behind, playing, remembering
from mockserver.engine.memory import Memory
from mockserver.state.memory import MemoryShelf, MemoryStore
from tests.kit import calls
from tests.kit.local import local

RULES = """
rules:
  - {name: first, times: 1, when: {last_user: "*a*"}, then: {text: one}}
  - {name: second, when: {last_user: "*b*"}, then: {text: two}}
"""


def test_an_engine_behind_more_rules_tries_these_first_and_shares_what_is_remembered() -> None:
    server = local(RULES)
    more = local("rules: [{name: more, when: {last_user: a, attempt: 2}, then: {text: more}}]").live.engine.rules
    engine = server.live.engine
    made = behind(engine, more)
    assert [rule.name for rule in made.rules] == ["more", "first", "second"]
    assert [planned(made, "a"), planned(engine, "ab"), planned(made, "a")] == ["first", "second", "more"]
    assert [rule.name for rule in engine.rules] == ["first", "second"]


def test_many_rules_in_front_are_found_too() -> None:
    written = [
        f"{{when: {{last_user: text {number}}}, then: {{text: x}}, name: n{number}}}" for number in range(FEW + 1)
    ]
    more = local(f"rules: [{', '.join(written)}]").live.engine.rules
    made = behind(local(RULES).live.engine, more)
    assert [planned(made, f"text {FEW}"), planned(made, "text 0"), planned(made, "a")] == [f"n{FEW}", "n0", "first"]


async def test_an_engine_that_remembers_elsewhere_leaves_no_trace() -> None:
    engine = local(RULES).live.engine
    elsewhere = remembering(engine, MemoryStore(), Memory(MemoryShelf(count=9, size=9_999)))
    asked = calls.call("ab")
    sources = [(await each.plan(asked)).source.split()[-1] for each in (elsewhere, elsewhere, engine, engine)]
    assert sources == ["first", "second", "first", "second"]
    assert [rule.name for rule in elsewhere.rules] == ["first", "second"]


def planned(engine: Engine, text: str) -> str:
    """The name of the rule that answers."""
    return asyncio.run(engine.plan(calls.call(text))).source.split()[-1]


def test_an_engine_that_plays_other_cassettes_shares_the_rest() -> None:
    engine = local(RULES).live.engine
    made = playing(engine, local().live.player)
    assert made.tapes is not engine.tapes
    assert (made.rules, made.store) == (engine.rules, engine.store)
