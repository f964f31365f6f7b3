"""The base of the tables in rules files, and pydantic's errors as plain messages: one per cause, at its key."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct
from pydantic_core import ErrorDetails, ValidationError

from mockserver.config.source import Path, did_you_mean, suggest
from mockserver.config.tables import BaseTable, LazyType, LazyUnion, Tag, WrittenAs, is_table
from mockserver.config.yaml_reader import shorten
from mockserver.core.json import Json
from mockserver.core.text import shown

Checked = TypeVar("Checked", bound=BaseTable)


class TableMistake(Struct, frozen=True):
    """What is wrong with the value (or the key) at a path below the checked table."""

    message: str
    path: Path
    key: bool = False


class Wording(Struct, frozen=True):
    """How messages name the value at a path and the keys of a table, and the verb for what a value should be."""

    called: Callable[[Path], str]
    key: str = "key"
    expects: str = "expects"


def quote_keys(whole: str) -> Wording:
    """Make the wording that names a value by its key in quotes, and what was checked as a whole by `whole`."""

    def called(path: Path) -> str:
        keys = [step for step in path if isinstance(step, str)]
        name = f'"{shorten(keys[-1])}"' if keys else whole
        return f"an item of {name}" if path and isinstance(path[-1], int) else name

    return Wording(called)


def find_mistakes(error: ValidationError, model: type[BaseTable], wording: Wording) -> Iterator[TableMistake]:
    """Yield what pydantic-core found wrong with a table, in our words."""
    found = [(details, details["loc"]) for details in error.errors(include_url=False)]
    misspelt = {loc[:-1] for details, loc in found if details["type"] == "extra_forbidden"}
    for details, loc in found:
        # A missing key next to an unknown one is usually a misspelling of it.
        if details["type"] != "missing" or loc[:-1] not in misspelt:
            yield _make_mistake(details, model, wording)


def validate_table(table: type[Checked], value: Json, whole: str, add: Callable[..., None]) -> Checked | None:
    """Return the value as a table; if it is none, tell `add` (as of Mistakes) what is wrong, and return None.

    `whole` is what to call the value in messages.
    """
    try:
        return table.model_validate(value)
    except ValidationError as error:
        for each in find_mistakes(error, table, quote_keys(whole)):
            add(each.message, each.path, key=each.key)
        return None


def _make_mistake(details: ErrorDetails, model: type[BaseTable], wording: Wording) -> TableMistake:
    loc, value, called = details["loc"], details["input"], wording.called
    annotation, path = _walk(model, loc)
    match details["type"]:
        case "extra_forbidden":
            return TableMistake(
                _explain_unknown_key(_find_table(_walk(model, loc[:-1])[0]), path, wording), path, key=True
            )
        case "missing":
            example = _write_example(_walk(model, loc[:-1])[0])
            return TableMistake(f'{called(path[:-1])} needs "{path[-1]}"{example}', path[:-1])
        case "empty":
            key = details["ctx"]["key"]
            return TableMistake(
                f'"{shorten(key)}" has no value; give it one, or remove the key', (*path, key), key=True
            )
        case "refused":
            return TableMistake(f"{called(path)}: {details['msg']}", path)
        case "union_tag_not_found" | "union_tag_invalid" if isinstance(value, Mapping):
            return _explain_type(value, path, called(path), list(_list_alternatives(annotation)))
        case "literal_error" if loc[-1:] == ("[key]",):
            key = str(path[-1])
            return TableMistake(
                f'unknown key "{shorten(key)}"{did_you_mean(key, _list_literals(details))}', path, key=True
            )
        case "invalid_key" | "string_type" if details["type"] == "invalid_key" or loc[-1:] == ("[key]",):
            return TableMistake(f"a key must be a string, not {shown(path[-1])}", path[:-1])
    words = _EXPECTED[details["type"]](details) if details["type"] in _EXPECTED else details["msg"]
    hint, example = _find_hint(details), _write_example(annotation) if details["type"] in _OF_TABLES else ""
    if details["type"] == "string_type" and isinstance(value, Mapping):
        instead = getattr(_find_table(_walk(model, loc[:-1])[0]), "instead", {})
        hint = f"; write {instead[path[-1]]}" if path and path[-1] in instead else hint
    if details["type"] == "literal_error" and loc[-1:] == ("<text>",) and not hint:
        example = _write_example(_walk(model, loc[:-1])[0])  # of the table that may be in its place
    return TableMistake(f"{called(path)} {wording.expects} {words}, not {shown(value)}{hint}{example}", path)


def _explain_unknown_key(table: type[BaseTable] | None, path: Path, wording: Wording) -> str:
    known = tuple(table.model_keys) if table else ()
    key, instead = str(path[-1]), getattr(table, "instead", {})
    if key in instead:
        return f'unknown {wording.key} "{key}"; write {instead[key]}'
    takes = f"; {wording.called(path[:-1])} accepts {', '.join(known)}" if known else ""
    return f'unknown {wording.key} "{shorten(key)}"{did_you_mean(key, known) or takes}'


def _find_hint(details: ErrorDetails) -> str:
    value = details["input"]
    match details["type"]:
        case "string_type" if isinstance(value, bool | int | float):
            return "; put it in quotes"
        case "literal_error" if isinstance(value, str):
            known = _list_literals(details)
            return "; write it without quotes" if value in known else did_you_mean(value, known)
    return ""


def _list_literals(details: ErrorDetails) -> list[str]:
    expected: str = details["ctx"]["expected"]
    return expected.replace(" or ", ", ").replace("'", "").split(", ")


def _join_choices(details: ErrorDetails) -> str:
    names = ["true" if name == "True" else name for name in _list_literals(details)]
    if len(names) > _MAX_NAMES and _find_hint(details):
        return f"{', '.join(names[:_MAX_NAMES])} or one of {len(names) - _MAX_NAMES} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _write_example(annotation: Any) -> str:
    example = getattr(_find_table(annotation), "example", "")
    return f"; write {example}" if example else ""


def _explain_type(table: Mapping[str, Any], path: Path, called: str, types: Sequence[str]) -> TableMistake:
    if "type" not in table:
        return TableMistake(f'{called} needs "type": one of {", ".join(types)}', path)
    name = table["type"]
    if not isinstance(name, str):
        return TableMistake(f'"type" expects a string, not {shown(name)}', (*path, "type"))
    return TableMistake(f'unknown type "{shorten(name)}"{suggest(name, types)}', (*path, "type"))


def _walk(annotation: Any, loc: Path) -> tuple[Any, Path]:
    """Return the annotation at a location, and the location without the tags that select among alternatives."""
    path: Path = ()
    for step in loc:
        alternatives = _list_alternatives(annotation)
        if step in alternatives:
            annotation = alternatives[str(step)]
        elif step != "[key]":
            path = (*path, step)
            annotation = _find_inner(annotation, step) if isinstance(step, str) else annotation
    return annotation, path


def _find_inner(annotation: Any, key: str) -> Any:
    container = next(_find_containers(annotation), None)
    if not is_table(container):
        return get_args(container)[-1] if container else None
    return get_type_hints(container, include_extras=True).get(container.model_keys.get(key, ""))


def _find_containers(annotation: Any) -> Iterator[Any]:
    args = get_args(annotation)
    if written := next((part for part in args if isinstance(part, WrittenAs | LazyType)), None):
        yield from _find_containers(written.annotation)
    elif is_table(annotation) or get_origin(annotation) in (dict, Mapping):
        yield annotation
    else:
        for part in args:
            yield from _find_containers(part)


def _find_table(annotation: Any) -> type[BaseTable] | None:
    return next(filter(is_table, _find_containers(annotation)), None)


def _list_alternatives(annotation: Any) -> dict[str, Any]:
    """Return the alternatives of an annotation by their tags: `<text>`, `<table>` and so on, or the type of a table."""
    args = () if get_origin(annotation) in (dict, Mapping) else get_args(annotation)
    if tag := next((part for part in args if isinstance(part, Tag)), None):
        kind, *others = (part for part in args if part is not tag)
        return {tag.tag: Annotated[kind, *others] if others else kind}
    if lazy := next((part for part in args if isinstance(part, LazyType)), None):
        return {**lazy.tables} if isinstance(lazy, LazyUnion) else _list_alternatives(lazy.annotation)
    found = [_list_alternatives(part) for part in args]
    return {name: alternative for alternatives in found for name, alternative in alternatives.items()}


def _always(words: str) -> Callable[[ErrorDetails], str]:
    return lambda _: words


_MAX_NAMES = 8  # listed before a hint
_OF_TABLES = ("model_type", "dict_type", "model_attributes_type")
# What was expected, by pydantic's name of the error.
_EXPECTED: Mapping[str, Callable[[ErrorDetails], str]] = {
    "expected": lambda details: details["msg"],
    "string_type": _always("a string"),
    "string_too_short": _always("a string that is not empty"),
    "string_too_long": lambda details: f"at most {details['ctx']['max_length']} characters",
    "bool_type": _always("true or false"),
    "bool_parsing": _always("true or false"),
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), _always("a whole number")),
    **dict.fromkeys(("float_type", "float_parsing"), _always("a number")),
    "finite_number": _always("a finite number"),
    **dict.fromkeys(("model_type", "dict_type", "model_attributes_type"), _always("a table")),
    **dict.fromkeys(("list_type", "tuple_type"), _always("a list")),
    "too_short": _always("at least one item"),
    "literal_error": _join_choices,
    "greater_than": lambda details: f"more than {details['ctx']['gt']:g}",
    "greater_than_equal": lambda details: f"at least {details['ctx']['ge']:g}",
    "less_than_equal": lambda details: f"at most {details['ctx']['le']:g}",
}
