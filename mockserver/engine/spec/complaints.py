"""What is wrong with the shape of a table, in plain words: one complaint for each cause, at the key it is about."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mockserver.engine.nearest import shown
from mockserver.engine.spec.table import Table
from mockserver.positions import Path, did_you_mean


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with the value (or the key) at a path below the table that was checked."""

    message: str
    path: Path
    key: bool = False


def complaints(error: ValidationError, model: type[Table], name: str) -> Iterator[Complaint]:
    """Everything that pydantic found wrong with a table; `name` is what the table as a whole is called."""
    found = [(details, tuple(filter(_is_step, details["loc"]))) for details in error.errors(include_url=False)]
    misspelt = {path[:-1] for details, path in found if details["type"] == "extra_forbidden"}
    for details, path in found:
        # A key that is missing beside one that is unknown is most often the same one.
        if details["type"] != "missing" or path[:-1] not in misspelt:
            yield _complaint(details, path, _Wanted(model, name))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The model of the whole table, and what the table is called."""

    model: type[Table]
    name: str

    def called(self, path: Path) -> str:
        """What people call the value at a path."""
        keys = [step for step in path if isinstance(step, str)]
        name = f'"{_cut(keys[-1])}"' if keys else self.name
        return f"an item of {name}" if path and isinstance(path[-1], int) else name

    def at(self, path: Path) -> type[Table] | None:
        """The model of the table at a path, where one stands."""
        model: type[Table] | None = self.model
        for step in path:
            if isinstance(step, str) and model is not None:
                field = next((f for name, f in model.model_fields.items() if (f.alias or name) == step), None)
                model = _table_in(field.annotation) if field else None
        return model


def _complaint(details: ErrorDetails, path: Path, wanted: _Wanted) -> Complaint:
    match details["type"]:
        case "extra_forbidden":
            return Complaint(_unknown(path, wanted), path, key=True)
        case "missing":
            return Complaint(
                f'{wanted.called(path[:-1])} needs "{path[-1]}"{_example(wanted.at(path[:-1]))}', path[:-1]
            )
        case "empty":
            key = details["ctx"]["key"]
            return Complaint(f'"{_cut(key)}" has no value; give it one, or leave the key out', (*path, key), key=True)
        case "invalid_key":
            return Complaint(_NO_TEXT + shown(path[-1]), path[:-1])
        case "string_type" if details["loc"][-1:] == ("[key]",):
            return Complaint(_NO_TEXT + shown(path[-1]), path[:-1])
    value = details["input"]
    words = _EXPECTED[details["type"]](details) if details["type"] in _EXPECTED else details["msg"]
    example = _example(wanted.at(path)) if details["type"] in ("model_type", "dict_type") else ""
    return Complaint(f"{wanted.called(path)} expects {words}, not {shown(value)}{_hint(details)}{example}", path)


def _unknown(path: Path, wanted: _Wanted) -> str:
    model = wanted.at(path[:-1])
    known = [field.alias or name for name, field in model.model_fields.items()] if model else []
    key = str(path[-1])
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


def _table_in(annotation: Any) -> type[Table] | None:
    """The table that an annotation is about; none of ours is about two."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    return next((found for part in get_args(annotation) if (found := _table_in(part))), None)


def _is_step(step: str | int) -> bool:
    return step not in ("<number>", "<text>", "<table>", "<list>", "[key]")


def _cut(name: str) -> str:
    return name if len(name) <= 60 else name[:60] + "…"


def _same(words: str) -> Callable[[ErrorDetails], str]:
    return lambda _: words


def _at_least(details: ErrorDetails) -> str:
    return f"at least {details['ctx']['ge']:g}"


_NO_TEXT = "a key must be a text, not "
# What was expected, by pydantic's name for the mistake.
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
    "list_type": _same("a list"),
    "too_short": _same("at least one item"),
    "literal_error": _one_of,
    "greater_than": lambda details: f"more than {details['ctx']['gt']:g}",
    "greater_than_equal": _at_least,
    "less_than_equal": lambda details: f"at most {details['ctx']['le']:g}",
}
