"""Lists on a topic."""

import re
from collections.abc import Iterator
from itertools import islice

from mockserver.core.seed import Random
from mockserver.model.forms.prompt import NUMBER, Asked, number_of
from mockserver.model.languages import english
from mockserver.model.prose.sentences import pick
from mockserver.model.prose.things import ADJECTIVES
from mockserver.model.schema.names import known_text
from mockserver.model.vocabulary import vocabulary


def listed(asked: Asked, rng: Random) -> str | None:
    """A list of as many items as are asked for."""
    counted = next((found for found in _COUNTED.finditer(asked.text) if found["noun"].lower() not in _MEASURES), None)
    if counted is None and (one := _ONE.match(asked.text)) is not None:
        return f"{pick(ADJECTIVES, rng).capitalize()} {one[1].lower()}"
    if counted is None and not _LIST.search(asked.text) and not _BULLETED.search(asked.rules):
        return None
    number = min(number_of(counted["number"]) or 1, _MOST) if counted else rng.randrange(3, 6)
    items = list(_items(asked, counted["noun"].lower() if counted else "", number, rng))
    if any(_IN_A_ROW.search(order) for order in asked.both):
        return ", ".join(item.partition(":")[0] for item in items)
    bulleted = any(_BULLETED.search(order) for order in asked.both)
    return "\n".join(f"- {item}" if bulleted else f"{at}. {item}" for at, item in enumerate(items, 1))


def note(rng: Random) -> str:
    """A remark that fits nearly anything."""
    return _NOTES[rng.randrange(len(_NOTES))]


def _items(asked: Asked, noun: str, number: int, rng: Random) -> Iterator[str]:
    """Different items: aspects with a remark, or invented things where things are asked for."""
    if noun in _TOLD or not noun:
        aspects = rng.sample(english.ASPECTS, min(number, len(english.ASPECTS)))
        yield from (f"{aspect.capitalize()}: {note(rng)}" for aspect in aspects)
        yield from (f"Point {at}: {note(rng)}" for at in range(len(aspects) + 1, number + 1))
        return
    words = asked.topic.words
    for_something = noun in _NAMES and bool(words) and words[-1].lower() != noun
    known = [] if for_something else list(islice(_known(_single(noun), rng), number))
    if len(known) == number:
        yield from known
        return
    thing = words[-1].capitalize() if for_something else _single(noun)
    adjectives = rng.sample(ADJECTIVES, len(ADJECTIVES))
    for at in range(number):
        turn, place = divmod(at, len(adjectives))
        yield f"{adjectives[place].capitalize()} {thing}" + (f" {turn + 1}" if turn else "")


def _known(noun: str, rng: Random) -> Iterator[str]:
    """Different ones of a kind whose name says what they are: cities, colours, names."""
    seen = set[str]()
    for _ in range(_MOST * 4):
        made = known_text(noun, rng)
        if made is None:
            return
        if made not in seen:
            seen.add(made)
            yield made


