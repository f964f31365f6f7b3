"""Values that a prompt describes: JSON by a schema, an example, keys or words; in this order, in loose notation too."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from json import JSONDecoder, loads
from math import isfinite

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.json import Json, compact
from mockserver.core.lazy import compile_lazily, remember
from mockserver.model.vocabulary import (
    NUMBER_WORDS,
    cut_excerpt,
    find_singular,
    fold,
    make_vocabulary,
    read_number,
    split_pieces,
)


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
    """Return the JSON that begins at a place; None if none does, or if a number in it is not finite."""
    with suppress(ValueError, RecursionError):
        value, end = _JSON.raw_decode(text, start)
        return FoundValue(value, start, end)
    return None


def _read_finite(written: str) -> float:
    number = float(written)
    if not isfinite(number):
        raise ValueError(written)
    return number


_JSON = JSONDecoder(parse_float=_read_finite, parse_constant=_read_finite)


def read_loosely(text: str, start: int) -> FoundValue | None:
    """Return the object or list that begins at a bracket, in loose notation; None if it is not complete.

    Bare words, with a comment after them, are texts: `{name: string // in full}`.
    """
    with suppress(ValueError, IndexError):
        return _parse_value(text[: start + LONGEST_OBJECT], start, level=0)
    return None


def _parse_value(text: str, at: int, *, level: int) -> FoundValue:
    if text[at] in "{[" and level < DEEPEST:
        inner = _parse_members(text, at, level=level)
        return FoundValue([inner.value], at, inner.end + 2) if text.startswith("[]", inner.end) else inner
    if (found := _GENERIC.match(text, at)) and level < DEEPEST and text[found.end()] == "{":
        inner = _parse_value(text, found.end(), level=level + 1)
        return FoundValue(inner.value if found[1].lower() == "optional" else [inner.value], at, inner.end + 1)
    if found := _QUOTED.match(text, at):
        return FoundValue(found[0][1:-1], at, found.end())
    if found := _LINE.match(text, at):  # with quotes inside, or none at its end
        return FoundValue(found[1], at, found.end())
    found = _BARE.match(text, at)
    if found is None:
        raise ValueError("no value")
    word = found[0].strip()
    value = _CONSTANTS.get(word, loads(word) if _JSON_NUMBER.fullmatch(word) else word)
    return FoundValue(value, at, found.end())


def _parse_members(text: str, start: int, *, level: int) -> FoundValue:
    named: dict[str, Json] = {}
    listed: list[Json] = []
    is_object = text[start] == "{"
    at = _skip(text, start + 1)
    while text[at] != ("}" if is_object else "]"):
        value: Json = None
        key = _KEY.match(text, at) if is_object else None
        if is_object and key is None:
            raise ValueError("no key")
        if key:
            at = key.end()
        if key is None or key[2]:
            inner = _parse_value(text, at, level=level + 1)
            value = inner.value
            at = inner.end
        if key:
            named[key[1].strip("\"'`")] = value
        else:
            listed.append(value)
        at = _skip(text, at)
    return FoundValue(named if is_object else listed, start, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def infer_shape(example: Json, name: str = "") -> dict[str, Json]:
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
            if not example.strip(".… ") and (noted := read_note(name)):  # the gap of a form: <number>
                return noted
            if example == "number" and guessed.get("type") == "integer":  # TypeScript has no other word for it
                return guessed
            return read_note(example) or (guessed if not example.strip(".… ") else {"type": "string"})
        case list():
            item = _infer_shape_of_items(example) if example else {"type": "string"}
            if item.get("type") == "array" and isinstance(example[0], str):  # [list of strings]
                return item
            made = make_list_schema(item)
            number = {"minItems": len(example), "maxItems": len(example), "uniqueItems": True}
            return {**made, **number} if example.count("...") > 1 else made
        case Mapping():
            return make_record_schema({key: infer_shape(value, key) for key, value in example.items()})
    return guess_shape(name)


def _infer_shape_of_items(examples: list[Json]) -> dict[str, Json]:
    """Return the shape of the first item; of records with the keys of others too, of which none is required."""
    made = infer_shape(examples[0])
    records = [each for each in examples[1:MOST_KEYS] if isinstance(each, Mapping)]
    if isinstance(examples[0], Mapping) and records:
        more = {key: infer_shape(value, key) for each in records for key, value in each.items()}
        made["properties"] = {**more, **made["properties"]}
        made["required"] = [key for key in made["required"] if all(key in each for each in records)]
    return made


def make_record_schema(properties: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema of an object that has all these properties, and no other."""
    closed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": dict(properties), **closed}


def make_list_schema(items: Json) -> dict[str, Json]:
    """Return the schema of a list of these items."""
    return {"type": "array", "items": items, "minItems": 1}


def read_note(note: str) -> dict[str, Json]:
    """Return what a text says of a value: its type, or a choice of words; nothing where it says neither."""
    if any(sign in note for sign in ("YY", "%Y", "HH:", "%H:")):  # a pattern such as DD/MM/YYYY
        return {"type": "string", "format": "date-time" if "H:" in note else "date"}
    if listed := _LITERAL.fullmatch(note):
        return {"enum": [word.strip(" \"'") for word in listed[1].split(",")]}
    text, _, comment = (part.strip() for part in re.split(r"(//|#|$)", note, maxsplit=1)[:3])
    made = (
        _read_range(text)
        or read_type(text.strip("<>()").lower().removeprefix("a ").removesuffix(" | null"))
        or find_options(text)
    )
    return {**made, "description": comment or text} if made else {}


