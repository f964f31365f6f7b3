"""The predicates of `when`: each turns the expected value of a rule into a test of one value. Knows no fields.

A test never raises for a value that it cannot compare; it returns False. An absent value (None) passes only `exists:
false`.
"""

import operator
import re
from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct

from mockserver.core.json import Json
from mockserver.rules.match.regexes import compile_search

Test = Callable[[Json], bool | Mapping[str, str]]  # named groups, if there are any, also mean that it holds

_STAR = re.compile(r"(?<!\\)\*")
_SPACE = re.compile(r"\s+")


class UnfitError(ValueError):
    """The expected value cannot be compared; `path` leads from the predicate to the cause."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path


class Lens(Struct, frozen=True):
    """Normalises text before comparing: `fold` ignores case, `squeeze` collapses white space."""

    fold: bool = False
    squeeze: bool = False

    def __call__(self, text: str) -> str:
        if self.squeeze:
            text = _SPACE.sub(" ", text).strip(" ")
        return text.casefold() if self.fold else text


PLAIN = Lens()


class Predicate(Struct, frozen=True):
    """One way to compare: the kinds of field it applies to, the shape it expects (a shape in parse.py), and its test.

    `build(expected, lens)` raises UnfitError if nothing can be compared with the expected value.
    """

    kinds: tuple[str, ...]
    shape: str
    build: Callable[[Json, Lens], Test]
    doc: str
    textual: bool = False  # compares text, so ignore_case and ignore_space apply


def is_number(value: Json) -> bool:
    """Return whether a value is a number; booleans are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)  # a union takes longer


def is_true(value: Json) -> bool:
    """Return whether JMESPath considers a value true: 0 is true, everything empty is false."""
    return True if value else type(value) is int or type(value) is float


def is_pattern(value: Json) -> bool:
    return isinstance(value, str) and "*" in value


def split_pieces(pattern: str) -> tuple[str, ...]:
    r"""Split a pattern at its wildcards; `\*` is a literal star."""
    return tuple(piece.replace("\\*", "*") for piece in _STAR.split(pattern))


def make_tuple(expected: Json) -> tuple[Json, ...]:
    return tuple(expected) if isinstance(expected, list | tuple) else (expected,)


def is_same(expected: Json, actual: Json) -> bool:
    """Compare two JSON values; true does not equal 1."""
    match expected:
        case str():
            return isinstance(actual, str) and actual == expected
        case bool() | None:
            return actual is expected
        case int() | float():
            return is_number(actual) and bool(actual == expected)
        case Mapping():
            alike = isinstance(actual, Mapping) and actual.keys() == expected.keys()
            return alike and all(is_same(value, actual[key]) for key, value in expected.items())
    alike = isinstance(actual, list | tuple) and len(actual) == len(expected)
    return alike and all(map(is_same, expected, actual))


def is_part_of(expected: Json, actual: Json) -> bool:
    """Return whether a value contains everything expected: keys of objects, elements of lists in any order."""
    match expected:
        case Mapping():
            known = isinstance(actual, Mapping) and actual.keys() >= expected.keys()
            return known and all(is_part_of(value, actual[key]) for key, value in expected.items())
        case list() | tuple():
            return isinstance(actual, list | tuple) and all(any(is_part_of(e, a) for a in actual) for e in expected)
    return is_same(expected, actual)


def _build_bare(expected: Json, lens: Lens) -> Test:
    return _build_glob(expected, lens) if is_pattern(expected) else _build_equals(expected, lens)


def _build_equals(expected: Json, lens: Lens) -> Test:
    if isinstance(expected, bool):
        return lambda actual: actual is expected
    if isinstance(expected, int | float):
        return lambda actual: is_number(actual) and bool(actual == expected)
    if not isinstance(expected, str):
        return lambda actual: is_same(expected, actual)
    if lens == PLAIN:
        return lambda actual: isinstance(actual, str) and actual == expected
    seen = lens(expected)
    return lambda actual: isinstance(actual, str) and lens(actual) == seen


class TextSet(frozenset[str]):
    """The test whether a value is one of these texts; of what is surely a text, `__contains__` is a faster one."""

    def __call__(self, actual: Json) -> bool:
        return isinstance(actual, str) and actual in self


def _build_in(expected: Json, lens: Lens) -> Test:
    if lens == PLAIN and all(isinstance(value, str) and not is_pattern(value) for value in expected):
        return TextSet(expected)
    tests = [_build_bare(value, lens) for value in expected]
    return lambda actual: any(test(actual) for test in tests)


def _build_glob(expected: str, lens: Lens) -> Test:
    first, *rest = split_pieces(expected)
    if not rest:
        return _build_equals(first, lens)
    first, *middle, last = split_pieces(lens(expected))
    if lens != PLAIN:
        return lambda actual: isinstance(actual, str) and _occur_in_order(lens(actual), first, middle, last)
    # The two most common shapes have faster tests of their own.
    if not middle and not last:
        return lambda actual: isinstance(actual, str) and actual.startswith(first)
    if len(middle) == 1 and not first and not last:
        return _build_contains(middle, PLAIN)
    return lambda actual: isinstance(actual, str) and _occur_in_order(actual, first, middle, last)


def _occur_in_order(text: str, first: str, middle: list[str], last: str) -> bool:
    # Taking each piece at its first occurrence suffices, and keeps the time linear.
    at = len(first)
    end = len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _build_contains(expected: Json, lens: Lens) -> Test:
    wanted = tuple(lens(text) for text in make_tuple(expected))
    if lens == PLAIN and len(wanted) == 1:
        (only,) = wanted
        return lambda actual: isinstance(actual, str) and only in actual
    return lambda actual: isinstance(actual, str) and all(map(lens(actual).__contains__, wanted))


