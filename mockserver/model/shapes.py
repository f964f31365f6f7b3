"""Values that a prompt describes: JSON by a schema, an example, keys or words, in this order; and forms to fill in."""

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.json import Json, compact
from mockserver.core.lazy import lazy_pattern
from mockserver.model.loose import (
    MOST_KEYS,
    NAMES_OF_TYPES,
    QUOTED_OPTION,
    FoundValue,
    find_objects,
    guess_shape,
    list_of,
    options_of_note,
    record_of,
    schema_of_note,
    shape_of,
    shape_of_type,
)
from mockserver.model.orders import find_options, word_group
from mockserver.model.vocabulary import NUMBER_WORDS, excerpt, folded, number_of, singular, vocabulary


class Described(Struct, frozen=True):
    """A JSON Schema that texts describe, what they say apart from it, and the notation of its value."""

    schema: Json
    rest: str = ""
    write: Callable[[Json], str] = compact


def find_shape(said: str, rules: str = "", *, json_anyway: bool = False) -> Described | None:
    """Return the shape of the JSON that the user or the instructions want; None where nobody asks for JSON.

    A schema is believed before an example, that before keys or words; of two equals what the user says.
    `json_anyway`: the request itself asks for JSON.
    """
    said, rules = (_undouble(excerpt(text, _MOST_READ)) for text in (said, rules))
    asking = [text for text in (said, rules) if asks_for_json(text)]
    if not asking and not json_anyway:
        return None
    for find in (_find_schema, _find_example, _find_keys, _find_list):
        for text in (said, rules):
            believed = text in asking or (find is _find_schema and bool(asking)) or not asking
            if believed and (found := find(text)) is not None:
                return _shape_in(text, found, said)
    return None


def _undouble(text: str) -> str:
    """A text with the braces that a template should have halved, `{{"a": 1}}`, as they are meant."""
    return text.replace("{{", "{").replace("}}", "}") if _DOUBLED.search(text) else text


def _shape_in(text: str, found: FoundValue, said: str) -> Described:
    schema, before, after = found.value, text[: found.start], text[found.end :]
    notes = f"{before[-_MOST_FOR_KEYS:]}\n{after[:_MOST_FOR_KEYS]}"
    if "json" in notes.lower():
        schema = _add_notes(schema, notes)
    window = text[max(0, found.start - 2000) : found.end]
    is_listed = _LISTED.search(before[-_NEAR:]) or len(_SEVERAL.findall(window)) > len(_OF_KEY.findall(window))
    if schema.get("type") == "object" and not _holds_list(schema) and is_listed:
        schema = {"type": "array", "items": schema, "minItems": 2, "maxItems": 5}
    rest = without_json_orders(f"{_remove_examples(before)}\n{after}" if text is said else said)
    if title := text is said and schema.get("title"):
        rest = re.sub(rf"\b{re.escape(str(title))}\b", " ", rest)
    counted = _COUNT.search(f"{text}\n{rest}") if schema.get("type") == "array" else None
    if counted:
        schema, rest = _set_number(schema, counted), rest.replace(counted[0], " ")
    fenced = any(_FENCED.search(folded(each)) for each in (text, said))
    opening, closing = ("```json\n", "\n```") if fenced else ("", "")
    return Described(schema, rest, lambda value: f"{opening}{compact(value)}{closing}")


def _holds_list(schema: Mapping[str, Json]) -> bool:
    """Whether a schema is one list by a name, and so is all that is wanted."""
    inner = [*schema.get("properties", {}).values()]
    return "$defs" in schema or (len(inner) == 1 and isinstance(inner[0], Mapping) and inner[0].get("type") == "array")


def _add_notes(schema: Mapping[str, Json], text: str) -> Mapping[str, Json]:
    """The schema of an example with what the text says of its texts and numbers: which they may be."""
    if schema.get("type") == "array" and isinstance(schema.get("items"), Mapping):
        return {**schema, "items": _add_notes(schema["items"], text)}
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or len(properties) > MOST_KEYS:
        return schema
    noted = {}
    for name, inner in properties.items():
        plain = isinstance(inner, Mapping) and inner.keys() <= {"type", "description"} and inner.get("type") == "string"
        told = re.findall(rf"[\"'`*]{re.escape(name)}[\"'`*]{_OF_NOTE}", text) if plain else ()
        several = (options_of_note(note) for note in told if len(QUOTED_OPTION.findall(note)) > 1)
        noted[name] = next(filter(None, several), _add_notes(inner, text) if isinstance(inner, Mapping) else inner)
        if name in ("choice", "index") and (range_ := _NUMBERED_TO.search(text)):
            noted[name] = {"type": "integer", "minimum": 1, "maximum": int(range_[1])}
    return {**schema, "properties": noted}