def add_stated_bounds(schema: Json, text: str = "") -> Json:
    """Return a schema with the bounds and options that only descriptions tell, or a text by a name: `score (0-3)`.

    `the verdict (0 or 1)`, `from 1 to 5`, `Allowed categories: TRAVEL, MEALS`, `"mood": "good" or "bad"`. It is the
    same object where nothing is told.
    """
    try:
        written = to_json(schema, inf_nan_mode="constants")
        described = (_read_descriptions if len(written) <= _LONGEST_CACHED else _read_descriptions.__wrapped__)(written)
    except ValueError:  # nested too deeply, or no JSON: whoever compiles it says so
        return schema
    small = fold(text)
    for name in described.names if text else ():
        if name in small:
            return _add_bounds(schema, text, small)
    return schema if described.schema is None else described.schema


class Described(Struct, frozen=True):
    """A schema with what its descriptions tell, None if that is nothing, and what texts call what they may bound."""

    schema: Json
    names: tuple[str, ...]


@remember(256)
def _read_descriptions(written: bytes) -> Described:
    schema = loads(written)
    told = _add_bounds(schema)
    names = (called for name in _list_bounded_names(schema) for called in _CALLS.get(name, (fold(name),)))
    return Described(None if told == schema else told, tuple(dict.fromkeys(names)))


def _list_bounded_names(schema: Json, levels: int = 6) -> Iterator[str]:
    for key in _BY_NAME if isinstance(schema, Mapping) and levels else ():
        if isinstance(inner := schema.get(key), Mapping):
            for name, each in inner.items():
                if isinstance(each, Mapping) and each.get("type") in _BOUNDED:
                    yield name
                yield from _list_bounded_names(each, levels - 1)
    if isinstance(schema, Mapping) and "items" in schema:
        yield from _list_bounded_names(schema["items"], levels - 1)


def _add_bounds(schema: Json, text: str = "", small: str = "", levels: int = 6) -> Json:
    """Add what descriptions tell, and a text, which is also given in small letters."""
    if not isinstance(schema, Mapping) or not levels:
        return schema
    told = dict(schema)
    for key in _BY_NAME:
        if isinstance(inner := schema.get(key), Mapping):
            told[key] = {
                name: _add_bounds(
                    _add_told(each, name, text=text, small=small, siblings=inner),
                    text,
                    small,
                    levels - 1,
                )
                for name, each in inner.items()
            }
    if "items" in schema:
        told["items"] = _add_bounds(schema["items"], text, small, levels - 1)
    said = schema.get("description")
    kind = schema.get("type")
    if not isinstance(said, str) or not schema.keys().isdisjoint(_BOUNDS):
        return told
    if kind in ("integer", "number") and (found := _TOLD_RANGE.search(said)):
        low, high = sorted(map(loads, found.groups()))
        every = [*map(loads, re.findall(r"\d+", found[0]))] if "," in found[0] else []
        told |= {"enum": every} if every else {"minimum": low, "maximum": high}
    if kind == "string" and (listed := _TOLD_OPTIONS.search(said)):
        told |= find_options(f"one of {listed[1]}")
    return told


def _add_told(schema: Json, name: str, text: str, small: str, siblings: Mapping[str, Json]) -> Json:
    """Return the schema of a number with the range that a text tells by its name, of a text with the options."""
    is_told = any(called in small for called in _CALLS.get(name, (fold(name),)))
    if not is_told or not isinstance(schema, Mapping) or not schema.keys().isdisjoint(_BOUNDS):
        return schema
    kind = schema.get("type")
    if kind not in _BOUNDED or (kind == "string" and name not in text):
        return schema
    described = str(schema.get("description", ""))
    if kind != "string":
        calls = "|".join(map(re.escape, _CALLS.get(name, (fold(name),))))
        found = re.search(rf"(?i)(?<!\w)(?:{calls})\b{_RANGE_OF_NAME}", text)
        if _TOLD_RANGE.search(described):
            return schema
        if found is None:  # 0 and 1, for no and yes, in examples of answers; ids of what there is
            shown = {*re.findall(rf"[\"']{re.escape(name)}[\"']: ?(\d{{1,9}})\b(?!\.)", text)}
            chooses = kind == "integer" and (shown == {"0", "1"} or (shown and name.endswith("_id")))
            return {**schema, "enum": sorted(map(int, shown))} if chooses else schema
        return {**schema, "description": f"{described} (from {found[1]} to {found[2]})"}
    if not schema.keys() <= {"type", "description"}:
        return schema
    notes = re.findall(rf"[\"'`*]{re.escape(name)}[\"'`*]{_NOTED_VALUE}", text) if len(siblings) <= MOST_KEYS else ()
    own = (_MEMBER.split(note, maxsplit=1)[0] for note in notes)
    told = (find_options(note) for note in own if len(QUOTED_OPTION.findall(note)) > 1)
    known = siblings.keys() | _TYPES.keys()
    return next((each for each in told if each and known.isdisjoint(each.get("enum", ()))), schema)


