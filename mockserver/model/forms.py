"""Values that a prompt wants in another notation than JSON: YAML, tags, a date's pattern, a form to fill in."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from mockserver.core.json import Json, compact
from mockserver.core.lazy import lazy_pattern
from mockserver.model.loose import record_of, shape_of
from mockserver.model.orders import find_options, word_group
from mockserver.model.shapes import Described, find_shape


def find_notation(said: str, rules: str) -> Described | None:
    """Return what a prompt wants as YAML, by the shape that it describes as for JSON; None if it wants no YAML."""
    if not any(map(_YAML.search, (said, rules))):
        return None
    found = find_shape(*(_YAML.sub("JSON", text) for text in (said, rules)))
    if found is None:
        return None
    opening, closing = ("```yaml\n", "\n```") if "```" in said + rules else ("", "")
    return Described(found.schema, found.rest, lambda value: f"{opening}{_write_yaml(value)}{closing}")


def find_form(text: str) -> Described | None:
    """Return the form that a text orders, such as `name|age`, `Name: <name>`, `<a></a>` or `YYYY-MM-DD`."""
    if (elements := _find_elements(text)) is not None:
        return elements
    found = _ORDERED_MOMENT.search(text) or _FORM.search(text)
    form = next(filter(None, found.groups()), "").rstrip(" .") if found else ""
    if found is None or "://" in form:
        return None
    gap = next((gap for gap in (_MOMENT, _PLACEHOLDER, _FIELD) if gap.search(form)), _FIELD)
    names = [name[0].strip("<>{}[] ") for name in gap.finditer(form)]
    if len(names) < 2 and gap is not _MOMENT:
        return None
    return _describe(gap.sub("\0", form), names, text[: found.start()] + text[found.end() :])


def _find_elements(text: str) -> Described | None:
    """The elements that a text lists or shows as the format of its answer; what they hold says what belongs there."""
    if (listed := _OUTPUT_TAGS.search(text)) is not None:
        root, *names = re.findall(r"[\w-]+", listed[1])
        blank = "\n".join((f"<{root}>", *(f"<{name}>\0</{name}>" for name in names), f"</{root}>"))
        return _describe(blank, names, text[: listed.start()] + text[listed.end() :])
    cue = _SHOWING.search(text)
    shown = _ELEMENTS.match(text, cue.end()) if cue else None
    if cue is None or shown is None:
        return None
    leaves = [*_LEAF.finditer(shown[0])]
    notes = {leaf["name"]: " ".join(leaf["note"].split()) for leaf in leaves}
    if len(notes) < len(leaves) or not leaves:
        return None
    blank = _LEAF.sub(r"<\g<name>>\0</\g<name>>", shown[0].strip())
    return _describe(blank, [*notes], text[: cue.start()] + text[shown.end() :], notes)


def _describe(blank: str, names: Sequence[str], text: str, notes: Mapping[str, str] = {}) -> Described:
    """A form with a zero byte for each gap; options that the text lists are those of the first free gap."""
    options, rest = find_options(text)
    wanted = shape_of({name: notes.get(name, "...") for name in names})["properties"]
    free = [name for name in names if wanted[name] == {"type": "string"} and not _is_thought(name)]
    wanted |= {name: {"type": "string", "enum": options} for name in free[: bool(options)]}

    def write(value: Json) -> str:
        gaps = iter(names)
        return re.sub("\0", lambda gap: _write_moment(name := next(gaps), _write_plain(value[name])), blank)

    return Described(record_of(wanted), rest, write)


def _is_thought(name: str) -> bool:
    return name.lower() in word_group("thinking_tags")


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
        return "\n".join(f"{indent}{key}:{_write_inner(inner, indent)}" for key, inner in value.items())
    if isinstance(value, list):
        return "\n".join(f"{indent}- {_write_yaml(each, indent + '  ').lstrip()}" for each in value)
    return indent + _write_plain(value)


def _write_inner(value: Json, indent: str) -> str:
    is_nested = isinstance(value, Mapping | list)
    return f"\n{_write_yaml(value, indent + '  ')}" if is_nested else f" {_write_plain(value)}"


def _write_plain(value: Json) -> str:
    return value if isinstance(value, str) else compact(value)


_YAML = lazy_pattern(r"(?i)\bya?ml\b(?! files?)")
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