def _set_number(schema: Mapping[str, Json], found: re.Match[str]) -> dict[str, Json]:
    number = min(number_of(found["number"]), _MOST_COUNTED)
    return {**schema, "minItems": number, "maxItems": number}


def asks_for_json(text: str) -> bool:
    """Whether a text orders an answer in JSON."""
    said = folded(text)
    if "json" not in text.lower():
        return "{" in said and _ORDERED_OBJECT.search(said) is not None
    return bool(_ORDERED.search(said)) and not _ABOUT_JSON.search(said)


def without_json_orders(text: str) -> str:
    """Return a text without the words that order JSON and without fences: they are no values."""
    return "".join(_unordered(part) for part in _PART.findall(_FENCE.sub("", text)))


def _unordered(part: str) -> str:
    cue = _JSON_WORD.search(part)
    return part if cue is None else part[cue.end() :].partition(":")[2] or " "


def _remove_examples(text: str) -> str:
    kept, at = [], 0
    for found in find_objects(text):
        if _SHOWN.search(text[max(0, found.start - _NEAR) : found.start]):
            kept.append(text[at : found.start])
            at = found.end
    return "".join((*kept, text[at:]))


def _find_schema(text: str) -> FoundValue | None:
    """The last JSON Schema of a text: earlier ones tend to be examples."""
    for found in reversed([each for each in find_objects(text) if isinstance(each.value, Mapping)]):
        schema = _unwrapped(found.value)
        if _is_schema(schema):
            return replace(found, value=schema)
        if _are_properties(schema) and not _OF_TOOL.search(text[max(0, found.start - _NEAR) : found.start]):
            return replace(found, value=record_of(schema))
    return None


def _unwrapped(value: Mapping[str, Json]) -> Mapping[str, Json]:
    inner = next((value[key] for key in ("schema", "json_schema", "parameters") if key in value), None)
    return _unwrapped(inner) if isinstance(inner, Mapping) and "properties" not in value else value


def _is_schema(value: Mapping[str, Json]) -> bool:
    properties = value.get("properties")
    if isinstance(properties, Mapping):
        return bool(properties) and all(isinstance(inner, Mapping | bool) for inner in properties.values())
    inner = value.get("items", value.get("additionalProperties"))
    refers = isinstance(value.get("$defs"), Mapping) and not value.keys().isdisjoint(("$ref", "anyOf", "oneOf"))
    return refers or (value.get("type") in ("array", "object") and isinstance(inner, Mapping))


def _are_properties(value: Mapping[str, Json]) -> bool:
    """Whether each value is the schema of a property: `{"age": {"type": "integer"}}`."""
    return bool(value) and all(
        isinstance(inner, Mapping) and inner.get("type") in _SCHEMA_TYPES for inner in value.values()
    )


def _find_list(text: str) -> FoundValue | None:
    """A list of what the words around `JSON array` name: "list 3 fruits as a JSON array"."""
    listings = [*_LISTING.finditer(text)]
    found = next((each for each in listings if each["as_json"]), None) or _ARRAY.search(text)
    if found is None:
        return None
    noun = (found["noun"] or next((each["noun"] for each in listings), "") or "item").strip().removesuffix(" names")
    item = shape_of_type(singular(noun.split()[-1].lower()))
    named = item or {"type": "string", "title": singular(noun.split()[-1].lower())}
    schema = {**list_of(named), "title": noun, "uniqueItems": not item}
    return FoundValue(_set_number(schema, found) if found["number"] else schema, *found.span())