def _build_affix(fits: Callable[[str, str], bool]) -> Callable[[Json, Lens], Test]:
    def build(expected: str, lens: Lens) -> Test:
        wanted = lens(expected)
        end = slice(None)
        if lens.fold and not lens.squeeze:  # folding makes no text shorter
            end = slice(len(wanted)) if fits is str.startswith else slice(-len(wanted), None)
        return lambda actual: isinstance(actual, str) and fits(lens(actual[end]), wanted)

    return build


def _build_regex(expected: str, lens: Lens) -> Test:
    try:
        search = compile_search(expected, fold=lens.fold)
    except ValueError as error:
        raise UnfitError(str(error)) from None
    if not lens.squeeze:
        return search
    spaces = Lens(squeeze=True)
    return lambda actual: isinstance(actual, str) and search(spaces(actual))


def _build_number(holds: Callable[[Json, Json], bool]) -> Callable[[Json, Lens], Test]:
    return lambda expected, _lens: lambda actual: is_number(actual) and holds(actual, expected)


def _build_includes(expected: Json, lens: Lens) -> Test:
    wanted = make_tuple(expected)
    if lens == PLAIN and len(wanted) == 1 and isinstance(wanted[0], str) and not is_pattern(wanted[0]):
        (only,) = wanted
        return lambda actual: isinstance(actual, list | tuple) and only in actual
    tests = [_build_bare(value, lens) for value in wanted]
    return lambda actual: isinstance(actual, list | tuple) and all(any(map(test, actual)) for test in tests)


def _build_exists(expected: bool, _lens: Lens) -> Test:
    return lambda actual: (actual is not None and actual != ()) is expected  # an empty list of tools counts as absent


def _build_length(expected: Json, lens: Lens) -> Test:
    table = expected if isinstance(expected, Mapping) else {"equals": expected}
    for name, value in table.items():
        if name not in LENGTHS:
            raise UnfitError(f'unknown comparison "{name}"; choose one of {", ".join(LENGTHS)}', name)
        if not is_number(value):
            raise UnfitError(f'"{name}" expects a number here', name)
    tests = [LENGTHS[name](value, lens) for name, value in table.items()]

    def fits(actual: Json) -> bool:
        return isinstance(actual, str | list | tuple | Mapping) and all(test(len(actual)) for test in tests)

    return fits


def _build_schema(expected: Json, _lens: Lens) -> Test:
    from mockserver.model.schema import document  # slow to import, and few rules need it

    try:
        validator = document.SchemaValidator(document.SchemaDocument(expected), formats=None)
    except document.UnsatisfiableError as error:
        raise UnfitError(f"invalid JSON Schema: {error}") from None

    def validates(actual: Json) -> bool:
        if actual is None:
            return False
        if not validator.is_cheap:
            depth, size = document.measure_depth_and_size(actual)
            if validator.estimate_cost(depth, size) > document.MAX_COST:
                return False
        try:
            return bool(validator.whole.is_valid(actual))
        except ValueError:  # not valid Unicode
            return False

    return validates


_TEXTS = ("text", "json")
_NUMBERS = ("number", "json")
_ALL = ("text", "number", "boolean", "list", "json")

LENGTHS: Mapping[str, Callable[[Json, Lens], Test]] = {
    "equals": _build_equals,
    "lt": _build_number(operator.lt),
    "lte": _build_number(operator.le),
    "gt": _build_number(operator.gt),
    "gte": _build_number(operator.ge),
}

PREDICATES: Mapping[str, Predicate] = {
    "equals": Predicate(_ALL, "value", build=_build_equals, doc="is exactly this", textual=True),
    "in": Predicate(
        ("text", "number", "boolean", "json"),
        "values",
        build=_build_in,
        doc="is one of these; `*` is a wildcard",
        textual=True,
    ),
    "glob": Predicate(
        _TEXTS,
        "text",
        build=_build_glob,
        doc=r"matches this pattern completely; `*` is a wildcard, `\*` a star",
        textual=True,
    ),
    "contains": Predicate(
        _TEXTS, "texts", build=_build_contains, doc="contains this text, or all of these", textual=True
    ),
    "starts_with": Predicate(
        _TEXTS, "text", build=_build_affix(str.startswith), doc="begins with this text", textual=True
    ),
    "ends_with": Predicate(_TEXTS, "text", build=_build_affix(str.endswith), doc="ends with this text", textual=True),
    "regex": Predicate(
        _TEXTS,
        "text",
        build=_build_regex,
        doc="contains a match of this pattern; named groups become `match`",
        textual=True,
    ),
    "lt": Predicate(_NUMBERS, "number", build=LENGTHS["lt"], doc="is less than this"),
    "lte": Predicate(_NUMBERS, "number", build=LENGTHS["lte"], doc="is this or less"),
    "gt": Predicate(_NUMBERS, "number", build=LENGTHS["gt"], doc="is more than this"),
    "gte": Predicate(_NUMBERS, "number", build=LENGTHS["gte"], doc="is this or more"),
    "includes": Predicate(
        ("list", "json"),
        "elements",
        build=_build_includes,
        doc="includes this element, or all of these; `*` is a wildcard",
        textual=True,
    ),
    "exists": Predicate(_ALL, "boolean", build=_build_exists, doc="is present (true) or absent (false)"),
    "length": Predicate(
        ("text", "list", "json"),
        "length",
        build=_build_length,
        doc="has this length: a number, or a table of lt, lte, ...",
    ),
    "subset": Predicate(
        ("json",),
        "table",
        build=lambda expected, _: partial(is_part_of, expected),
        doc="contains all of this, at any depth",
    ),
    "schema": Predicate(("json",), "schema", build=_build_schema, doc="satisfies this JSON Schema"),
}
