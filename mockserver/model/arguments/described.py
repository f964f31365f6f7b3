"""The JSON that a prompt describes: by a schema, by an object that it shows, or by the keys that it names."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from mockserver.core.json import Json
from mockserver.model.vocabulary import excerpt, pieces, vocabulary


@dataclass(frozen=True, slots=True)
class Bare:
    """A value without quotation marks: the name of a type, a placeholder, a word; `note` is the comment after it."""

    text: str
    note: str = ""


@dataclass(slots=True)
class _Reader:
    """A place in a text, and the number of values that may still be read."""

    text: str
    at: int
    left: int = field(default=2000)


def read(text: str, start: int) -> tuple[Json, int] | None:
    """Return the object or list that begins at a bracket, in loose notation, and where it ends; None for neither."""
    reader = _Reader(text, start)
    try:
        return _value(reader, 0), reader.at
    except (ValueError, IndexError):
        return None


def shape(example: Json, name: str = "") -> dict[str, Json]:
    """Return the JSON Schema of an example: objects with all its keys, lists with items like its first."""
    match example:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
        case str():
            return _of_text(example, "")
        case Bare(text, note):
            return _of_text(text, note)
        case list():
            return {"type": "array", "items": shape(example[0]) if example else {"type": "string"}, "minItems": 1}
        case Mapping():
            return record({key: shape(value, key) for key, value in example.items()})
    return _guessed(name)


def record(properties: Mapping[str, Json]) -> dict[str, Json]:
    """Return the JSON Schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def named(name: str, note: str = "") -> dict[str, Json]:
    """Return the JSON Schema of a property with this name and note."""
    typed = _of_type(note.strip().lower()) or _options(note)
    described = {"description": note} if note else {}
    return {**(typed or _guessed(name)), **described}


def _of_text(text: str, note: str) -> dict[str, Json]:
    """The schema that a text stands for: a type, a choice of words, or some text."""
    described = {"description": note or text} if note or len(text) > 3 else {}
    plain = text.strip().strip("<>[]{}()").strip()
    return {
        **(_of_type(text.strip().lower()) or _of_type(plain.lower()) or _options(text) or {"type": "string"}),
        **described,
    }


def _of_type(word: str) -> dict[str, Json] | None:
    """The schema that the name of a type means."""
    plain = word.removesuffix(" | null").removesuffix(" | none").removeprefix("a ").removeprefix("an ").strip()
    listed = _LIST.fullmatch(plain)
    if listed is not None:
        inner = next((found for found in listed.groups() if found), "string")
        return {
            "type": "array",
            "items": _of_type(inner.removesuffix("s")) or _of_type(inner) or {"type": "string"},
            "minItems": 1,
        }
    kind = _TYPES.get(plain)
    if (
        kind is None
        and (first := plain.partition(" ")[0].strip(",;:")) in _TYPES
        and first not in ("text", "date", "time", "list")
    ):
        kind = _TYPES[first]
    return None if kind is None else dict(kind)


def _options(text: str) -> dict[str, Json] | None:
    """A choice of words: between bars or slashes, or after `one of`."""
    for sign in ("|", "/"):
        parts = [part.strip().strip("\"'`()<>") for part in text.split(sign)]
        if 1 < len(parts) <= 20 and all(_OPTION.fullmatch(part) for part in parts):
            return {"type": "boolean"} if {part.lower() for part in parts} == {"true", "false"} else {"enum": parts}
    chosen = _ONE_OF.search(text[:500])
    if chosen is None:
        return None
    parts = [part.strip(" \"'`.") for part in re.split(r",|\bor\b|\band\b|/|\|", chosen[1])]
    parts = [part for part in parts if part]
    return {"enum": parts} if len(parts) > 1 and all(_OPTION.fullmatch(part) for part in parts) else None


def _guessed(name: str) -> dict[str, Json]:
    """The type that a name suggests."""
    words = [piece for piece in pieces(name) if piece.isalpha()]
    last = words[-1].lower() if words else ""
    first = words[0].lower() if words else ""
    if first in ("is", "has", "can", "should", "was", "needs") and len(words) > 1:
        return {"type": "boolean"}
    if last == "number" and first in _NUMBERED:
        return {"type": "string"}
    if last in _WHOLE or (first in ("num", "number", "count", "total") and len(words) > 1):
        return {"type": "integer"}
    if last in _FRACTIONS:
        return {"type": "number"}
    if last in _LISTS or (last.endswith("s") and not last.endswith(("ss", "us", "is", "address")) and len(last) > 3):
        return {"type": "array", "items": {"type": "string"}, "minItems": 1}
    return {"type": "string"}