def _read_range(note: str) -> dict[str, Json]:
    found = _RANGE.search(note)
    if found is None:
        return {}
    is_whole = found[0].strip("<>() ") == note.strip("<>() ") or _EXPLAINED.match(note, found.end())
    if not (found[1] or is_whole):
        return {}
    low = float(found[2])
    high = float(found[3])
    fraction = "." in found[2] + found[3] or high - low <= 1 or (found[1] or "").lower() in ("float", "decimal")
    if low >= high:
        return {}
    bounds = {"minimum": low, "maximum": high} if fraction else {"minimum": int(low), "maximum": int(high)}
    return {"type": "number" if fraction else "integer", **bounds}


def read_type(word: str) -> dict[str, Json]:
    """Return the schema of a type as programmers write it, `list[int]` or `string[]`; nothing for other words."""
    if (brace := word.find("{")) >= 0 and word.startswith(("list", "array")) and (found := read_loosely(word, brace)):
        return make_list_schema(infer_shape(found.value))
    if listed := _LIST_TYPE.fullmatch(word):
        inner = listed[1] or listed[2] or "string"
        return make_list_schema(read_type(inner.removesuffix("s")) or {"type": "string"})
    return next((kind for each in re.split(r"[ ,;:\[]", word)[:3] if (kind := _TYPES.get(each))), {})


def find_options(text: str) -> dict[str, Json]:
    """Return the words to choose from: quoted ones, those after "one of", or single ones between `|`, `/` and "or"."""
    text = text[:500].strip("<>()[] ").replace(" OR ", " or ")
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
    """Return the schema that the name of a key suggests: `tags` is a list of texts."""
    words = [piece.lower() for piece in split_pieces(name) if piece.isalpha()] or [""]
    last = words[-1]
    if words[0] in ("is", "has", "can", "should") and len(words) > 1:
        return {"type": "boolean"}
    if last in _WHOLE or words[0] in ("num", "number", "count"):
        return {"type": "integer"}
    if last in _FRACTIONS:
        return {"type": "number"}
    is_plural = len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is"))
    return make_list_schema({"type": "string"}) if is_plural or last == "list" else {"type": "string"}


LONGEST_OBJECT = 8_000  # characters
MOST_KEYS = 30  # of a shape
DEEPEST = 12  # levels
_MOST_TRIES = 48  # objects that are looked for in a text
_OPENING = compile_lazily(r"\{|\[(?=\s*\{)|(?:Array|[Ll]ist)[<\[](?=\s*\{)")
_GENERIC = compile_lazily(r"(Array|[Ll]ist|Sequence|[Ss]et|Optional)\s*[<\[]\s*")
_BLANK = compile_lazily(r"(?:[\s,;]|\.{3}|…|//[^\n]*|#[^\n]*)*")
_QUOTED = compile_lazily(r"(?:\"(?:[^\"\\\n]|\\.){0,2000}\"|'(?:[^'\\\n]|\\.){0,2000}')(?=\s*(?:[,}\];/#:\n]|$))")
_LINE = compile_lazily(r"(?!\"[^\"\n]*\"\s*(?:\||or\b))\"([^\n]{0,2000}?)\"?[,.]?[ \t]*(?=\n)")
_BARE = compile_lazily(
    r"(?:<[^<>\n]{0,200}>|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|\[[^\[\]{}\n]{0,80}\]|\([^()\n]{0,200}\)"
    r"|(?!//)[^,;{}\[\]\n\"'<>()#]){1,300}(?:,?[ \t]*(?://|#)[^\n]{1,300})?"
)
_KEY = compile_lazily(
    r"(\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|`[^`\s][^`\n]{0,79}`|[A-Za-z_$][\w$-]{0,60})\s*(?:\??\s*([:=])\s*|(?=[,}\n]))"
)
_JSON_NUMBER = compile_lazily(r"-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?")
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_OPTION = compile_lazily(r"[A-Za-z][\w -]{0,24}|[A-Z0-9]")
_ONE_OF = compile_lazily(
    r"(?i)(?:one of|either|(?:allowed|possible|valid) values?|options)(?: are)?[: ]+[\[(]?([^\n.;\])]{3,200})"
)
QUOTED_OPTION = compile_lazily(r"[\"'`]([^\"'`\n]{1,40})[\"'`]")
_MEMBER = compile_lazily(r",?\s{0,9}[\"'`]\w{1,60}[\"'`]\s?:")
_OFFERED = compile_lazily(  # classify it as `a` or `b`
    r"(?i)\b(?:classify|categori[sz]e|label|grade|route|choose|pick|select|decide|binary|choices?|score|options?|answer"
    r"|either)\b[^.!?\n\"'`]{0,60}(?P<options>(?P<sign>[\"'`])[\w -]{1,40}(?P=sign)"
    r"(?:(?:,? or |, |/)(?P=sign)[\w -]{1,40}(?P=sign)){1,10})(?<=['\"`])(?!\s?:)"
)
_LIST_TYPE = compile_lazily(r"(?:list|array)(?:\s*(?:of|\[|<)\s*([a-z]+)[\]>]?.{0,60})?|([a-z]+)\[\]")
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
_WHOLE = make_vocabulary("age year port count quantity rank index size stock population minutes hours days")
_FRACTIONS = make_vocabulary(
    "price amount score rating confidence temperature temp total cost percentage weight height salary"
)
_WORD_OR_WORD = compile_lazily(r"[\w-]{1,24}(?:, ?[\w-]{1,24}){0,10},? or [\w-]{1,24}")
_LITERAL = compile_lazily(r"Literal\[([^\[\]]{1,2000})\]")
_CALLS = dict.fromkeys(("score", "rating", "grade"), ("score", "rating", "grade", "rate", "scale"))  # in prompts
_BY_NAME = ("properties", "$defs", "definitions")
_BOUNDED = ("integer", "number", "string")
_BOUNDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const", "multipleOf"))
_TOLD_OPTIONS = compile_lazily(
    r"(?i)\b(?:(?:allowed|possible|valid|available|supported) \w{4,20}|must be one of|one of(?=:)):? ([^\n.;]{3,200})"
)
_TOLD_RANGE = compile_lazily(
    r"(?i)(?:\(|\b(?:between|from|of|either|is)\s)(-?(?:0|[1-9]\d{0,5})(?:\.\d{1,4})?)"
    r"(?:, ?\d{1,3}){0,9},?\s?(?:-|–|to|and|or|/)\s?"
    r"((?:0|[1-9]\d{0,5})(?:\.\d{1,4})?)(?![\w.%])"
)
_EXPLAINED = compile_lazily(r"[)>]?(?:[,;:.](?!\d)|\s+(?:where|with)\b|\s+\()")  # how a note goes on after a range
_RANGE_OF_NAME = (
    r"[^\n.\d]{0,40}?(?:[:(–—=-]|\b(?:between|from|in|scale|be)\b)\s{0,9}"
    r"(-?\d{1,6}(?:\.\d{1,4})?)\s?(?:-|–|to|and)\s?(\d{1,6}(?:\.\d{1,4})?)(?![\w.]?\d|[%-])"
)
_RANGE = compile_lazily(
    r"(?i)^\W{0,2}(?:an? )?(number|float|decimal|int|integer)?\W{0,3}(?:from |between |in )?(?<![\w.])"
    r"(-?\d{1,9}(?:\.\d{1,9})?)\s?(?:-|–|to|and|\.\.)\s?(\d{1,9}(?:\.\d{1,9})?)\b"
)


