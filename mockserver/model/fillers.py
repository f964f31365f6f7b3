"""Made-up values: words, remarks and sentences of word lists, and the one Faker generator with its fixed clock."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import cache
from math import floor
from threading import Lock
from typing import Any, TypeVar

from mockserver.core.seed import FROZEN_AT, Random

T = TypeVar("T")


@cache
def word_lists(name: str) -> Mapping[str, Any]:
    """The lists of a file in `word_lists`, read when they are first needed."""
    import tomllib
    from pathlib import Path

    return tomllib.loads((Path(__file__).parent / "word_lists" / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def english(name: str, group: str = "") -> tuple[str, ...]:
    """The English words or sentences of a list; an empty tuple if there is no such list."""
    lists = word_lists("english")
    found = (lists[group] if group else lists).get(name, ())
    return tuple(found.split() if isinstance(found, str) else found)


@cache
def lexicon(locale: str) -> tuple[str, ...]:
    from importlib import import_module  # the module takes 0.1 s, which a server of rules alone need not pay

    return tuple(import_module(f"faker.providers.lorem.{locale}").Provider.word_list)


def pick(choices: Sequence[T], rng: Random) -> T:
    return choices[floor(rng.random() * len(choices))]  # `randrange` takes five times as long


def word(rng: Random, locale: str = "en_US") -> str:
    words = lexicon(locale)
    return words[rng.below(len(words))]


def phrase(rng: Random, length: int) -> str:
    return " ".join(noun(rng) for _ in range(length))


def sentence(rng: Random, locale: str = "en_US") -> str:
    words = [word(rng, locale) for _ in range(5 + rng.below(10))]
    if len(words) > 7:
        words[2 + rng.below(len(words) - 4)] += ","
    words[0] = words[0].capitalize()
    return " ".join(words) + ("?" if rng.random() < 0.06 else ".")


def noun(rng: Random) -> str:
    return pick(english("nouns"), rng)


def thing(rng: Random) -> str:
    return f"{pick(english('adjectives'), rng)} {pick(english('nouns'), rng)}"


def note(rng: Random) -> str:
    notes = english("notes")
    return notes[rng.below(len(notes))]


def remark(rng: Random) -> str:
    aspects, remarked = some_aspects(rng), pick(english("remarks"), rng)
    first, second = two_of(aspects, rng)
    rng.random()  # once drawn for a word of the prompt; without it what follows would change
    return remarked.format(a=first, b=second, A=capitalized(first))


def some_aspects(rng: Random) -> list[str]:
    """Five aspects that a text keeps to."""
    left, random = list(english("aspects")), rng.random
    return [left.pop(floor(random() * size)) for size in range(len(left), len(left) - 5, -1)]


def two_of(aspects: Sequence[str], rng: Random) -> tuple[str, str]:
    random, last = rng.random, len(aspects) - 1
    at = floor(random() * last)
    other = at + 1 + floor(random() * (last - at))
    return (aspects[other], aspects[at]) if random() < 0.5 else (aspects[at], aspects[other])


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


LOCALE = "en_US"
_TURN, _FIRST = Lock(), Lock()


@contextmanager
def drawing(rng: Random) -> Iterator[Any]:
    """Lock the generator and let its values come from this stream."""
    with _TURN:
        faker = generator()
        faker.random = rng
        yield faker


def generator() -> Any:
    with _FIRST:  # or two threads would make one each
        return _made()


@cache
def _made() -> Any:
    from faker import Faker  # slow to import, and few answers need it

    faker = Faker(LOCALE)
    faker.seed_instance(0)  # some providers use the system's randomness until this is called
    faker.add_provider(_anchored_dates())
    return faker._factories[0]


def _anchored_dates() -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    from faker.providers import date_time

    spec = spec_from_file_location("faker.providers.date_time", date_time.__file__, submodule_search_locations=[])
    assert spec is not None  # noqa: S101  # it was imported a line above
    assert spec.loader is not None  # noqa: S101
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
