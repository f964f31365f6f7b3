"""Seeded text: sentences of plausible length that mean nothing. Knows words, not what was asked."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import accumulate, takewhile

from mockserver.core.call import Call, Json
from mockserver.core.plan import Failure, Text
from mockserver.core.seed import Random, Seed
from mockserver.core.tokens import count
from mockserver.engine.draft import DraftChoice


def prose(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """English sentences: about `options["tokens"]` tokens, or a few sentences that fit into the request's limit."""
    return _sentences(_english, call, seed.stream("prose"), options)


def lorem(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """The same in Latin."""
    return _sentences(_latin, call, seed.stream("lorem"), options)


def words(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """English words without order or signs: about `options["tokens"]` tokens."""
    rng = seed.stream("words")
    pieces = _endless(lambda: _word(_english(), rng), " ")
    return DraftChoice((Text("".join(_up_to(pieces, _length(call, rng, options)))),))


def echo(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """What the user said last."""
    return DraftChoice((Text(call.last_user),))


def sentence(rng: Random) -> str:
    """One English sentence."""
    return _sentence(_english(), rng)


def phrase(rng: Random, length: int) -> str:
    """So many English words."""
    return " ".join(_word(_english(), rng) for _ in range(length))


def _sentences(
    lexicon: Callable[[], tuple[str, ...]], call: Call, rng: Random, options: Mapping[str, Json]
) -> DraftChoice:
    pieces = _up_to(_paragraphs(lexicon(), rng), _length(call, rng, options))
    if "tokens" not in options and call.max_tokens is not None and not call.ignore_eos:
        pieces = _within(pieces, call.max_tokens)
    return DraftChoice((Text(_joint(call) + "".join(pieces)),))


def _joint(call: Call) -> str:
    """What stands between a prompt that is gone on from and the text: a blank, unless it ends with one."""
    return " " if call.prompts and call.prompts[0].text[-1:].strip() else ""


def _length(call: Call, rng: Random, options: Mapping[str, Json]) -> int:
    """How many tokens the text is to have."""
    natural = rng.randrange(*_NATURAL)
    if call.ignore_eos and call.max_tokens is not None:
        natural = min(call.max_tokens + 1, MOST_TOKENS)  # it does not end, but is cut
    asked = options.get("tokens", natural)
    if isinstance(asked, bool) or not isinstance(asked, int) or not 0 < asked <= MOST_TOKENS:
        raise Failure("server_error", f"generate: tokens must be a number from 1 to {MOST_TOKENS}, not {asked!r}")
    return asked


def _up_to(pieces: Iterator[str], tokens: int) -> list[str]:
    """The pieces that reach so many tokens, the last of them whole."""
    taken: list[str] = []
    while tokens > 0:
        taken.append(next(pieces))
        tokens -= _weight(taken[-1])
    return taken


def _within(pieces: list[str], tokens: int) -> list[str]:
    """The pieces that fit into so many tokens, but always the first."""
    fitting = takewhile(lambda total: total <= tokens, accumulate(map(_weight, pieces)))
    return pieces[: max(1, sum(1 for _ in fitting))]


def _weight(piece: str) -> int:
    return count(piece.lstrip("\n"))  # the blank line is part of the full stop's token


def _paragraphs(lexicon: tuple[str, ...], rng: Random) -> Iterator[str]:
    """Sentences without end, each with the blank or the blank line that stands before it."""
    yield _sentence(lexicon, rng)
    while True:
        for _ in range(rng.randrange(*_SENTENCES_OF_PARAGRAPH)):
            yield " " + _sentence(lexicon, rng)
        yield "\n\n" + _sentence(lexicon, rng)


def _endless(make: Callable[[], str], between: str) -> Iterator[str]:
    yield make()
    while True:
        yield between + make()


def _sentence(lexicon: tuple[str, ...], rng: Random) -> str:
    made = [_word(lexicon, rng) for _ in range(rng.randrange(*_WORDS_OF_SENTENCE))]
    if len(made) > 7:
        made[rng.randrange(2, len(made) - 2)] += ","
    made[0] = made[0].capitalize()
    return " ".join(made) + ("?" if rng.random() < _QUESTIONS else ".")


def _word(lexicon: tuple[str, ...], rng: Random) -> str:
    return lexicon[rng.randrange(len(lexicon))]


@cache
def _english() -> tuple[str, ...]:
    from faker.providers.lorem.en_US import Provider  # 0.1 s, which a server of rules alone need not pay

    return tuple(Provider.word_list)


@cache
def _latin() -> tuple[str, ...]:
    from faker.providers.lorem.la import Provider  # as above

    return tuple(Provider.word_list)


_NATURAL = (20, 80)  # tokens of a text when nobody asks for a length
MOST_TOKENS = 100_000
_WORDS_OF_SENTENCE = (5, 15)
_SENTENCES_OF_PARAGRAPH = (3, 7)
_QUESTIONS = 0.06