# What a prompt describes


class DescribedShape(Struct, frozen=True):
    """A JSON Schema that texts describe, what they say apart from it, and the notation of its value."""

    schema: Json
    rest: str = ""
    write: Callable[[Json], str] = compact


def find_shape(said: str, rules: str = "", *, json_anyway: bool = False) -> DescribedShape | None:
    """Return the shape of the JSON that the user or the instructions want; None where nobody asks for JSON.

    A schema is believed before an example, that before keys or words; of two equals what the user says.
    `json_anyway`: the request itself asks for JSON.
    """
    said, rules = (_halve_braces(cut_excerpt(text, _MOST_READ)) for text in (said, rules))
    asking = [text for text in (said, rules) if asks_for_json(text)]
    if not asking and not json_anyway:
        return None
    for find in (_find_schema, _find_example, _find_keys, _find_list):
        for text in (said, rules):
            believed = text in asking or (find is _find_schema and bool(asking)) or not asking
            if believed and (found := find(text)) is not None:
                return _describe_shape(text, found, said)
    shown = _find_shown(said)
    return None if shown is None else _describe_shape(said, shown, said)


def _halve_braces(text: str) -> str:
    """Return a text with the braces that a template should have halved, `{{"a": 1}}`, as they are meant."""
    if not _DOUBLED.search(text):
        return text
    pieces = text.split("```")
    return "```".join(each.replace("{{", "{").replace("}}", "}") if "{{" in each else each for each in pieces)


def _describe_shape(text: str, found: FoundValue, said: str) -> DescribedShape:
    schema = found.value
    before = text[: found.start]
    after = text[found.end :]
    notes = f"{before[-_MOST_FOR_KEYS:]}\n{after[:_MOST_FOR_KEYS]}"
    if "json" in notes.lower():
        schema = add_stated_bounds(schema, notes)
    schema = _add_binary_choice(schema, notes)
    window = text[max(0, found.start - 2000) : found.end + _CUE]
    is_listed = _LISTED.search(before[-_NEAR:]) or len(_SEVERAL.findall(window)) > len(_LIST_VALUE.findall(window))
    if schema.get("type") == "object" and not _holds_list(schema) and is_listed:
        schema = {"type": "array", "items": schema, "minItems": 2, "maxItems": 5}
    rest = remove_json_orders(f"{_remove_examples(before)}\n{after}" if text is said else said)
    if title := text is said and schema.get("title"):
        rest = re.sub(rf"\b{re.escape(str(title))}\b", " ", rest)
    counted = _COUNT.search(f"{text}\n{rest}") if schema.get("type") == "array" else None
    if counted:
        schema = _set_number(schema, counted)
        rest = rest.replace(counted[0], " ")
    fenced = any(_FENCED.search(fold(each)) for each in (text, said))
    opening, closing = ("```json\n", "\n```") if fenced else ("", "")
    return DescribedShape(schema, rest, lambda value: f"{opening}{compact(value)}{closing}")


