"""What settings say of limits: how much may be asked for in a time, and at once."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, GetPydanticSchema
from pydantic_core import PydanticCustomError, core_schema

from mockserver.core.rates import UNLIMITED, Kind, Limits, Rate, Rates, Window
from mockserver.kinds.amounts import Duration

_Many = Annotated[int, Field(ge=1)]


class RatesTable(BaseModel):
    """How much may be asked for in a time."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="rates")

    requests_per_minute: _Many | None = Field(None, description="How many requests are let through in a minute.")
    requests_per_day: _Many | None = Field(None, description="How many requests are let through in a day.")
    tokens_per_minute: _Many | None = Field(
        None, description="How many tokens prompts and answers may have in a minute."
    )
    tokens_per_day: _Many | None = Field(None, description="How many tokens prompts and answers may have in a day.")


class LimitsTable(RatesTable):
    """How much may be asked for in a time, and at once."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="limits")

    concurrent_requests: _Many | None = Field(
        None, description="How many requests of a namespace are at work at once, until their answers have gone out."
    )
    queue: int = Field(0, ge=0, description="How many more may wait for their turn; any other gets a 503.")
    queue_timeout: Duration | None = Field(None, description="How long one waits at most, before it gets a 503.")


def _rates(table: RatesTable) -> Rates:
    """The rates that a table states; null states that there is none."""
    return tuple(
        Rate(kind, window, getattr(table, name) or UNLIMITED)
        for name, (kind, window) in _NAMED.items()
        if name in table.model_fields_set
    )


def _limits(table: LimitsTable) -> Limits:
    if table.concurrent_requests is None:
        for name in ("queue", "queue_timeout"):
            if name in table.model_fields_set:
                raise PydanticCustomError("excludes", "{name} needs concurrent_requests beside it", {"name": name})
    return Limits(_rates(table), table.concurrent_requests, table.queue, table.queue_timeout)


RatesSetting = Annotated[
    Rates,
    GetPydanticSchema(lambda _, handler: core_schema.no_info_after_validator_function(_rates, handler(RatesTable))),
]
LimitsSetting = Annotated[
    Limits,
    GetPydanticSchema(lambda _, handler: core_schema.no_info_after_validator_function(_limits, handler(LimitsTable))),
]


# What each name of a rate means.
_NAMED: Mapping[str, tuple[Kind, Window]] = {
    "requests_per_minute": ("requests", "minute"),
    "requests_per_day": ("requests", "day"),
    "tokens_per_minute": ("tokens", "minute"),
    "tokens_per_day": ("tokens", "day"),
}
