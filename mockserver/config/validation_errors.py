"""The base of the tables in rules files, and pydantic's errors as plain messages: one per cause, at its key."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct
from pydantic_core import ErrorDetails, PydanticCustomError, ValidationError

from mockserver.config.source import Path, did_you_mean, read, suggestion
from mockserver.config.tables import BaseTable, Change, LazyType, LazyUnion, Tag, WrittenAs, field, is_table
from mockserver.config.yaml_reader import shortened
from mockserver.core.json import Json
from mockserver.core.text import shown

Checked = TypeVar("Checked", bound=BaseTable)


class ValidationMistake(Struct, frozen=True):
    """What is wrong with the value (or the key) at a path below the checked table."""

    message: str
    path: Path
    key: bool = False


class Wording(Struct, frozen=True):
    """How messages name the value at a path and the keys of a table, and the verb for what a value should be."""

    called: Callable[[Path], str]
    key: str = "key"
    expects: str = "expects"


def in_quotes(whole: str) -> Wording:
    """Name a value by its key in quotes, and what was checked as a whole by `whole`."""

    def called(path: Path) -> str:
        keys = [step for step in path if isinstance(step, str)]
        name = f'"{shortened(keys[-1])}"' if keys else whole
        return f"an item of {name}" if path and isinstance(path[-1], int) else name

    return Wording(called)


def complaints(error: ValidationError, model: type[BaseTable], wording: Wording) -> Iterator[ValidationMistake]:
    """Yield all that pydantic found wrong with a table."""
    found = [(details, details["loc"]) for details in error.errors(include_url=False)]
    misspelt = {loc[:-1] for details, loc in found if details["type"] == "extra_forbidden"}
    for details, loc in found:
        # A missing key next to an unknown one is usually a misspelling of it.
        if details["type"] != "missing" or loc[:-1] not in misspelt:
            yield _complaint(details, model, wording)


def validated(table: type[Checked], value: Json, whole: str, add: Callable[..., None]) -> Checked | None:
    """The value as a table, or None after telling `add`, as of Mistakes, what is wrong; `whole` is what to call it."""
    try:
        return table.model_validate(value)
    except ValidationError as error:
        for each in complaints(error, table, in_quotes(whole)):
            add(each.message, each.path, key=each.key)
        return None


def _complaint(details: ErrorDetails, model: type[BaseTable], wording: Wording) -> ValidationMistake:
    loc, value, called = details["loc"], details["input"], wording.called
    annotation, path = _walk(model, loc)
    match details["type"]:
        case "extra_forbidden":
            return ValidationMistake(_unknown(_table_in(_walk(model, loc[:-1])[0]), path, wording), path, key=True)
        case "missing":
            example = _example(_walk(model, loc[:-1])[0])
            return ValidationMistake(f'{called(path[:-1])} needs "{path[-1]}"{example}', path[:-1])
        case "empty":
            key = details["ctx"]["key"]
            return ValidationMistake(
                f'"{shortened(key)}" has no value; give it one, or leave the key out', (*path, key), key=True
            )
        case "refused":
            return ValidationMistake(f"{called(path)}: {details['msg']}", path)
        case "union_tag_not_found" | "union_tag_invalid" if isinstance(value, Mapping):
            return _of_type(value, path, called(path), list(_alternatives(annotation)))
        case "literal_error" if loc[-1:] == ("[key]",):
            key = str(path[-1])
            return ValidationMistake(
                f'unknown key "{shortened(key)}"{did_you_mean(key, _literals(details))}', path, key=True
            )
        case "invalid_key" | "string_type" if details["type"] == "invalid_key" or loc[-1:] == ("[key]",):
            return ValidationMistake(f"a key must be a text, not {shown(path[-1])}", path[:-1])
    words = _EXPECTED[details["type"]](details) if details["type"] in _EXPECTED else details["msg"]
    hint, example = _hint(details), _example(annotation) if details["type"] in _OF_TABLES else ""
    if details["type"] == "string_type" and isinstance(value, Mapping):
        instead = getattr(_table_in(_walk(model, loc[:-1])[0]), "instead", {})
        hint = f"; write {instead[path[-1]]}" if path and path[-1] in instead else hint
    if details["type"] == "literal_error" and loc[-1:] == ("<text>",) and not hint:
        example = _example(_walk(model, loc[:-1])[0])  # of the table that may be in its place
    return ValidationMistake(f"{called(path)} {wording.expects} {words}, not {shown(value)}{hint}{example}", path)


def _unknown(table: type[BaseTable] | None, path: Path, wording: Wording) -> str:
    known = tuple(table.model_keys) if table else ()
    key, instead = str(path[-1]), getattr(table, "instead", {})
    if key in instead:
        return f'unknown {wording.key} "{key}"; write {instead[key]}'
    takes = f"; {wording.called(path[:-1])} takes {', '.join(known)}" if known else ""
    return f'unknown {wording.key} "{shortened(key)}"{did_you_mean(key, known) or takes}'


def _hint(details: ErrorDetails) -> str:
    value = details["input"]
    match details["type"]:
        case "string_type" if isinstance(value, bool | int | float):
            return "; put it in quotes"
        case "literal_error" if isinstance(value, str):
            known = _literals(details)
            return "; write it without quotes" if value in known else did_you_mean(value, known)
    return ""


def _literals(details: ErrorDetails) -> list[str]:
    expected: str = details["ctx"]["expected"]
    return expected.replace(" or ", ", ").replace("'", "").split(", ")


def _one_of(details: ErrorDetails) -> str:
    names = ["true" if name == "True" else name for name in _literals(details)]
    if len(names) > _MAX_NAMES and _hint(details):
        return f"{', '.join(names[:_MAX_NAMES])} or one of {len(names) - _MAX_NAMES} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _example(annotation: Any) -> str:
    example = getattr(_table_in(annotation), "example", "")
    return f"; write {example}" if example else ""


def _of_type(table: Mapping[str, Any], path: Path, called: str, types: Sequence[str]) -> ValidationMistake:
    if "type" not in table:
        return ValidationMistake(f'{called} needs "type": one of {", ".join(types)}', path)
    name = table["type"]
    if not isinstance(name, str):
        return ValidationMistake(f'"type" expects a text, not {shown(name)}', (*path, "type"))
    return ValidationMistake(f'unknown type "{shortened(name)}"{suggestion(name, types)}', (*path, "type"))


def _walk(annotation: Any, loc: Path) -> tuple[Any, Path]:
    """Return the annotation at a location, and the location without the tags that select among alternatives."""
    path: Path = ()
    for step in loc:
        alternatives = _alternatives(annotation)
        if step in alternatives:
            annotation = alternatives[str(step)]
        elif step != "[key]":
            path = (*path, step)
            annotation = _within(annotation, step) if isinstance(step, str) else annotation
    return annotation, path


def _within(annotation: Any, key: str) -> Any:
    container = next(_containers(annotation), None)
    if not is_table(container):
        return get_args(container)[-1] if container else None
    return get_type_hints(container, include_extras=True).get(container.model_keys.get(key, ""))


def _containers(annotation: Any) -> Iterator[Any]:
    args = get_args(annotation)
    if written := next((part for part in args if isinstance(part, WrittenAs | LazyType)), None):
        yield from _containers(written.annotation)
    elif is_table(annotation) or get_origin(annotation) in (dict, Mapping):
        yield annotation
    else:
        for part in args:
            yield from _containers(part)


def _table_in(annotation: Any) -> type[BaseTable] | None:
    return next(filter(is_table, _containers(annotation)), None)


def _alternatives(annotation: Any) -> dict[str, Any]:
    """Return the alternatives of an annotation by their tags: `<text>`, `<table>` and so on, or the type of a table."""
    args = () if get_origin(annotation) in (dict, Mapping) else get_args(annotation)
    if tag := next((part for part in args if isinstance(part, Tag)), None):
        kind, *others = (part for part in args if part is not tag)
        return {tag.tag: Annotated[kind, *others] if others else kind}
    if lazy := next((part for part in args if isinstance(part, LazyType)), None):
        return {**lazy.tables} if isinstance(lazy, LazyUnion) else _alternatives(lazy.annotation)
    found = [_alternatives(part) for part in args]
    return {name: alternative for alternatives in found for name, alternative in alternatives.items()}


def _same(words: str) -> Callable[[ErrorDetails], str]:
    return lambda _: words


_MAX_NAMES = 8  # listed before a hint
_OF_TABLES = ("model_type", "dict_type", "model_attributes_type")
# What was expected, by pydantic's name of the error.
_EXPECTED: Mapping[str, Callable[[ErrorDetails], str]] = {
    "expected": lambda details: details["msg"],
    "string_type": _same("a text"),
    "string_too_short": _same("a text that is not empty"),
    "string_too_long": lambda details: f"at most {details['ctx']['max_length']} characters",
    "bool_type": _same("true or false"),
    "bool_parsing": _same("true or false"),
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), _same("a whole number")),
    **dict.fromkeys(("float_type", "float_parsing"), _same("a number")),
    "finite_number": _same("a finite number"),
    **dict.fromkeys(("model_type", "dict_type", "model_attributes_type"), _same("a table")),
    **dict.fromkeys(("list_type", "tuple_type"), _same("a list")),
    "too_short": _same("at least one item"),
    "literal_error": _one_of,
    "greater_than": lambda details: f"more than {details['ctx']['gt']:g}",
    "greater_than_equal": lambda details: f"at least {details['ctx']['ge']:g}",
    "less_than_equal": lambda details: f"at most {details['ctx']['le']:g}",
}


def _show_example(schema: dict[str, Any], table: type[BaseTable]) -> None:
    if example := getattr(table, "example", ""):
        schema["examples"] = [read(example, "an example").data]


class Table(BaseTable, strict=True, json_schema_extra=_show_example):
    """A table of a rules file: no unknown keys, no conversions, no key without a value.

    `example` shows what was expected where something else stands; `nullable` keys may hold nothing; `instead` says what
    to write in place of keys that people take from elsewhere.
    """

    nullable: ClassVar[frozenset[str]] = frozenset()
    instead: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def _read(cls, table: Json) -> Json:
        if isinstance(table, Mapping):
            for key, value in table.items():
                if value is None and key not in cls.nullable:
                    raise PydanticCustomError("empty", "empty", {"key": str(key)})
        return table


def _shape(value: Json) -> str:
    match value:
        case bool() | None:
            return "<other>"
        case int() | float():
            return "<number>"
        case str():
            return "<text>"
        case Mapping() | Table():
            return "<table>"
    return "<list>" if isinstance(value, list) else "<other>"


def either(expected: str) -> Change:
    """Choose among alternatives by shape, so that errors refer to the intended one.

    The alternatives are marked: `AsText[str] | AsTable[ErrorSpec]`.
    """
    by = {"discriminator": _shape, "custom_error_type": "expected", "custom_error_message": expected}
    return lambda union: {**union, **by}


Whole = Annotated[int, field(ge=0)]
T = TypeVar("T")
AsNumber = Annotated[T, Tag("<number>")]
AsText = Annotated[T, Tag("<text>")]
AsTable = Annotated[T, Tag("<table>")]
AsList = Annotated[T, Tag("<list>")]
TextOrNumber = Annotated[AsText[str] | AsNumber[int], either("a text or a whole number")]
Headers = dict[str, TextOrNumber]