def _find_example(text: str) -> FoundValue | None:
    """The object that is shown as an answer; else the first that the words around it call a shape or an example."""
    objects = [*find_objects(text)]
    for found in objects:
        if found.value and _SHOWN_AS_ANSWER.search(text[max(0, found.start - _NEAR) : found.start]):
            return replace(found, value=shape_of(found.value))
    for found in objects:
        before, behind = text[max(0, found.start - _CUE) : found.start], text[found.end : found.end + _NEAR]
        if _OF_KEY.search(before) and (keys := _find_keys(text)):
            return keys
        is_shown = _LIKE.search(before) and not _GIVEN.search(before[-_NEAR:])
        if found.value and (is_shown or _IS_SHAPE.match(behind) or _TO_FILL.search(before)):
            return replace(found, value=shape_of(found.value))
    return None


def _find_keys(text: str) -> FoundValue | None:
    start = max(0, len(text) - _MOST_FOR_KEYS)
    tail = text[start:]
    for cue, key in ((_LINE_OF_KEYS, _BULLET), (_CUE_OF_KEYS, _KEY_IN_ROW), (_CUE_OF_RECORDS, _KEY_IN_ROW)):
        for opening in cue.finditer(tail):
            notes, end = _notes(tail, opening.end(), key)
            sure = (
                cue is not _CUE_OF_RECORDS
                or any(notes.values())
                or opening[0].endswith("(")
                or _QUOTED_NAME.match(tail, opening.end())
            )
            if notes and sure:
                clause = max(tail.rfind(sign, 0, opening.start()) for sign in ".!?\n:,;") + 1
                stated = {name: _AS_OPTIONAL.sub("", note) for name, note in notes.items()}
                schema = record_of({name: schema_of_note(note) or guess_shape(name) for name, note in stated.items()})
                schema["required"] = [name for name, note in notes.items() if note == stated[name]]
                return FoundValue(schema, start + clause, start + end)
    return None


def _notes(text: str, at: int, key: re.Pattern[str]) -> tuple[dict[str, str], int]:
    notes: dict[str, str] = {}
    end = at
    while (found := key.match(text, at)) is not None and len(notes) < MOST_KEYS:
        name, at = found["name"], found.end()
        note = next((part.strip() for part in found.groups()[found.re.groupindex["name"] :] if part), "")
        joint = _GAP.match(text, at)
        if (
            key is _KEY_IN_ROW
            and note
            and ":" in found[0]
            and not schema_of_note(note)
            and (not joint or "" in notes.values())
        ):
            note, at, joint = "", found.end("name"), None  # what to read: `name and email: bob@example.com`
        if name not in _NO_KEYS:
            notes[name] = f"{found.groupdict().get('optional') or ''}{note}".strip()
        end = at
        if key is _KEY_IN_ROW:
            if joint is None:
                break
            at = joint.end()
    return notes, end


