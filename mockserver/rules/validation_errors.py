"""Turns pydantic's validation errors into plain messages: one per cause, at the key it concerns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeGuard, get_args

from pydantic import Tag, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from mockserver.config.source import Path, did_you_mean
from mockserver.core.text import shown
from mockserver.rules.table import Table


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with the value (or the key) at a path below the checked table."""

    message: str
    path: Path
    key: bool = False


def complaints(error: ValidationError, model: type[Table], name: str) -> Iterator[Complaint]:
    """Yield all that pydantic found wrong with a table; `name` names the whole table in messages."""
    found = [(details, details["loc"]) for details in error.errors(include_url=False)]
    misspelt = {loc[:-1] for details, loc in found if details["type"] == "extra_forbidden"}
    for details, loc in found:
        # A missing key next to an unknown one is usually a misspelling of it.
        if details["type"] != "missing" or loc[:-1] not in misspelt:
            yield _complaint(details, loc, _Wanted(model, name))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The model of the whole table, and its name in messages."""

    model: type[Table]
    name: str

    def called(self, path: Path) -> str:
        keys = [step for step in path if isinstance(step, str)]
        name = f'"{_cut(keys[-1])}"' if keys else self.name
        return f"an item of {name}" if path and isinstance(path[-1], int) else name

    def at(self, loc: Path) -> type[Table] | None:
        return _table_in(self.annotation(loc))

    def annotation(self, loc: Path) -> Any:
        return self._walked(loc)[0]

    def path(self, loc: Path) -> Path:
        return self._walked(loc)[1]

    def _walked(self, loc: Path) -> tuple[Any, Path]:
        wanted: Any = self.model
        path: Path = ()
        for step in loc:
            alternatives = {} if _is_table(wanted) else _alternatives(wanted)
            if step in alternatives:
                wanted = alternatives[str(step)]
            elif step != "[key]":
                path = (*path, step)
                if isinstance(step, str):
                    table = _table_in(wanted)
                    fields = table.model_fields.items() if table else ()
                    wanted = next((_declared(field) for name, field in fields if (field.alias or name) == step), None)
        return wanted, path


def _complaint(details: ErrorDetails, loc: Path, wanted: _Wanted) -> Complaint:
    path, value = wanted.path(loc), details["input"]
    match details["type"]:
        case "extra_forbidden":
            return Complaint(_unknown(loc, path, wanted), path, key=True)
        case "missing":
            example = _example(wanted.at(loc[:-1]))
            return Complaint(f'{wanted.called(path[:-1])} needs "{path[-1]}"{example}', path[:-1])
        case "empty":
            key = details["ctx"]["key"]
            return Complaint(f'"{_cut(key)}" has no value; give it one, or leave the key out', (*path, key), key=True)
        case "union_tag_not_found" | "union_tag_invalid" if isinstance(value, Mapping):
            return _of_type(value, path, wanted, list(_alternatives(wanted.annotation(loc))))
        case "invalid_key":
            return Complaint(_NO_TEXT + shown(path[-1]), path[:-1])
        case "literal_error" if loc[-1:] == ("[key]",):
            key = str(path[-1])
            return Complaint(f'unknown key "{_cut(key)}"{did_you_mean(key, _literals(details))}', path, key=True)
        case "string_type" if loc[-1:] == ("[key]",):
            return Complaint(_NO_TEXT + shown(path[-1]), path[:-1])
    words = _EXPECTED[details["type"]](details) if details["type"] in _EXPECTED else details["msg"]
    example = _example(wanted.at(loc)) if details["type"] in _OF_TABLES else ""
    return Complaint(f"{wanted.called(path)} expects {words}, not {shown(value)}{_hint(details)}{example}", path)


def _declared(field: FieldInfo) -> Any:
    """Return the annotation of a field with what pydantic has taken out of it."""
    return Annotated[field.annotation, field] if field.discriminator else field.annotation


def _unknown(loc: Path, path: Path, wanted: _Wanted) -> str:
    model = wanted.at(loc[:-1])
    known = model.takes() if model else ()
    key = str(path[-1])
    if model is not None and key in model.instead:
        return f'unknown key "{key}"; write {model.instead[key]}'
    hint = did_you_mean(key, known) or (f"; {wanted.called(path[:-1])} takes {', '.join(known)}" if known else "")
    return f'unknown key "{_cut(key)}"{hint}'


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
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _example(model: type[Table] | None) -> str:
    return f"; write {model.example}" if model is not None and model.example else ""


def _of_type(table: Mapping[str, Any], path: Path, wanted: _Wanted, types: Sequence[str]) -> Complaint:
    if "type" not in table:
        return Complaint(f'{wanted.called(path)} needs "type": one of {", ".join(types)}', path)
    name = table["type"]
    if not isinstance(name, str):
        return Complaint(f'"type" expects a text, not {shown(name)}', (*path, "type"))
    hint = did_you_mean(name, types) or f"; it is one of {', '.join(types)}"
    return Complaint(f'unknown type "{_cut(name)}"{hint}', (*path, "type"))


def _table_in(annotation: Any) -> type[Table] | None:
    if _is_table(annotation):
        return annotation
    return next((found for part in get_args(annotation) if (found := _table_in(part))), None)


def _is_table(annotation: Any) -> TypeGuard[type[Table]]:
    return isinstance(annotation, type) and issubclass(annotation, Table)


def _alternatives(annotation: Any) -> dict[str, Any]:
    """Return the alternatives of an annotation by their tags: `<text>`, `<table>` and so on, or the type of a table."""
    args = get_args(annotation)
    if tag := next((part for part in args if isinstance(part, Tag)), None):
        kind, *others = (part for part in args if part is not tag)
        return {tag.tag: Annotated[kind, *others] if others else kind}
    if any(isinstance(part, FieldInfo) and part.discriminator for part in args):
        return {name: table for table in get_args(args[0]) for name in get_args(table.model_fields["type"].annotation)}
    found = [_alternatives(part) for part in args if not _is_table(part)]
    return {name: alternative for alternatives in found for name, alternative in alternatives.items()}


def _cut(name: str) -> str:
    return name if len(name) <= 60 else name[:60] + "…"


def _same(words: str) -> Callable[[ErrorDetails], str]:
    return lambda _: words


def _at_least(details: ErrorDetails) -> str:
    return f"at least {details['ctx']['ge']:g}"


_NO_TEXT = "a key must be a text, not "
_OF_TABLES = ("model_type", "dict_type", "model_attributes_type")
# What was expected, by pydantic's name of the error.
_EXPECTED: Mapping[str, Callable[[ErrorDetails], str]] = {
    "expected": lambda details: details["msg"],
    "string_type": _same("a text"),
    "string_too_short": _same("a text that is not empty"),
    "string_too_long": lambda details: f"at most {details['ctx']['max_length']} characters",
    "bool_type": _same("true or false"),
    "int_type": _same("a whole number"),
    "int_from_float": _same("a whole number"),
    "float_type": _same("a number"),
    "finite_number": _same("a number"),
    "model_type": _same("a table"),
    "dict_type": _same("a table"),
    "model_attributes_type": _same("a table"),
    "list_type": _same("a list"),
    "too_short": _same("at least one item"),
    "literal_error": _one_of,
    "greater_than": lambda details: f"more than {details['ctx']['gt']:g}",
    "greater_than_equal": _at_least,
    "less_than_equal": lambda details: f"at most {details['ctx']['le']:g}",
}
