"""From files, flags and environment to an engine."""

from pathlib import Path

import pytest

from mockserver.config.errors import MockserverError
from mockserver.config.settings import Settings
from mockserver.core.plan import Timing
from mockserver.core.seed import Clock, Seed
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.server.live import Sources, policy, start


def test_files_are_read_in_order_and_flags_win(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text("settings: {seed: 1}\nrules: [{name: a, then: {text: a}}]")
    two.write_text("settings: {seed: 2, unmatched: error}\nrules: [{name: b, then: {text: b}}]")
    live = start(Sources((one, two), {"seed": "3"}, {"MOCKSERVER_SEED": "4", "MOCKSERVER_IDS": "unique"}))
    assert [rule.name for rule in live.engine.rules] == ["a", "b"]
    assert live.engine.policy == policy(Settings(seed=3, unmatched="error", ids="unique"))


def test_policy_says_what_the_settings_say() -> None:
    made = policy(Settings.model_validate({"seed": 5, "clock": 7, "models": ["a*"], "timing": {"total": "2s"}}))
    assert (made.seed, made.clock, made.models) == (Seed(5), Clock(7), Catalogue({"a*": Model()}))
    assert made.timing == Timing(total=2.0)


def test_policy_keeps_what_is_said_of_models_even_that_it_is_nothing() -> None:
    table = {"a": {"context_window": None, "tools": False, "timing": {"total": "2s"}}, "b": None}
    made = policy(Settings.model_validate({"models": table, "known_models": False, "strict": True}))
    said = Model(tools=False, timing=Timing(total=2.0), unlimited=frozenset({"context_window"}))
    assert made.models == Catalogue({"a": said, "b": Model()}, published=False, strict=True)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MockserverError, match=r"none\.yaml: cannot be read: No such file or directory"):
        start(Sources((tmp_path / "none.yaml",)))


def test_limits_are_held_where_there_are_some_and_follow_the_settings() -> None:
    live = start(Sources())
    assert live.limiter is None
    live.settings = Settings.model_validate({"limits": {"requests_per_minute": 5, "concurrent_requests": 2}})
    limiter = live.limiter
    assert limiter is not None
    assert limiter.concurrency.limits == live.settings.limits
    live.settings = Settings.model_validate({"limits": {"requests_per_minute": 6}})
    assert live.limiter is limiter
    assert limiter.concurrency.limits == live.settings.limits
