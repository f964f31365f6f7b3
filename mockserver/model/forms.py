"""Values that a prompt wants in another notation than JSON: YAML, CSV, a table, tags, a literal, a form to fill in."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct

from mockserver.core.json import Json, compact
from mockserver.core.lazy import lazy_pattern
from mockserver.model.vocabulary import NUMBER_WORDS, vocabulary


class Notation(Struct, frozen=True):
    """The order as it would be for JSON, and how to write the value."""

    as_json: str
    write: Callable[[Json], str]


def find_notation(text: str) -> Notation | None:
    """Return the notation that a text orders; None for JSON, and where it orders none."""
    if _WANTED.search(text) is None or ("json" in text.lower() and not _AS_YAML.search(text)):
        return None
    for pattern, word, write in _NOTATIONS:
        if pattern.search(text):
            rows = _ROWS.search(text)
            number = f" Give exactly {rows[1]} items." if rows else ""
            as_json = _ROWS.sub("", pattern.sub(word, text)) + number
            is_fenced = write is _write_yaml and "```" in text
            return Notation(as_json, (lambda value: f"```yaml\n{_write_yaml(value)}\n```") if is_fenced else write)
    return None


class Form(Struct, frozen=True):
    """A form to fill in, with a zero byte for each gap, the names of the gaps, and what the text says besides."""

    blank: str
    names: tuple[str, ...]
    rest: str
    notes: Mapping[str, str] = {}  # what the form says of the gaps

    def fill(self, values: Mapping[str, Json]) -> str:
        gaps = iter(self.names)
        return re.sub("\0", lambda gap: _write_moment(name := next(gaps), _write_plain(values[name])), self.blank)


def find_form(text: str) -> Form | None:
    """Return the form that a text orders, such as `name|age`, `Name: <name>`, `<a></a>` or `YYYY-MM-DD`."""
    if (elements := _find_elements(text) or _find_tags(text)) is not None:
        return elements
    found = _ORDERED_MOMENT.search(text) or _FORM.search(text)
    form = next(filter(None, found.groups()), "").rstrip(" .") if found else ""
    if found is None or "://" in form:
        return None
    gap = next((gap for gap in (_MOMENT, _PLACEHOLDER, _FIELD) if gap.search(form)), _FIELD)
    names = tuple(name[0].strip("<>{}[] ") for name in gap.finditer(form))
    if len(names) < 2 and gap is not _MOMENT:
        return None
    return Form(gap.sub("\0", form), names, text[: found.start()] + text[found.end() :])


def _find_elements(text: str) -> Form | None:
    """The elements that a text shows as the format of its answer; what they hold says what belongs there."""
    if (listed := _OUTPUT_TAGS.search(text)) is not None:
        root, *names = re.findall(r"[\w-]+", listed[1])
        blank = "\n".join((f"<{root}>", *(f"<{name}>\0</{name}>" for name in names), f"</{root}>"))
        return Form(blank, tuple(names), text[: listed.start()] + text[listed.end() :])
    cue = _SHOWING.search(text)
    shown = _ELEMENTS.match(text, cue.end()) if cue else None
    if shown is None:
        return None
    names, notes = list[str](), dict[str, str]()

    def leave_gap(leaf: re.Match[str]) -> str:
        name = leaf["name"] if leaf["name"] not in names else f"{leaf['name']}_{len(names)}"
        names.append(name)
        notes[name] = " ".join(leaf["note"].split())
        return f"<{leaf['name']}>\0</{leaf['name']}>"

    blank = _LEAF.sub(leave_gap, shown[0].strip())
    return Form(blank, tuple(names), text[: cue.start()] + text[shown.end() :], notes) if cue and names else None


def _find_tags(text: str) -> Form | None:
    """Two or more elements in which a text wants the values that they name."""
    if found := _TAGS.search(text):
        names = [*dict.fromkeys(_TAG.findall(found[0]))]
        rest = text[: found.start()] + text[found.end() :]
    else:
        names = [*dict.fromkeys(each["name"] for each in _TAGGED.finditer(text))]
        rest = _TAGGED.sub(" ", text)
    if len(names) < 2 or any(is_thought(name) or name.lower() in ("answer", "final_answer") for name in names):
        return None
    return Form("\n".join(f"<{name}>\0</{name}>" for name in names), tuple(names), rest)


def is_thought(name: str) -> bool:
    """Whether what a form names is thought before the answer."""
    return name.lower() in _THOUGHTS


def _write_moment(pattern: str, value: str) -> str:
    """A date or time as a pattern such as `DD/MM/YYYY` or `%Y-%m-%d` shows; other values as they are."""
    if _MOMENT.fullmatch(pattern) is None:
        return value
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return value
    pattern = re.sub(r"(?i)(?<=hh.)mm", "%M", pattern)
    for sign, part in (("YYYY", "%Y"), ("MM", "%m"), ("DD", "%d"), ("HH", "%H"), ("hh", "%H"), ("ss", "%S")):
        pattern = re.sub(rf"(?<!%){sign}|(?<!%){sign.upper()}", part, pattern)
    return moment.strftime(pattern)


def _write_yaml(value: Json, indent: str = "") -> str:
    if isinstance(value, Mapping):
        nested = (Mapping, list)
        return "\n".join(
            f"{indent}{key}:"
            + (f"\n{_write_yaml(inner, indent + '  ')}" if isinstance(inner, nested) else f" {_write_plain(inner)}")
            for key, inner in value.items()
        )
    if isinstance(value, list):
        return "\n".join(f"{indent}- {_write_yaml(each, indent + '  ').lstrip()}" for each in value)
    return indent + _write_plain(value)


def _write_plain(value: Json) -> str:
    return value if isinstance(value, str) else compact(value)


def _write_csv(value: Json) -> str:
    return "\n".join(",".join(cell.replace(",", "") for cell in row) for row in _rows(value))


def _write_table(value: Json) -> str:
    head, *rest = _rows(value)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rest))


def _rows(value: Json) -> list[list[str]]:
    records = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Mapping)]
    return [[*(records or [{}])[0]], *([_write_plain(inner) for inner in each.values()] for each in records)]


def _write_elements(value: Json) -> str:
    fields = value[0] if isinstance(value, list) else value
    return "\n".join(f"<{name}>{_write_plain(inner)}</{name}>" for name, inner in fields.items())


_RECORDS = "JSON array of objects"
_NOTATIONS: tuple[tuple[re.Pattern[str], str, Callable[[Json], str]], ...] = (
    (lazy_pattern(r"(?i)\bya?ml\b(?! files?)"), "JSON", _write_yaml),
    (lazy_pattern(r"(?i)\bcsv\b(?: (?:data|format|text|table))?(?! files?)"), _RECORDS, _write_csv),
    (
        lazy_pattern(r"(?i)\b(?:markdown )?table\b(?: in markdown)?(?=[^\n]{0,200}\b(?:columns?|header)\b)"),
        _RECORDS,
        _write_table,
    ),
    (lazy_pattern(r"(?i)\bxml\b(?: document)?(?= (?:with|containing) )"), "JSON", _write_elements),
    (lazy_pattern(r"(?i)\bpython (?:list|array|tuple)\b"), "JSON array", repr),
    (lazy_pattern(r"(?i)\bpython dict(?:ionary)?\b"), "JSON object", repr),
)
_AS_YAML = lazy_pattern(r"(?i)\b(?:as|in|valid) (?:an? )?ya?ml\b")
_THOUGHTS = vocabulary("think thinking thought thoughts reasoning reason scratchpad analysis explanation")
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
_TAGGED = lazy_pattern(
    r"(?i)\b(?:put|place|write|give|return|wrap|enclose|the|and)\b[^.\n<]{0,60}?\b(?:in|inside|within|between) "
    r"`?<(?P<name>[a-z][\w-]{0,30})>(?:[\s.…]{0,9}</(?P=name)>)?`?(?: (?:xml )?tags?)?"
)
_OUTPUT_TAGS = lazy_pattern(r"(?i)\boutput tags(?: are)?:?\s*(?:```)?\s*\[([\w\s,'\"-]{3,500})\]")
_SHOWING = lazy_pattern(
    r"(?i)\b(?:format|structure|template|like this|as follows)\b[^\n<]{0,60}:?[ \t]*\n\s*(?=<[a-z][\w-]{0,30}>)"
)
_ELEMENTS = lazy_pattern(r"(?s)(?:<(?P<name>[A-Za-z][\w-]{0,30})>.{0,2000}?</(?P=name)>\s*){1,12}")
_LEAF = lazy_pattern(r"<(?P<name>[A-Za-z][\w-]{0,30})>(?P<note>[^<>]{0,500})</(?P=name)>")
_SIGN = r"(?:YYYY|YY|DD|MM|HH|hh|%[YmdHMS])"
_PATTERN = rf"(?:{_SIGN}(?:[-/.: T](?:{_SIGN}|mm|SS|ss)){{1,5}}(?:\.%fZ)?)"
_MOMENT = lazy_pattern(rf"(?<!\w){_PATTERN}(?!\w)")
_ORDERED_MOMENT = lazy_pattern(
    r"\b(?i:reply|respond|answer|give|use|output|return|write|tell)\b[^.\n]{0,60}?\b(?i:in|as|format|use|pattern:)"
    rf"[^.\n]{{0,20}}?(?<!\w)({_PATTERN})(?!\w)"
)
_PLACEHOLDER = lazy_pattern(r"<[^<>\n]{1,60}>|\{[\w ]{1,60}\}|\[[\w ]{1,60}\]")
_FIELD = lazy_pattern(r"[A-Za-z][\w -]{0,30}(?=\s?[|;/]|$)")
_FORM = lazy_pattern(
    r"(?i)\b(?:format|form|template|pattern)\b(?: of| is| like)?\s?(?:[:=]\s?)?(?:\"([^\"\n]{3,200})\""
    r"|'([^'\n]{3,200})'|`([^`\n]{3,200})`|(?<=[:=] )([\w-]{2,30}(?:\s?[|;/]\s?[\w-]{2,30}){1,6})(?=[.\s]|$)"
    r"|(?<=[:=] )([^\n]{0,60}<[^\n]{1,200})|(?<=:\n)((?:[^\n]{0,60}(?:<[^<>\n]{1,60}>|\[[\w ]{1,60}\])[^\n]{0,60}(?:\n"
    r"|$)){1,12}))"
)