def _add_binary_choice(schema: Mapping[str, Json], notes: str) -> Mapping[str, Json]:
    """Return the schema of a single key with the options that a text offers: `Give a binary choice 'a' or 'b'`."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or len(properties) != 1:
        return schema
    name, inner = next(iter(properties.items()))
    if not isinstance(inner, Mapping) or not inner.keys() <= {"type", "description"} or inner.get("type") == "array":
        return schema
    offered = _OFFERED.search(notes)
    if offered is None or name in (options := QUOTED_OPTION.findall(offered["options"])):
        return schema
    return {**schema, "properties": {name: {"enum": options}}}


def _holds_list(schema: Mapping[str, Json]) -> bool:
    """Return whether a schema is one list by a name, and so is all that is wanted."""
    inner = [*schema.get("properties", {}).values()]
    return "$defs" in schema or (len(inner) == 1 and isinstance(inner[0], Mapping) and inner[0].get("type") == "array")


def _set_number(schema: Mapping[str, Json], found: re.Match[str]) -> dict[str, Json]:
    number = min(read_number(found["number"]), _MOST_COUNTED)
    return {**schema, "minItems": number, "maxItems": number}


def asks_for_json(text: str) -> bool:
    """Return whether a text orders an answer in JSON."""
    said = fold(text)
    if "json" not in text.lower():
        return "{" in said and _ORDERED_OBJECT.search(said) is not None
    return bool(_ORDERED.search(said)) and not _ABOUT_JSON.search(said)


def remove_json_orders(text: str) -> str:
    """Return a text without the words that order JSON and without fences, which are not values."""
    return "".join(_remove_json_order(part) for part in _PART.findall(_FENCE.sub("", text)))


def remove_shown_answers(text: str) -> str:
    """Return a text without the JSON that it shows as an answer, which is not a value."""
    for found in reversed([*find_objects(text)]):
        if _SHOWN_AS_ANSWER.search(text[max(0, found.start - _NEAR) : found.start]):
            text = f"{text[: found.start]}{text[found.end :]}"
    return text


def _remove_json_order(part: str) -> str:
    cue = _JSON_WORD.search(part)
    return part if cue is None else part[cue.end() :].partition(":")[2] or " "


def _remove_examples(text: str) -> str:
    kept = list[str]()
    at = 0
    for found in find_objects(text):
        if isinstance(found.value, Mapping) and _is_schema(found.value):  # what follows explains it
            return "".join((*kept, text[at : text.rfind("\n", 0, found.start) + 1]))
        if _SHOWN.search(text[max(0, found.start - _NEAR) : found.start]):
            kept.append(text[at : found.start])
            at = found.end
    return "".join((*kept, text[at:]))


def _find_schema(text: str) -> FoundValue | None:
    """Return the last JSON Schema of a text, before examples that it announces: earlier ones tend to be examples."""
    objects = [each for each in find_objects(text) if isinstance(each.value, Mapping)]
    shown = _EXAMPLES.search(text, objects[0].end) if objects else None
    for found in sorted(objects, key=lambda each: (shown and each.start < shown.start(), each.start), reverse=True):
        schema = _unwrap_schema(found.value)
        if _is_schema(schema):
            return replace(found, value=schema)
        if _are_properties(schema) and not _TOOL_WORD.search(text[max(0, found.start - _NEAR) : found.start]):
            return replace(found, value=make_record_schema(schema))
    return None


def _unwrap_schema(value: Mapping[str, Json]) -> Mapping[str, Json]:
    inner = next((value[key] for key in ("schema", "json_schema", "parameters") if key in value), None)
    return _unwrap_schema(inner) if isinstance(inner, Mapping) and "properties" not in value else value


def _is_schema(value: Mapping[str, Json]) -> bool:
    properties = value.get("properties")
    if isinstance(properties, Mapping):
        return bool(properties) and all(isinstance(inner, Mapping | bool) for inner in properties.values())
    inner = value.get("items", value.get("additionalProperties"))
    refers = isinstance(value.get("$defs"), Mapping) and not value.keys().isdisjoint(("$ref", "anyOf", "oneOf"))
    return refers or (value.get("type") in ("array", "object") and isinstance(inner, Mapping))


def _are_properties(value: Mapping[str, Json]) -> bool:
    """Return whether each value is the schema of a property: `{"age": {"type": "integer"}}`."""
    return bool(value) and all(
        isinstance(inner, Mapping) and inner.get("type") in _SCHEMA_TYPES for inner in value.values()
    )


def _find_list(text: str) -> FoundValue | None:
    """Return a list of what the words around `JSON array` name: "list 3 fruits as a JSON array"."""
    listings = [*_LISTING.finditer(text)]
    found = next((each for each in listings if each["as_json"]), None) or _ARRAY.search(text)
    if found is None:
        return None
    noun = (found["noun"] or next((each["noun"] for each in listings), "") or "item").strip().removesuffix(" names")
    item = read_type(find_singular(noun.split()[-1].lower()))
    named = item or {"type": "string", "title": find_singular(noun.split()[-1].lower())}
    schema = {**make_list_schema(named), "title": noun, "uniqueItems": not item}
    return FoundValue(_set_number(schema, found) if found["number"] else schema, *found.span())


def _find_example(text: str) -> FoundValue | None:
    """Return the object shown as an answer, else the first that the words around it call a shape or an example."""
    if (shown := _find_shown(text)) is not None:
        return shown
    for found in _join_types(text, [*find_objects(text)]):
        before = text[max(0, found.start - _CUE) : found.start]
        behind = text[found.end : found.end + _NEAR]
        if _LIST_VALUE.search(before) and (keys := _find_keys(text)):
            return keys
        is_shown = _LIKE.search(before) and not _GIVEN.search(before[-_NEAR:])
        if found.value and (is_shown or _IS_SHAPE.match(behind) or _TO_FILL.search(before)):
            return replace(found, value=infer_shape(found.value))
    return None


def _find_shown(text: str) -> FoundValue | None:
    for found in find_objects(text):
        if found.value and _SHOWN_AS_ANSWER.search(text[max(0, found.start - _NEAR) : found.start]):
            return replace(found, value=infer_shape(found.value))
    return None


def _join_types(text: str, objects: list[FoundValue]) -> list[FoundValue]:
    """Return the objects of a text; of TypeScript's types those that no other refers to, with all they refer to."""
    named = ((found, _NAME_OF_TYPE.search(text[max(0, found.start - _NEAR) : found.start])) for found in objects)
    types = {name[1]: found for found, name in named if name}
    types |= {union[1]: types[union[2]] for union in _UNION.finditer(text) if union[2] in types}  # its first type
    used = set[str]()

    def put(value: Json, levels: int = 4) -> Json:
        if isinstance(value, Mapping):
            return {key: put(inner, levels) for key, inner in value.items()}
        written = value.strip().removesuffix("[]") if isinstance(value, str) else ""
        name = written.strip("() ").partition("|")[0].strip()
        if name not in types or not levels:
            return value if not re.fullmatch(r"[\w -]+", written) or read_note(written) else f"Literal[{written}]"
        used.add(name)
        inner = put(types[name].value, levels - 1)
        return [inner] if str(value).endswith("[]") else inner

    if len(types) < 2:
        return objects
    joined = [replace(found, value=put(found.value)) for found in objects]
    parts = [types[name] for name in used]
    end = max((part.end for part in parts), default=0)
    starts = [part.start for part in parts]
    roots = [replace(found, end=max(found.end, end)) for found in joined if found.start not in starts]
    return [replace(found, start=max(text.rfind("\n", 0, found.start), 0)) for found in roots]


