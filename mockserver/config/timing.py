"""The type of `timing` in settings and rules: a table, the name of a profile, or a table that starts from a profile."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple, get_args

from msgspec.structs import replace
from pydantic_core import PydanticCustomError, ValidationError

from mockserver.config.source import Path, suggest
from mockserver.config.tables import (
    AfterValidator,
    BaseTable,
    BeforeValidator,
    JsonSchema,
    WithJsonSchema,
    WrittenAs,
    field,
)
from mockserver.config.types import SHARE, Delay, Duration, make_refusal, parse_seconds, parse_share
from mockserver.core.json import Json
from mockserver.core.plan import Distribution, Timing

Profiles = dict[str, Timing]


class Jitter(NamedTuple):
    """How much a delay varies, as a share of it, and the distribution."""

    share: float
    distribution: Distribution = "uniform"


def _parse_jitter(value: Json) -> Jitter:
    try:
        for distribution in get_args(Distribution):
            if isinstance(value, Mapping) and value.keys() == {distribution}:
                return Jitter(parse_share(value[distribution]), distribution)
        return Jitter(parse_share(value))
    except ValueError:
        wants = "a percentage such as 20% or 0.2, {normal: 20%} or {lognormal: 30%}"
        raise PydanticCustomError("expected", wants) from None


_SPREAD = {
    "type": "object",
    "properties": {
        "uniform": {**SHARE, "description": "any delay within this share is as likely as another"},
        "normal": {**SHARE, "description": "a normal distribution with this standard deviation"},
        "lognormal": {**SHARE, "description": "as real services: mostly near the delay, sometimes far above it"},
    },
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
_Jitter = Annotated[
    Jitter, BeforeValidator(_parse_jitter), WithJsonSchema(lambda: {**SHARE, "anyOf": [_SPREAD, *SHARE["anyOf"]]})
]


class TimingTable(BaseTable, title="timing"):
    """When an answer goes out. A text alone is the name of a profile."""

    profile: Annotated[str, field(min_length=1)] | None = field(
        None, description="a profile to start from; the other keys override it"
    )
    first_token: Delay | None = field(None, description="delay of the first token (default: as for others)")
    per_token: Delay | None = field(None, description="delay of each further token")
    tokens_per_second: Annotated[float, field(gt=0, allow_inf_nan=False)] | None = field(
        None, description="the same as a speed, instead of per_token"
    )
    prompt_per_1k: Delay | None = field(
        None, description="additional delay of the first token for each 1,000 tokens of the prompt"
    )
    jitter: _Jitter | None = field(
        None, description="seeded variation of each delay: 20%, {normal: 20%} or {lognormal: 30%}"
    )
    total: Duration | None = field(None, description="duration of the whole answer, however many tokens it has")

    @classmethod
    def _read(cls, value: Json) -> Json:
        if isinstance(value, str):
            return {"profile": value}
        if not isinstance(value, Mapping | BaseTable):
            raise PydanticCustomError("expected", "a table or the name of a profile")
        return value

    @classmethod
    def change_json_schema(cls, schema: JsonSchema) -> JsonSchema:
        """Let the JSON Schema accept a name in place of a table."""
        table = {**super().change_json_schema(schema)}
        about: dict[str, Json] = {key: table.pop(key) for key in ("title", "description") if key in table}
        del table["properties"]["jitter"]["title"]  # each of its forms describes itself
        table["dependentSchemas"] = {"tokens_per_second": {"properties": {"per_token": False}}}
        example = {"first_token": "300ms", "per_token": "12ms"}
        return {
            **about,
            "anyOf": [table, {"enum": [*PROFILES]}, {"type": "string", "minLength": 1}],
            "examples": [example],
        }


def has_both_speeds(table: TimingTable) -> bool:
    return table.per_token is not None and table.tokens_per_second is not None


def compile_timing(table: TimingTable, profiles: Profiles) -> Timing:
    """Compile a table to a timing. An unknown profile is ignored."""
    speed = table.tokens_per_second
    stated = {
        "first_token": table.first_token,
        "per_token": table.per_token if speed is None else 1 / speed,
        "prompt_per_1k": table.prompt_per_1k,
        "jitter": None if table.jitter is None else table.jitter.share,
        "distribution": None if table.jitter is None else table.jitter.distribution,
        "total": table.total,
    }
    start = profiles.get(table.profile or "", Timing())
    return replace(start, **{name: value for name, value in stated.items() if value is not None})


def explain_unknown_profile(name: str, known: Iterable[str]) -> str:
    try:
        parse_seconds(name)
    except ValueError:
        hint = suggest(name, tuple(known))
    else:
        hint = f"; for a delay of the whole answer write {{total: {name}}}"
    return f'unknown profile "{name}"{hint}'


def _make_timing(table: TimingTable, info: Any) -> Timing:
    if has_both_speeds(table):
        raise PydanticCustomError("refused", "give per_token or tokens_per_second, not both")
    profiles: Profiles | None = (info.context or {"profiles": PROFILES})["profiles"]
    if profiles is not None and table.profile is not None and table.profile not in profiles:
        raise _make_error(("profile",), explain_unknown_profile(table.profile, profiles), table.profile)
    return compile_timing(table, profiles or PROFILES)


def _make_profiles(tables: Mapping[str, TimingTable]) -> Profiles:
    """Make the timings of these profiles; each may start from another, or from the built-in one of its own name.

    Raises ValidationError.
    """
    from graphlib import CycleError, TopologicalSorter

    starts = {
        each: [start for start in tables if start == table.profile and start != each] for each, table in tables.items()
    }
    try:
        order = tuple(TopologicalSorter(starts).static_order())
    except CycleError as error:
        name = next(name for name in tables if name in error.args[1])
        raise _make_error((name, "profile"), f'profile "{name}" starts from itself', tables[name].profile) from None
    found: Profiles = {}
    for name in order:
        table = tables[name]
        known = {**PROFILES, **found}
        if table.profile is not None and table.profile not in known:
            why = explain_unknown_profile(table.profile, {**PROFILES, **tables})
            raise _make_error((name, "profile"), why, table.profile)
        found[name] = compile_timing(table, known)
    return {name: found[name] for name in tables}


def _make_error(path: Path, why: str, value: Json) -> ValidationError:
    return ValidationError.from_exception_data("timing", [make_refusal(path, why, value)])


TimingSetting = Annotated[Timing, WrittenAs(TimingTable), AfterValidator(_make_timing, with_info=True)]
ProfileSettings = Annotated[Profiles, WrittenAs(Mapping[str, TimingTable]), AfterValidator(_make_profiles)]

# The built-in profiles, as users of real models see them.
PROFILES: Profiles = {
    "instant": Timing(),
    "fast": Timing(first_token=0.15, per_token=1 / 150, jitter=0.2),
    "typical": Timing(first_token=0.5, per_token=1 / 60, jitter=0.3, prompt_per_1k=0.02, distribution="lognormal"),
    "slow": Timing(first_token=2.0, per_token=1 / 12, jitter=0.3, prompt_per_1k=0.1, distribution="lognormal"),
    "reasoning": Timing(first_token=8.0, per_token=1 / 50, jitter=0.3, prompt_per_1k=0.05, distribution="lognormal"),
}
