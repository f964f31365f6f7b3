"""JSON in loose notation, as prompts show it, and the JSON Schema of what an example or a note says."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from json import JSONDecoder, loads

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.model.vocabulary import pieces, vocabulary


class FoundValue(Struct, frozen=True):
    """A value that a text shows, or its schema, and where it stands."""

    value: Json
    start: int
    end: int


def find_objects(text: str) -> Iterator[FoundValue]:
    """Yield the JSON objects of a text, and its lists of objects, also in loose notation."""
    at = 0
    for _ in range(_MOST_TRIES):
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        found = decode(text, opening.start()) or read_loosely(text, opening.start())
        at = found.end if found else opening.end()
        if found:
            yield found


def decode(text: str, start: int) -> FoundValue | None:
    with suppress(ValueError, RecursionError):
        value, end = JSONDecoder().raw_decode(text, start)
        return FoundValue(value, start, end)
    return None


def read_loosely(text: str, start: int) -> FoundValue | None:
    """Return the object or list that begins at a bracket, in loose notation; None if there is none.

    Bare words, with a comment after them, are texts: `{name: string // in full}`.
    """
    with suppress(ValueError, IndexError):
        value, end = _value(text[: start + LONGEST_OBJECT], start, 0)
        return FoundValue(value, start, end)
    return None


def _value(text: str, at: int, level: int) -> tuple[Json, int]:
    if text[at] in "{[" and level < DEEPEST:
        value, end = _members(text, at, level)
        return ([value], end + 2) if text.startswith("[]", end) else (value, end)
    if (found := _GENERIC.match(text, at)) and level < DEEPEST and text[found.end()] == "{":
        value, end = _value(text, found.end(), level + 1)
        return (value if found[1].lower() == "optional" else [value]), end + 1
    if found := _QUOTED.match(text, at):
        return found[0][1:-1], found.end()
    if found := _LINE.match(text, at):  # with quotes inside, or none at its end
        return found[1], found.end()
    found = _BARE.match(text, at)
    if found is None:
        raise ValueError("no value")
    word = found[0].strip()
    return _CONSTANTS.get(word, loads(word) if _NUMBER.fullmatch(word) else word), found.end()


def _members(text: str, at: int, level: int) -> tuple[Json, int]:
    named: dict[str, Json] = {}
    listed: list[Json] = []
    is_object = text[at] == "{"
    at = _skip(text, at + 1)
    while text[at] != ("}" if is_object else "]"):
        value: Json = None
        key = _KEY.match(text, at) if is_object else None
        if is_object and key is None:
            raise ValueError("no key")
        if key:
            at = key.end()
        if key is None or key[2]:
            value, at = _value(text, at, level + 1)
        if key:
            named[key[1].strip("\"'`")] = value
        else:
            listed.append(value)
        at = _skip(text, at)
    return (named if is_object else listed), at + 1


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def shape_of(example: Json, name: str = "") -> dict[str, Json]:
    """Return the JSON Schema of an example: objects with all its keys, lists with items like its first."""
    match example:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
        case str():
            guessed = guess_shape(name)
            if not example.strip(".… ") and (noted := schema_of_note(name)):  # the gap of a form: <number>
                return noted
            if example == "number" and guessed.get("type") == "integer":  # TypeScript has no other word for it
                return guessed
            return schema_of_note(example) or (guessed if not example.strip(".… ") else {"type": "string"})
        case list():
            item = _shape_of_items(example) if example else {"type": "string"}
            if item.get("type") == "array" and isinstance(example[0], str):  # [list of strings]
                return item
            made = list_of(item)
            number = {"minItems": len(example), "maxItems": len(example), "uniqueItems": True}
            return {**made, **number} if example.count("...") > 1 else made
        case Mapping():
            return record_of({key: shape_of(value, key) for key, value in example.items()})
    return guess_shape(name)


def _shape_of_items(examples: list[Json]) -> dict[str, Json]:
    """The shape of the first item; of records with the keys of others too, of which none is required."""
    made = shape_of(examples[0])
    records = [each for each in examples[1:MOST_KEYS] if isinstance(each, Mapping)]
    if isinstance(examples[0], Mapping) and records:
        more = {key: shape_of(value, key) for each in records for key, value in each.items()}
        made["properties"] = {**more, **made["properties"]}
        made["required"] = [key for key in made["required"] if all(key in each for each in records)]
    return made


def record_of(properties: Mapping[str, Json]) -> dict[str, Json]:
    closed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": dict(properties), **closed}


def list_of(items: Json) -> dict[str, Json]:
    return {"type": "array", "items": items, "minItems": 1}


def schema_of_note(note: str) -> dict[str, Json]:
    """What a text says of a value: its type, or a choice of words; nothing where it says neither."""
    if any(sign in note for sign in ("YY", "%Y", "HH:", "%H:")):  # a pattern such as DD/MM/YYYY
        return {"type": "string", "format": "date-time" if "H:" in note else "date"}
    if listed := _LITERAL.fullmatch(note):
        return {"enum": [word.strip(" \"'") for word in listed[1].split(",")]}
    text, _, comment = (part.strip() for part in re.split(r"(//|#|$)", note, maxsplit=1)[:3])
    made = (
        _in_range(text)
        or shape_of_type(text.strip("<>()").lower().removeprefix("a ").removesuffix(" | null"))
        or options_of_note(text)
    )
    return {**made, "description": comment or text} if made else {}


def with_told_bounds(schema: Json, levels: int = 6) -> Json:
    """Return a schema with the bounds of numbers that only descriptions tell: `the verdict (0 or 1)`, `from 1 to 5`."""
    if not isinstance(schema, Mapping) or not levels:
        return schema
    told = dict(schema)
    for key in ("properties", "$defs", "definitions"):
        if isinstance(inner := schema.get(key), Mapping):
            told[key] = {name: with_told_bounds(each, levels - 1) for name, each in inner.items()}
    told |= {key: with_told_bounds(schema[key], levels - 1) for key in ("items",) if key in schema}
    said = schema.get("description") if schema.get("type") in ("integer", "number") else None
    if isinstance(said, str) and schema.keys().isdisjoint(_BOUNDS) and (found := _TOLD_RANGE.search(said)):
        low, high = sorted(map(loads, found.groups()))
        told |= {"minimum": low, "maximum": high}
    return told


def _in_range(note: str) -> dict[str, Json]:
    found = _RANGE.search(note)
    if found is None or not (found[1] or found[0].strip("<>() ") == note.strip("<>() ")):
        return {}
    low, high = float(found[2]), float(found[3])
    fraction = "." in found[2] + found[3] or high - low <= 1 or (found[1] or "").lower() in ("float", "decimal")
    if low >= high:
        return {}
    bounds = {"minimum": low, "maximum": high} if fraction else {"minimum": int(low), "maximum": int(high)}
    return {"type": "number" if fraction else "integer", **bounds}


def shape_of_type(word: str) -> dict[str, Json]:
    if (brace := word.find("{")) >= 0 and word.startswith(("list", "array")) and (found := read_loosely(word, brace)):
        return list_of(shape_of(found.value))
    if listed := _LIST.fullmatch(word):
        inner = listed[1] or listed[2] or "string"
        return list_of(shape_of_type(inner.removesuffix("s")) or {"type": "string"})
    return next((kind for each in re.split(r"[ ,;:\[]", word)[:3] if (kind := _TYPES.get(each))), {})


def options_of_note(text: str) -> dict[str, Json]:
    """The words to choose from: quoted ones, or those after "one of", or single ones between `|`, `/` and "or"."""
    text = text[:500].strip("<>()[] ")
    words = [word.strip() for word in QUOTED_OPTION.findall(text)]
    chosen = _ONE_OF.search(text)
    if len(words) < 2:
        parts = re.split(r",|\bor\b|/|\|", chosen[1]) if chosen else re.split(r"[|/]", text)
        if not chosen and len(parts) == 1 and _WORD_OR_WORD.fullmatch(text):
            parts = re.split(r",|\bor\b", text)
        words = [word for part in parts if (word := part.strip(" \"'`()<>."))]
    if not 1 < len(words) <= 20 or not all(map(_OPTION.fullmatch, words)):
        return {}
    return {"type": "boolean"} if {word.lower() for word in words} == {"true", "false"} else {"enum": words}


def guess_shape(name: str) -> dict[str, Json]:
    words = [piece.lower() for piece in pieces(name) if piece.isalpha()] or [""]
    last = words[-1]
    if words[0] in ("is", "has", "can", "should") and len(words) > 1:
        return {"type": "boolean"}
    if last in _WHOLE or words[0] in ("num", "number", "count"):
        return {"type": "integer"}
    if last in _FRACTIONS:
        return {"type": "number"}
    is_plural = len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is"))
    return list_of({"type": "string"}) if is_plural or last == "list" else {"type": "string"}


LONGEST_OBJECT, MOST_KEYS, DEEPEST = 8_000, 30, 12  # characters; keys of a shape; levels
_MOST_TRIES = 48  # objects that are looked for in a text
_OPENING = lazy_pattern(r"\{|\[(?=\s*\{)|(?:Array|[Ll]ist)[<\[](?=\s*\{)")
_GENERIC = lazy_pattern(r"(Array|[Ll]ist|Sequence|[Ss]et|Optional)\s*[<\[]\s*")
_BLANK = lazy_pattern(r"(?:[\s,;]|\.{3}|…|//[^\n]*|#[^\n]*)*")
_QUOTED = lazy_pattern(r"(?:\"(?:[^\"\\\n]|\\.){0,2000}\"|'(?:[^'\\\n]|\\.){0,2000}')(?=\s*(?:[,}\];/#:\n]|$))")
_LINE = lazy_pattern(r"(?!\"[^\"\n]*\"\s*(?:\||or\b))\"([^\n]{0,2000}?)\"?[,.]?[ \t]*(?=\n)")
_BARE = lazy_pattern(
    r"(?:<[^<>\n]{0,200}>|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|\[[^\[\]{}\n]{0,80}\]|\([^()\n]{0,200}\)"
    r"|(?!//)[^,;{}\[\]\n\"'<>()#]){1,300}(?:,?[ \t]*(?://|#)[^\n]{1,300})?"
)
_KEY = lazy_pattern(
    r"(\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|`[^`\n]{1,80}`|[A-Za-z_$][\w$-]{0,60})\s*(?:\??\s*([:=])\s*|(?=[,}\n]))"
)
_NUMBER = lazy_pattern(r"-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?")
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_OPTION = lazy_pattern(r"[A-Za-z][\w -]{0,24}|[A-Z0-9]")
_ONE_OF = lazy_pattern(
    r"(?i)(?:one of|either|(?:allowed|possible|valid) values?|options)(?: are)?[: ]+[\[(]?([^\n.;\])]{3,200})"
)
QUOTED_OPTION = lazy_pattern(r"[\"'`]([^\"'`\n]{1,40})[\"'`]")
_LIST = lazy_pattern(r"(?:list|array)(?:\s*(?:of|\[|<)\s*([a-z]+)[\]>]?.{0,60})?|([a-z]+)\[\]")
NAMES_OF_TYPES = {
    "string": "string str text",
    "integer": "integer int",
    "number": "number float decimal",
    "boolean": "boolean bool true/false",
    "object": "object dict",
}
_TYPES: dict[str, dict[str, Json]] = {
    **{name: {"type": kind} for kind, names in NAMES_OF_TYPES.items() for name in names.split()},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "email": {"type": "string", "format": "email"},
    "url": {"type": "string", "format": "uri"},
}
_WHOLE = vocabulary("age year port count quantity rank index size stock population minutes hours days")
_FRACTIONS = vocabulary(
    "price amount score rating confidence temperature temp total cost percentage weight height salary"
)
_WORD_OR_WORD = lazy_pattern(r"[\w-]{1,24}(?:, ?[\w-]{1,24}){0,10},? or [\w-]{1,24}")
_LITERAL = lazy_pattern(r"Literal\[([^\[\]]{1,2000})\]")
_BOUNDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const", "multipleOf"))
_TOLD_RANGE = lazy_pattern(
    r"(?i)(?:\(|\b(?:between|from|of|either|is)\s)(-?(?:0|[1-9]\d{0,5})(?:\.\d{1,4})?)\s?(?:-|–|to|and|or|/)\s?"
    r"((?:0|[1-9]\d{0,5})(?:\.\d{1,4})?)(?![\w.%])"
)
_RANGE = lazy_pattern(
    r"(?i)^\W{0,2}(?:an? )?(number|float|decimal|int|integer)?\W{0,3}(?:from |between |in )?(?<![\w.])"
    r"(-?\d{1,9}(?:\.\d{1,9})?)\s?(?:-|–|to|and|\.\.)\s?(\d{1,9}(?:\.\d{1,9})?)\b"
)
