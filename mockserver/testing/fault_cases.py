"""The cases of a fault matrix: which faults and errors a test or a program runs under, each as a rule."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import SourceLocation
from mockserver.config.source import Document, suggest
from mockserver.core.action import POSITIONS, list_options
from mockserver.core.json import Json
from mockserver.delivery.faults import FAULTS
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.load import Rule
from mockserver.server.sources import compile_rules
from mockserver.testing.options import flatten_when

Written = str | int | Mapping[str, Any]  # cut, "cut@after_tokens=3", "error=429", {"cut": {"after_tokens": 3}}


class FaultCase(Struct, frozen=True):
    """A fault (or an error) by name, its `then`, and the rule that injects it; the intact case has none.

    `at` is its place in the matrix.
    """

    name: str
    kind: str
    then: Mapping[str, Json]
    rule: Rule | None = None
    at: int = 0


def make_cases(place: SourceLocation, faults: Sequence[Written], given: Mapping[str, Any]) -> tuple[FaultCase, ...]:
    """Return the cases: first without a fault, then errors, then faults; by default the usual ones.

    `given` are options of the matrix: `errors`, `positions`, `retry_after`, `times` and `when`. Raises ValueError.
    """
    usual = not faults and given.get("errors") is None
    retry_after = given.get("retry_after", 1)
    errors = DEFAULT_ERRORS if usual else make_list(given.get("errors") or ())
    made = [_make_error_case(error, retry_after) for error in errors]
    positions = [
        dict([_parse_option(each)]) if isinstance(each, str) else each
        for each in make_list(given.get("positions") or ())
    ]
    for position in positions:
        if POSITIONS.keys().isdisjoint(position):
            word = str(next(iter(position), ""))
            raise ValueError(f'there is no position "{word}"{suggest(word, POSITIONS)}')
    for fault in tuple(DEFAULT_FAULTS) if usual else faults:
        if isinstance(fault, int) or str(fault).startswith("error="):
            made.append(_make_error_case(fault, retry_after))
        else:
            made += _make_fault_cases(fault, positions)
    cases = tuple({case.name: case for case in made}.values())
    times = given.get("times", 1)
    common = {"when": flatten_when(given.get("when") or {}), **({} if times is None else {"times": times})}
    written = [{"name": case.name, **common, "then": case.then} for case in cases]
    rules = compile_rules((Document.from_place({"rules": written}, place),), None)
    pairs = enumerate(zip(cases, rules, strict=True), 1)
    return (INTACT, *(replace(case, rule=rule, at=at) for at, (case, rule) in pairs))


def make_list(value: Any) -> Sequence[Any]:
    """Return the items of an iterable; a text, a table or any other value is the only item."""
    single = isinstance(value, str | Mapping) or not isinstance(value, Iterable)
    return [value] if single else list(value)


def _make_error_case(error: Written, retry_after: float | str | None) -> FaultCase:
    if isinstance(error, Mapping):
        return FaultCase(f"error={error.get('status', error.get('reason', '?'))}", "error", {"error": dict(error)})
    code = _parse_scalar(str(error).removeprefix("error="))
    later = {"retry_after": retry_after} if code in _RATE_LIMIT and retry_after is not None else {}
    return FaultCase(f"error={code}", "error", {"error": code, **later})


def _make_fault_cases(fault: str | Mapping[str, Any], positions: Sequence[Mapping[str, Json]]) -> Iterator[FaultCase]:
    """Yield a fault with its options, or without any at each of its positions."""
    name, options = _parse_fault(fault)
    if options or name not in _ALL:
        places: Sequence[Mapping[str, Json]] = [options]
    else:
        places = [each for each in positions if _supports(name, each)] or DEFAULT_FAULTS.get(name, ({},))
    for place in places:
        written = ",".join(key if value is True else f"{key}={value}" for key, value in place.items())
        then: Json = {"faults": [{name: dict(place)} if place else name]}
        yield FaultCase(f"{name}@{written}" if written else name, name, then)


def _parse_fault(fault: str | Mapping[str, Any]) -> tuple[str, Mapping[str, Json]]:
    """Return the name of a fault and its options. Raises ValueError."""
    if isinstance(fault, str):
        name, _, rest = fault.partition("@")
        return name.strip(), dict(map(_parse_option, rest.split(","))) if rest else {}
    if isinstance(fault, Mapping) and len(fault) == 1:
        ((name, table),) = fault.items()
        if isinstance(name, str) and isinstance(table, Mapping):
            return name, table
    raise ValueError(f'a fault is a name, "cut@after_tokens=3" or {{"cut": {{"after_tokens": 3}}}}, not {fault!r}')


def _parse_option(text: str) -> tuple[str, Json]:
    key, equals, value = text.partition("=")
    return key.strip(), _parse_scalar(value) if equals else True


def _supports(name: str, position: Mapping[str, Json]) -> bool:
    known = next((each.among for each in list_options(_ALL[name]) if each.kind == "position"), ())
    return all(key in known or (key not in POSITIONS and known) for key in position)


def _parse_scalar(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text.strip()


INTACT = FaultCase("intact", "intact", {})
DEFAULT_ERRORS = (429, 500, 503)
_RATE_LIMIT = (429, "rate_limit")
_ALL: Mapping[str, Any] = {**FAULTS, **ANSWER_FAULTS}

# Without duplicated and reordered events, which do not occur in practice, and checksums, which few streams have.
DEFAULT_FAULTS: Mapping[str, Sequence[Mapping[str, Json]]] = {
    "stall": ({"at_start": True}, {"after_tokens": 1}),
    "disconnect": ({"at_start": True}, {"after_tokens": 1}),
    "reset": ({"at_start": True}, {"after_tokens": 1}),
    "cut": ({"after_tokens": 1}, {"before_done": True}, {"in_tool_arguments": True}),
    "empty_body": ({},),
    "error_event": ({"after_tokens": 1},),
    "malformed_json": ({"after_tokens": 1},),
    "wrong_content_type": ({},),
    "wrong_content_length": ({},),
    "slow": ({"bytes_per_second": 10_000},),
    "keepalive": ({},),
    "crlf": ({},),
    "split_frame": ({},),
    "split_utf8": ({},),
    "join_frames": ({},),
    "missing_field": ({},),
    "drop_usage": ({},),
    "bad_tool_arguments": ({},),
    "unknown_tool": ({},),
}
