"""Compiles `when`: a table of fields and predicates becomes a Condition. Reports all mistakes, not just the first.

FIELDS and PREDICATES define what a rule can express; F fields and P predicates give F x P matchers.
"""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from mockserver.config.source import Path, did_you_mean, suggest
from mockserver.core.json import Json
from mockserver.core.text import show_value
from mockserver.rules.match.conditions import All, Condition, Either, Leaf
from mockserver.rules.match.fields import ALTERNATIVES, FIELDS, Field, find_field, make_expression_field
from mockserver.rules.match.predicates import (
    LENGTHS,
    PREDICATES,
    Lens,
    Test,
    UnfitError,
    is_number,
    is_pattern,
    is_true,
    make_tuple,
)

Report = Callable[[str, Path], None]  # a message, and the path from the `when` table to the key (or item) concerned


def compile_when(spec: Json, report: Report) -> Condition:
    """Compile a `when` table; report mistakes to `report`.

    A bare value is compared whole, with `*` as wildcard in text. A bare list means one of its values (for `tools`:
    exactly this list). A bare text for `tools` means that the tool is offered. Anything else is a table of predicates.
    """
    if not isinstance(spec, Mapping):
        report(f'expected a table of fields, not {show_value(spec)}; write {{last_user: "*hello*"}}', ())
        return All()
    parts: list[Condition] = []
    for key, value in spec.items():
        parts += _parse_entry(str(key), value, _report_below(report, key))
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parse_entry(key: str, value: Json, report: Report) -> Iterator[Condition]:
    match key:
        case "any":
            yield Either(tuple(_parse_group(key, value, report)))
        case "all":
            yield from _parse_group(key, value, report)
        case "not":
            if value == {}:
                report('"not" without a condition never holds; add a condition', ())
            yield compile_when(value, report).negate()
        case "body":
            yield from _parse_body(value, report)
        case "arguments" | "client_answer" if isinstance(value, Mapping) and not _holds_only_predicates(value):
            for name, spec in value.items():
                yield from _parse_field(f"{key}.{name}", spec, _report_below(report, name))
        case _:
            yield from _parse_field(key, value, report)


def _parse_group(key: str, value: Json, report: Report) -> Iterator[Condition]:
    if not isinstance(value, list | tuple) or not value:
        report(f'"{key}" expects a list of tables, each like "when" itself, not {show_value(value)}', ())
        return
    for index, table in enumerate(value):
        yield compile_when(table, _report_below(report, index))


def _parse_field(key: str, value: Json, report: Report) -> Iterator[Condition]:
    try:
        field = find_field(key)
    except ValueError as error:
        report(str(error), ())
        return
    if field is None:
        report(f'unknown field "{key}"{_guess_field(key)}', ())
    elif field.members:
        yield from _parse_members(field, value, report)
    else:
        yield from _parse_tests(field, value, report)


def _guess_field(key: str) -> str:
    if key in _FIELD_BY_API_NAME:
        return f'; write "{_FIELD_BY_API_NAME[key]}"'
    if f"{key}.<name>" in FIELDS:
        return f'; write "{key}.NAME" for each, with a dot'
    in_body = f'; to match a field of the request body, write "param.{key}"' if key.isidentifier() else ""
    return did_you_mean(key, (*FIELDS, *GROUPS)) or in_body


def _parse_members(field: Field, value: Json, report: Report) -> Iterator[Condition]:
    names = ", ".join((*field.members, "exists"))
    if not isinstance(value, Mapping) or not value:
        report(f'"{field.name}" expects a table of {names}, not {show_value(value)}', ())
        return
    _check_absence(value, report)
    if "exists" in value:
        yield from _parse_predicates(field, {"exists": value["exists"]}, report)
    for name, spec in value.items():
        if name in field.members:
            yield from _parse_tests(field.members[name], spec, _report_below(report, name))
        elif name != "exists":
            known = did_you_mean(str(name), (*field.members, "exists"))
            report(f'"{field.name}" has no "{name}"{known or f"; it has {names}"}', (name,))


