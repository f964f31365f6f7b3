"""Tables on a topic, in Markdown or with commas."""

import re

from mockserver.core.seed import Random
from mockserver.engine.generate.forms.asked import NUMBER, Asked, number_of
from mockserver.engine.generate.forms.lists import note
from mockserver.engine.generate.instances.names import known_text
from mockserver.engine.generate.languages import english


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
    return max(1, min(number_of(rows[1]), _MOST)) if rows else 3


_MOST, _MOST_COLUMNS = 50, 8
_ROWS = re.compile(rf"(?i)\b({NUMBER})\s+(?:\w+ )?(?:rows?|lines|entries|records)\b")
_CSV = re.compile(r"(?i)\bcsv\b|\bcomma[- ]separated values\b")
_TABLE = re.compile(
    r"(?i)\b(?:in|as|with|using|into) an? (?:\w+ ){0,2}table\b|\bmarkdown table\b|\btable (?:of|with|"
    r"comparing|showing|that|format)\b|"
    r"\b(?:create|make|write|generate|give me|draw|build|format|produce|show)\b(?: \w+){0,3} table\b|\btabular\b"
)
_COLUMNS = re.compile(r"(?i)\bcolumns?(?: named| called| for| of| are| headers?)?:?\s+([^.\n;:]{2,200})")
