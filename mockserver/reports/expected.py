"""Calls held against what was wanted of them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Protocol

from mockserver.core.call import Call
from mockserver.core.exchange import Finding
from mockserver.engine.nearest import lines, shown

MOST = 20  # calls that are listed


class Came(Protocol):
    """A call that came, as far as this module looks at it."""

    @property
    def number(self) -> int:
        """Its number."""

    @property
    def operation(self) -> str:
        """What was asked for."""

    @property
    def path(self) -> str:
        """Where it went."""

    @property
    def model(self) -> str:
        """The model that was asked."""

    @property
    def last_user(self) -> str:
        """The last thing that the user said."""

    @property
    def source(self) -> str:
        """What answered."""

    @property
    def asked(self) -> Call | None:
        """The request as it was read."""


class Wanted(Protocol):
    """What is wanted of a call."""

    @property
    def when(self) -> Mapping[str, Any]:
        """How it was written."""

    def fits(self, call: Call | None) -> bool:
        """Whether a call is so."""

    def findings(self, call: Call) -> tuple[Finding, ...]:
        """What of it holds for a call, and what does not."""


def listed(calls: Sequence[Came]) -> str:
    """The calls, a line each."""
    if not calls:
        return "no call came"
    return "\n".join([f"{_many(len(calls))} came:", *_lines(calls)])


def line(call: Came) -> str:
    """A call in one line."""
    said = f" {shown(call.last_user)}" if call.last_user else ""
    return f"call {call.number}: {call.operation or call.path} {call.model}{said} -> {call.source or 'open'}"


def too_few(calls: Sequence[Came], wanted: Wanted, number: str) -> str:
    """That fewer calls were so than were wanted, and what the nearest others lack."""
    fitting = sum(wanted.fits(call.asked) for call in calls)
    head = f"wanted {number} of {_when(wanted)}: {_many(fitting)} came"
    others = [call for call in calls if not wanted.fits(call.asked)]
    return "\n".join([head, *_held(others, wanted), listed(calls)])


def any_but(calls: Sequence[Came], wanted: Wanted, number: int) -> str:
    """That more calls were so than were wanted."""
    return f"wanted {number} of {_when(wanted)}: {listed(calls)}"


def not_none(calls: Sequence[Came], wanted: Wanted) -> str:
    """That calls were so, of which there should be none."""
    return f"wanted no call of {_when(wanted)}: {listed(calls)}"


def sequence(calls: Sequence[Came], steps: Sequence[Wanted]) -> str:
    """The calls beside what was wanted of each."""
    told = [f"wanted {_many(len(steps))} in this order: {_many(len(calls))} came"]
    for at, (step, call) in enumerate(zip_longest(steps, calls), 1):
        if call is None:
            told.append(f"MISS  {at}. {_when(step)}: no call")
        elif step is None:
            told.append(f"MISS  {at}. no call: got {line(call)}")
        elif step.fits(call.asked):
            told.append(f"ok    {at}. {line(call)}")
        else:
            told.append(f"MISS  {at}. {line(call)}")
            told += [f"        {line}" for line in lines(step.findings(call.asked) if call.asked else ())]
    return "\n".join(told)


def _held(calls: Sequence[Came], wanted: Wanted) -> Iterator[str]:
    """The calls that come nearest to what is wanted, each with what holds of it."""
    read = [call for call in calls if call.asked is not None]
    for call in sorted(read, key=lambda call: _misses(call, wanted))[:3]:
        yield f"  {line(call)}"
        if call.asked is not None:
            yield from (f"    {line}" for line in lines(wanted.findings(call.asked)))


def _misses(call: Came, wanted: Wanted) -> int:
    return 0 if call.asked is None else sum(not finding.ok for finding in wanted.findings(call.asked))


def _lines(calls: Sequence[Came]) -> Iterator[str]:
    yield from (f"  {line(call)}" for call in calls[:MOST])
    if len(calls) > MOST:
        yield f"  ... and {len(calls) - MOST} more"


def _when(wanted: Wanted) -> str:
    return "a call" if not wanted.when else f"a call with {shown(wanted.when)}"


def _many(number: int) -> str:
    return f"{number} call{'s' * (number != 1)}"