def _find_keys(text: str) -> FoundValue | None:
    start = max(0, len(text) - _MOST_FOR_KEYS)
    tail = text[start:]
    for cue, key in ((_LINE_OF_KEYS, _BULLET), (_CUE_OF_KEYS, _KEY_IN_ROW), (_CUE_OF_RECORDS, _KEY_IN_ROW)):
        for opening in cue.finditer(tail):
            notes, end = _read_notes(tail, opening.end(), key)
            sure = (
                cue is not _CUE_OF_RECORDS
                or any(notes.values())
                or opening[0].endswith("(")
                or _QUOTED_NAME.match(tail, opening.end())
            )
            if notes and sure:
                clause = max(tail.rfind(sign, 0, opening.start()) for sign in ".!?\n:,;") + 1
                stated = {name: _AS_OPTIONAL.sub("", note) for name, note in notes.items()}
                schema = make_record_schema(
                    {name: read_note(note) or guess_shape(name) for name, note in stated.items()}
                )
                schema["required"] = [name for name, note in notes.items() if note == stated[name]]
                return FoundValue(schema, start + clause, start + end)
    return None


def _read_notes(text: str, at: int, key: re.Pattern[str]) -> tuple[dict[str, str], int]:
    notes: dict[str, str] = {}
    end = at
    while (found := key.match(text, at)) is not None and len(notes) < MOST_KEYS:
        name = found["name"]
        at = found.end()
        note = next((part.strip() for part in found.groups()[found.re.groupindex["name"] :] if part), "")
        joint = _GAP.match(text, at)
        if (
            key is _KEY_IN_ROW
            and note
            and ":" in found[0]
            and not read_note(note)
            and (not joint or "" in notes.values())
        ):
            # what to read: `name and email: bob@example.com`
            note = ""
            at = found.end("name")
            joint = None
        if name not in _NO_KEYS:
            notes[name] = f"{found.groupdict().get('optional') or ''}{note}".strip()
        end = at
        if key is _KEY_IN_ROW:
            if joint is None:
                break
            at = joint.end()
    return notes, end


