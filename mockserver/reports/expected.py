"""Calls held against what was wanted of them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Protocol

from mockserver.core.call import Call
from mockserver.core.exchange import ConditionResult
from mockserver.core.json import Json
from mockserver.core.text import plural, truncate
from mockserver.reports.calls import Came, line, listed, named
from mockserver.reports.diff import findings, ranked

WIDE = 100  # characters of a rule on one line
Table = Mapping[str, Json]


def in_python(when: Table, then: Table) -> Iterator[str]:
    """The lines of a rule that a test declares."""
    arguments = [f"{name}={python(value)}" for name, value in _keywords(when).items()]
    answer = _answer(then)
    one = f"mockserver.on({', '.join(arguments)}){answer}"
    if len(one) <= WIDE:
        yield one
    else:
        yield "mockserver.on("
        yield from (f"    {argument}," for argument in arguments)
        yield f"){answer}"


def in_yaml(when: Table, then: Table) -> Iterator[str]:
    """The lines of a rule as an item of `rules`."""
    fields = [f"{name}: {yaml(value)}" for name, value in when.items()]
    one = f"- when: {{{', '.join(fields)}}}"
    if len(one) <= WIDE:
        yield one
    else:
        yield "- when:"
        yield from (f"    {field}" for field in fields)
    yield f"  then: {yaml(then)}"


def field_in_python(name: str, value: Json) -> str:
    """One condition as an argument of `on`: `last_user="hello"`."""
    [(keyword, written)] = _keywords({name: value}).items()
    return f"{keyword}={python(written)}"


def field_in_yaml(name: str, value: Json) -> str:
    """One condition as a line of `when`: `last_user: hello`."""
    return f"{name}: {yaml(value)}"


def python(value: Json) -> str:
    """A value as a literal of Python."""
    return _written(value, {True: "True", False: "False", None: "None"}, _quoted, _quoted)


def yaml(value: Json) -> str:
    """A value as YAML on one line."""
    return _written(value, {True: "true", False: "false", None: "null"}, _scalar, _scalar)


def _written(value: Json, words: Mapping[object, str], text: Callable[[str], str], key: Callable[[str], str]) -> str:
    match value:
        case bool() | None:
            return words[value]
        case str():
            return text(value)
        case Mapping():
            pairs = (f"{key(str(name))}: {_written(inner, words, text, key)}" for name, inner in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(_written(inner, words, text, key) for inner in value)}]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    """A text in double quotes, as Python and YAML both read it."""
    return '"' + "".join(map(_letter, text)) + '"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    return _NAMED.get(letter) or (f"\\u{code:04x}" if code < _WIDE_CODE else f"\\U{code:08x}")


def _scalar(text: str) -> str:
    """A text of YAML: bare where it is a plain word."""
    return text if _BARE.fullmatch(text) and text.lower() not in _WORDS else _quoted(text)


def _keywords(when: Table) -> dict[str, Json]:
    """A `when` as the arguments of `on`: `param.n` stands in a table `param`, `not` is `not_`."""
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


_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WIDE_CODE = 0x10000
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


NEAREST = 3  # calls that are held against what was wanted
BRIEF = 60  # letters of what was wanted
_MOST_ALIGNED = 250_000  # pairs of step and call; of more each is held against its own place

Row = tuple["Wanted | None", Came | None]


class Wanted(Protocol):
    """What is wanted of a call."""

    @property
    def when(self) -> Mapping[str, Any]:
        """How it was written."""

    def fits(self, call: Call | None) -> bool:
        """Whether a call is so."""

    def results(self, call: Call) -> tuple[ConditionResult, ...]:
        """What of it holds for a call, and what does not."""


def too_few(calls: Sequence[Came], wanted: Wanted, number: str) -> str:
    """That fewer calls were so than were wanted, and what the nearest others lack."""
    fitting = sum(wanted.fits(call.asked) for call in calls)
    head = f"wanted {number} call{'s' * (number.split()[-1] != '1')}{_with(wanted)}, got {fitting}"
    others = [call for call in calls if not wanted.fits(call.asked)]
    return "\n".join([head, *_held(others, wanted), listed(calls)])


def any_but(calls: Sequence[Came], wanted: Wanted, number: int) -> str:
    """That more calls were so than were wanted."""
    return f"wanted {plural(number, 'call')}{_with(wanted)}, got {len(calls)}\n{listed(calls)}"


def not_none(calls: Sequence[Came], wanted: Wanted) -> str:
    """That calls were so, of which there should be none."""
    return f"wanted no call{_with(wanted)}, got {len(calls)}\n{listed(calls)}"


def sequence(calls: Sequence[Came], steps: Sequence[Wanted]) -> str:
    """The calls beside what was wanted of each: what is missing and what came besides moves no other."""
    rows = list(_aligned(calls, steps))
    told = [_parting(rows), f"wanted {plural(len(steps), 'call')}, {len(calls)} came:"]
    number = 0
    for step, call in rows:
        number += step is not None
        told += [f"  {text}" for text in _row(number, step, call)]
    return "\n".join(told)


def _row(number: int, step: Wanted | None, call: Came | None) -> Iterator[str]:
    if step is None or call is None:
        yield f"MISS  {number}. {_wish(step)}: no call" if call is None else f"MISS  besides: {line(call)}"
    elif step.fits(call.asked):
        yield f"ok    {number}. {line(call)}"
    else:
        yield f"MISS  {number}. {line(call)}"
        yield from (f"        {text}" for text in _findings(call, step))


def _parting(rows: Sequence[Row]) -> str:
    """Where the calls first part from what was wanted."""
    number = 0
    for step, call in rows:
        number += step is not None
        if step is None and call is not None:
            return f"wrong sequence after step {number}: wanted nothing, got {named(call)}"
        if step is not None and (call is None or not step.fits(call.asked)):
            return f"wrong sequence at step {number}: wanted {_wish(step)}, got {named(call) if call else 'no call'}"
    return "wrong sequence"


def _aligned(calls: Sequence[Came], steps: Sequence[Wanted]) -> Iterator[Row]:
    """Steps and calls side by side, so that as few as can be part."""
    if len(calls) * len(steps) > _MOST_ALIGNED:
        yield from zip_longest(steps, calls)
        return
    fits = [[step.fits(call.asked) for call in calls] for step in steps]
    left = len(steps) + len(calls)
    apart = [[left - at - to for to in range(len(calls) + 1)] for at in range(len(steps) + 1)]
    for at in reversed(range(len(steps))):
        for to in reversed(range(len(calls))):
            both = apart[at + 1][to + 1] + (not fits[at][to])
            apart[at][to] = min(both, 1 + apart[at + 1][to], 1 + apart[at][to + 1])
    yield from _path(calls, steps, fits, apart)


def _path(  # size: two rows, and two tables over both
    calls: Sequence[Came], steps: Sequence[Wanted], fits: Sequence[Sequence[bool]], apart: Sequence[Sequence[int]]
) -> Iterator[Row]:
    at = to = 0
    while at < len(steps) and to < len(calls):
        if apart[at][to] == apart[at + 1][to + 1] + (not fits[at][to]):
            yield steps[at], calls[to]
            at, to = at + 1, to + 1
        elif apart[at][to] == 1 + apart[at + 1][to]:
            yield steps[at], None
            at += 1
        else:
            yield None, calls[to]
            to += 1
    yield from ((step, None) for step in steps[at:])
    yield from ((None, call) for call in calls[to:])


def _held(calls: Sequence[Came], wanted: Wanted) -> Iterator[str]:
    """The calls that come nearest to what is wanted, each with what holds of it."""
    held = ((call, wanted.results(call.asked)) for call in calls if call.asked is not None)
    for call, found in ranked(held)[:NEAREST]:
        yield f"  {line(call)}"
        yield from (f"    {text}" for text in findings(found, call.secrets))


def _findings(call: Came, wanted: Wanted) -> Iterator[str]:
    return iter(()) if call.asked is None else findings(wanted.results(call.asked), call.secrets)


def _with(wanted: Wanted) -> str:
    return f" with {_wish(wanted)}" if wanted.when else ""


def _wish(wanted: Wanted | None) -> str:
    """What is wanted, as it is written in a test."""
    when = {} if wanted is None else wanted.when
    text = ", ".join(field_in_python(name, value) for name, value in when.items()) or "any call"
    return truncate(text, BRIEF)