def _holds_only_predicates(table: Mapping[str, Json]) -> bool:
    """Return whether a table is compared as a whole, rather than value by value under its names."""
    return table.keys() <= {*PREDICATES, *MODIFIERS}


def _parse_body(value: Json, report: Report) -> Iterator[Condition]:
    match value:
        case str():
            if field := _parse_expression(value, report):
                yield Leaf(field, "holds", True, is_true)
        case Mapping() if value:
            for text, spec in value.items():
                if field := _parse_expression(str(text), _report_below(report, text)):
                    yield from _parse_tests(field, spec, _report_below(report, text))
        case _:
            report(f'"body" expects a JMESPath expression, or a table of them, not {show_value(value)}', ())


def _parse_expression(text: str, report: Report) -> Field | None:
    try:
        return make_expression_field(text)
    except ValueError as error:
        report(str(error), ())
        return None


def require_calls(number: int) -> Condition:
    """Return the condition that an MCP server has had at least `number` calls before."""
    return All(tuple(_parse_tests(_CALLS, {"gte": number}, lambda message, path: None)))


_CALLS = Field("calls of the MCP server", "number", read=lambda call: 0 if call.mcp is None else call.mcp.calls, doc="")


def _parse_tests(field: Field, spec: Json, report: Report) -> Iterator[Condition]:
    if isinstance(spec, Mapping):
        yield from _parse_predicates(field, spec, report)
    elif spec is None:
        report("a value is missing here; to match an absent field, write {exists: false}", ())
    else:
        name = _choose_predicate(field, spec)
        yield from _make_leaf(field, name, table={name: spec}, report=report)


def _choose_predicate(field: Field, spec: Json) -> str:
    if isinstance(spec, list | tuple):
        return "equals" if field.kind == "list" else "in"
    if field.kind == "list":
        return "includes"
    return "glob" if is_pattern(spec) and field.kind in ("text", "json") else "equals"


def _parse_predicates(field: Field, table: Mapping[str, Json], report: Report) -> Iterator[Condition]:
    _check_modifiers(field, table, report)
    names = [name for name in table if name not in MODIFIERS]
    if not names:
        report(f'"{field.name}" needs a predicate, such as {_list_predicates(field)}', ())
    for name in names:
        yield from _make_leaf(field, name, table=table, report=_report_below(report, name))
    _check_absence({name: table[name] for name in names}, report)


def _check_absence(table: Mapping[str, Json], report: Report) -> None:
    """Report what is asked of a field that is to be absent."""
    if table.get("exists") is False and len(table) > 1:
        report('if "exists" is false, nothing else can hold; remove the rest', ("exists",))


def _check_modifiers(field: Field, table: Mapping[str, Json], report: Report) -> None:
    textual = any(PREDICATES[name].textual for name in table if name in PREDICATES)
    for name in MODIFIERS:
        if name not in table:
            continue
        if not isinstance(table[name], bool):
            report(f'"{name}" expects true or false, not {show_value(table[name])}', (name,))
        elif field.kind in ("number", "boolean") or not textual:
            report(f'"{name}" has no effect here, as no text is compared; remove it', (name,))


def _make_leaf(field: Field, name: str, table: Mapping[str, Json], report: Report) -> Iterator[Condition]:
    expected = table[name]
    if misfit := _explain_misfit(field, name, expected):
        report(misfit, ())
        return
    lens = Lens(fold=table.get("ignore_case") is True, squeeze=table.get("ignore_space") is True)
    try:
        test: Test = PREDICATES[name].build(expected, lens)
    except UnfitError as error:
        report(str(error), error.path)
    else:
        leaf = Leaf(field, name, expected, test, lens)
        other = ALTERNATIVES.get(field.name)
        yield leaf if other is None else Either((leaf, Leaf(other, name, expected, test, lens)))


