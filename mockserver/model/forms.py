"""Forms that a prompt wants filled in instead of JSON: `Name: <name>`, `mood|score`, or XML elements."""

import re
from collections.abc import Mapping, Sequence

from mockserver.core.json import Json, compact
from mockserver.core.lazy import lazy_pattern
from mockserver.model.loose import record_of, shape_of
from mockserver.model.orders import find_options, word_group
from mockserver.model.shapes import Described


def find_form(text: str) -> Described | None:
    """Return the form that a text orders, such as `name|age`, `Name: <name>` or `<a>what it holds</a>`."""
    if (cue := _SHOWING.search(text)) and (shown := _ELEMENTS.match(text, cue.end())):
        notes = {leaf["name"]: " ".join(leaf["note"].split()) for leaf in _LEAF.finditer(shown[0])}
        blank = _LEAF.sub(r"<\g<name>>\0</\g<name>>", shown[0].strip())
        return _describe(blank, [*notes], text[: cue.start()] + text[shown.end() :], notes)
    found = _FORM.search(text)
    form = next(filter(None, found.groups()), "").rstrip(" .") if found else ""
    if found is None or "://" in form:
        return None
    gap = _PLACEHOLDER if _PLACEHOLDER.search(form) else _FIELD
    names = [name[0].strip("<>{}[] ") for name in gap.finditer(form)]
    rest = text[: found.start()] + text[found.end() :]
    return _describe(gap.sub("\0", form), names, rest) if len(names) > 1 else None


def _describe(blank: str, names: Sequence[str], text: str, notes: Mapping[str, str] = {}) -> Described | None:
    """A form with a zero byte for each gap; options that the text lists are those of the first free gap."""
    if blank.count("\0") != len(names) or not names:
        return None
    options, rest = find_options(text)
    wanted = shape_of({name: notes.get(name, "...") for name in names})["properties"]
    thoughts = word_group("thinking_tags")
    free = [name for name in names if wanted[name] == {"type": "string"} and name.lower() not in thoughts]
    wanted |= {name: {"type": "string", "enum": options} for name in free[: bool(options)]}

    def write(value: Json) -> str:
        gaps = (value[name] for name in names)
        return re.sub("\0", lambda _: each if isinstance(each := next(gaps), str) else compact(each), blank)

    return Described(record_of(wanted), rest, write)


_SHOWING = lazy_pattern(
    r"(?i)\b(?:format|structure|template|like this|as follows)\b[^\n<]{0,60}:?[ \t]*\n\s*(?=<[a-z][\w-]{0,30}>)"
)
_ELEMENTS = lazy_pattern(r"(?s)(?:<(?P<name>[A-Za-z][\w-]{0,30})>.{0,2000}?</(?P=name)>\s*){1,12}")
_LEAF = lazy_pattern(r"<(?P<name>[A-Za-z][\w-]{0,30})>(?P<note>[^<>]{0,500})</(?P=name)>")
_PLACEHOLDER = lazy_pattern(r"<[^<>\n]{1,60}>|\{[\w ]{1,60}\}|\[[\w ]{1,60}\]")
_FIELD = lazy_pattern(r"[A-Za-z][\w -]{0,30}(?=\s?[|;/]|$)")
_FORM = lazy_pattern(
    r"(?i)\b(?:format|form|template|pattern)\b(?: of| is| like)?\s?(?:[:=]\s?)?(?:\"([^\"\n]{3,200})\""
    r"|'([^'\n]{3,200})'|`([^`\n]{3,200})`|(?<=[:=] )([\w-]{2,30}(?:\s?[|;/]\s?[\w-]{2,30}){1,6})(?=[.\s]|$)"
    r"|(?<=[:=] )([^\n]{0,60}<[^\n]{1,200})|(?<=:\n)((?:[^\n]{0,60}(?:<[^<>\n]{1,60}>|\[[\w ]{1,60}\])[^\n]{0,60}(?:\n"
    r"|$)){1,12}))"
)