def _value(reader: _Reader, level: int) -> Json:
    reader.left -= 1
    if reader.left < 0 or level > _DEEPEST:
        raise ValueError("too much")
    _skip(reader)
    sign = reader.text[reader.at]
    if sign == "{":
        return _object(reader, level)
    if sign == "[":
        return _list(reader, level)
    quoted = _QUOTED.match(reader.text, reader.at)
    if quoted is not None and (reader.text[quoted.end() : quoted.end() + 3].strip()[:1] or ",") in ",}];\n/#:":
        reader.at = quoted.end()
        return quoted[0][1:-1].replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'")
    return _bare(reader)


def _bare(reader: _Reader) -> Json:
    found = _BARE.match(reader.text, reader.at)
    if found is None or not found[0].strip():
        raise ValueError("no value")
    reader.at = found.end()
    text = found[0].strip()
    if text in _LITERALS:
        return _LITERALS[text]
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text or "e" in text.lower() else int(text)
    note = _NOTE.match(reader.text, reader.at)
    return Bare(text, note[1].strip() if note else "")


def _object(reader: _Reader, level: int) -> Json:
    reader.at += 1
    made: dict[str, Json] = {}
    while _more(reader, "}"):
        key = _KEY.match(reader.text, reader.at)
        if key is None:
            raise ValueError("no key")
        reader.at = key.end()
        name = key[1].strip("\"'`")
        made[name] = _value(reader, level + 1) if key[2] else None
        reader.left -= 1
        if not key[2] and _AFTER_KEY.match(reader.text, reader.at) is None:
            raise ValueError("no object")
    return made


def _list(reader: _Reader, level: int) -> Json:
    reader.at += 1
    made: list[Json] = []
    while _more(reader, "]"):
        made.append(_value(reader, level + 1))
    return made


def _more(reader: _Reader, end: str) -> bool:
    """Whether another member follows; moves past the separator, or past the end."""
    _skip(reader)
    while reader.text[reader.at] in ",;" or reader.text.startswith(("...", "…"), reader.at):
        reader.at += 1 if reader.text[reader.at] != "." else 3
        _skip(reader)
    if reader.text[reader.at] == end:
        reader.at += 1
        return False
    return True


def _skip(reader: _Reader) -> None:
    found = _BLANK.match(reader.text, reader.at)
    reader.at = found.end() if found else reader.at


_DEEPEST = 12
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*[^*]{0,500}\*/|#[^\n]*)*")
_QUOTED = re.compile(r"\"(?:[^\"\\\n]|\\.){0,2000}\"|'(?:[^'\\\n]|\\.){0,2000}'|`[^`\n]{0,500}`")
_BARE = re.compile(
    r"(?:<[^<>\n]{0,200}>|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|\[\]|\[[^\[\]{}\n]{0,80}\]|\([^()\n]{0,200}\)|"
    r"(?!//)[^,;{}\[\]\n\"'<>()]){1,300}"
)
_KEY = re.compile(r"(\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|`[^`\n]{1,80}`|[A-Za-z_$][\w$-]{0,60})\s*\??\s*([:=])?")
_AFTER_KEY = re.compile(r"\s*[,}\n]")
_NOTE = re.compile(r"[,;]?[ \t]*(?://|#)[ \t]*([^\n]{1,300})")
_NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?")
_LITERALS: dict[str, Json] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_OPTION = re.compile(r"[A-Za-z][\w -]{0,24}")
_ONE_OF = re.compile(r"(?i)(?:one of|either)[: ]+[\[(]?([^\n.;\])]{3,200})")
_LIST = re.compile(r"(?:list|array|sequence|set)(?:\s*(?:of|\[|<)\s*([a-z]+)[\]>]?.{0,60})?|([a-z]+)\[\]")
_TYPES: dict[str, dict[str, Json]] = {
    **{name: {"type": "string"} for name in ("string", "str", "text")},
    **{name: {"type": "integer"} for name in ("integer", "int", "whole")},
    **{name: {"type": "number"} for name in ("number", "float", "double", "decimal", "numeric")},
    **{name: {"type": "boolean"} for name in ("boolean", "bool")},
    **{name: {"type": "object"} for name in ("object", "dict")},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "iso date": {"type": "string", "format": "date"},
    "email": {"type": "string", "format": "email"},
    "url": {"type": "string", "format": "uri"},
    "uuid": {"type": "string", "format": "uuid"},
}
_WHOLE = vocabulary("age count quantity number year rank index size stock population duration minutes hours days id_")
_NUMBERED = vocabulary("phone telephone mobile account card tracking serial order invoice passport license flight fax")
_FRACTIONS = vocabulary(
    "price amount score rating confidence temperature total cost percentage ratio weight height salary latitude"
    " longitude probability"
)
_LISTS = vocabulary("tags items keywords list entities")


