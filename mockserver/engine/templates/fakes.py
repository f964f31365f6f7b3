"""`{{ fake.name }}`: Faker's values for templates, each from a seeded stream of its own, at a time that stands still.

Nothing of Faker but its values can be reached from here.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from functools import cache

from mockserver.core.call import Json
from mockserver.engine.draft import Moment
from mockserver.engine.fakers import drawing, generator


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
        with drawing(moment.seed.stream("fake", moment.call.fingerprint, *self._labels, name, str(occurrence))):
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
