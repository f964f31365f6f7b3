"""Fields that a prompt wants in another notation than JSON: YAML, CSV, a table, tags, a literal, a form to fill in."""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from mockserver.core.json import Json, compact
from mockserver.core.lazy import lazy_pattern
from mockserver.model.vocabulary import NUMBER_WORDS


class Notation(Struct, frozen=True):
    """The order as it would be for JSON, and how to write the value."""

    as_json: str
    write: Callable[[Json], str]


def notation_of(text: str) -> Notation | None:
    """Return the notation that a text orders; None for JSON, and where it orders none."""
    if _WANTED.search(text) is None or "json" in text.lower():
        return None
    for pattern, word, write in _NOTATIONS:
        if pattern.search(text):
            rows = _ROWS.search(text)
            number = f" Give exactly {rows[1]} items." if rows else ""
            return Notation(_ROWS.sub("", pattern.sub(word, text)) + number, write)
    tags = [*dict.fromkeys(_TAG.findall(found[0] if (found := _TAGS.search(text)) else ""))]
    if len(tags) < 2 or found is None:
        return None
    keys = f"as JSON with keys {', '.join(tags)}"
    return Notation(text[: found.start()] + keys + text[found.end() :], _in_tags)


class Form(Struct, frozen=True):
    """A form to fill in, with a zero byte for each gap, the names of the gaps, and what the text says besides."""

    blank: str
    names: tuple[str, ...]
    rest: str

    def filled(self, values: Mapping[str, Json]) -> str:
        gaps = iter(self.names)
        written = {name: _plain(value) for name, value in values.items()}
        return re.sub("\0", lambda gap: _moment(name := next(gaps), written[name]), self.blank)


def form_in(text: str) -> Form | None:
    """Return the form that a text orders, such as `name|age`, `Name: <name>` or `YYYY-MM-DD`; None for none."""
    found = _ORDERED_MOMENT.search(text) or _FORM.search(text)
    form = next(filter(None, found.groups()), "").rstrip(" .") if found else ""
    if found is None or "://" in form:
        return None
    gap = next((gap for gap in (_MOMENT, _PLACEHOLDER, _FIELD) if gap.search(form)), _FIELD)
    names = tuple(name[0].strip("<>{}[] ") for name in gap.finditer(form))
    if len(names) < 2 and gap is not _MOMENT:
        return None
    return Form(gap.sub("\0", form), names, text[: found.start()] + text[found.end() :])


def _moment(pattern: str, value: str) -> str:
    """A date or time as a pattern such as `DD/MM/YYYY` or `HH:MM` shows; other values as they are."""
    iso = _ISO.match(value) if _MOMENT.fullmatch(pattern) else None
    if iso is None:
        return value
    year, month, day, hour, minute = (part or "00" for part in iso.groups())
    pattern = re.sub(r"(?i)(?<=hh.)mm", minute, pattern)
    for sign, part in (("YYYY", year), ("MM", month), ("DD", day), ("HH", hour), ("SS", "00"), ("YY", year[2:])):
        pattern = re.sub(sign, part, pattern, flags=re.IGNORECASE)
    return pattern


def _yaml(value: Json, indent: str = "") -> str:
    if isinstance(value, Mapping):
        nested = (Mapping, list)
        return "\n".join(
            f"{indent}{key}:"
            + (f"\n{_yaml(inner, indent + '  ')}" if isinstance(inner, nested) else f" {_plain(inner)}")
            for key, inner in value.items()
        )
    if isinstance(value, list):
        return "\n".join(f"{indent}- {_yaml(each, indent + '  ').lstrip()}" for each in value)
    return indent + _plain(value)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else compact(value)


def _csv(value: Json) -> str:
    return "\n".join(",".join(cell.replace(",", "") for cell in row) for row in _rows(value))


def _table(value: Json) -> str:
    head, *rest = _rows(value)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rest))