@dataclass(frozen=True, slots=True)
class Described:
    """A JSON Schema, whether the answer is fenced, and what a text says apart from the schema."""

    schema: Json
    fenced: bool = False
    rest: str = ""


def described(text: str, *, json_anyway: bool = False) -> Described | None:
    """Return the JSON that a text wants for an answer; None where it does not ask for JSON, unless `json_anyway`."""
    text = excerpt(text, _MOST_READ)
    if not json_anyway and not asks_for_json(text):
        return None
    found = _schema(text) or _example(text) or _keys(text)
    if found is None:
        return None
    schema, start, end = found
    if _wants_a_list(text[:end], schema):
        schema = {"type": "array", "items": schema, "minItems": 2, "maxItems": 5}
    return Described(schema, bool(_FENCED.search(text)), matter(_without_examples(text[:start]) + "\n" + text[end:]))


def asks_for_json(text: str) -> bool:
    """Whether a text orders an answer in JSON."""
    return "json" in text.lower() and bool(_ORDERED.search(text)) and not _ABOUT_JSON.search(text)


def matter(text: str) -> str:
    """Return a text without the words that order JSON and without fences: they are no values."""
    return "".join(_unordered(part) for part in _PART.findall(_FENCE.sub("", text)))


def _without_examples(text: str) -> str:
    """A text without the objects that explain a schema."""
    kept, at = [], 0
    for _, start, end in _objects(text):
        if _SHOWN.search(text[max(0, start - _NEAR) : start]):
            kept.append(text[at:start])
            at = end
    return "".join((*kept, text[at:]))


def _unordered(part: str) -> str:
    cue = _JSON_WORD.search(part)
    return part if cue is None else part[cue.end() :].partition(":")[2] if ":" in part[cue.end() :] else " "


_Found = tuple[Json, int, int]


def _schema(text: str) -> _Found | None:
    """The last JSON Schema of a text and its place: earlier ones tend to be examples."""
    schemas = [found for found in _objects(text) if _is_schema(found[0])]
    if not schemas:
        return None
    schema, start, end = schemas[-1]
    return _unwrapped(schema), start, end


def _example(text: str) -> _Found | None:
    """An object that shows the shape of the answer, and its place."""
    for value, start, end in _objects(text):
        before, behind = text[max(0, start - _CUE) : start], text[end : end + _NEAR]
        shown = (_LIKE.search(before) and not _GIVEN.search(before[-_NEAR:])) or _IS_SHAPE.match(behind)
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
    """Whether a value is a JSON Schema rather than another object."""
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
    """The schema inside an object that names it."""
    for key in ("schema", "json_schema", "parameters"):
        inner = value.get(key)
        if isinstance(inner, Mapping) and "properties" not in value:
            return _unwrapped(inner)
    return value


def _keys(text: str) -> _Found | None:
    """The keys that a text names, as an object of them, and the place of those words."""
    start = max(0, len(text) - _MOST_FOR_KEYS)
    tail = text[start:]
    found = _bullets(tail) or _row(tail) or _quoted(tail) or _extracted(tail)
    if found is None:
        return None
    listed, opening, end = found
    clause = max(tail.rfind(sign, 0, opening) for sign in ".!?\n:,;") + 1
    return record({name: named(name, note) for name, note in listed.items()}), start + clause, start + end


_Named = tuple[dict[str, str], int, int]


