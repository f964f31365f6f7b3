"""A document in Markdown, to test what shows one: headings, lists, a table, a fence with code, links and emphasis."""

from collections.abc import Iterator, Mapping
from itertools import cycle, islice

from mockserver.core.call import Call
from mockserver.core.draft import DraftChoice
from mockserver.core.json import Json
from mockserver.core.plan import Text
from mockserver.core.seed import Random, Seed
from mockserver.core.tokens import count
from mockserver.model.forms.code import block
from mockserver.model.forms.lists import note, table
from mockserver.model.languages import english
from mockserver.model.prose import length, topic_of
from mockserver.model.prose.sentences import Speaker, blank, pick


def markdown(call: Call, seed: Seed, options: Mapping[str, Json]) -> DraftChoice:
    """Headings, lists, a table and code in Markdown on the prompt's subject: about `options["tokens"]` tokens."""
    rng, about = seed.stream("markdown"), topic_of(call)
    wanted = length(call, rng, {"tokens": _USUAL, **options})
    speaker = Speaker(about, rng)
    title = about.subject or "a short document"
    text = f"# {title[:1].upper()}{title[1:]}"
    for made in _blocks(speaker, rng, blank(about)):
        if count(text) >= wanted:
            break
        text += "\n\n" + made
    return DraftChoice((Text(text),))


def _blocks(speaker: Speaker, rng: Random, between: str) -> Iterator[str]:
    """Blocks of every kind in turn, without end."""
    said = speaker.sentences()
    for kind in cycle(_KINDS):
        yield kind(said, rng, between)


def _paragraph(said: Iterator[str], rng: Random, between: str) -> str:
    return between.join(islice(said, 2))


def _bullets(said: Iterator[str], rng: Random, between: str) -> str:
    return f"## {_aspect(rng)}\n\n" + "\n".join(f"- **{_aspect(rng)}**: {note(rng)}" for _ in range(3))


def _numbered(said: Iterator[str], rng: Random, between: str) -> str:
    return "\n".join(f"{at}. {sentence}" for at, sentence in enumerate(islice(said, 3), 1))


def _tabled(said: Iterator[str], rng: Random, between: str) -> str:
    return table(["Aspect", "Note"], [[_aspect(rng), note(rng)] for _ in range(3)])


def _code(said: Iterator[str], rng: Random, between: str) -> str:
    return f"### {_aspect(rng)}\n\n" + block("python", pick(english.ASPECTS, rng), "An example.")


def _quote(said: Iterator[str], rng: Random, between: str) -> str:
    linked, named = (_aspect(rng).lower() for _ in range(2))
    return f"> {next(said)}\n\nSee [{linked}](https://example.com/{linked}) and `{named}`."


def _aspect(rng: Random) -> str:
    return pick(english.ASPECTS, rng).capitalize()


_KINDS = (_paragraph, _bullets, _numbered, _tabled, _code, _quote)
_USUAL = 200  # tokens
