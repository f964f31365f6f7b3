"""Which JSON a prompt wants: the schema that stands in it, the object it shows, or the keys that it names.

Knows texts and JSON Schema's words, no calls and no values.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mockserver.core.call import Json
from mockserver.engine.generate.notation import named, read, record, shape


@dataclass(frozen=True, slots=True)
class Wanted:
    """A JSON Schema, whether its instance goes into a fence, and what a text says apart from the schema."""

    schema: Json
    fenced: bool = False
    rest: str = ""


def wanted(text: str, *, json_anyway: bool = False) -> Wanted | None:
    """The JSON that a text wants for an answer; None where it wants another, unless that is known otherwise."""
    read_text = text if len(text) <= _MOST_READ else text[: _MOST_READ // 5] + "\n" + text[-_MOST_READ * 4 // 5 :]
    if not json_anyway and not asks_for_json(read_text):
        return None
    found = _schema(read_text) or _example(read_text) or _keys(read_text)
    if found is None:
        return None
    schema, start, end = found
    if _wants_a_list(read_text, schema, start):
        schema = {"type": "array", "items": schema, "minItems": 2, "maxItems": 5}
    return Wanted(schema, bool(_FENCED.search(read_text)), read_text[:start] + "\n" + read_text[end:])


def asks_for_json(text: str) -> bool:
    """Whether a text orders an answer in JSON."""
    return "json" in text.lower() and bool(_ORDERED.search(text)) and not _ABOUT_JSON.search(text)


def fenced(text: str) -> bool:
    """Whether a text wants its JSON in a fence."""
    return bool(_FENCED.search(text[-_MOST_READ:]))


_Found = tuple[Json, int, int]


def _schema(text: str) -> _Found | None:
    """The last JSON Schema of a text and its place: those before it tend to be examples."""
    schemas = [found for found in _objects(text) if _is_schema(found[0])]
    if not schemas:
        return None
    schema, start, end = schemas[-1]
    return _unwrapped(schema), start, end


def _example(text: str) -> _Found | None:
    """An object that shows how the answer should look, and its place."""
    for value, start, end in _objects(text):
        before, behind = text[max(0, start - _CUE) : start], text[end : end + _NEAR]
        shown = _LIKE.search(before) and not _GIVEN.search(before[-_NEAR:]) or _IS_SHAPE.match(behind)
        if isinstance(value, dict | list) and value and shown:
            return shape(value), start, end
    return None


def _objects(text: str) -> Iterator[_Found]:
    """The outermost objects and lists of objects of a text."""
    at, tries = 0, 0
    while (opening := _OPENING.search(text, at)) is not None and tries < _MOST_TRIES:
        tries += 1
        found = _decoded(text, opening.start()) or read(text, opening.start())
        if found is None:
            at = opening.end()
            continue
        yield found[0], opening.start(), found[1]
        at = found[1]


def _decoded(text: str, start: int) -> tuple[Json, int] | None:
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _is_schema(value: Json) -> bool:
    """Whether a value is a JSON Schema rather than an object of somebody's own."""
    if not isinstance(value, Mapping):
        return False
    value = _unwrapped(value)
    properties = value.get("properties")
    if isinstance(properties, Mapping):
        return bool(properties) and all(isinstance(inner, Mapping | bool) for inner in properties.values())
    if value.get("type") in ("array", "object") and isinstance(
        value.get("items", value.get("additionalProperties")), Mapping
    ):
        return True
    defined = isinstance(value.get("$defs", value.get("definitions")), Mapping)
    return defined and ("$ref" in value or any(key in value for key in ("anyOf", "oneOf", "allOf")))