def _bullets(text: str) -> _Named | None:
    """Keys on lines of their own, after a line that mentions them."""
    for cue in _LINE_OF_KEYS.finditer(text):
        found: dict[str, str] = {}
        at = cue.end()
        while (bullet := _BULLET.match(text, at)) is not None and len(found) < _MOST_KEYS:
            found[_name(bullet)] = (bullet[4] or bullet[3] or "").strip()
            at = bullet.end()
        if found:
            return found, cue.start(), at
    return None


def _row(text: str) -> _Named | None:
    """Keys one after another: `with keys name, age and city`."""
    for cue in _CUE_OF_KEYS.finditer(text):
        found: dict[str, str] = {}
        at = end = cue.end()
        while (key := _KEY_IN_ROW.match(text, at)) is not None and len(found) < _MOST_KEYS:
            found[_name(key)] = (key[3] or key[4] or "").strip()
            end = key.end()
            parted = _PARTED.match(text, end)
            if parted is None:
                break
            at = parted.end()
        if found and not _NO_KEY.issuperset(found):
            return {name: note for name, note in found.items() if name not in _NO_KEY}, cue.start(), end
    return None


def _quoted(text: str) -> _Named | None:
    """Keys in quotation marks, in a sentence that mentions keys or JSON."""
    for cue in islice(_KEY_WORD.finditer(text), _MOST_TRIES):
        start = max(text.rfind("\n", 0, cue.start()) + 1, cue.start() - _BEFORE_KEYS)
        line = text[start : cue.end() + _BEHIND_KEYS].partition("\n")[0]
        keys = list(_QUOTED_KEY.finditer(line))[:_MOST_KEYS]
        if keys:
            return {key[1]: key[2] or "" for key in keys}, start + keys[0].start(), start + keys[-1].end()
    return None


def _extracted(text: str) -> _Named | None:
    """What to extract from a text: `extract the name and the phone number from`."""
    order = _EXTRACT.search(text)
    if order is None:
        return None
    parts = (part.strip() for part in _BETWEEN_NAMES.split(order[1]))
    names = ["_".join(part.lower().split()) for part in parts if _WORDS_OF_NAME.fullmatch(part)]
    found = dict.fromkeys((name for name in names[:_MOST_KEYS] if name not in _NO_KEY), "")
    return (found, order.start(), order.end()) if found else None


def _name(found: re.Match[str]) -> str:
    return found[1] or found[2]


def _wants_a_list(text: str, schema: Json) -> bool:
    """Whether a text wants several of what its schema describes."""
    return isinstance(schema, Mapping) and schema.get("type") == "object" and bool(_SEVERAL.search(text[-2000:]))


