"""What a test expected of its calls, compared with those that were received; conditions written as Python and YAML."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from mockserver.core.call import Call
from mockserver.core.exchange import ConditionResult
from mockserver.core.json import Json
from mockserver.core.text import plural, truncate
from mockserver.reports.calls import ReceivedCall, call_line, call_list, call_name
from mockserver.reports.diff import by_closeness, condition_lines
from mockserver.rules.match.conditions import Condition

MAX_NEAREST = 3  # calls compared with an expectation
_MAX_LINE = 100  # characters of a rule on one line
_MAX_EXPECTED = 60  # characters of an expectation in a headline
Table = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Expectation:
    """A condition, and the `when` it was compiled from."""

    condition: Condition
    when: Table

    def matches(self, call: Call | None) -> bool:
        """Whether a request matches; one that was not parsed never does."""
        return call is not None and self.condition.holds(call) is not None

    def results(self, call: Call) -> tuple[ConditionResult, ...]:
        """The result of each of its conditions for a request."""
        return self.condition.results(call)

    def __str__(self) -> str:
        return truncate(", ".join(map(field_in_python, self.when, self.when.values())) or "any call", _MAX_EXPECTED)


def too_few(calls: Sequence[ReceivedCall], expected: Expectation, number: str) -> str:
    """The report that fewer calls matched than `number` (such as "at least 1"), with the nearest others."""
    others = [call for call in calls if not expected.matches(call.asked)]
    nearest = by_closeness((call, expected.results(call.asked)) for call in others if call.asked is not None)
    lines = [
        f"expected {number} call{'s' * (number.split()[-1] != '1')}{_with(expected)}, got {len(calls) - len(others)}"
    ]
    for call, results in nearest[:MAX_NEAREST]:
        lines += [f"  {call_line(call)}", *(f"    {line}" for line in condition_lines(results, call.secrets))]
    return "\n".join([*lines, call_list(calls)])


def too_many(calls: Sequence[ReceivedCall], expected: Expectation, number: int) -> str:
    """The report that more calls matched than `number`."""
    head = f"expected {plural(number, 'call') if number else 'no calls'}{_with(expected)}, got {len(calls)}"
    return f"{head}\n{call_list(calls)}"


def wrong_sequence(calls: Sequence[ReceivedCall], steps: Sequence[Expectation]) -> str:
    """Calls aligned with expected steps, so that a missing or an extra call does not shift the others."""
    rows, number = list(_aligned(calls, steps)), 0
    lines = [_first_difference(rows), f"expected {plural(len(steps), 'call')}, received {len(calls)}:"]
    for step, call in rows:
        number += step is not None
        lines += [f"  {line}" for line in _row(number, step, call)]
    return "\n".join(lines)


_Row = tuple[Expectation | None, ReceivedCall | None]


def _row(number: int, step: Expectation | None, call: ReceivedCall | None) -> Iterator[str]:
    if call is None:
        yield f"MISS  {number}. {step}: no call"
    elif step is None:
        yield f"MISS  unexpected: {call_line(call)}"
    else:
        yield f"{'ok   ' if step.matches(call.asked) else 'MISS '} {number}. {call_line(call)}"
        if call.asked is not None and not step.matches(call.asked):
            yield from (f"        {line}" for line in condition_lines(step.results(call.asked), call.secrets))


def _first_difference(rows: Sequence[_Row]) -> str:
    number = 0
    for step, call in rows:
        number += step is not None
        if step is None and call is not None:
            return f"wrong sequence after step {number}: expected no call, got {call_name(call)}"
        if step is not None and (call is None or not step.matches(call.asked)):
            return f"wrong sequence at step {number}: expected {step}, got {call_name(call) if call else 'no call'}"
    return "wrong sequence"


def _aligned(calls: Sequence[ReceivedCall], steps: Sequence[Expectation]) -> Iterator[_Row]:
    """Pairs of step and call, so that a missing or an additional call moves no other."""
    same = [next(at for at, one in enumerate(steps) if one.when == step.when) for step in steps]
    found = [next((at for at, step in enumerate(steps) if step.matches(call.asked)), -1) for call in calls]
    for _, begin, end, first, last in SequenceMatcher(None, same, found, autojunk=False).get_opcodes():
        yield from zip_longest(steps[begin:end], calls[first:last])


def _with(expected: Expectation) -> str:
    return f" with {expected}" if expected.when else ""


def rule_in_python(when: Table, then: Table) -> Iterator[str]:
    """The lines that declare a rule in a test."""
    arguments = [f"{name}={python(value)}" for name, value in _keywords(when).items()]
    line = f"mockserver.on({', '.join(arguments)}){_answer(then)}"
    if len(line) <= _MAX_LINE:
        yield line
    else:
        yield from ("mockserver.on(", *(f"    {argument}," for argument in arguments), f"){_answer(then)}")


def rule_in_yaml(when: Table, then: Table) -> Iterator[str]:
    """The lines of a rule as an item of `rules`."""
    fields = [field_in_yaml(name, value) for name, value in when.items()]
    line = f"- when: {{{', '.join(fields)}}}"
    yield from [line] if len(line) <= _MAX_LINE else ["- when:", *(f"    {field}" for field in fields)]
    yield f"  then: {yaml(then)}"


def field_in_python(name: str, value: Json) -> str:
    """One condition as an argument of `on`: `last_user="hello"`."""
    [(keyword, inner)] = _keywords({name: value}).items()
    return f"{keyword}={python(inner)}"


def field_in_yaml(name: str, value: Json) -> str:
    """One condition as a line of `when`: `last_user: hello`."""
    return f"{name}: {yaml(value)}"


def python(value: Json) -> str:
    """A value as a Python literal."""
    return _literal(value, {True: "True", False: "False", None: "None"}, _quoted)


def yaml(value: Json) -> str:
    """A value as YAML on one line."""
    return _literal(value, {True: "true", False: "false", None: "null"}, _yaml_text)


def _literal(value: Json, constants: Mapping[object, str], text: Callable[[str], str]) -> str:
    match value:
        case bool() | None:
            return constants[value]
        case str():
            return text(value)
        case Mapping():
            pairs = (f"{text(str(name))}: {_literal(inner, constants, text)}" for name, inner in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(_literal(inner, constants, text) for inner in value)}]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    """A text in double quotes, with escapes that Python and YAML share."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(x if x.isprintable() else x.encode("unicode_escape").decode() for x in escaped) + '"'


def _yaml_text(text: str) -> str:
    return text if _BARE.fullmatch(text) and text.lower() not in _YAML_WORDS else _quoted(text)


def _keywords(when: Table) -> dict[str, Json]:
    """A `when` as the arguments of `on`: `param.n` is in a table `param`, `not` is `not_`."""
    found: dict[str, Json] = {}
    for name, value in when.items():
        family, _, inner = name.partition(".")
        if inner:
            found.setdefault(family, {})[inner] = value
        else:
            found["not_" if name == "not" else name] = value
    return found


def _answer(then: Table) -> str:
    if "error" in then:
        return f".fail({python(then['error'])})"
    if "text" in then:
        return f".reply({python(then['text'])})"
    return f".reply({', '.join(f'{name}={python(value)}' for name, value in then.items())})"


_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_YAML_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
