"""`{{ fake.name }}`: Faker's values for templates, each from a seeded stream of its own, at a time that stands still.

Nothing of Faker but its values can be reached from here.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from typing import Any

from mockserver.core.call import Json
from mockserver.core.seed import FROZEN_AT
from mockserver.engine.draft import Moment

LOCALE = "en_US"


class Fake:
    """What a template calls `fake`: the same words for the same call, rule and place."""

    __slots__ = ("_drawn", "_labels", "_moment")

    def __init__(self, moment: Moment, labels: tuple[str, ...]) -> None:
        self._moment = moment
        self._labels = labels
        self._drawn: dict[str, int] = {}

    def __getitem__(self, name: str) -> Json:
        provider = providers()[name]
        occurrence = self._drawn[name] = self._drawn.get(name, 0) + 1
        moment = self._moment
        generator().random = moment.seed.stream("fake", moment.call.fingerprint, *self._labels, name, str(occurrence))
        return _plain(provider())


@cache
def providers() -> Mapping[str, Callable[[], Json]]:
    """Every value that Faker can make without being told more, by name."""
    source = generator()
    found = {}
    for provider in reversed(source.providers):
        for name in dir(type(provider)):
            if not name.startswith(_HIDDEN_PREFIXES) and name not in _HIDDEN and callable(getattr(provider, name)):
                found[name] = getattr(source, name)
    return found


@cache
def generator() -> Any:
    """The one Faker generator, with a clock that stands still."""
    from faker import Faker  # slow to import, and few rules need it

    faker = Faker(LOCALE)
    faker.seed_instance(0)  # some providers turn to the system's chance unless this has been called
    faker.add_provider(_anchored_dates())
    return faker._factories[0]


def _anchored_dates() -> Any:
    """Faker's dates from a copy of their module in which now is always the same moment, in UTC."""
    from importlib.util import module_from_spec, spec_from_file_location

    from faker.providers import date_time

    spec = spec_from_file_location("faker.providers.date_time", date_time.__file__, submodule_search_locations=[])
    assert spec is not None  # noqa: S101  # it was imported a line above
    assert spec.loader is not None  # noqa: S101
    copy: Any = module_from_spec(spec)
    spec.loader.exec_module(copy)
    copy.datetime = _StillDatetime
    copy.dtdate = _StillDate
    copy._get_local_timezone = lambda: UTC
    return copy.Provider


class _OfReal(type):
    """Takes true dates for its own instances: a value may come from outside the copied module."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime if issubclass(cls, datetime) else date)


class _StillDatetime(datetime, metaclass=_OfReal):
    @classmethod
    def now(cls, tz: Any = None) -> "_StillDatetime":
        here = cls.fromtimestamp(FROZEN_AT, tz or UTC)
        return here if tz else here.replace(tzinfo=None)


class _StillDate(date, metaclass=_OfReal):
    @classmethod
    def today(cls) -> "_StillDate":
        return cls.fromordinal(datetime.fromtimestamp(FROZEN_AT, UTC).toordinal())


def _plain(value: object) -> Json:
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case Iterable():
            return tuple(map(_plain, value))
    return str(value)


_HIDDEN_PREFIXES = ("_", "py", "get_", "random_", "randomize_", "add_", "seed")
_HIDDEN = frozenset((
    *("generator", "enum", "bothify", "hexify", "lexify", "numerify", "locale", "language_code", "current_country"),
    *("binary", "csv", "dsv", "fixed_width", "image", "json", "json_bytes", "psv", "tar", "tsv", "xml", "zip"),
    *("passport_dates", "passport_full", "passport_gender", "profile", "simple_profile", "time_series", "time_delta"),
    *("color", "color_hsl", "color_hsv", "color_rgb", "color_rgb_float"),  # have a chance of their own
    *("uuid1", "uuid7", "timezone_object"),
))  # fmt: skip
