"""What the schemas of one value say together.

They stay apart, as parts, and are never merged into one: each keeps its own reach (which properties it calls
additional), and a reference is followed from where it is.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from json import dumps
from threading import local
from weakref import proxy

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.model.budget import PER_STEP
from mockserver.model.patterns import estimate_pattern_work, matches
from mockserver.model.schema.document import (
    MinDepths,
    SchemaDocument,
    SchemaValidator,
    UnsatisfiableError,
    measure_depth_and_size,
)
from mockserver.model.schema.scalars import Numbers, Texts, find_lower_limit, find_upper_limit

Part = Mapping[str, Json]
Parts = tuple[Part, ...]
Option = tuple[Json, ...]  # schemas that must hold together if this alternative is taken
TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")


class Alternatives(Struct, frozen=True):
    """A keyword that leaves a choice: where it is, and the options."""

    keyword: str
    pointer: str
    options: tuple[Option, ...]


class Shape:
    """The schemas of one value, with all that they refer to. Each question is answered once, and then remembered.

    Raises UnsatisfiableError if they allow nothing at first sight.
    """

    def __init__(self, compiled: "CompiledSchema", schemas: Sequence[Json], parts: Parts | None = None) -> None:
        self.schemas = tuple(schemas)
        self.parts = _flatten(compiled.document, schemas) if parts is None else parts
        self._compiled = compiled
        self._properties: dict[str, Shape | None] = {}
        self._items: dict[int, Shape | None] = {}

    @lazy_property
    def pointer(self) -> str:
        """Where in the schema document the first part is that is not made up."""
        pointers = self._compiled.document.pointers
        return next((pointers[id(part)] for part in self.parts if id(part) in pointers), "#")

    def find_pointer_of(self, keyword: str) -> str:
        """Return where a keyword stands; if nowhere, where the shape does."""
        pointers = self._compiled.document.pointers
        stating = next((part for part in self.parts if keyword in part and id(part) in pointers), None)
        return self.pointer if stating is None else f"{pointers[id(stating)]}/{keyword}"

    @lazy_property
    def work(self) -> int:
        """The steps that looking at it takes, whether or not it was looked at before."""
        listed = (part[keyword] for part in self.parts for keyword in ("enum", "const") if keyword in part)
        patterns = sum(len(part["patternProperties"]) for part in self.parts if "patternProperties" in part)
        values = sum(map(self._compiled.count_values, listed))
        options = sum(len(choice.options) for choice in self.choices)
        parts = (len(self.parts) + options) // PER_STEP["parts"]
        return 1 + self.work_of_holding + parts + values // PER_STEP["values"] + patterns // PER_STEP["patterns"]

    @lazy_property
    def work_of_holding(self) -> int:
        """The steps that it takes to see whether it can hold."""
        return len(self.required) * (_PARTS_OF_PROPERTY + len(self.parts)) // PER_STEP["parts"]

    # What kind of value it is

    @lazy_property
    def types(self) -> tuple[str, ...]:
        """The types that all parts allow, in the order of the first part that names any."""
        allowed: Sequence[str] = TYPES
        for at, stated in enumerate(part["type"] for part in self.parts if "type" in part):
            types = [stated] if isinstance(stated, str) else stated
            allowed = _narrow_types(allowed, types) if at else types
        return tuple(allowed)

    @lazy_property
    def likely_types(self) -> tuple[str, ...]:
        """The allowed types; if no part names any, those that other keywords imply come first."""
        if any("type" in part for part in self.parts):
            return self.types
        keywords = {keyword for part in self.parts for keyword in part}
        implied = [kind for kind, implying in _IMPLYING.items() if not keywords.isdisjoint(implying)]
        return (*implied, *(kind for kind in TYPES if kind not in implied))

    @lazy_property
    def listed(self) -> Sequence[Json] | None:
        """The values of an allowed type that `const` and `enum` list; None if they list none."""
        found: list[Json] | None = None
        for part in self.parts:
            for keyword in ("const", "enum"):
                if keyword in part:
                    stated = part["enum"] if keyword == "enum" else [part["const"]]
                    keys = None if found is None else set(map(make_json_key, found))
                    found = [value for value in stated if keys is None or make_json_key(value) in keys]
        return None if found is None else [value for value in found if has_type(value, self.types)]

    @lazy_property
    def only_lists(self) -> bool:
        """Whether any of the listed values will do."""
        return all(part.keys() <= _SAY_NOTHING_OF_LISTED for part in self.parts)

    @lazy_property
    def kinds(self) -> frozenset[str]:
        """The types of its alternatives; of a shape without them, its own."""
        return frozenset(kind for shape in self.options for kind in shape.types) or frozenset(self.types)

    @lazy_property
    def is_nullable_scalar(self) -> bool:
        """Whether it allows null and texts, numbers or booleans, and neither objects nor lists."""
        return "null" in self.kinds and self.kinds.isdisjoint(("object", "array"))

    def allows(self, value: Json) -> bool:
        """Return whether its schemas allow a value, as far as they can be asked one by one."""
        if self._is_plain:
            return has_type(value, self.types)
        return all(self._compiled.validator.allows(schema, value) for schema in self.schemas)

    @lazy_property
    def _is_plain(self) -> bool:
        return all(part.keys() <= _SAY_TYPES_ONLY for part in self.parts)

    @lazy_property
    def can_hold(self) -> bool:
        """Whether types, listed values and required properties leave anything, as far as one sees at a glance."""
        return self._can_hold(depth=2)

    def _can_hold(self, depth: int) -> bool:
        if not self.types or self.listed == []:
            return False
        if self.listed or self.types != ("object",) or depth <= 0:
            return True
        inner = (self.find_property(name) for name in self.required)
        return all(shape and (len(shape.parts) < 2 or shape._can_hold(depth - 1)) for shape in inner)

    # What it says of the value

    @lazy_property
    def hints(self) -> tuple[str, ...]:
        """Its titles and descriptions."""
        texts = [part.get(keyword) for keyword in ("title", "description") for part in self.parts]
        return tuple(text[:_MAX_DESCRIPTION] for text in texts if isinstance(text, str))

    @lazy_property
    def defaults(self) -> Sequence[Json]:
        return [part["default"] for part in self.parts if "default" in part]

    @lazy_property
    def examples(self) -> Sequence[Sequence[Json]]:
        """The lists of examples of its parts."""
        lists = (part.get("examples") for part in self.parts)
        return [examples for examples in lists if isinstance(examples, list) and examples]

    @lazy_property
    def texts(self) -> Texts:
        return Texts(self.parts)

    @lazy_property
    def pattern_work(self) -> int:
        """About how many microseconds compiling its patterns takes."""
        patterns = (part["pattern"] for part in self.parts if isinstance(part.get("pattern"), str))
        return sum(map(estimate_pattern_work, patterns))

    @lazy_property
    def integers(self) -> Numbers:
        return Numbers(self.parts, whole=True)

    @lazy_property
    def numbers(self) -> Numbers:
        return Numbers(self.parts, whole=False)

    def find_lower_limit(self, keyword: str) -> int:
        """Return the strictest minimum of a keyword for sizes."""
        return find_lower_limit(self.parts, keyword)

    def find_upper_limit(self, keyword: str) -> int | None:
        """Return the strictest maximum of a keyword for sizes; None if no schema states one."""
        return find_upper_limit(self.parts, keyword)

    # Properties

    @lazy_property
    def required(self) -> tuple[str, ...]:
        """The names in `required`, which is a list since draft 4."""
        names = (name for part in self.parts if isinstance(part.get("required"), list) for name in part["required"])
        return tuple(dict.fromkeys(names))

    @lazy_property
    def nullable(self) -> Sequence[str]:
        """The required properties that are a text, a number or a boolean, or null."""
        inner = {name: self.find_property(name) for name in self.required}
        return [name for name, shape in inner.items() if shape and shape.is_nullable_scalar]

    @lazy_property
    def names(self) -> Collection[str]:
        """The names in `properties`, in their order."""
        return dict.fromkeys(name for part in self.parts for name in part.get("properties", ()))

    @lazy_property
    def name_patterns(self) -> Sequence[str]:
        return [pattern for part in self.parts for pattern in part.get("patternProperties", ())]

    @lazy_property
    def name_shape(self) -> "Shape | None":
        """What it says of names that are made up; None if nothing."""
        stated = [part["propertyNames"] for part in self.parts if "propertyNames" in part]
        return self._compiled.find_shape((*stated, _TEXT)) if stated else None

    def allows_name(self, name: str) -> bool:
        """Return whether a property may have this name, and a value."""
        stated = (part["propertyNames"] for part in self.parts if "propertyNames" in part)
        return self.find_property(name) is not None and all(
            self._compiled.validator.allows(schema, name) for schema in stated
        )

    @lazy_property
    def is_map(self) -> bool:
        """Whether it says what properties hold that it does not name."""
        return any(
            part.get("additionalProperties", True) not in (True, False, {}) or part.get("patternProperties")
            for part in self.parts
        )

    def find_property(self, name: str) -> "Shape | None":
        """Return the shape of the property of this name; None if nothing is allowed there."""
        if name not in self._properties:
            found = self._compiled.find_shape(self._list_property_schemas(name))
            if name not in self.names:
                return found  # names without end are made up for maps
            self._properties[name] = found
        return self._properties[name]

    def _list_property_schemas(self, name: str) -> Sequence[Json]:
        found: list[Json] = []
        evaluated = False
        for part in self.parts:
            own = [part["properties"][name]] if name in part.get("properties", ()) else []
            own += [inner for pattern, inner in part.get("patternProperties", {}).items() if matches(pattern, name)]
            if not own and "additionalProperties" in part:
                own = [part["additionalProperties"]]
            evaluated = evaluated or bool(own)
            found += own
        if not evaluated:
            found += [part["unevaluatedProperties"] for part in self.parts if "unevaluatedProperties" in part]
        return found

    def add_dependents(self, names: Iterable[str]) -> Collection[str]:
        """Add the names that must be there if these are."""
        found = dict.fromkeys(names)
        left = list(found) if self._dependents else []
        while left:
            name = left.pop()
            new = [one for dependents in self._dependents for one in dependents.get(name, ()) if one not in found]
            found |= dict.fromkeys(new)
            left += new
        return found

    @lazy_property
    def _dependents(self) -> Sequence[Mapping[str, Sequence[str]]]:
        stated = [part[key] for part in self.parts for key in ("dependentRequired", "dependencies") if key in part]
        return [{name: found for name, found in each.items() if isinstance(found, list)} for each in stated]

    # Items

    def find_item(self, at: int) -> "Shape | None":
        """Return the shape of the item at this index; None if nothing is allowed there."""
        at = min(at, self.fixed_items)  # all further ones are alike
        if at not in self._items:
            self._items[at] = self._compiled.find_shape(self._list_item_schemas(at))
        return self._items[at]

    def _list_item_schemas(self, at: int) -> Sequence[Json]:
        found: list[Json] = []
        for part in self.parts:
            items = part.get("items")
            first = _list_first_items(part)
            further = part.get("additionalItems") if isinstance(items, list) else items
            if at < len(first):
                found.append(first[at])
            elif further is not None:
                found.append(further)
        return found or [part["unevaluatedItems"] for part in self.parts if "unevaluatedItems" in part]

    @lazy_property
    def fixed_items(self) -> int:
        """How many items have a schema of their own."""
        return max((len(_list_first_items(part)) for part in self.parts), default=0)

    def list_contained(self, most: int) -> Sequence[Json]:
        """Return the schemas of `contains`, each as often as an item must meet it; not many more than `most`."""
        return [
            part["contains"]
            for part in self.parts
            if "contains" in part
            for _ in range(min(int(part.get("minContains", 1)), most + 1))
        ]

    @lazy_property
    def has_items(self) -> bool:
        """Whether it says what items hold."""
        return any("items" in part or "prefixItems" in part for part in self.parts)

    @lazy_property
    def is_unique(self) -> bool:
        return any(part.get("uniqueItems") is True for part in self.parts)

    # Alternatives

    @lazy_property
    def choices(self) -> tuple[Alternatives, ...]:
        return tuple(self._list_choices(self.parts))

    def widen(self, option: Option) -> "Shape | None":
        """Add the schemas of an option; None if nothing is allowed then."""
        more = self._compiled.find_shape(option)
        if more is None:
            return None
        seen = {id(part) for part in self.parts}
        new = tuple(part for part in more.parts if id(part) not in seen)
        if not new:
            return self
        together = (*self.schemas, *option)
        if len(together) <= _FEW_SCHEMAS:  # only small ones are worth remembering
            return self._compiled.find_shape(together)
        return Shape(self._compiled, together, (*self.parts, *new))

    def find_new_choices(self, narrow: "Shape") -> tuple[Alternatives, ...]:
        """Return the choices that it has and the narrower one, which it was widened from, had not."""
        return tuple(self._list_choices(self.parts[len(narrow.parts) :]))

    def _list_choices(self, parts: Parts) -> Iterator[Alternatives]:
        for part in parts:
            for keyword in ("anyOf", "oneOf"):
                if keyword in part:
                    yield self._make_choice(part, keyword, ((option,) for option in part[keyword]))
            if "if" in part and ("then" in part or "else" in part):
                yield self._make_choice(part, "if", ((part["if"], part.get("then", True)), (part.get("else", True),)))
            for keyword in ("dependentSchemas", "dependencies"):
                for schema in part.get(keyword, {}).values():
                    if not isinstance(schema, list):
                        yield self._make_choice(part, keyword, ((schema,), ()))

    def _make_choice(self, part: Part, keyword: str, options: Iterable[Option]) -> Alternatives:
        return Alternatives(keyword, f"{self._compiled.document.find_pointer(part)}/{keyword}", tuple(options))

    # What is looked up in a prompt

    @lazy_property
    def views(self) -> Mapping[str, Json]:
        """The properties as schemas without references, as deep as the look-up of their values reads them."""
        shapes = {name: self.find_property(name) for name in islice(self.names, _MAX_VIEWS)}
        return {name: False if shape is None else shape.view for name, shape in shapes.items()}

    @lazy_property
    def view(self) -> Json:
        """The whole as one schema: of its properties, only the names."""
        return self._make_view(levels=2)

    def _make_view(self, levels: int) -> Json:
        read = ((key, value) for part in reversed(self.parts) for key, value in part.items() if key in _READ_IN_VIEWS)
        whole = dict(read)  # in the order of the schema: views of plain properties are equal to these
        if "properties" in whole:
            whole["properties"] = dict.fromkeys(islice(whole["properties"], _MAX_VIEWS), True)
        if not levels:
            return whole
        for choice in self.choices:
            if choice.keyword in ("anyOf", "oneOf"):
                inner = map(self._compiled.find_shape, islice(choice.options, _MAX_VIEWED_OPTIONS))
                whole[choice.keyword] = [False if shape is None else shape._make_view(levels - 1) for shape in inner]
        if self.has_items:
            item = self.find_item(self.fixed_items)
            whole["items"] = False if item is None else item._make_view(levels - 1)
        return whole

    @lazy_property
    def options(self) -> "Sequence[Shape]":
        """The shapes of its first alternatives."""
        choices = (choice for choice in self.choices if choice.keyword in ("anyOf", "oneOf"))
        first = islice((option for choice in choices for option in choice.options), _MAX_OPTIONS)
        return [shape for shape in map(self._compiled.find_shape, first) if shape]


class CompiledSchema:
    """A schema, and all that generating its instances has found out about it."""

    def __init__(self, document: SchemaDocument) -> None:
        self.document = document
        self.validator = SchemaValidator(document)
        self._weakly: CompiledSchema = proxy(self)  # for its shapes: without a circle, all go at once
        self._shapes: dict[Sequence[int | bool], tuple[Sequence[Json], Shape | None]] = {}  # by identities of schemas

    @lazy_property
    def min_depths(self) -> MinDepths:
        return MinDepths(self.document)

    @lazy_property
    def resolved(self) -> "CompiledSchema | None":
        """The schema without `not`, `oneOf` and `if`, and without hints; None if that takes too much."""
        written = self.document.resolve_exclusions()
        return None if written is None else CompiledSchema(SchemaDocument(written))

    @property
    def root(self) -> Shape | None:
        """What the whole schema says; None if it allows nothing at first sight."""
        return self.find_shape((self.document.root,))

    @property
    def size(self) -> int:
        """How many shapes are remembered."""
        return len(self._shapes)

    def find_shape(self, schemas: Sequence[Json]) -> Shape | None:
        """Return what schemas say together; None if they allow nothing at first sight."""
        key = tuple([schema if isinstance(schema, bool) else id(schema) + 2 for schema in schemas])  # True equals 1
        if key not in self._shapes:
            if len(self._shapes) > _MAX_SHAPES:
                self._shapes.clear()
            try:
                shape = Shape(self._weakly, schemas)
            except UnsatisfiableError:
                shape = None
            self._shapes[key] = schemas, shape  # no other object gets the identity of these
        return self._shapes[key][1]

    def count_values(self, listed: Json) -> int:
        """Return the size of what `enum` or `const` of a part holds; only the length of other lists."""
        return self._sizes.get(id(listed)) or (len(listed) if isinstance(listed, list) else 1)

    @lazy_property
    def _sizes(self) -> Mapping[int, int]:
        stated = (part[keyword] for part in self.document.schemas for keyword in ("enum", "const") if keyword in part)
        return {id(value): measure_depth_and_size(value)[1] for value in stated if isinstance(value, Mapping | list)}


def compile_schema(schema: Json) -> CompiledSchema:
    """Compile a schema, unless it is known. Raises UnsatisfiableError, with the place, if it is invalid."""
    try:
        key = to_json(schema, inf_nan_mode="constants")
    except ValueError:
        SchemaDocument(schema)  # raises, with the place, if it is nested too deeply
        raise UnsatisfiableError("it is not JSON", "#") from None
    cached = CACHE.schemas
    found = cached.get(key)
    if found is None:
        cached[key] = found = CompiledSchema(SchemaDocument(schema))
        while len(cached) > 1 and (len(cached) > _MAX_CACHED or _weigh(cached) > _MAX_CACHED_BYTES):
            cached.popitem(last=False)
    else:
        cached.move_to_end(key)
    return found


def _weigh(cached: Mapping[bytes, CompiledSchema]) -> int:
    """Return the bytes of the schemas; patterns and shapes count by the memory that they take."""
    return sum(len(key) + 8 * compiled.document.pattern_work + 100 * compiled.size for key, compiled in cached.items())


class _Cache(local):
    """The compiled schemas of one thread: generating instances writes into their memory."""

    def __init__(self) -> None:
        self.schemas: OrderedDict[bytes, CompiledSchema] = OrderedDict()


CACHE = _Cache()
_MAX_CACHED = 128
_MAX_CACHED_BYTES = 1_000_000
_MAX_SHAPES = 4_000  # of one schema


def explain_missing(name: str) -> str:
    return f"the property {name!r} is required, and nothing is allowed there"


def _flatten(document: SchemaDocument, schemas: Sequence[Json]) -> Parts:
    """Add all that schemas refer to and consist of. Raises UnsatisfiableError if nothing is allowed."""
    found: dict[int, Part] = {}
    left = list(reversed(schemas))
    while left:
        schema = left.pop()
        if schema is False:
            raise UnsatisfiableError("nothing is allowed here")
        if not isinstance(schema, Mapping) or id(schema) in found:  # a draft may not know the keyword that holds it
            continue
        targets = document.find_targets(schema)
        alone = document.ignores_siblings_of_ref and targets
        found[id(schema)] = {key: schema[key] for key in _ANNOTATIONS if key in schema} if alone else schema
        left += reversed(targets if alone else [*targets, *schema.get("allOf", ())])
    return tuple(part for part in found.values() if part)


def _narrow_types(one: Sequence[str], other: Sequence[str]) -> list[str]:
    found = [kind for kind in one if kind in other or (kind == "integer" and "number" in other)]
    if "number" in one and "integer" in other and "number" not in other and "integer" not in one:
        found.append("integer")
    return found


def has_type(value: Json, allowed: Sequence[str]) -> bool:
    """Return whether a value is of one of these types."""
    if isinstance(value, float):
        kind = "integer" if value.is_integer() else "number"
    else:
        kind = _TYPES_OF_PYTHON.get(type(value), "object")
    return kind in allowed or (kind == "integer" and "number" in allowed)


def make_json_key(value: Json) -> str:
    """Return a text that is the same for equal values: unlike in Python, 1 and true differ."""
    return dumps(value, sort_keys=True)


def _list_first_items(part: Part) -> Sequence[Json]:
    items = part.get("items")
    found: Sequence[Json] = part.get("prefixItems", items if isinstance(items, list) else ())
    return found


_ANNOTATIONS = ("title", "description", "default", "examples")
_SAY_NOTHING_OF_LISTED = frozenset((*_ANNOTATIONS, "enum", "const", "type"))
_SAY_TYPES_ONLY = frozenset((*_ANNOTATIONS, "type"))
_READ_IN_VIEWS = frozenset(
    ("type", "enum", "const", "format", "title", "description", "properties", "minimum", "maximum", "prefixItems")
)
_TYPES_OF_PYTHON = {type(None): "null", bool: "boolean", int: "integer", str: "string", list: "array"}
_TEXT: Json = {"type": "string"}
_MAX_DESCRIPTION = 80
_PARTS_OF_PROPERTY = 4  # what looking up the shape of a property takes besides, as compared with a part
_MAX_OPTIONS = 8
_FEW_SCHEMAS = 8
_MAX_VIEWS = 200
_MAX_VIEWED_OPTIONS = 50
_IMPLYING: Mapping[str, Sequence[str]] = {
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties",
    ),
    "array": (
        "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "additionalItems",
        "unevaluatedItems",
    ),
    "string": ("pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}  # fmt: skip
