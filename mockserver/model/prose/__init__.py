"""Seeded text, as long as it is to be: sentences on what the prompt is about, Latin, mere words, an echo."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, islice, takewhile

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Text
from mockserver.core.seed import Random, Seed
from mockserver.core.tokens import count
from mockserver.model.fillers import sentence, word
from mockserver.model.prose.sentences import Speaker, blank
from mockserver.model.prose.topic import Topic, topic


def prose(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Prose on the prompt's subject, in its language: about `options["tokens"]` tokens, or a few sentences."""
    return DraftChoice((Text(joint(call) + text_on(topic_of(call), call, seed.stream("prose"), options)),))


def lorem(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Lorem ipsum, as long as `prose` would be."""
    rng = seed.stream("lorem")
    latin = _paragraphs((sentence(rng, "la") for _ in range(MOST_TOKENS)), rng, " ")
    return DraftChoice((Text(joint(call) + _limited(_up_to(latin, length(call, rng, options)), call, options)),))


def words(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Random English words: about `options["tokens"]` tokens."""
    rng = seed.stream("words")
    pieces = (" " * bool(at) + word(rng) for at in range(MOST_TOKENS))
    return DraftChoice((Text("".join(_up_to(pieces, length(call, rng, options)))),))


def echo(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """The last user message."""
    return DraftChoice((Text(call.last_user),))


def topic_of(call: Call) -> Topic:
    """What a call is about: the prompt to go on from, or what the user said last."""
    if call.prompts:
        return topic(call.prompts[0].text)
    return topic(call.last_user, system(call))


def system(call: Call) -> str:
    """What the one who runs the model tells it beforehand."""
    return "\n".join([message.text for message in call.messages if message.role in ("system", "developer")])


def text_on(about: Topic, call: Call, rng: Random, options: Mapping[str, Json]) -> str:
    """Sentences on a topic, within the call's limit."""
    wanted = length(call, rng, options)
    goes_on = bool(call.prompts) and about.kind == "state"
    speaker = Speaker(replace(about, subject="") if goes_on else about, rng)
    begun = goes_on and call.prompts[0].text.rstrip()[-1:].isalnum()
    said = speaker.ended() if begun else speaker.sentences(opened=not goes_on)
    pieces = _up_to(_paragraphs(said, rng, blank(about)), wanted)
    if "tokens" not in options and wanted > _WORTH_AN_END and (ended := speaker.closer()):
        pieces.append(" " + ended)
    return _limited(pieces, call, options)


def joint(call: Call) -> str:
    """What stands between a prompt that is gone on from and the text: a blank, unless it ends with one."""
    return " " if call.prompts and call.prompts[0].text[-1:].strip() else ""


def _limited(pieces: list[str], call: Call, options: Mapping[str, Json]) -> str:
    """The pieces that the request's limit leaves, unless a length is stated."""
    free = "tokens" in options or call.max_tokens is None or call.ignore_eos
    return "".join(pieces if free or call.max_tokens is None else _within(pieces, call.max_tokens))


def length(call: Call, rng: Random, options: Mapping[str, Json]) -> int:
    """How many tokens the text is to have."""
    natural = int(
        rng.randrange(*_NATURAL) * _OF_VERBOSITY.get(call.verbosity or "", 1) * _OF_EFFORT.get(call.effort, 1)
    )
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


def _paragraphs(made: Iterator[str], rng: Random, between: str) -> Iterator[str]:
    """Sentences without end, each with the blank or the blank line that stands before it."""
    yield next(made)
    while True:
        yield from (between + sentence for sentence in islice(made, rng.randrange(*_SENTENCES_OF_PARAGRAPH)))
        yield "\n\n" + next(made)


_NATURAL = (20, 80)  # tokens of a text when nobody asks for a length
_OF_VERBOSITY: Mapping[str, float] = {"low": 0.5, "medium": 1, "high": 2.5}
_OF_EFFORT: Mapping[str | None, float] = {"minimal": 0.8, "high": 1.25, "xhigh": 1.5, "max": 1.5}
_WORTH_AN_END = 36
MOST_TOKENS = 100_000
_SENTENCES_OF_PARAGRAPH = (3, 7)
