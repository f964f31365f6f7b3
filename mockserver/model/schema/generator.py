"""Generates one instance: follows the shapes down, tries alternatives, and takes what the prompt says first."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.core.seed import Random, Seed
from mockserver.model.arguments import NOTHING, WHOLE, Mentions
from mockserver.model.budget import PER_STEP
from mockserver.model.patterns import sample
from mockserver.model.schema.document import (
    MAX_COST,
    MAX_PROPERTIES,
    UnsatisfiableError,
    WorkLimitError,
    measure_depth_and_size,
)
from mockserver.model.schema.scalars import find_natural_range, hint_at_owner
from mockserver.model.schema.shape import (
    Alternatives,
    CompiledSchema,
    Option,
    Part,
    Shape,
    explain_missing,
    make_json_key,
)
from mockserver.model.validators import escape
from mockserver.model.vocabulary import draw_noun, make_vocabulary, read_word_set, split_words

T = TypeVar("T")


class Location(Struct, frozen=True):
    """Where a value is in the instance."""

    pointer: str = ""
    hints: tuple[str, ...] = ()  # its names and descriptions, the most telling first
    depth: int = 0
    rejections: int = 0  # how often values here or around have been rejected
    owner: str = ""  # the name of what has the property: of an object, or of a list for its items

    def descend(self, step: str, name: str = "") -> "Location":
        """Return the place of a property, or of an item, which has no name."""
        hints, owner = ((name,), self.name) if name else (self.hints, self.owner)
        return Location(
            f"{self.pointer}/{escape(step)}", hints, depth=self.depth + 1, rejections=self.rejections, owner=owner
        )

    @property
    def name(self) -> str:
        """The name of the property, or the title of the whole."""
        return self.hints[0] if self.hints and (self.depth or self.hints[0].isalpha()) else ""

    def extend(self, rejections: int, hints: tuple[str, ...] = ()) -> "Location":
        """Return the location after more rejections, and with more hints."""
        if not rejections and not hints:
            return self
        return Location(
            self.pointer,
            (*self.hints, *hints),
            depth=self.depth,
            rejections=self.rejections + rejections,
            owner=self.owner,
        )


class TakenValues(Struct, frozen=True):
    """The values of an object that come from the prompt, and the names that were looked up there."""

    values: Mapping[str, Json] = {}
    looked_up: frozenset[str] = frozenset()


_NOTHING_TAKEN = TakenValues()


class Attempt:
    """One attempt at an instance. Each location has random numbers of its own: an added property changes no other.

    Its methods raise UnsatisfiableError, and WorkLimitError once `work_left` is spent.
    """

    def __init__(
        self,
        compiled: CompiledSchema,
        seed: Seed,
        said: Mentions = NOTHING,
        *,
        work: int,
        rejections: Mapping[str, int] = {},  # by JSON pointer
        minimal: bool = False,  # leave out all that is optional
    ) -> None:
        self.compiled = compiled
        self.seed = seed
        self.said = said  # by the prompt, and no value has taken it yet
        self.has_prompt = said is not NOTHING
        self.work_left = work
        self.rejections = rejections
        self.minimal = minimal
        self._evidence: dict[tuple[int, int], tuple[Any, float]] = {}  # by what is left to say, and the shape

    def make_root(self) -> Json:
        """Make the whole instance."""
        root = self.compiled.root
        if root is None:
            raise UnsatisfiableError("nothing is allowed here")
        return self.make(root, Location())

    def take_whole(self) -> Json:
        """Return the value that the prompt has for a schema that is not an object; None if it has none."""
        root = self.compiled.root
        if not self.has_prompt or root is None or not root.parts or "object" in root.types:
            return None
        name = next((part["title"] for part in root.parts if isinstance(part.get("title"), str)), WHOLE)
        values, self.said = self.said.assign(
            {name: root.view}, lambda _, value: self.fits(root, value), required=(name,)
        )
        return next((value for value in values.values() if self.fits(root, value)), None)

    def spend(self, steps: int) -> None:
        """Take steps off the work that is left. Raises WorkLimitError if there is none."""
        self.work_left -= steps
        if self.work_left < 0:
            raise WorkLimitError

    def is_generous(self, location: Location) -> bool:
        """Return whether a value may have more than it must."""
        return not self.minimal and location.depth <= _MAX_OPTIONAL_DEPTH

    def stream(self, location: Location, label: str) -> Random:
        """Return a random stream for a location."""
        return self.seed.stream(label, location.pointer, str(location.rejections))

    def draw_fraction(self, location: Location, label: str) -> float:
        """Draw a number from 0 to 1; cheaper than a stream."""
        return self.seed.draw_fraction(label, location.pointer, str(location.rejections))

    def is_rejected(self, location: Location, name: str) -> bool:
        """Return whether the validator rejected an earlier value of this property."""
        return bool(self.rejections) and self.rejections.get(location.descend(name).pointer, 0) > 0

    def fits(self, shape: Shape | None, value: Json) -> bool:
        """Return whether the schemas of a shape allow a value, as far as they can tell one by one."""
        if shape is None:
            return False
        if not self.compiled.validator.is_cheap:
            depth, size = measure_depth_and_size(value)
            cost = self.compiled.validator.estimate_cost(depth, size)
            if cost > MAX_COST:
                return all(schema is True or schema == {} for schema in shape.schemas)
            self.spend(size // PER_STEP["values"] + int(cost) * len(shape.schemas) // PER_STEP["validated schemas"])
        return shape.allows(value)

    def make(self, shape: Shape, location: Location) -> Json:
        """Make a value that a shape allows."""
        self.spend(shape.work)
        if location.depth > _MAX_DEPTH:
            raise UnsatisfiableError(f"it leads more than {_MAX_DEPTH} levels deep", shape.pointer)
        location = location.extend(self.rejections.get(location.pointer, 0), shape.hints)
        for value in self._list_default_and_examples(shape, location):
            if self.fits(shape, value):
                return value
        taken = _NOTHING_TAKEN
        if self.has_prompt and "object" in shape.types:
            said = self.said
            try:
                taken = self.take_values(shape, location, taken)
                if taken.values:
                    return self._make_first_possible(shape, location, taken)
            except UnsatisfiableError:  # what the prompt says may contradict what the schema demands
                self.said = said
        return self._make_first_possible(shape, location, TakenValues(looked_up=taken.looked_up))

    def _list_default_and_examples(self, shape: Shape, location: Location) -> Sequence[Json]:
        """Return the default and examples of the schema, unless they were rejected or the prompt says more."""
        if not (shape.defaults or shape.examples) or location.rejections or self.minimal:
            return ()
        found = list(shape.defaults)
        for examples in shape.examples:
            start = int(self.draw_fraction(location, "example") * len(examples))
            found += _rotate(examples, start)[:_MAX_EXAMPLES]
        return () if self.measure_evidence(shape) > 0 else found

    # Alternatives

    def _make_first_possible(self, shape: Shape, location: Location, taken: TakenValues) -> Json:
        choices = shape.choices
        first: UnsatisfiableError | None = None
        combinations = self.combine(shape, choices, location=location, taken=taken) if choices else iter([shape])
        for combination in islice(combinations, _MAX_TRIED_COMBINATIONS):
            said = self.said
            try:
                return self._make_value(combination, location, taken)
            except UnsatisfiableError as error:
                self.said = said  # for the next one to say again
                pointer = error.pointer if error.pointer.startswith("#") else combination.find_pointer_of(error.pointer)
                first = first or UnsatisfiableError(error.why, pointer)
        raise first or UnsatisfiableError("none of the alternatives can be met", shape.pointer)

    def combine(
        self, shape: Shape, choices: Sequence[Alternatives], location: Location, taken: TakenValues
    ) -> Iterator[Shape]:
        """Add one option of each choice, in every way that agrees with what the prompt says."""
        left: list[tuple[Shape, Option, Sequence[Alternatives]]] = [(shape, (), choices)]
        found = False
        stuck = shape.pointer
        while left:
            narrow, option, further = left.pop()
            self.spend(1 + (len(narrow.parts) + len(further)) // PER_STEP["combined parts"])
            widened = narrow.widen(option)
            if widened is None:
                continue
            self.spend(widened.work_of_holding)
            agrees = all(self.fits(widened.find_property(name), value) for name, value in taken.values.items())
            if not agrees or not widened.can_hold:
                continue
            if widened is not narrow:
                further = (*further, *widened.find_new_choices(narrow))
            if not further:
                found = True
                yield widened
                continue
            choice = further[0]
            stuck = choice.pointer
            self.spend(len(choice.options) // PER_STEP["parts"])
            left += [(widened, option, further[1:]) for option in reversed(self._order_options(choice, location))]
        if not found:
            raise UnsatisfiableError("none of the alternatives can be met", stuck)

    def _order_options(self, choice: Alternatives, location: Location) -> Sequence[Option]:
        """Sort the options: what the prompt mentions first, null last; deep down what ends soonest."""
        options = choice.options
        if choice.keyword not in ("anyOf", "oneOf"):
            return _rotate(options, location.rejections)
        if not self.is_generous(location):
            return sorted(options, key=lambda option: self.compiled.min_depths.find(option[0]))
        others = [option for option in options if not _is_null(option[0])]
        chance = int(self.draw_fraction(location, "alternative") * len(others)) if len(others) > 1 else 0
        nulls = [option for option in options if _is_null(option[0])]
        ordered = [*_rotate(others, chance + location.rejections), *nulls]
        if not self.has_prompt or location.rejections:
            return ordered
        shapes = {id(option): self.compiled.find_shape(option[:1]) for option in ordered}
        if self.said.is_settled and (answers := [option for option in ordered if _answers(shapes[id(option)])]):
            return [*answers, *(option for option in ordered if option not in answers)]
        return sorted(ordered, key=lambda option: -self.measure_evidence(shapes[id(option)]))

    # One value

    def _make_value(self, shape: Shape, location: Location, taken: TakenValues) -> Json:
        if shape.listed is not None:
            return self._pick_listed(shape, shape.listed, location)
        failed: UnsatisfiableError | None = None
        for kind in self._order_types(shape, location):
            try:
                return self._make_of_type(kind, shape, location=location, taken=taken)
            except UnsatisfiableError as error:
                failed = failed or error
        raise failed or UnsatisfiableError("no type is left that is allowed", "type")

    def _pick_listed(self, shape: Shape, values: Sequence[Json], location: Location) -> Json:
        start = location.rejections + int(self.seed.draw_fraction("one of", location.pointer, "0") * len(values))
        for at in range(min(len(values), _MAX_LISTED)):
            value = values[(start + at) % len(values)]
            if shape.only_lists or len(values) == 1 or self.fits(shape, value):
                return value
            self.spend(1)
        raise UnsatisfiableError("none of the listed values is allowed", "enum")

    def _order_types(self, shape: Shape, location: Location) -> Sequence[str]:
        """Return the types to try: null last, or first where the value must end."""
        types = shape.likely_types
        if len(types) == 1:
            return types
        is_stated = any("type" in part for part in shape.parts)
        ordered = sorted(types, key=lambda kind: is_stated and (kind == "null") == self.is_generous(location))
        return _rotate(ordered, location.rejections // 2)  # try each type twice

    def _make_of_type(self, kind: str, shape: Shape, location: Location, taken: TakenValues) -> Json:
        match kind:
            case "object":
                return _ObjectMaker(
                    self, shape, location=location, taken=self.take_values(shape, location, taken)
                ).make()
            case "array":
                return _ArrayMaker(self, shape, location).make()
            case "string":
                return self._make_text(shape, location)
            case "number" | "integer":
                natural = find_natural_range(location.hints)
                numbers = shape.integers if kind == "integer" else shape.numbers
                return numbers.draw(natural, self.stream(location, "number"), rejections=location.rejections)
            case "boolean":
                if self.has_prompt and not (location.rejections or _FAULTS.isdisjoint(split_words(location.name))):
                    return False  # the prompt says nothing of it, and all is well
                return (self.seed.draw_fraction("boolean", location.pointer, "0") < 0.5) is (
                    location.rejections % 2 == 0
                )
        return None

    def _make_text(self, shape: Shape, location: Location) -> str:
        def stream(attempt: int, rejected: int) -> Random:
            """Return the stream of an attempt; characters that were rejected before count as work."""
            self.spend(_STEPS_OF_TEXT * attempt + rejected // PER_STEP["rejected characters"])
            return self.stream(location, f"text {attempt}")

        self.spend(shape.pattern_work // PER_STEP["microseconds of patterns"])
        hints = hint_at_owner(location.owner, location.hints)
        text = shape.texts.draw(hints, stream, filling=location.rejections)
        self.spend(len(text) // PER_STEP["characters"])
        return text

    # What the prompt says

    def take_values(self, shape: Shape, location: Location, taken: TakenValues) -> TakenValues:
        """Add what the prompt says of an object's properties that were not looked up before."""
        if not self.has_prompt or location.rejections or "object" not in shape.types:
            return taken
        views = shape.views
        if taken.looked_up:
            views = {name: view for name, view in views.items() if name not in taken.looked_up}
        if not views:
            return taken

        def fits(name: str, value: Json) -> bool:
            return self.fits(shape.find_property(name), value)

        self._spend_on_prompt(len(views))
        found, left = self.said.assign(views, fits, required=shape.required, owner=location.name)
        if any(isinstance(found.get(name), str) for name in shape.nullable):  # null is better than what is left
            needed = [name for name in shape.required if name not in shape.nullable]
            found, left = self.said.assign(views, fits, required=needed, owner=location.name)
        self.said = left
        if self.rejections:
            found = {name: value for name, value in found.items() if not self.is_rejected(location, name)}
        return TakenValues({**taken.values, **found}, taken.looked_up.union(views))

    def measure_evidence(self, shape: Shape | None) -> float:
        """Return how many of a shape's properties the prompt mentions: 0 for none, 1 for all."""
        if shape is None or not self.has_prompt or not (shape.names or shape.options):
            return 0
        self.spend(1)
        left = self.said
        key = (id(left), id(shape))
        if key not in self._evidence:
            self._evidence[key] = (left, shape), 0  # of a shape that leads to itself; nothing else gets their identity
            if shape.names:
                self._spend_on_prompt(len(shape.views))
                found = self.said.measure_evidence(shape.views)
            else:
                found = max(map(self.measure_evidence, shape.options))
            self._evidence[key] = (left, shape), found
        return self._evidence[key][1]

    def measure_evidence_within(self, shape: Shape | None) -> float:
        """Return how much the prompt says of an object's properties, or of those of the objects in a list."""
        is_list = shape is not None and shape.has_items and not shape.names
        return self.measure_evidence(shape.find_item(0) if shape and is_list else shape)

    def _spend_on_prompt(self, properties: int) -> None:
        pairs = min(_MAX_PAIRS, properties * (1 + len(self.said.found)))
        self.spend(_STEPS_OF_PROMPT + pairs // PER_STEP["pairs"])


class _ObjectMaker:
    def __init__(self, attempt: Attempt, shape: Shape, location: Location, taken: TakenValues) -> None:
        self.attempt = attempt
        self.shape = shape
        self.location = location
        self.taken = taken
        most = shape.find_upper_limit("maxProperties")
        self.least = shape.find_lower_limit("minProperties")
        self.most = MAX_PROPERTIES if most is None else most
        if self.least > MAX_PROPERTIES:
            why = f"cannot generate {self.least:,} properties; the limit is {MAX_PROPERTIES:,}"
            raise UnsatisfiableError(why, "minProperties")

    def make(self) -> dict[str, Json]:
        required = self.shape.add_dependents(self.shape.required)
        if len(required) > self.most:
            stated = self.shape.find_upper_limit("maxProperties") is not None
            keyword, why = ("maxProperties", "allowed") if stated else ("required", f"made, {MAX_PROPERTIES:,}")
            raise UnsatisfiableError(f"more properties are required than are {why}", keyword)
        chosen = self._choose_names(required)
        known = [name for name in self.shape.names if name in chosen]
        values: dict[str, Json] = {}
        for name in (*known, *(name for name in chosen if name not in self.shape.names)):
            if name not in required and self.taken.values and not self._is_wanted(name):
                continue  # another property used what the prompt says
            if name in self.taken.values:
                values[name] = self.taken.values[name]
                continue
            try:
                values[name] = self._make_value(name)
            except UnsatisfiableError:
                if name in required or any(name in self.shape.add_dependents((other,)) for other in values):
                    raise
        self._add_properties(values)
        return values

    def _choose_names(self, required: Collection[str]) -> Mapping[str, None]:
        chosen = dict.fromkeys(required)
        if self.attempt.is_generous(self.location) and len(self.shape.names) > len(required):
            wanted = (name for name in self.shape.names if name not in chosen and self._is_wanted(name))
            for name in islice(wanted, int(_choose_by_depth(_MAX_OPTIONAL, self.location))):
                added = [one for one in self.shape.add_dependents((name,)) if one not in chosen]
                if len(chosen) + len(added) <= self.most:
                    chosen |= dict.fromkeys(added)
        return chosen

    def _is_wanted(self, name: str) -> bool:
        """Return whether to make an optional property: what the prompt mentions, or by chance if it mentions nothing.

        The prompt also decides on the optional properties of arguments, and on those beside required ones.
        """
        attempt = self.attempt
        location = self.location
        if name in self.taken.values or attempt.measure_evidence_within(self.shape.find_property(name)) > 0:
            return True
        if attempt.has_prompt and (self.taken.values or attempt.said.sparse or self.shape.required):
            return False
        fraction = attempt.draw_fraction(location.descend(name), "optional")
        chance = _choose_by_depth(_OPTIONAL_CHANCES, location) / (1 + location.rejections)
        return fraction < chance and self._is_allowed(name)

    def _make_value(self, name: str) -> Json:
        shape = self.shape.find_property(name)
        if shape is None:
            raise UnsatisfiableError(explain_missing(name), "required")
        return None if self._is_unknown(name, shape) else self.attempt.make(shape, self.location.descend(name, name))

    def _is_unknown(self, name: str, shape: Shape) -> bool:
        """Return whether a value or null is null: the prompt says others and not this one, which has no default."""
        attempt = self.attempt
        if not attempt.has_prompt or not (self.taken.values or attempt.said.sparse):
            return False
        if not shape.is_nullable_scalar or shape.defaults or attempt.is_rejected(self.location, name):
            return False
        return not attempt.measure_evidence(shape)

    def _add_properties(self, values: dict[str, Json]) -> None:
        wanted = self.least
        if not self.shape.names and not values and self.shape.is_map and self.attempt.is_generous(self.location):
            wanted = max(wanted, 1 + int(self.attempt.draw_fraction(self.location, "size") * 2))
        wanted = int(min(wanted, self.most))
        for name in self._make_names(values) if len(values) < wanted else ():
            try:
                values[name] = self._make_value(name)
            except UnsatisfiableError:
                continue
            if len(values) >= wanted:
                return
        if len(values) < self.least:
            raise UnsatisfiableError(f"could not find {self.least:,} allowed property names", "minProperties")

    def _make_names(self, values: Mapping[str, Json]) -> Iterator[str]:
        """Yield further names: those that the schema knows, then made up ones."""
        for name in self.shape.names:
            if name not in values and len(self.shape.add_dependents((name,))) == 1 and self._is_allowed(name):
                yield name
        at = misses = 0
        while misses < _MAX_MISSES:
            further = self._make_name(at, misses)
            fits = further not in (None, *values, *self.shape.names) and self._is_allowed(str(further))
            at = at + 1
            misses = 0 if fits else misses + 1
            if fits:
                yield str(further)

    def _make_name(self, at: int, misses: int) -> str | None:
        """Make the name number `at`, after `misses` names in a row that could not be used."""
        rng = self.attempt.stream(self.location, f"name {at}")
        shape = self.shape.name_shape
        patterns = self.shape.name_patterns
        if shape and at % 2 == 0:
            rejections = misses // 2  # the other half were names of another kind
            location = Location(
                f"{self.location.pointer}/~name {at}", (), depth=self.location.depth, rejections=rejections
            )
            try:
                return str(self.attempt.make(shape, location))
            except UnsatisfiableError:
                return None
        if patterns and at % 3 != 2:
            return sample(patterns[at % len(patterns)], rng, filling=misses)
        return draw_noun(rng) if at < _MAX_MISSES else f"{draw_noun(rng)}_{at}"

    def _is_allowed(self, name: str) -> bool:
        self.attempt.spend(len(self.shape.name_patterns) // PER_STEP["patterns"])
        return self.shape.allows_name(name)


class _ArrayMaker:
    def __init__(self, attempt: Attempt, shape: Shape, location: Location) -> None:
        self.attempt = attempt
        self.shape = shape
        self.location = location
        most = shape.find_upper_limit("maxItems")
        self.least = shape.find_lower_limit("minItems")
        self.most = _MAX_ITEMS if most is None else most
        if self.least > _MAX_ITEMS:
            raise UnsatisfiableError(f"cannot generate {self.least:,} items; the limit is {_MAX_ITEMS:,}", "minItems")
        if self.least > self.most:
            why = f"no list has {self.least:,} items and no more than {self.most:,}"
            raise UnsatisfiableError(why, "minItems")
        self.further = shape.find_item(shape.fixed_items)
        self.holds_texts = self.further is not None and self.further.types == ("string",)
        self.rooms = [self._make_room(part) for part in shape.parts if "contains" in part and "maxContains" in part]
        self.seen: set[str] = set()

    def make(self) -> list[Json]:
        wish = self._read_prompt()
        contained = self.shape.list_contained(_MAX_ITEMS)
        length = self._choose_length(wish.count or len(wish.items), len(contained))
        if len(contained) > length:
            raise UnsatisfiableError(f"more items are needed than the {self.most:,} that are allowed", "contains")
        containing = self._place_contained(contained, length)
        items: list[Json] = []
        for at in range(length):
            if at < len(wish.items):
                self.attempt.said = wish.items[at]
            shape = containing[at] if at in containing else self.shape.find_item(at)
            demanded = shape.schemas[-1] if shape and at in containing else None
            rooms = [room for room in self.rooms if room.schema is not demanded]
            try:
                item = self._make_item(at, shape, rooms, differs=wish.count > 1 and self.holds_texts)
            except UnsatisfiableError:
                if at < self.least or at in containing:
                    raise
                break
            items.append(item)
            for room in rooms:
                room.left -= self.attempt.fits(room.shape, item)
        return items

    def _make_room(self, part: Part) -> "_Room":
        schema = part["contains"]
        left = int(part["maxContains"]) - int(part.get("minContains", 1))
        return _Room(schema, self.attempt.compiled.find_shape((schema,)), left)

    def _place_contained(self, contained: Sequence[Json], length: int) -> Mapping[int, Shape]:
        """Return the shapes of the items that meet `contains`: behind the fixed ones if there is room and they can."""
        start = min(self.shape.fixed_items, length - len(contained))
        places = [*range(start, length), *range(start)]
        untried = {id(demanded): iter(places) for demanded in contained}
        found: dict[int, Shape] = {}
        for demanded in contained:
            for at in untried[id(demanded)]:
                self.attempt.spend(1)
                shape = None if at in found else self._combine_item(at, demanded)
                if shape and shape.can_hold:
                    found[at] = shape
                    break
            else:
                raise UnsatisfiableError("no item that is allowed can be what is demanded", "contains")
        return found

    def _combine_item(self, at: int, demanded: Json) -> Shape | None:
        """Return the shape of an item that also meets a schema; None if nothing does."""
        shape = self.shape.find_item(at)
        combined = self.attempt.compiled.find_shape((*shape.schemas, demanded)) if shape else None
        self.attempt.spend(combined.work_of_holding if combined else 0)
        return combined

    def _read_prompt(self) -> "_Wish":
        """Return what the prompt wants of the list. What is to be invented is not taken from its phrases."""
        count = self._take_count()
        items = self._split_prompt()
        invents = count > max(1, len(items)) or (not items and self.attempt.said.orders_to_invent)
        if invents and self.further and self.further.names:
            self.attempt.said = self.attempt.said.drop_phrases()
            return _Wish(count or _INVENTED)
        return _Wish(count, items)

    def _take_count(self) -> int:
        """Return how many items the prompt wants, if it says so: "4 tasks"."""
        attempt = self.attempt
        hints = self.location.hints
        if not attempt.has_prompt or self.location.rejections or not (hints or self.holds_texts):
            return 0
        count, attempt.said = attempt.said.find_count(hints[0] if hints and hints[0] != "elements" else "")
        return min(count or 0, _MAX_WANTED)

    def _choose_length(self, wanted: int, contained: int) -> int:
        fixed = self.shape.fixed_items
        length = max(self.least, contained)
        if self.attempt.is_generous(self.location):
            fraction = self.attempt.draw_fraction(self.location, "length")
            natural = fixed or 1 + int(fraction * max(1, 3 - self.location.depth // 2))
            length = max(length, wanted or natural)
        if self.further is None:  # no items beyond the fixed ones
            if fixed < self.least:
                why = f"no more than {fixed} items are allowed, and {self.least} are demanded"
                raise UnsatisfiableError(why, "minItems")
            length = min(length, fixed)
        return min(length, self.most)

    def _split_prompt(self) -> Sequence[Mentions]:
        said = self.attempt.said
        item = self.further
        if not self.attempt.has_prompt or self.location.rejections or item is None or not item.names:
            return ()
        sets = said.split(item.views, listed=True)
        return sets if len(sets) > 1 or said.measure_evidence(item.views) > _FEW_MENTIONED else ()

    def _make_item(self, at: int, shape: Shape | None, rooms: Sequence["_Room"], *, differs: bool) -> Json:
        """Make an item that meets none of the `rooms` that are full.

        It is not `seen` where items must differ, or should: those of "3 fruits" do.
        """
        location = self.location.descend(str(at))
        if shape is None:
            raise UnsatisfiableError("nothing is allowed here")
        repeated: list[Json] = []
        for rejections in range(_MAX_ITEM_ATTEMPTS):
            value = self.attempt.make(shape, location.extend(rejections))
            if any(room.left <= 0 and self.attempt.fits(room.shape, value) for room in rooms):
                continue
            if not self.shape.is_unique and not differs:
                return value
            if (key := make_json_key(value)) not in self.seen:
                self.seen.add(key)
                return value
            repeated.append(value)
        if not repeated:
            raise UnsatisfiableError("no further item was found that is not one too many of these", "maxContains")
        if self.shape.is_unique:
            raise UnsatisfiableError("no further item was found that differs from the others", "uniqueItems")
        return repeated[0]


class _Wish(Struct, frozen=True):
    """What a prompt wants of a list: how many items (0: it does not say), and what it tells of each."""

    count: int
    items: Sequence[Mentions] = ()


class _Room(Struct):
    """How many items may meet a `contains` with a maximum, besides those that are made to meet it."""

    schema: Json
    shape: Shape | None
    left: int


def _choose_by_depth(values: Sequence[float], location: Location) -> float:
    return values[min(location.depth, len(values) - 1)]


def _rotate(items: Sequence[T], by: int) -> Sequence[T]:
    turn = by % max(1, len(items))
    return [*items[turn:], *items[:turn]]


def _answers(shape: Shape | None) -> bool:
    """Return whether an alternative is the answer, by its title or its only property: Response, final_answer."""
    names = (*shape.hints[:1], *shape.names) if shape is not None and len(shape.names) < _FEW_NAMES else ()
    return any(
        not read_word_set("answers").isdisjoint(split_words(name)) for name in names if len(name) < _LONGEST_NAME
    )


def _is_null(schema: Json) -> bool:
    if not isinstance(schema, dict):
        return False
    return schema.get("type") in ("null", ["null"]) or ("const" in schema and schema["const"] is None)


_FAULTS = make_vocabulary("failed failure error errors blocked flagged harmful unsafe toxic malicious")
_STEPS_OF_TEXT = 10  # a further attempt at a text, which is one at its patterns and formats
_STEPS_OF_PROMPT = 3  # looking at what the prompt says
_MAX_DEPTH = 40
_MAX_OPTIONAL_DEPTH = 4
_OPTIONAL_CHANCES = (0.9, 0.7, 0.4, 0.2, 0.1)  # of an optional property, by depth
_MAX_OPTIONAL = (20, 8, 4, 2)  # optional properties of one object, by depth
_MAX_TRIED_COMBINATIONS = 16
_MAX_LISTED = 50
_MAX_EXAMPLES = 4
_MAX_ITEMS = 1_000
_MAX_WANTED = 50
_INVENTED = 3  # items of a list that is to be invented
_MAX_ITEM_ATTEMPTS = 30
_FEW_MENTIONED = 0.4  # share of the properties of a list's only item above which the prompt has no further items
_MAX_MISSES = 24
_FEW_NAMES = 4  # properties of an answer
_LONGEST_NAME = 40  # characters
_MAX_PAIRS = 12_000  # of a property and a mention that are looked at