_DECODER = json.JSONDecoder()
_MOST_READ = 50_000
_MOST_TRIES = 48
_MOST_KEYS = 30
_MOST_FOR_KEYS = 8000
_CUE, _NEAR, _BEFORE_KEYS, _BEHIND_KEYS = 160, 60, 200, 500
_OPENING = re.compile(r"\{|\[(?=\s*\{)")
_ORDERED = re.compile(
    r"(?i)(?:return|respond|reply|output|answer|give|produce|generate|provide|format|formatted|write|send|"
    r"create|extract|convert|"
    r"print|conform|parse|fill|emit|as|in|only|valid|using|want)\b[^.\n]{0,80}?\bjson\b|"
    r"\bjson\b[^.\n]{0,40}\b(?:only|schema|format)\b"
)
_ABOUT_JSON = re.compile(
    r"(?i)\b(?:function|script|program|code(?! ?-?(?:snippet|block|fence))|class|regex)\b[^.\n]{0,60}\bjson\b|"
    r"\bwhat(?:'s| is| are| does)[^.\n]{0,20}\bjson\b|"
    r"\b(?:explain|describe|about|parse|load|read|difference between)\s+(?:\w+ ){0,2}json\b(?! (?:schema|"
    r"object with))"
)
_FENCED = re.compile(
    r"(?i)(?:in|within|inside|as|using|wrapped in|surrounded by|enclosed in|be|with)\s+(?:a |an |the |"
    r"triple |single )*"
    r"(?:```|markdown (?:code|json|block|fence|snippet)|(?:json )?code ?-?(?:block|fence|snippet)|fenced|"
    r"triple|backticks|json markdown)"
)
_LIKE = re.compile(
    r"(?i)\b(?:like|format|formatted|shape|structure|form|example|following|template|schema|respond|response|"
    r"return|output|reply|"
    r"answer|keys|fields|such as|e\.g\.|looks?|object|json|type|interface|produce|generate|give)\b"
)
_GIVEN = re.compile(
    r"(?i)\b(?:input|data|given|from|this json|this object|current|existing|document|payload|context|"
    r"here is (?:the|my|a))\b[^.\n]{0,30}$"
)
_IS_SHAPE = re.compile(
    r"(?i)\s*(?:is|as) (?:the|your|an?) (?:\w+ )?(?:format|shape|structure|schema|template|example|type)"
)
_LINE_OF_KEYS = re.compile(
    r"(?i)\b(?:keys?|fields?|properties|attributes|json|format|structure|object|extract|"
    r"following)\b[^\n]{0,80}:[ \t]*\n"
)
_IDENTIFIER = r"(?:[\"'`*]{1,3}([A-Za-z_][\w-]{0,60})[\"'`*]{1,3}|([A-Za-z_][\w-]{0,60}))"
_BULLET = re.compile(
    rf"[ \t]*(?:[-*•]|"
    rf"[0-9]{{1,2}}[.)])[ \t]*{_IDENTIFIER}[ \t]*(?:\(([^()\n]{{1,100}})"
    rf"\))?[ \t]*[:–—=-]?[ \t]*([^\n]{{0,300}})(?:\n|$)"
)
_CUE_OF_KEYS = re.compile(
    r"(?i)\b(?:(?:keys?|fields?|properties|attributes)\b(?: named| called| are| being| should be| must be|"
    r" of| such as| like)?:?|"
    r"json\b(?: object| format| document| response| dict(?:ionary)?)?(?: with| containing| including|"
    r" that (?:has|contains)| having| of)"
    r"(?: exactly| only| the| these| following| two| three| four| five| \d+| keys| fields| properties|"
    r" attributes){0,6}:?)\s+"
)
_KEY_IN_ROW = re.compile(
    rf"(?:the |a |an )?(?!and\b|or\b){_IDENTIFIER}(?:\s*\(([^()\n]{{1,100}})\)|"
    r"\s*:\s*((?:str|int|num|float|bool|array|list|object|date)[\w\[\]<>]{0,30})|"
    rf" (?:as )?(?:an? )?(?:string|integer|number|boolean|float|list|array|key|field)\b)?"
)
_PARTED = re.compile(r"\s*(?:,\s*and\s+(?:a |an )?|,\s*|\s+and\s+(?:a |an )?|\s*&\s*|;\s*)(?=[\w\"'`*])")
_EXTRACT = re.compile(
    r"(?i)\b(?:extract|identify|pull out|find|return|give|provide|"
    r"output)\s+(?:me\s+)?([a-z][^.\n:{}]{2,200}?)\s+(?:from|as|in|out of|for)\b"
)
_BETWEEN_NAMES = re.compile(
    r"(?i)(?:\s*,\s*|\s+)(?:and\s+)?(?:the|a|an|his|her|their|its)\s+|\s*,\s*(?:and\s+)?|\s+and\s+|^(?:the|a|an)\s+"
)
_WORDS_OF_NAME = re.compile(r"[A-Za-z][\w-]*(?: [A-Za-z][\w-]*){0,2}")
_FENCE = re.compile(r"`{3}\w*")
_SHOWN = re.compile(r"(?i)\b(?:schema|example|instance|object|format)\b")
_PART = re.compile(r"[^\n.!?]+[\n.!?]*|[\n.!?]+")
_JSON_WORD = re.compile(r"(?i)\b(?:json(?:_schema)?|schema|markdown|keys?|fields?)\b[^:]{0,60}")
_NO_KEY = vocabulary("keys key fields field values no only and in for from exactly with object json properties")
_KEY_WORD = re.compile(r"(?i)\b(?:keys?|fields?|properties|attributes|json)\b")
_QUOTED_KEY = re.compile(r"[\"'`]([A-Za-z_][\w-]{0,40})[\"'`](?:\s*\(([^()\n]{1,100})\))?")
_SEVERAL = re.compile(
    r"(?i)\b(?:json )?(?:array|list) of (?:\w+ )?(?:json )?(?:objects?|items?|records?|dictionaries|"
    r"elements)\b|\bjson (?:array|list)\b"
)
