"""Objects as people write them in prompts: JSON, Python's literals, TypeScript's types, gaps to be filled in.

Reads them without being strict, and says which JSON Schema has what they show. Knows texts alone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mockserver.core.call import Json
from mockserver.engine.generate.vocabulary import vocabulary


@dataclass(frozen=True, slots=True)
class Bare:
    """What stands without quotation marks: the name of a type, a gap, a word."""

    text: str
    note: str = ""


@dataclass(slots=True)
class _Reader:
    """A place in a text that moves on; `steps` bounds how far."""

    text: str
    at: int
    left: int = field(default=2000)


def read(text: str, start: int) -> tuple[Json, int] | None:
    """The object or list that begins at a bracket of a text, and where it ends; None where it is none."""
    reader = _Reader(text, start)
    try:
        return _value(reader, 0), reader.at
    except (ValueError, IndexError):
        return None


def shape(example: Json, name: str = "") -> dict[str, Json]:
    """The JSON Schema of an example: an object has all its keys, a list has items like its first."""
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
    """The JSON Schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def named(name: str, note: str = "") -> dict[str, Json]:
    """The JSON Schema of a property of which no more is known than its name, and a note."""
    typed = _of_type(note.strip().lower()) or _options(note)
    described = {"description": note} if note else {}
    return {**(typed or _guessed(name)), **described}


def _of_text(text: str, note: str) -> dict[str, Json]:
    """What a text stands for: a type, a choice of words, or some text."""
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
    """A choice among words that are parted by bars or slashes, or told after `one of`."""
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
    """What a name lets expect."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
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
    """Whether another member follows; moves past what parts members, or past the end."""
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
    "price amount score rating confidence temperature total cost percentage ratio weight height "
    "salary "
                       "latitude longitude probability")  # fmt: skip
_LISTS = vocabulary("tags items keywords list entities")