_MOST_READ, _MOST_FOR_KEYS = 50_000, 8_000  # characters
_CUE, _NEAR = 160, 60  # characters before an object that may say what it is
_SCHEMA_TYPES = (*NAMES_OF_TYPES, "array")
_OF_TOOL = lazy_pattern(r"(?i)\b(?:arg(?:ument)?s?|inputs?|param(?:eter)?s?|tools?|functions?)\b")
_ORDERED = lazy_pattern(
    r"(?:return|respond|reply|output|answer|give|produce|make|describe|use|generate|provide|format|formatted"
    r"|write|send|create|extract|convert|print|conform|parse|fill|emit|as|in|only|valid|using"
    r"|want)\b[^.\n]{0,80}?\bjson\b|\bjson\b[^.\n]{0,40}\b(?:only|schema|format|please|matching|conforming|keys?"
    r"|fields?|back|object with)\b|\bjson:\s{0,3}\{"
)
_ABOUT_JSON = lazy_pattern(
    r"\b(?:function(?! call)|script|program|code(?! ?-?(?:snippet|block|fence))|class|regex)\b[^.\n]{0,60}\bjson\b"
    r"|\bwhat(?:'s| is| are| does)[^.\n]{0,20}\bjson\b"
    r"|\b(?:explain|describe|about|parse|load|read)\s+(?:\w+ ){0,2}json\b(?! (?:schema|object with))"
)
_DOUBLED = lazy_pattern(r"\{\{\s*[\"\w][^{}]{0,200}[:}]")
_FENCED = lazy_pattern(
    r"(?:in|within|inside|as|using|be|with)\s+(?:a |an |the |triple )*"
    r"(?:```|markdown (?:code|json|block|fence|snippet)|(?:json )?code ?-?(?:block|fence|snippet)|fenced|backticks)"
)
_SHOWN_AS_ANSWER = lazy_pattern(r"(?i)(?:<output>|\boutput:|\bexample json:|\bexample output:)\s*(?:```(?:json)?\s*)?$")
_LIKE = lazy_pattern(
    r"(?i)\b(?:like|format|formatted|shape|structure|form|example|following|template|schema|respond|response|return"
    r"|output|reply|answer|keys|fields|such as|e\.g\.|looks?|object|json|type|interface|produce|generate|give)\b"
)
_GIVEN = lazy_pattern(
    r"(?i)\b(?:input|data|given|from|(?<!fill )this json(?! (?:shape|form|format|schema|structure)\b)|this object"
    r"|current|existing|document|payload|context|here is (?:the|my|a))\b[^.\n]{0,30}$"
)
_IS_SHAPE = lazy_pattern(
    r"(?i)\s*(?:is|as) (?:the|your|an?) (?:\w+ )?(?:format|shape|structure|schema|template|example)"
)
_TO_FILL = lazy_pattern(r"(?i)\b(?:fill|complete)(?: in| out)? (?:this|the|following)\b[^.\n]{0,30}$")
_LINE_OF_KEYS = lazy_pattern(
    r"(?i)\b(?:keys?|fields?|properties|json|format|structure|object|extract|following)\b[^\n]{0,80}:[ \t]*\n"
)
_NAME = r"[\"'`*]{0,3}(?P<name>[A-Za-z_][\w-]{0,60})[\"'`*]{0,3}"
_BULLET = lazy_pattern(
    rf"[ \t]*(?:[-*•]|[0-9]{{1,2}}[.)])[ \t]*{_NAME}[ \t]*(?:\(([^()\n]{{1,100}})\))?[ \t]*[:–—=-]?[ \t]*"
    r"([^\n]{0,300})(?:\n|$)"
)
_CUE_OF_KEYS = lazy_pattern(
    r"(?i)\b(?:(?:keys?|fields?|properties|attributes|columns?|header)\b|(?:json|dictionary|dict)\b(?: (?:array"
    r"|list) of)?(?: (?:objects?|format|response|back|output|data))?,?(?: with| containing| including| that (?:has"
    r"|contains)| having)\b|(?:json(?: object)?|schema|extract):(?=\s[\"'`]?\w{2,40}[\"'`]?\s?(?:\(|[:=-]\s?(?:str"
    r"|int|num|float|bool|array|list|object|date)|is\s|,\s\w{2,40}[,_])))(?:\s*[:,–—-]|\s+(?:named|called|are|is"
    r"|such as|like|exactly|only|the|these|following|should be|must be|of|an?(?=\s+(?:\w+\s+)?(?:key|field"
    r"|property)\b)|one|single|two|(?:string|boolean|integer|number|text)(?=\s(?:key|field|property))|three|four|five"
    r"|\d+|keys?|fields?|attributes?|elements?|property|header|properties|columns?)(?=[\s:,])){0,7}\s+(?:an?\s+(?=[\"'"
    r"`]))?"
)
_CUE_OF_RECORDS = lazy_pattern(
    r"(?i)\b(?:objects?|items?|elements?|records?|entries|each(?: one| \w+)?|every \w+|it|that)\b,?\s+"
    r"(?:(?:must|should|shall|will|to)\s+)?(?:with|contain(?:s|ing)?|includ(?:es?|ing)|ha(?:ve|s|ving))\b:?\s+"
    r"(?:(?:the|exactly|an?)\s+)?|\bjson:\s+(?=\w{1,40} (?:is|\())|\bjson(?: \w+)? \((?=\w{2,40}(?:, \w{2,40})+\))"
)
_QUOTED_NAME = lazy_pattern(r"[\"'`][A-Za-z_][\w-]{0,60}[\"'`]")
_KEY_IN_ROW = lazy_pattern(
    rf"(?:the |a |an )?(?:(?:list|array|key|field) (?:called|named) |(?:key|field|property) (?=[\"'`]))?"
    rf"(?P<optional>optional )?(?!and\b|or\b|exactly\b){_NAME}(?: (?:key|field)\b)?(?:\s*\(([^()\n]{{1,200}})\)"
    r"|(?:\s*:\s*|\s+[–—-]\s+|,?\s+(?:which |that |whose value )?(?:is|are|as|set to|must be|should be|can be)\s+)"
    rf"(?P<told>(?:(?!\s+and\s+(?:[\"'`]\w+[\"'`]|\w+\s*(?:\(|:)|an?\s+[\"'`]))[^,;.\n()]){{1,100}}))?"
)
_GAP = lazy_pattern(r"\s*(?:,\s*and\s+|,\s*|\s+and\s+|\s*&\s*|;\s*)(?:(?:an?|the|one)\s+)?(?=[\w\"'`*])")
_NO_KEYS = vocabulary(
    "keys key fields field values no only and of as into in for from exactly with object json properties"
)
_FENCE = lazy_pattern(r"`{3}\w*")
_SHOWN = lazy_pattern(r"(?i)\b(?:schema|example|instance|object|format)\b")
_PART = lazy_pattern(r"[^\n.!?]+[\n.!?]*|[\n.!?]+")
_JSON_WORD = lazy_pattern(r"(?i)\b(?:json(?:_schema)?|schema|markdown|keys?|fields?)\b[^:]{0,60}")
_MOST_COUNTED = 50
_NUMBER_WORD = rf"(?P<number>\d{{1,3}}|(?!an?\b|single\b|one\b)(?:{NUMBER_WORDS})\b)"
_VERB_OF_LISTS = r"\b(?:list|give|name|suggest|generate|return|extract|find|provide|write|what are)"
_COUNT = lazy_pattern(
    rf"(?i)(?:{_VERB_OF_LISTS}|\b(?:make|create|produce|of|with|me|exactly|invent"
    rf"|for(?=[^.,;\n]{{1,30}}s\b)))\s+{_NUMBER_WORD}(?:(?=\s{{0,3}}(?:[.!]|$))|\s+"
    r"(?!(?:words|sentences|characters|years|letters|paragraphs|or|to|and)\b)(?=[a-z])"
    r"(?:(?:[a-z][\w-]* ){0,2}?[a-z][\w-]*s\b)?)"
)
_ARRAY = lazy_pattern(
    r"(?i)\bjson (?:array|list)s?\b(?: (?:of|with|containing)(?: the| all| exactly| first| top)*"
    rf"(?: {_NUMBER_WORD})? (?P<noun>[a-z][\w-]+(?: [\w-]+s\b)?))?"
)
_LISTING = lazy_pattern(
    rf"(?i){_VERB_OF_LISTS}(?: me)?(?: all| the| some)*(?: {_NUMBER_WORD})?"
    r"(?P<noun>(?: [\w-]{1,40})?? [a-z]{2,30}s)\b(?P<as_json> (?:as|in) (?:valid )?json\b)?"
)
_ORDERED_OBJECT = lazy_pattern(
    r"\b(?:respond|reply|answer|return|output)(?:\s+(?:with|only|just|either|as|in|an?|the|object|form|format"
    r"|like)){0,5}:?\s*`{0,3}(?=\{\s*\"\w)"
)
_AS_OPTIONAL = lazy_pattern(r"(?i)[,; ]*\boptional\b[,:; ]*")
_OF_KEY = lazy_pattern(
    r"(?i)\w[\"'`]?\s*(?:\(|:|=| is| as)\s*(?:an? )?(?:list|array) of (?:objects? (?:with|like) )?(?:$|\{)"
)
_NUMBERED_TO = lazy_pattern(r"\(1 to (\d{1,3})\)")
_OF_NOTE = (
    r"(?: key| field)?[\s:(–-]{0,4}"
    r"(?:(?:should|must|is|are|which|can|will|be|either|strictly|only|one of)\W{1,3}){0,6}([^\n]{3,160})"
)
_LISTED = lazy_pattern(r"(?i)\b(?:array|list)s? of(?: \w+:?)?\s*$")
_SEVERAL = lazy_pattern(
    r"(?i)\b(?:array|list)s? of (?:\w+ )?(?:json )?(?:objects?|items?|records?|elements)\b|\bjson (?:array|list)s?\b"
)


# Forms


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