def _unwrapped(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """The schema itself, where it stands in an object that names it."""
    for key in ("schema", "json_schema", "parameters"):
        inner = value.get(key)
        if isinstance(inner, Mapping) and "properties" not in value:
            return _unwrapped(inner)
    return value


def _keys(text: str) -> _Found | None:
    """The keys that a text names, as an object of them."""
    listed = _bullets(text) or _row(text) or _quoted(text) or _extracted(text)
    if not listed:
        return None
    return record({name: named(name, note) for name, note in listed.items()}), len(text), len(text)


def _bullets(text: str) -> dict[str, str]:
    """Keys in lines of their own, after a line that speaks of them."""
    for cue in _LINE_OF_KEYS.finditer(text):
        found: dict[str, str] = {}
        for line in text[cue.end() :].lstrip("\n").split("\n")[:_MOST_KEYS]:
            bullet = _BULLET.match(line)
            if bullet is None:
                break
            found[_name(bullet)] = (bullet[4] or bullet[3] or "").strip()
        if found:
            return found
    return {}


def _row(text: str) -> dict[str, str]:
    """Keys one after another: `with keys name, age and city`."""
    for cue in _CUE_OF_KEYS.finditer(text):
        found: dict[str, str] = {}
        at = cue.end()
        while (key := _KEY_IN_ROW.match(text, at)) is not None and len(found) < _MOST_KEYS:
            found[_name(key)] = (key[3] or key[4] or "").strip()
            at = key.end()
            parted = _PARTED.match(text, at)
            if parted is None:
                break
            at = parted.end()
        if found and not _NO_KEY.issuperset(found):
            return {name: note for name, note in found.items() if name not in _NO_KEY}
    return {}


def _quoted(text: str) -> dict[str, str]:
    """Keys in quotation marks, in a sentence that speaks of keys or of JSON."""
    for sentence in _SENTENCE_OF_KEYS.finditer(text):
        found = {key[1]: key[2] or "" for key in _QUOTED_KEY.finditer(sentence[0])}
        if found:
            return dict(list(found.items())[:_MOST_KEYS])
    return {}


def _extracted(text: str) -> dict[str, str]:
    """What is to be taken out of a text: `extract the name and the phone number from`."""
    order = _EXTRACT.search(text)
    if order is None:
        return {}
    parts = (part.strip() for part in _BETWEEN_NAMES.split(order[1]))
    names = ("_".join(part.lower().split()) for part in parts if _WORDS_OF_NAME.fullmatch(part))
    return dict.fromkeys(list(names)[:_MOST_KEYS], "")


def _name(found: re.Match[str]) -> str:
    return found[1] or found[2]


def _wants_a_list(text: str, schema: Json, start: int) -> bool:
    """Whether a text wants several of what its schema describes."""
    return (
        isinstance(schema, Mapping) and schema.get("type") == "object" and bool(_SEVERAL.search(text[:start][-2000:]))
    )


_DECODER = json.JSONDecoder()
_MOST_READ = 50_000
_MOST_TRIES = 48
_MOST_KEYS = 30
_CUE, _NEAR = 160, 60
_OPENING = re.compile(r"\{|\[(?=\s*\{)")
_ORDERED = re.compile(
    r"(?i)(?:return|respond|reply|output|answer|give|produce|generate|provide|format|formatted|write|send|create|extract|convert|"
    r"print|conform|parse|fill|emit|as|in|only|valid|using|want)\b[^.\n]{0,80}?\bjson\b|\bjson\b[^.\n]{0,40}\b(?:only|schema|format)\b"
)
_ABOUT_JSON = re.compile(
    r"(?i)\b(?:function|script|program|code|class|regex)\b[^.\n]{0,60}\bjson\b|\bwhat(?:'s| is| are| does)[^.\n]{0,20}\bjson\b|"
    r"\b(?:explain|describe|about|parse|load|read|difference between)\s+(?:\w+ ){0,2}json\b(?! (?:schema|object with))"
)
_FENCED = re.compile(
    r"(?i)(?:in|within|inside|as|using|wrapped in|surrounded by|enclosed in|be|with)\s+(?:a |an |the |triple |single )*"
    r"(?:```|markdown (?:code|json|block|fence|snippet)|(?:json )?code ?-?(?:block|fence|snippet)|fenced|triple|backticks|json markdown)"
)
_LIKE = re.compile(
    r"(?i)\b(?:like|format|formatted|shape|structure|form|example|following|template|schema|respond|response|return|output|reply|"
    r"answer|keys|fields|such as|e\.g\.|looks?|object|json|type|interface|produce|generate|give)\b"
)
_GIVEN = re.compile(
    r"(?i)\b(?:input|data|given|from|this json|this object|current|existing|document|payload|context|here is (?:the|my|a))\b[^.\n]{0,30}$"
)
_IS_SHAPE = re.compile(
    r"(?i)\s*(?:is|as) (?:the|your|an?) (?:\w+ )?(?:format|shape|structure|schema|template|example|type)"
)
_LINE_OF_KEYS = re.compile(
    r"(?i)\b(?:keys?|fields?|properties|attributes|json|format|structure|object|extract|following)\b[^\n]{0,80}:[ \t]*\n"
)
_IDENTIFIER = r"(?:[\"'`*]{1,3}([A-Za-z_][\w-]{0,60})[\"'`*]{1,3}|([A-Za-z_][\w-]{0,60}))"
_BULLET = re.compile(
    rf"[ \t]*(?:[-*•]|[0-9]{{1,2}}[.)])[ \t]*{_IDENTIFIER}[ \t]*(?:\(([^()\n]{{1,100}})\))?[ \t]*[:–—=-]?[ \t]*([^\n]{{0,300}})$"
)
_CUE_OF_KEYS = re.compile(
    r"(?i)\b(?:(?:keys?|fields?|properties|attributes)\b(?: named| called| are| being| should be| must be| of| such as| like)?:?|"
    r"json\b(?: object| format| document| response| dict(?:ionary)?)?(?: with| containing| including| that (?:has|contains)| having| of)"
    r"(?: exactly| only| the| these| following| two| three| four| five| \d+| keys| fields| properties| attributes){0,6}:?)\s+"
)
_KEY_IN_ROW = re.compile(
    rf"(?:the |a |an )?{_IDENTIFIER}(?:\s*\(([^()\n]{{1,100}})\)|\s*:\s*([A-Za-z][\w\[\]<>]{{1,30}})| (?:as )?(?:an? )?(?:string|integer|number|boolean|float|list|array|key|field)\b)?"
)
_PARTED = re.compile(r"\s*(?:,\s*and\s+(?:a |an )?|,\s*|\s+and\s+(?:a |an )?|\s*&\s*|;\s*)(?=[\w\"'`*])")
_EXTRACT = re.compile(
    r"(?i)\b(?:extract|identify|pull out|find|return|give|provide|output)\s+(?:me\s+)?([a-z][^.\n:{}]{2,200}?)\s+(?:from|as|in|out of|for)\b"
)
_BETWEEN_NAMES = re.compile(
    r"(?i)(?:\s*,\s*|\s+)(?:and\s+)?(?:the|a|an|his|her|their|its)\s+|\s*,\s*(?:and\s+)?|\s+and\s+|^(?:the|a|an)\s+"
)
_WORDS_OF_NAME = re.compile(r"[A-Za-z][\w-]*(?: [A-Za-z][\w-]*){0,2}")
_NO_KEY = frozenset(
    "keys key fields field the a an values no only and in for from exactly with object json properties".split()
)
_SENTENCE_OF_KEYS = re.compile(r"(?i)[^\n]{0,200}\b(?:keys?|fields?|properties|attributes|json)\b[^\n]{0,500}")
_QUOTED_KEY = re.compile(r"[\"'`]([A-Za-z_][\w-]{0,40})[\"'`](?:\s*\(([^()\n]{1,100})\))?")
_SEVERAL = re.compile(
    r"(?i)\b(?:json )?(?:array|list) of (?:\w+ )?(?:json )?(?:objects?|items?|records?|dictionaries|elements)\b|\bjson (?:array|list)\b"
)
