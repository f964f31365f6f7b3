"""Faker's values for templates: the same everywhere, at a time that stands still."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import cache
from threading import Lock
from typing import Any

from mockserver.core.seed import FROZEN_AT, Random

LOCALE = "en_US"
_TURN = Lock()
_FIRST = Lock()


@contextmanager
def drawing(rng: Random) -> Iterator[Any]:
    """Lock the generator and let its values come from this stream."""
    with _TURN:
        faker = get_generator()
        faker.random = rng
        yield faker


def get_generator() -> Any:
    with _FIRST:  # or two threads would make one each
        return _make_generator()


@cache
def _make_generator() -> Any:
    from faker import Faker  # slow to import, and few answers need it

    faker = Faker(LOCALE)
    faker.seed_instance(0)  # some providers use the system's randomness until this is called
    faker.add_provider(_anchor_dates())
    return faker._factories[0]


def _anchor_dates() -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    from faker.providers import date_time

    spec = spec_from_file_location("faker.providers.date_time", date_time.__file__, submodule_search_locations=[])
    assert spec is not None  # it was imported a line above
    assert spec.loader is not None
    copy: Any = module_from_spec(spec)
    spec.loader.exec_module(copy)
    copy.datetime = _FixedDatetime
    copy.dtdate = _FixedDate
    copy._get_local_timezone = lambda: UTC
    return copy.Provider


class _OfReal(type):
    """Counts real dates as its own instances: a value may come from outside the copied module."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime if issubclass(cls, datetime) else date)


class _FixedDatetime(datetime, metaclass=_OfReal):
    @classmethod
    def now(cls, tz: Any = None) -> "_FixedDatetime":
        here = cls.fromtimestamp(FROZEN_AT, tz or UTC)
        return here if tz else here.replace(tzinfo=None)


class _FixedDate(date, metaclass=_OfReal):
    @classmethod
    def today(cls) -> "_FixedDate":
        return cls.fromordinal(datetime.fromtimestamp(FROZEN_AT, UTC).toordinal())