def _single(noun: str) -> str:
    """One of several, as far as English spelling tells."""
    if noun.endswith("ies") and noun not in _ENDING_IN_IE:
        return noun[:-3] + "y"
    if noun.endswith(("ses", "xes", "ches", "shes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


_MOST = 50
_VERB = (
    r"list|give|name|write|suggest|provide|tell|show|generate|create|brainstorm|find|what are|what're|top|"
    r"best|come up with|recommend|"
    r"mention|share|propose|return|output|identify|make|produce|outline|think of|state|describe|explain|"
    r"which|need|want|offer"
)
_COUNTED = re.compile(
    rf"(?i)\b(?:{_VERB})\b[^.?!\n]{{0,40}}?\b(?P<number>(?!(?:a|an|one|single)\b){NUMBER})\s+"
    rf"(?:(?:different|simple|good|great|main|key|short|best|top|new|creative|common|popular|important|"
    rf"interesting|possible|random|quick|"
    rf"unique|more|other|of the|the|most|bullet|numbered|concise|famous|fun|"
    rf"practical)\s+){{0,3}}(?P<noun>[a-z][a-z-]{{2,30}}s|people|children|fish)\b"
)
_MEASURES = vocabulary(
    "words sentences paragraphs lines years days hours minutes seconds weeks months times characters tokens "
    "pages people "
    "stanzas verses syllables rows columns dollars euros pounds kilometers miles nights guests persons "
    "adults letters digits "
    "languages options")  # fmt: skip
_ONE = re.compile(r"(?i)\s*(?:please )?name (?:an?|one|any) ([a-z][a-z -]{2,30})[.!?]?\s*$")
_LIST = re.compile(
    r"(?i)\b(?:bullet(?:ed)? (?:points?|list)|bullets\b|numbered list|an? (?:short |brief )?list of|"
    r"as a list|in a list|list form|step[- ]by[- ]step|"
    r"shopping list|checklist|to-?do list|comma[- ]separated(?: list)?)\b|^\s*(?:please )?list\b"
)
_BULLETED = re.compile(r"(?i)\bbullet(?:s|ed)?\b")
_IN_A_ROW = re.compile(r"(?i)\bcomma[- ](?:separated|delimited)|separated by commas")
_TOLD = vocabulary(
    "reasons tips steps ideas ways benefits facts advantages disadvantages pros cons points bullets things "
    "examples arguments "
    "features factors aspects differences similarities rules recommendations suggestions lessons risks "
    "challenges strategies "
    "questions goals principles methods points items topics")  # fmt: skip
_NAMES = vocabulary("names titles slogans headlines taglines brands domains")
_ENDING_IN_IE = vocabulary("movies cookies pies ties brownies zombies selfies smoothies calories")
_NOTES = (
    "worth checking first", "often decides", "easy to overlook", "better early than late", "more useful than it looks",
    "costs little and helps a lot", "depends on the case", "best kept simple", "grows with practice",
    "rarely the problem", "good to know beforehand", "not urgent, but important", "a matter of taste", "pays off later",
)  # fmt: skip


def tabled(asked: Asked, rng: Random) -> str | None:
    """A table with the columns that are asked for: rows of values where their names say which, else of remarks."""
    named = _columns(asked.text)
    if _CSV.search(asked.text) and named:
        lines = [",".join(named), *(",".join(line) for line in _valued(named, _rows(asked.text), rng))]
        return "\n".join(lines)
    if not _TABLE.search(asked.text):
        return None
    columns = [name[:1].upper() + name[1:] for name in named] or _compared(asked.topic.subject) or ["Aspect", "Note"]
    if named and sum(known_text(name, rng) is not None for name in named) * 2 >= len(named):
        return table(columns, _valued(named, _rows(asked.text), rng))
    aspects = rng.sample(english.ASPECTS, min(_rows(asked.text), len(english.ASPECTS)))
    return table(columns, [[aspect.capitalize(), *(note(rng) for _ in columns[1:])] for aspect in aspects])


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A table as Markdown writes it."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _valued(columns: list[str], rows: int, rng: Random) -> list[list[str]]:
    """Rows of values that suit the names of their columns; an `id` counts."""
    return [
        [str(at) if name.lower() in ("id", "no", "#") else _cell(name, rng) for name in columns]
        for at in range(1, rows + 1)
    ]


def _cell(name: str, rng: Random) -> str:
    return (known_text(name, rng) or english.ASPECTS[rng.randrange(len(english.ASPECTS))]).replace(",", " ")


def _columns(text: str) -> list[str]:
    named = _COLUMNS.search(text)
    if named is None:
        return []
    parts = [part.strip().strip("\"'`*").strip() for part in re.split(r",|\band\b|/|\|", named[1])]
    return [part for part in parts if part and not _ROWS.search(part)][:_MOST_COLUMNS]


def _compared(subject: str) -> list[str]:
    both = re.match(r"(\w[\w .+#-]{0,30}?) (?:and|vs\.?|versus|or) (\w[\w.+#-]{0,30})", subject)
    return ["Aspect", *(side[:1].upper() + side[1:] for side in both.groups())] if both else []


def _rows(text: str) -> int:
    rows = _ROWS.search(text)
    return max(1, min(number_of(rows[1]), _TABLES_MOST)) if rows else 3


_TABLES_MOST, _MOST_COLUMNS = 50, 8
_ROWS = re.compile(rf"(?i)\b({NUMBER})\s+(?:\w+ )?(?:rows?|lines|entries|records)\b")
_CSV = re.compile(r"(?i)\bcsv\b|\bcomma[- ]separated values\b")
_TABLE = re.compile(
    r"(?i)\b(?:in|as|with|using|into) an? (?:\w+ ){0,2}table\b|\bmarkdown table\b|\btable (?:of|with|"
    r"comparing|showing|that|format)\b|"
    r"\b(?:create|make|write|generate|give me|draw|build|format|produce|show)\b(?: \w+){0,3} table\b|\btabular\b"
)
_COLUMNS = re.compile(r"(?i)\bcolumns?(?: named| called| for| of| are| headers?)?:?\s+([^.\n;:]{2,200})")
