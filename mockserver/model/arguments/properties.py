"""What a property asks for: by its name, type, format, description and enumeration."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.model.arguments.values import Mention
from mockserver.model.vocabulary import heading_of, parts, singular, vocabulary


class Property(Struct, frozen=True):
    """A property; `semantic_type` says what it holds (place, person, money...), `role` whether that is from or to."""

    name: str
    order: int
    schema: Mapping[str, Json]
    types: tuple[str, ...]
    words: tuple[str, ...]
    semantic_type: str
    role: str
    choices: tuple[Json, ...]  # the allowed values, where the schema lists them
    hints: frozenset[str]  # examples in the description, in lower case
    required: bool = False

    @property
    def format(self) -> str:
        return str(self.schema.get("format") or "")

    @property
    def numeric(self) -> bool:
        return bool(self.types) and set(self.types) <= {"integer", "number", "null"}


def read_property(name: str, schema: Json, order: int, *, required: bool = False) -> Property:
    """Read a property; alternatives of `anyOf` and `oneOf` are taken together."""
    flat = _flat(schema if isinstance(schema, Mapping) else {})
    types = _types(flat)
    words, roles = parts(name) or (singular(name),), heading_of("roles")
    described = " ".join(str(flat.get(key) or "") for key in ("title", "description"))[:600]
    return Property(
        name=name,
        order=order,
        schema=flat,
        types=types,
        words=words,
        semantic_type=_semantic_type(flat, types, words, described),
        role=next(filter(None, map(roles.get, words)), ""),
        choices=_choices(flat),
        hints=frozenset(_hints(described)),
        required=required,
    )


def item_of(list_: Property) -> Property:
    """Return what an array asks for as its items; they have the name of the array."""
    items = list_.schema.get("items")
    first = list_.schema.get("prefixItems")
    items = items if isinstance(items, Mapping) else first[0] if isinstance(first, list) and first else {}
    return read_property(list_.name, items, list_.order, required=list_.required)


def _flat(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    for key in ("anyOf", "oneOf"):
        options = [option for option in schema.get(key) or () if isinstance(option, Mapping)]
        if not options:
            continue
        real = [option for option in options if option.get("type") != "null"] or options
        types = [kind for option in real for kind in _types(option)]
        choices = [choice for option in real for choice in _choices(option)]
        merged = {**real[0], **{k: v for k, v in schema.items() if k != key}, "type": list(dict.fromkeys(types))}
        return {**merged, "enum": choices} if choices else merged
    return schema


def _types(schema: Mapping[str, Json]) -> tuple[str, ...]:
    stated = schema.get("type")
    if isinstance(stated, str):
        return (stated,)
    if isinstance(stated, list) and stated:
        return tuple(kind for kind in stated if isinstance(kind, str) and kind != "null")
    hints = {"properties": "object", "items": "array", "minimum": "number", "maximum": "number", "format": "string"}
    return tuple(kind for key, kind in hints.items() if key in schema)[:1]


def _choices(schema: Mapping[str, Json]) -> tuple[Json, ...]:
    if "const" in schema:
        return (schema["const"],)
    listed = schema.get("enum")
    return tuple(choice for choice in listed if choice is not None) if isinstance(listed, list) else ()


_FORMATS = {"date": "date", "time": "time", "date-time": "datetime", "duration": "duration", "email": "email"}
_FORMATS |= {"idn-email": "email", "uri": "url", "iri": "url", "uri-reference": "url", "hostname": "host"}
_FORMATS |= {"ipv4": "ip", "ipv6": "ip", "uuid": "uuid", "phone": "phone", "url": "url"}


def _semantic_type(schema: Mapping[str, Json], types: tuple[str, ...], words: tuple[str, ...], described: str) -> str:
    if isinstance(form := schema.get("format"), str) and form in _FORMATS:
        return _FORMATS[form]
    numeric = bool(types) and set(types) <= {"integer", "number"}
    types_of = heading_of("semantic_types")
    known = [_adapted(types_of[word], numeric=numeric) for word in words if word in types_of]
    if words[-2:] in (("check", "in"), ("check", "out")):
        return "date"
    if named := _PERSONAL.get(words[:2]):
        return named
    named = "job" if "job" in known else next((semantic_type for semantic_type in reversed(known) if semantic_type), "")
    if numeric:
        return named or _described(described, numeric=True)
    if words[-1] == "code" and len(words) > 1 and named == "code" and "source" not in words:
        return next((semantic_type for semantic_type in known[:-1] if semantic_type), "id")
    if named in ("", "name", "title", "quantity") and len(known) > 1 and "job" not in known:
        named = next((semantic_type for semantic_type in reversed(known) if semantic_type not in ("", "name")), named)
    if not named and words[-1] in ("start", "end", "begin", "until", "due", "since", "deadline"):
        return _described(described, numeric=False) or "moment"
    return named or _described(described, numeric=False)


_NUMERIC = vocabulary(
    "money percent quantity number limit age year weight height temperature days duration id time date"
)
# What a semantic type becomes for a property whose type is a number.
_AS_NUMBER = {"person": "quantity", "place": "", "title": "quantity", "text": "number", "query": "", "unit": "quantity"}
_AS_STRING = {"quantity": "", "number": "", "limit": "", "days": ""}
_PERSONAL: dict[tuple[str, ...], str] = {
    **dict.fromkeys((("first", "name"), ("given", "name")), "forename"),
    **dict.fromkeys((("last", "name"), ("family", "name")), "surname"),
}


def _adapted(semantic_type: str, *, numeric: bool) -> str:
    if numeric:
        semantic_type = _AS_NUMBER.get(semantic_type, semantic_type)
        return semantic_type if semantic_type in _NUMERIC else ""
    return _AS_STRING.get(semantic_type, semantic_type)


def _described(described: str, *, numeric: bool) -> str:
    words = parts(re.split(r"e\.g|such as|for example|\(", described)[0])[:8]
    types_of = heading_of("semantic_types")
    known = (_adapted(types_of[word], numeric=numeric) for word in words if word in types_of and len(word) > 2)
    return next((each for each in known if each and each not in _VAGUE), "")


_VAGUE = vocabulary("query text number title name")
_EXAMPLES = lazy_pattern(
    r"(?:e\.?g\.?|such as|for example|like|one of|i\.e\.|either|:|\()[,:]?\s*([^.()]{2,200})", re.IGNORECASE
)


def _hints(described: str) -> Iterator[str]:
    for found in _EXAMPLES.finditer(described):
        for example in re.split(r",\s*(?:or |and )?|\s+(?:or|and)\s+|[/|;]\s*", found[1]):
            example = example.strip(" '\"`“”‘’").lower()
            if 1 < len(example) < 40:
                yield example


Taken = tuple[Property, Mention]


def similar(props: Iterable[Property]) -> list[tuple[Property, ...]]:
    """Return the groups of properties that differ only in a letter, a number or such a word, each in its order."""
    groups: dict[tuple[str, ...], list[tuple[int, Property]]] = {}
    for prop in props:
        for family, rank, rest in _readings(prop):
            groups.setdefault((family, *prop.types, "", *rest), []).append((rank, prop))
    return [
        tuple(prop for _, prop in sorted(group, key=lambda pair: (pair[0], pair[1].order)))
        for group in groups.values()
        if len(group) > 1
    ]


def in_order(taken: Sequence[Taken]) -> list[Taken]:
    """Give the mentions of a group to its properties in the order of the text: "15 from 40" begins with 40."""
    mentions = sorted((mention for _, mention in taken), key=lambda mention: mention.start)
    if len(mentions) == 2 and mentions[1].cue == "from" and mentions[0].cue != "from":
        mentions.reverse()
    return [(prop, mention) for (prop, _), mention in zip(taken, mentions, strict=True)]


def _readings(prop: Property) -> Iterable[tuple[str, int, tuple[str, ...]]]:
    for at, word in enumerate(prop.words):
        rest = (*prop.words[:at], *prop.words[at + 1 :])
        if len(word) == 1 and word.isalpha():
            yield "letter", ord(word), rest
        elif word.isdecimal() and len(word) < 4:
            yield "number", int(word), rest
