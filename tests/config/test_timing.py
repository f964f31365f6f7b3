"""How timings are written, and what they come to: for settings and rules alike."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic_core import SchemaValidator, ValidationError

from mockserver.config.errors import ConfigError
from mockserver.config.layers import assemble
from mockserver.config.settings import Settings
from mockserver.config.source import read
from mockserver.config.tables import build_schema
from mockserver.config.timing import (
    PROFILES,
    ProfileSettings,
    TimingSetting,
    TimingTable,
    compile_timing,
)
from mockserver.core.plan import Timing

MINE = {"mine": Timing(first_token=3.0, per_token=0.5, jitter=0.2, distribution="normal", total=9.0)}


def profiles(written: Mapping[str, Any]) -> dict[str, Timing]:
    return SchemaValidator(build_schema(ProfileSettings)).validate_python(written)


@pytest.mark.parametrize(
    ("written", "timing"),
    [
        ({"first_token": "300ms", "per_token": 0.012}, Timing(0.3, 0.012)),
        ({"tokens_per_second": 4}, Timing(per_token=0.25)),
        ({"prompt_per_1k": "50ms"}, Timing(prompt_per_1k=0.05)),
        ({"jitter": {"normal": "20%"}}, Timing(jitter=0.2, distribution="normal")),
        ({"jitter": {"lognormal": "30%"}}, Timing(jitter=0.3, distribution="lognormal")),
        ("mine", MINE["mine"]),
        (
            {"profile": "mine", "tokens_per_second": 8, "jitter": 0},
            Timing(first_token=3.0, per_token=0.125, total=9.0),
        ),
    ],
)
def test_a_table_is_compiled(written: Any, timing: Timing) -> None:
    assert compile_timing(TimingTable.model_validate(written), MINE) == timing
    assert SchemaValidator(build_schema(TimingSetting)).validate_python(written, context={"profiles": MINE}) == timing


@pytest.mark.parametrize(
    "written",
    [{"normal": 0.1, "uniform": 0.2}, {"poisson": 0.1}, {"normal": 2}, {"normal": "x"}, {}, [], "2", -1, True, "20"],
)
def test_a_jitter_that_cannot_be(written: Any) -> None:
    with pytest.raises(ValidationError, match=r"a percentage such as 20% or 0.2, {normal: 20%} or {lognormal: 30%}"):
        TimingTable.model_validate({"jitter": written})


def test_profiles_start_from_each_other_in_any_order() -> None:
    found = profiles({"a": {"profile": "b", "jitter": 0}, "b": {"profile": "c", "total": 2}, "c": {"first_token": 1}})
    assert found == {"a": Timing(1.0, total=2.0), "b": Timing(1.0, total=2.0), "c": Timing(1.0)}
    assert list(found) == ["a", "b", "c"]


def test_a_profile_may_start_from_the_built_in_one_of_its_name() -> None:
    assert profiles({"slow": {"profile": "slow", "total": 3}, "other": "slow"})["other"].total == 3.0
    assert profiles({"slow": "slow"}) == {"slow": PROFILES["slow"]}


def settings(*texts: str, flags: Mapping[str, Any] | None = None) -> Settings:
    return assemble(flags or {}, {}, [read(text, f"{number}.yaml") for number, text in enumerate(texts)])


def mistakes(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings(text)
    return [str(mistake) for mistake in caught.value.mistakes]


def test_a_timing_may_refer_to_a_profile_of_any_other_origin() -> None:
    mine = "settings: {profiles: {mine: {total: 2}}}"
    assert settings("settings: {timing: mine}", mine).timing == Timing(total=2.0)
    assert settings(mine, flags={"timing": "mine"}).timing == Timing(total=2.0)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "timing: {first_token: soon}",
            '25: timing.first_token must be a duration such as 300ms, 2s or 1m, not "soon"',
        ),
        (
            "timing: {jitter: 120%}",
            '20: timing.jitter must be a percentage such as 20% or 0.2, {normal: 20%} or {lognormal: 30%}, not "120%"',
        ),
        ("timing: fats", '11: timing.profile: unknown profile "fats"; did you mean "fast"?'),
        (
            "timing: 2s",
            '11: timing.profile: unknown profile "2s"; for a delay of the whole answer write {total: 2s}',
        ),
        ("models: {a: {timing: fats}}", '24: models.a.timing.profile: unknown profile "fats"; did you mean "fast"?'),
        (
            "profiles: {mine: {profile: qqq}}",
            '30: profiles.mine.profile: unknown profile "qqq"; choose one of instant, fast, typical, slow, '
            "reasoning, mine",
        ),
        ("timing: {first_token: 50}", "25: timing.first_token: 50 would be seconds; write 50ms or 50s"),
        ("profiles: {a: {profile: b}, b: {profile: a}}", '27: profiles.a.profile: profile "a" starts from itself'),
    ],
)
def test_mistakes_are_told_with_their_place(setting: str, said: str) -> None:
    assert mistakes(f"settings:\n  {setting}") == [f"0.yaml:2:{said}  [{setting}]"]


def test_a_mistaken_profile_makes_no_mistakes_elsewhere() -> None:
    (told,) = mistakes("settings: {timing: mine, profiles: {mine: {total: x}}}")
    assert told.startswith('0.yaml:1:51: profiles.mine.total must be a duration such as 300ms, 2s or 1m, not "x"')
