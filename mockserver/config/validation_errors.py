"""The base of the tables in rules files, and pydantic's errors as plain messages: one per cause, at its key."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from msgspec import Struct
from pydantic_core import ErrorDetails, ValidationError

from mockserver.config.source import Path, did_you_mean, suggest
from mockserver.config.tables import BaseTable, LazyType, LazyUnion, Tag, WrittenAs, is_table
from mockserver.config.yaml_reader import shorten
from mockserver.core.json import Json
from mockserver.core.text import show_value

Checked = TypeVar("Checked", bound=BaseTable)


class TableMistake(Struct, frozen=True):
    """What is wrong with the value (or the key) at a path below the checked table."""

    message: str
    path: Path
    key: bool = False


class Wording(Struct, frozen=True):
    """How messages name the value at a path and the keys of a table, and the verb for what a value should be."""

    name: Callable[[Path], str]
    key: str = "key"
    expects: str = "expects"


def quote_keys(whole: str) -> Wording:
    """Make the wording that names a value by its key in quotes, and what was checked as a whole by `whole`."""

    def name_value(path: Path) -> str:
        keys = [step for step in path if isinstance(step, str)]
        name = f'"{shorten(keys[-1])}"' if keys else whole
        return f"an item of {name}" if path and isinstance(path[-1], int) else name

    return Wording(name_value)


def find_mistakes(error: ValidationError, model: type[BaseTable], wording: Wording) -> Iterator[TableMistake]:
    """Yield what pydantic-core found wrong with a table, in our words; of very much, the first."""
    errors = error.errors(include_url=False)[:_MAX_ERRORS]
    found = [_FoundError(details, model, wording) for details in errors]
    misspelt = {each.loc[:-1] for each in found if each.kind == "extra_forbidden"}
    for each in found:
        # A missing key next to an unknown one is usually a misspelling of it.
        if each.kind != "missing" or each.loc[:-1] not in misspelt:
            yield each.explain()


def validate_table(table: type[Checked], value: Json, whole: str, add: Callable[..., None]) -> Checked | None:
    """Return the value as a table; if it is not one, report why to `add` (as of Mistakes), and return None.

    `whole` is what to call the value in messages.
    """
    try:
        return table.model_validate(value)
    except ValidationError as error:
        for each in find_mistakes(error, table, quote_keys(whole)):
            add(each.message, each.path, key=each.key)
        return None


class _FoundError:
    """One error of pydantic-core in a table, and how to put it into words."""

    def __init__(self, details: ErrorDetails, model: type[BaseTable], wording: Wording) -> None:
        self.kind = details["type"]
        self.loc = details["loc"]
        self.value = details["input"]
        self.details = details
        self.wording = wording
        self.annotation, self.path = _walk(model, self.loc)
        self.outer = _walk(model, self.loc[:-1])[0]  # the annotation of the table that holds the value

    @property
    def name(self) -> str:
        return self.wording.name(self.path)

    def explain(self) -> TableMistake:
        path = self.path
        match self.kind:
            case "extra_forbidden":
                return self._explain_unknown_key()
            case "missing":
                name = self.wording.name(path[:-1])
                return TableMistake(f'{name} needs "{path[-1]}"{_write_example(self.outer)}', path[:-1])
            case "empty":
                key = self.details["ctx"]["key"]
                words = f'"{shorten(key)}" has no value; give it one, or remove the key'
                return TableMistake(words, (*path, key), key=True)
            case "refused":
                return TableMistake(f"{self.name}: {self.details['msg']}", path)
            case "union_tag_not_found" | "union_tag_invalid" if isinstance(self.value, Mapping):
                return self._explain_type(self.value)
            case "literal_error" if self.loc[-1:] == ("[key]",):
                key = str(path[-1])
                words = f'unknown key "{shorten(key)}"{did_you_mean(key, self._list_literals())}'
                return TableMistake(words, path, key=True)
            case "invalid_key" | "string_type" if self.kind == "invalid_key" or self.loc[-1:] == ("[key]",):
                return TableMistake(f"a key must be a string, not {show_value(path[-1])}", path[:-1])
        return self._explain_value()

    def _explain_value(self) -> TableMistake:
        """Say what was expected, what there is instead, and what to write."""
        path = self.path
        example = ""
        hint = self._find_hint()
        if self.kind in _TABLE_ERRORS:
            example = _write_example(self.annotation)
        elif self.kind == "string_type" and isinstance(self.value, Mapping):
            instead = getattr(_find_table(self.outer), "instead", {})
            hint = f"; write {instead[path[-1]]}" if path and path[-1] in instead else hint
        words = self._describe_expected()
        if self.kind == "literal_error" and self.loc[-1:] == ("<text>",) and not hint:
            words += _describe_table(self.outer)
        message = f"{self.name} {self.wording.expects} {words}, not {show_value(self.value)}{hint}{example}"
        return TableMistake(message, path)

    def _describe_expected(self) -> str:
        if self.kind == "literal_error":
            return self._join_literals()
        if self.kind in _EXPECTED_LIMIT:
            limit, words = _EXPECTED_LIMIT[self.kind]
            return words.format(self.details["ctx"][limit])
        return _EXPECTED.get(self.kind) or self.details["msg"]

    def _explain_unknown_key(self) -> TableMistake:
        table = _find_table(self.outer)
        key = str(self.path[-1])
        known = tuple(table.model_keys) if table else ()
        instead = getattr(table, "instead", {})
        if key in instead:
            words = f'unknown {self.wording.key} "{key}"; write {instead[key]}'
        else:
            accepted = f"; {self.wording.name(self.path[:-1])} accepts {', '.join(known)}" if known else ""
            words = f'unknown {self.wording.key} "{shorten(key)}"{did_you_mean(key, known) or accepted}'
        return TableMistake(words, self.path, key=True)

    def _explain_type(self, table: Mapping[str, Any]) -> TableMistake:
        """Explain a table whose `type` says nothing, or nothing that is known."""
        types = list(_list_alternatives(self.annotation))
        path = self.path
        if "type" not in table:
            return TableMistake(f'{self.name} needs "type": one of {", ".join(types)}', path)
        name = table["type"]
        if not isinstance(name, str):
            return TableMistake(f'"type" expects a string, not {show_value(name)}', (*path, "type"))
        return TableMistake(f'unknown type "{shorten(name)}"{suggest(name, types)}', (*path, "type"))

    def _find_hint(self) -> str:
        if self.kind == "string_type" and isinstance(self.value, bool | int | float):
            return "; put it in quotes"
        if self.kind in ("list_type", "tuple_type") and isinstance(self.value, Mapping):
            return '; put "- " before each item, or [ ] around them'
        if self.kind in ("list_type", "tuple_type") and isinstance(self.value, str):
            return "; put [ ] around it"
        if self.kind == "literal_error" and isinstance(self.value, str):
            known = self._list_literals()
            return "; write it without quotes" if self.value in known else did_you_mean(self.value, known)
        return ""

    def _list_literals(self) -> list[str]:
        expected: str = self.details["ctx"]["expected"]
        return expected.replace(" or ", ", ").replace("'", "").split(", ")

    def _join_literals(self) -> str:
        names = ["true" if name == "True" else name for name in self._list_literals()]
        if len(names) > _MAX_NAMES and self._find_hint():
            return f"{', '.join(names[:_MAX_NAMES])} or one of {len(names) - _MAX_NAMES} more"
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _write_example(annotation: Any) -> str:
    example = _find_example(annotation)
    return f"; write {example}" if example else ""


def _describe_table(annotation: Any) -> str:
    """Describe the table that may be in the place of a word."""
    example = _find_example(annotation)
    return f", or a table such as {example}" if example else ""


def _find_example(annotation: Any) -> str:
    example: str = getattr(_find_table(annotation), "example", "")
    return example


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
    return _find_hints(cast(Any, container)).get(container.model_keys.get(key, ""))


@cache
def _find_hints(table: Any) -> Mapping[str, Any]:
    return get_type_hints(table, include_extras=True)


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


_MAX_ERRORS = 1_000  # each takes a third of a millisecond
_MAX_NAMES = 8  # listed before a hint
_TABLE_ERRORS = ("model_type", "dict_type", "model_attributes_type")
# What was expected, by pydantic's name of the error.
_EXPECTED: Mapping[str, str] = {
    "string_type": "a string",
    "string_too_short": "a string that is not empty",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(_TABLE_ERRORS, "a table"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    "too_short": "at least one item",
}
# The same with a limit: its name in the error, and the words around it.
_EXPECTED_LIMIT: Mapping[str, tuple[str, str]] = {
    "string_too_long": ("max_length", "at most {} characters"),
    "greater_than": ("gt", "more than {:g}"),
    "greater_than_equal": ("ge", "at least {:g}"),
    "less_than_equal": ("le", "at most {:g}"),
}
