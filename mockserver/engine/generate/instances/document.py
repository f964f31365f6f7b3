"""A schema as a document: where each of its parts stands, and what its references lead to. Nothing is ever fetched.

Knows how schemas name and find each other, not what any other keyword means.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urljoin

from mockserver.core.call import Json
from mockserver.engine.generate.instances.dead_end import DeadEndError

Schema = Mapping[str, Json]


@dataclass(slots=True)
class Document:
    """One schema with all that stands in it. Raises DeadEndError where it is nested too deeply or refers too often."""

    root: Json
    pointers: dict[int, str] = field(default_factory=dict)  # by the identity of each part
    _bases: dict[int, str] = field(default_factory=dict)
    _named: dict[str, Schema] = field(default_factory=dict)  # by URI, with an anchor behind it
    _dynamic: dict[str, list[Schema]] = field(default_factory=dict)
    _referring: list[Schema] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._read()

    @property
    def draft(self) -> str:
        """What the schema says that its draft is; empty where it says nothing."""
        stated = self.root.get("$schema") if isinstance(self.root, Mapping) else None
        return stated if isinstance(stated, str) else ""

    @property
    def old(self) -> bool:
        """Whether the schema is of a draft in which a reference stands alone: what is beside it says nothing."""
        return "/draft-0" in self.draft

    def pointer(self, schema: Json) -> str:
        """Where a part of the document stands; the root for what is not of it."""
        return self.pointers.get(id(schema), "#")

    def targets(self, schema: Schema) -> Iterator[Json]:
        """What the references of a schema lead to."""
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = schema.get(keyword)
            if isinstance(reference, str):
                yield self._target(schema, reference, keyword)

    def dangling(self) -> DeadEndError | None:
        """The first reference that leads nowhere."""
        for schema in self._referring:
            try:
                list(self.targets(schema))
            except DeadEndError as error:
                return error
        return None

    def _target(self, schema: Schema, reference: str, keyword: str) -> Json:
        found = self._found(schema, reference, keyword)
        if keyword == "$dynamicRef" and isinstance(found, Mapping) and "$dynamicAnchor" in found:
            return self._dynamic[found["$dynamicAnchor"]][0]  # the outermost
        if keyword == "$recursiveRef" and isinstance(found, Mapping) and found.get("$recursiveAnchor") is True:
            return self.root if isinstance(self.root, Mapping) and self.root.get("$recursiveAnchor") is True else found
        return found

    def _found(self, schema: Schema, reference: str, keyword: str) -> Json:
        place = f"{self.pointer(schema)}/{keyword}"
        uri, _, fragment = _joined(self._bases.get(id(schema), ""), reference, place).partition("#")
        fragment = unquote(fragment)
        if uri.startswith(_META):
            return _ANY_SCHEMA
        if uri not in self._named:
            raise DeadEndError(f"{reference!r} refers to another document, and nothing is fetched", place)
        if fragment and not fragment.startswith("/"):
            uri, fragment = f"{uri}#{fragment}", ""
        try:
            return _below(self._named[uri], fragment)
        except LookupError:
            raise DeadEndError(f"{reference!r} refers to nothing", place) from None

    def _read(self) -> None:
        """Walk through all there is, in the document's order: references may lead anywhere."""
        self._named[""] = self.root
        left: list[tuple[Json, str, str, int]] = [(self.root, "#", "", 0)]
        while left:
            here, pointer, base, depth = left.pop()
            if depth > _DEEPEST:
                raise DeadEndError(f"it is nested more than {_DEEPEST} levels deep", _clipped(pointer))
            if isinstance(here, Mapping):
                base = self._read_one(here, pointer, base)
                below: Any = reversed([*here.items()])
            elif isinstance(here, list):
                below = reversed(list(enumerate(here)))
            else:
                continue
            left += [(value, f"{pointer}/{_escaped(key)}", base, depth + 1) for key, value in below if _holds(value)]

    def _read_one(self, schema: Schema, pointer: str, base: str) -> str:
        """Note down one part; the base of the references in it."""
        self.pointers[id(schema)] = pointer
        if not _NAMING.isdisjoint(schema) and not (self.old and "$ref" in schema):
            base = self._named_as(schema, pointer, base)
        self._bases[id(schema)] = base
        if any(isinstance(schema.get(keyword), str) for keyword in _REFERRING if keyword in schema):
            self._referring.append(schema)
            if len(self._referring) > _MOST_REFERENCES:
                raise DeadEndError(f"it has more than {_MOST_REFERENCES:,} references", pointer)
        return base

    def _named_as(self, schema: Schema, pointer: str, base: str) -> str:
        for name in (schema.get("$id"), schema.get("id") if "/draft-04" in self.draft else None):
            if isinstance(name, str) and name and not name.startswith("#"):
                base = _joined(base, name, pointer).removesuffix("#")
                self._named.setdefault(base, schema)
            elif isinstance(name, str) and name:
                self._named.setdefault(base + name, schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._named.setdefault(f"{base}#{schema[keyword]}", schema)
        if isinstance(schema.get("$dynamicAnchor"), str):
            self._dynamic.setdefault(schema["$dynamicAnchor"], []).append(schema)
        return base


def _joined(base: str, reference: str, place: str) -> str:
    if reference.startswith("#"):
        return base.partition("#")[0] + reference
    try:
        return urljoin(base, reference)
    except ValueError:
        raise DeadEndError(f"{reference!r} is not a reference", place) from None


def _below(found: Json, fragment: str) -> Json:
    """What a JSON pointer leads to. Raises LookupError."""
    for step in fragment.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and step.isdecimal() and step.isascii():
            found = found[int(step)]
        elif isinstance(found, Mapping):
            found = found[step]
        else:
            raise LookupError(fragment)
    if not isinstance(found, bool | Mapping):
        raise LookupError(fragment)
    return found


def _escaped(key: object) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _clipped(pointer: str) -> str:
    return pointer if len(pointer) <= _LONGEST_POINTER else pointer[:_LONGEST_POINTER].rpartition("/")[0] + "/..."


def _holds(value: Json) -> bool:
    return isinstance(value, Mapping | list)


_DEEPEST = 250  # levels of the document; what compiles schemas goes about as deep
_LONGEST_POINTER = 200  # characters that are shown
_MOST_REFERENCES = 5_000
_NAMING = frozenset(("$id", "id", "$anchor", "$dynamicAnchor"))
_REFERRING = ("$ref", "$dynamicRef", "$recursiveRef")
_META = ("http://json-schema.org/draft", "https://json-schema.org/draft", "http://json-schema.org/schema")
_ANY_SCHEMA: Schema = {"type": "object"}  # an empty schema is one that every meta-schema allows