def _explain_misfit(field: Field, name: str, expected: Json) -> str | None:
    if name not in PREDICATES:
        hint = did_you_mean(name, (*PREDICATES, *MODIFIERS))
        return f'unknown predicate "{name}"{hint or _suggest_instead(field, name)}'
    predicate = PREDICATES[name]
    kind = KINDS[field.kind]
    if field.kind not in predicate.kinds:
        instead = '; did you mean "includes"?' if field.kind == "list" and predicate.textual else ""
        return f'"{name}" does not apply to "{field.name}", which is {kind.words}{instead}'
    shape = _SHAPES[predicate.shape]
    if shape.accepts(expected, kind.accepts):
        return _explain_never(field, name, expected)
    if predicate.shape != "value":
        return f'"{name}" expects {shape.words.format(kind=kind.words)}, not {show_value(expected)}'
    quotes = "; put it in quotes" if field.kind == "text" and isinstance(expected, int | float) else ""
    return f'"{field.name}" is {kind.words}, not {show_value(expected)}{quotes}'


def _suggest_instead(field: Field, name: str) -> str:
    if name in GROUPS:
        return f"; put it around the field: {name}: {{{field.name}: ...}}"
    if field.kind == "json":
        return "; to compare an object, use subset: {...} or equals: {...}"
    return f"; choose one of {_list_predicates(field)}"


def _explain_never(field: Field, name: str, expected: Json) -> str | None:
    wanted = expected if name == "in" else [expected] if name == "equals" else []
    for value in wanted:
        if isinstance(value, str) and field.values and value not in field.values and not is_pattern(value):
            return f'"{field.name}" is never {show_value(value)}{suggest(value, field.values)}'
    return None


def _list_predicates(field: Field) -> str:
    return ", ".join(name for name, predicate in PREDICATES.items() if field.kind in predicate.kinds)


def _report_below(report: Report, key: str | int) -> Report:
    return lambda message, path: report(message, (key, *path))


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _are_all(value: Json, accepts: Callable[[Json], bool]) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(accepts, value))


GROUPS: Mapping[str, str] = {
    "any": "at least one of these tables matches",
    "all": "all of these tables match",
    "not": "this table does not match",
}

MODIFIERS: Mapping[str, str] = {
    "ignore_case": "case does not matter",
    "ignore_space": "white space does not matter",
}


class _Kind(Struct, frozen=True):
    """A kind of field: what its values are called, and which values it can be compared with."""

    words: str
    accepts: Callable[[Json], bool]


KINDS: Mapping[str, _Kind] = {
    "text": _Kind("text", _is_text),
    "number": _Kind("a number", is_number),
    "boolean": _Kind("true or false", lambda value: isinstance(value, bool)),
    "list": _Kind("a list of strings", lambda value: value == [] or _are_all(value, _is_text)),
    "json": _Kind("JSON", lambda value: value is not None),
}


class _Shape(Struct, frozen=True):
    """A shape of predicate: the value that it expects, in words and as a check, which gets that of the field's kind."""

    words: str
    accepts: Callable[[Json, Callable[[Json], bool]], bool]


_SHAPES: Mapping[str, _Shape] = {
    "value": _Shape("{kind}", lambda value, fits_kind: fits_kind(value)),
    "values": _Shape("a list of values, each {kind}", _are_all),
    "text": _Shape("text", lambda value, _: _is_text(value)),
    "texts": _Shape("text, or a list of strings", lambda value, _: _is_text(value) or _are_all(value, _is_text)),
    "number": _Shape("a number", lambda value, _: is_number(value)),
    "boolean": _Shape("true or false", lambda value, _: isinstance(value, bool)),
    "elements": _Shape(
        "an element, or a list of elements",
        lambda value, fits_kind: bool(make_tuple(value)) and fits_kind(make_tuple(value)),
    ),
    "length": _Shape(
        f"a number, or a table of {', '.join(LENGTHS)}",
        lambda value, _: is_number(value) or (isinstance(value, Mapping) and bool(value)),
    ),
    "table": _Shape("an object or a list", lambda value, _: isinstance(value, Mapping | list | tuple)),
    "schema": _Shape("a JSON Schema", lambda value, _: isinstance(value, Mapping | bool)),
}

# Fields by the names that providers' APIs use for them.
_FIELD_BY_API_NAME: Mapping[str, str] = {
    **dict.fromkeys(("input", "prompt", "content", "text"), "last_user"),
    "messages": "conversation",
    "instructions": "system",
}