_EXAMPLES = compile_lazily(r"(?im)^[^\n{}]{0,80}\bexamples\b[^\n{}]{0,120}:[ \t]*$")
_LONGEST_CACHED = 20_000  # bytes of schemas whose descriptions are remembered
_MOST_READ = 50_000  # characters
_MOST_FOR_KEYS = 8_000  # characters
_CUE = 160  # characters before an object that may say what it is
_NEAR = 60
_SCHEMA_TYPES = (*NAMES_OF_TYPES, "array")
_UNION = compile_lazily(r"\btype\s+(\w{1,40})\s*=\s*\|?\s*(\w{1,40})(?=\s*[|;])")
_NAME_OF_TYPE = compile_lazily(r"\b(?:interface|type|class)\s+(\w{1,40})\s*=?\s*$")
_TOOL_WORD = compile_lazily(r"(?i)\b(?:arg(?:ument)?s?|inputs?|param(?:eter)?s?|tools?|functions?)\b")
_ORDERED = compile_lazily(
    r"(?:return|respond|reply|output|answer|give|produce|make|use|generate|provide|format|formatted|write|create"
    r"|extract"
    r"|convert|translate|print|conform|parse|fill|as|in|only|valid|using|want)\b[^.\n]{0,80}?\bjson\b|\bjson\b[^.\n]{0,40}"
    r"\b(?:only|schema|format|please|matching|conforming|keys?|fields?|back|object with)\b|\bjson:\s{0,3}\{"
)
_ABOUT_JSON = compile_lazily(
    r"\b(?:function(?! call)|script|program|code(?! ?-?(?:snippet|block|fence))|class|regex)\b[^.\n]{0,60}\bjson\b"
    r"|\b(?:what(?:'s| is| are| does)[^.\n]{0,20}|(?:explain|about|parse|load"
    r"|read)\s+(?:\w+ ){0,2})\bjson\b(?! (?:schema|object))"
)
_DOUBLED = compile_lazily(r"\{\{\s*[\"\w][^{}]{0,200}[:}]")
_FENCED = compile_lazily(
    r"(?:in|within|inside|as|using|be|with)\s+(?:a |an |the )*"
    r"(?:```|markdown (?:code|json|block|fence|snippet)|(?:json )?code ?-?(?:block|fence|snippet)|backticks)"
)
_SHOWN_AS_ANSWER = compile_lazily(
    r"(?i)(?:<output>|\boutput:|\bexample json:|\bexample output:|\n(?:a|answer|response|result):"
    r"|\bjson\b[^\n]{0,60}\b(?:structure|format|schema|shape|template)\b[^\n]{0,20}:[ \t]*\n)"
    r"\s*(?:```(?:json)?\s*)?$"
)
_LIKE = compile_lazily(
    r"(?i)\b(?:like|format|formatted|shape|structure|form|example|following|template|schema|respond|response|return"
    r"|output|reply|answer|keys|fields|e\.g\.|looks?|object|json|type|interface|generate|give)\b"
)
_GIVEN = compile_lazily(
    r"(?i)\b(?:input|data|given|from|(?<!fill )this json(?! (?:shape|form|format|schema|structure)\b)|this object"
    r"|current|existing|document|payload|context|here is (?:the|my|a))\b[^.\n]{0,30}$"
)
_IS_SHAPE = compile_lazily(
    r"(?i)\s*(?:is|as) (?:the|your|an?) (?:\w+ )?(?:format|shape|structure|schema|template|example)"
)
_TO_FILL = compile_lazily(r"(?i)\b(?:fill|complete)(?: in| out)? (?:this|the|following)\b[^.\n]{0,30}$")
_LINE_OF_KEYS = compile_lazily(
    r"(?i)\b(?:keys?|fields?|properties|json|format|structure|object|extract|following)\b[^\n]{0,80}:[ \t]*\n"
)
_NAME = r"[\"'`*]{0,3}(?P<name>[A-Za-z_][\w-]{0,60})[\"'`*]{0,3}"
_BULLET = compile_lazily(
    rf"[ \t]*(?:(?:[-*•]|[0-9]{{1,2}}[.)])[ \t]*|(?=[\"'`]\w[\w-]{{0,60}}[\"'`]\s{{0,40}}[:–—=-])){_NAME}"
    r"[ \t]*(?:\(([^()\n]{1,100})\))?[ \t]*[:–—=-]?[ \t]*"
    r"([^\n]{0,300})(?:\n|$)"
)
_CUE_OF_KEYS = compile_lazily(
    r"(?i)\b(?:(?:keys?|fields?|properties|attributes|columns?|header)\b|(?:json|dictionary)\b(?: (?:array|list) of)?"
    r"(?: (?:objects?|format|response|back|output))?,?(?: with| containing| including| that (?:has|contains)| having)\b"
    r"|(?:json(?: object)?|schema|extract):(?=\s[\"'`]?\w{2,40}[\"'`]?\s?(?:\(|[:=-]\s?(?:str|int|num|float|bool|array"
    r"|list|object|date)|is\s|,\s\w{2,40}[,_])))(?:\s*[:,–—-]|\s+(?:named|called|are|is|like|exactly|only|the|these"
    r"|following|should be|must be|of|an?(?=\s+(?:\w+\s+)?(?:key|field|property)\b)|one|single|two|three|four|five|\d+"
    r"|(?:string|boolean|integer|number|text)(?=\s(?:key|field|property))|keys?|fields?|attributes?|elements?|property"
    r"|properties)(?=[\s:,])){0,7}\s+(?:an?\s+(?=[\"'`]))?"
)
_CUE_OF_RECORDS = compile_lazily(
    r"(?i)\b(?:objects?|items?|elements?|records?|entries|each(?: one| \w+)?|every \w+|it|that)\b,?\s+"
    r"(?:(?:must|should|shall|will|to)\s+)?(?:with|contain(?:s|ing)?|includ(?:es?|ing)|ha(?:ve|s|ving))\b:?\s+"
    r"(?:(?:the|exactly|an?)\s+)?"
)
_QUOTED_NAME = compile_lazily(r"[\"'`][A-Za-z_][\w-]{0,60}[\"'`]")
_KEY_IN_ROW = compile_lazily(
    rf"(?:the |a |an )?(?:(?:list|array|key|field) (?:called|named) |(?:key|field|property) (?=[\"'`]))?"
    rf"(?P<optional>optional )?(?!and\b|or\b|exactly\b){_NAME}(?: (?:key|field)\b)?(?:\s*\(([^()\n]{{1,200}})\)"
    r"|(?:\s*:\s*|\s+[–—-]\s+|,?\s+(?:which |that |whose value )?(?:is|are|as|set to|must be|should be|can be)\s+)"
    rf"(?P<told>(?:(?!\s+and\s+(?:[\"'`]\w+[\"'`]|\w+\s*(?:\(|:)|an?\s+[\"'`]))[^,;.\n()]){{1,100}}))?"
)
_GAP = compile_lazily(r"\s*(?:,\s*and\s+|,\s*|\s+and\s+|\s*&\s*|;\s*)(?:(?:an?|the|one)\s+)?(?=[\w\"'`*])")
_NO_KEYS = make_vocabulary(
    "keys key fields field values no only and of as into in for from exactly with object json properties"
)
_FENCE = compile_lazily(r"`{3}\w*")
_SHOWN = compile_lazily(r"(?i)\b(?:schema|example|instance|object|format)\b")
_PART = compile_lazily(r"[^\n.!?]+[\n.!?]*|[\n.!?]+")
_JSON_WORD = compile_lazily(r"(?i)\b(?:json(?:_schema)?|schema|markdown|keys?|fields?)\b[^:]{0,60}")
_MOST_COUNTED = 50
_NUMBER_WORD = rf"(?P<number>\d{{1,3}}|(?!an?\b|single\b|one\b)(?:{NUMBER_WORDS})\b)"
_VERB_OF_LISTS = r"\b(?:list|give|name|suggest|generate|return|extract|find|provide|write|what are)"
_COUNT = compile_lazily(
    rf"(?i)(?:{_VERB_OF_LISTS}|\b(?:make|create|produce|of|with|me|exactly"
    rf"|for(?=[^.,;\n]{{1,30}}s\b)))\s+{_NUMBER_WORD}"
    r"(?:(?=\s{0,3}(?:[.!]|$))|\s+(?!(?:words|sentences|characters|years|letters|paragraphs|or|to|and)\b)(?=[a-z])"
    r"(?:(?:[a-z][\w-]* ){0,2}?[a-z][\w-]*s\b)?)"
)
_ARRAY = compile_lazily(
    r"(?i)\bjson (?:array|list)s?\b(?: (?:of|with|containing)(?: the| all| exactly| first| top)*"
    rf"(?: {_NUMBER_WORD})? (?P<noun>[a-z][\w-]+(?: [\w-]+s\b)?))?"
)
_LISTING = compile_lazily(
    rf"(?i){_VERB_OF_LISTS}(?: me)?(?: all| the| some)*(?: {_NUMBER_WORD})?"
    r"(?P<noun>(?: [\w-]{1,40})?? [a-z]{2,30}s)\b(?P<as_json> (?:as|in) (?:valid )?json\b)?"
)
_ORDERED_OBJECT = compile_lazily(
    r"\b(?:respond|reply|answer|return|output)(?:\s+(?:with|only|just|either|as|in|an?|the|object|form|format"
    r"|like)){0,5}:?\s*`{0,3}(?=\{\s*\"\w)"
)
_AS_OPTIONAL = compile_lazily(r"(?i)[,; ]*\boptional\b[,:; ]*")
_LIST_VALUE = compile_lazily(
    r"(?i)\w[\"'`]?\s*(?:\(|:|=| is| as)\s*(?:an? )?(?:list|array) of (?:objects? (?:with|like) )?(?:$|\{)"
)
_NOTED_VALUE = (
    r"(?: key| field)?[\s:(–-]{0,4}"
    r"(?:(?:should|must|is|are|which|can|will|be|either|strictly|only|one of)\W{1,3}){0,6}([^\n]{3,160})"
)
_LISTED = compile_lazily(r"(?i)\b(?:array|list)s? of(?: \w+:?)?\s*$")
_SEVERAL = compile_lazily(
    r"(?i)\b(?:array|list)s? of (?:\w+ )?(?:json )?(?:objects?|items?|records?|elements)\b|\bjson (?:array|list)s?\b"
)