def _rows(value: Json) -> list[list[str]]:
    records = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Mapping)]
    return [[*(records or [{}])[0]], *([_plain(inner) for inner in each.values()] for each in records)]


def _in_tags(value: Json) -> str:
    fields = value[0] if isinstance(value, list) else value
    return "\n".join(f"<{name}>{_plain(inner)}</{name}>" for name, inner in fields.items())


_RECORDS = "JSON array of objects"
_NOTATIONS: tuple[tuple[re.Pattern[str], str, Callable[[Json], str]], ...] = (
    (lazy_pattern(r"(?i)\bya?ml\b(?! files?)"), "JSON", _yaml),
    (lazy_pattern(r"(?i)\bcsv\b(?: (?:data|format|text|table))?(?! files?)"), _RECORDS, _csv),
    (
        lazy_pattern(r"(?i)\b(?:markdown )?table\b(?: in markdown)?(?=[^\n]{0,200}\b(?:columns?|header)\b)"),
        _RECORDS,
        _table,
    ),
    (lazy_pattern(r"(?i)\bxml\b(?: document)?(?= (?:with|containing) )"), "JSON", _in_tags),
    (lazy_pattern(r"(?i)\bpython (?:list|array|tuple)\b"), "JSON array", repr),
    (lazy_pattern(r"(?i)\bpython dict(?:ionary)?\b"), "JSON object", repr),
    (lazy_pattern(r"(?i)\b(?:javascript|js|typescript) array\b"), "JSON array", compact),
)
_WANTED = lazy_pattern(
    r"(?i)\b(?:return|respond|reply|output|answer|give|produce|generate|provide|format|write|create|make|extract"
    r"|convert|print|describe|list|show|use|put)\b"
)
_ROWS = lazy_pattern(rf"(?i)\b(\d{{1,2}}|{NUMBER_WORDS})(?: data)? rows?\b")
_TAG = lazy_pattern(r"<([A-Za-z][\w-]{0,30})>")
_TAGS = lazy_pattern(
    r"(?i)\b(?:in|into|as|using|with) (?:the |these )?(?:xml )?(?:tags|elements|xml)\b:?\s*"
    r"(?:`?<[a-z][\w-]{0,30}>`?(?:\s*,?\s*(?:and\s+)?)?){2,12}"
)
_PATTERN = r"(?:YYYY|YY|DD|MM|HH|hh)(?:[-/.: T](?:YYYY|YY|DD|MM|HH|hh|mm|SS|ss)){1,5}"
_MOMENT = lazy_pattern(rf"\b{_PATTERN}\b")
_ORDERED_MOMENT = lazy_pattern(
    r"\b(?i:reply|respond|answer|give|use|output|return|write|tell)\b[^.\n]{0,60}?\b(?i:in|as|format"
    r"|use)\b[^.\n]{0,20}?"
    rf"\b({_PATTERN})\b"
)
_ISO = lazy_pattern(r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d))?")
_PLACEHOLDER = lazy_pattern(r"<[^<>\n]{1,60}>|\{[\w ]{1,60}\}|\[[\w ]{1,60}\]")
_FIELD = lazy_pattern(r"[A-Za-z][\w -]{0,30}(?=\s?[|;/]|$)")
_FORM = lazy_pattern(
    r"(?i)\b(?:format|form|template|pattern)\b(?: of| is| like)?\s?(?:[:=]\s?)?(?:\"([^\"\n]{3,200})\""
    r"|'([^'\n]{3,200})'|`([^`\n]{3,200})`|(?<=[:=] )([\w-]{2,30}(?:\s?[|;/]\s?[\w-]{2,30}){1,6})(?=[.\s]|$)"
    r"|(?<=[:=] )([^\n]{0,60}<[^\n]{1,200})|(?<=:\n)((?:[^\n]{0,60}(?:<[^<>\n]{1,60}>|\[[\w ]{1,60}\])[^\n]{0,60}(?:\n"
    r"|$)){1,12}))"
)
