"""Made-up words, things, remarks and sentences, and the word lists that they come from. Knows no prompt."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from mockserver.core.seed import Random

T = TypeVar("T")


@cache
def word_lists(name: str) -> Mapping[str, Any]:
    """The lists of a file in `word_lists`, read when they are first needed."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("mockserver.model").joinpath("word_lists", f"{name}.toml").read_text(encoding="utf-8"))


@cache
def english(name: str, group: str = "") -> tuple[str, ...]:
    """The English words or sentences of a list; an empty tuple if there is no such list."""
    lists = word_lists("english")
    found = (lists[group] if group else lists).get(name, ())
    return tuple(found.split() if isinstance(found, str) else found)


@cache
def lexicon(locale: str) -> tuple[str, ...]:
    """The words that Faker has for a locale."""
    from importlib import import_module  # the module takes 0.1 s, which a server of rules alone need not pay

    return tuple(import_module(f"faker.providers.lorem.{locale}").Provider.word_list)


def pick(choices: Sequence[T], rng: Random) -> T:
    """One of several."""
    return choices[int(rng.random() * len(choices))]  # `randrange` takes five times as long


def word(rng: Random, locale: str = "en_US") -> str:
    """One of the words that Faker has for a locale."""
    words = lexicon(locale)
    return words[rng.randrange(len(words))]


def phrase(rng: Random, length: int) -> str:
    """So many English words."""
    return " ".join(word(rng) for _ in range(length))


def sentence(rng: Random, locale: str = "en_US") -> str:
    """One sentence, with a comma if it is long, and sometimes a question."""
    words = [word(rng, locale) for _ in range(rng.randrange(5, 15))]
    if len(words) > 7:
        words[rng.randrange(2, len(words) - 2)] += ","
    words[0] = words[0].capitalize()
    return " ".join(words) + ("?" if rng.random() < 0.06 else ".")


def noun(rng: Random) -> str:
    """A thing, in one word."""
    return pick(english("nouns"), rng)


def thing(rng: Random) -> str:
    """A thing, in two words."""
    return f"{pick(english('adjectives'), rng)} {pick(english('nouns'), rng)}"


def note(rng: Random) -> str:
    """A few words that fit nearly anything."""
    return english("notes")[rng.randrange(len(english("notes")))]


def remark(rng: Random) -> str:
    """A sentence that fits nearly anything."""
    aspects, remarked = some_aspects(rng), pick(english("remarks"), rng)
    first, second = two_of(aspects, rng)
    rng.random()  # once drawn for a word of the prompt; without it what follows would change
    return remarked.format(a=first, b=second, A=capitalized(first))


def some_aspects(rng: Random) -> list[str]:
    """Five aspects that a text keeps to."""
    left = list(english("aspects"))
    return [left.pop(int(rng.random() * len(left))) for _ in range(5)]


def two_of(aspects: Sequence[str], rng: Random) -> tuple[str, str]:
    """Two different ones, in any order."""
    at = int(rng.random() * (len(aspects) - 1))
    first, second = aspects[at], aspects[at + 1 + int(rng.random() * (len(aspects) - 1 - at))]
    return (second, first) if rng.random() < 0.5 else (first, second)


def capitalized(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
