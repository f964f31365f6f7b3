"""What came: the calls of a test, each with what was asked and what it got, and assertions on them."""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, overload

from mockserver.cassettes.redaction.redact import Secrets, secrets_of
from mockserver.config.errors import ConfigError, Mistake
from mockserver.config.source import Path
from mockserver.core.call import Call as Asked
from mockserver.core.call import Call as CoreCall
from mockserver.core.call import Message, Tool
from mockserver.core.exchange import ConditionResult, Exchange, frames
from mockserver.core.json import Json
from mockserver.core.plan import Usage
from mockserver.reports.calls import Came, line, listed, snapshot, told_by
from mockserver.reports.expected import any_but, not_none, sequence, too_few
from mockserver.rules.load import Rule
from mockserver.rules.match.conditions import Condition
from mockserver.rules.match.parse import compile_when
from mockserver.server.control.calls import attempts
from mockserver.testing.options import When, caller, table

__tracebackhide__ = True  # pytest shows the line of the test instead


@dataclass(frozen=True, slots=True)
class Wanted:
    """A condition, and how it was written."""

    condition: Condition
    when: Mapping[str, Any]

    def fits(self, call: CoreCall | None) -> bool:
        """Whether a call is so; one that was not read is not."""
        return call is not None and self.condition.holds(call) is not None

    def results(self, call: CoreCall) -> tuple[ConditionResult, ...]:
        """What of it holds for a call, and what does not."""
        return self.condition.results(call)


def wanted(when: Mapping[str, Any]) -> Wanted:
    """The condition that keywords state. Raises ConfigError with the line of the test that they stand in."""
    spec: dict[str, Json] = table(when)
    mistakes = list[Mistake]()

    def report(message: str, path: Path) -> None:
        mistakes.append(Mistake(message, caller()))

    condition = compile_when(spec, report)
    if mistakes:
        raise ConfigError(*mistakes)
    return Wanted(condition, spec)


class Assertions:
    """What is wanted of a call is said as in `on(...)`; without it every call will do."""

    @abstractmethod
    def _came(self) -> tuple[Came, ...]:
        """The calls so far."""

    def assert_called(self, **when: Unpack[When]) -> None:
        """At least one call was so."""
        asked = wanted(when)
        came = self._came()
        if not any(asked.fits(call.asked) for call in came):
            raise AssertionError(too_few(came, asked, "at least 1"))

    def assert_called_once(self, **when: Unpack[When]) -> None:
        """Exactly one call was so; there may be others that were not."""
        self.assert_called_times(1, **when)

    def assert_called_times(self, number: int, /, **when: Unpack[When]) -> None:
        """Exactly so many calls were so."""
        asked, came = wanted(when), self._came()
        fitting = [call for call in came if asked.fits(call.asked)]
        if len(fitting) < number:
            raise AssertionError(too_few(came, asked, str(number)))
        if len(fitting) > number:
            raise AssertionError(any_but(fitting, asked, number))

    def assert_called_once_with(self, **when: Unpack[When]) -> None:
        """There was exactly one call, and it was so."""
        came = self._came()
        if len(came) > 1:
            raise AssertionError(any_but(came, wanted({}), 1))
        self.assert_called_times(1, **when)

    def assert_not_called(self, **when: Unpack[When]) -> None:
        """No call was so."""
        asked, came = wanted(when), self._came()
        fitting = [call for call in came if asked.fits(call.asked)]
        if fitting:
            raise AssertionError(not_none(fitting, asked))

    def assert_sequence(self, *steps: str | Mapping[str, Any]) -> None:
        """The calls were these and no others, in this order; each a table as for `on`, or the last user's text."""
        asked = [wanted({"last_user": step} if isinstance(step, str) else step) for step in steps]
        came = self._came()
        fits = len(came) == len(asked) and all(one.fits(call.asked) for one, call in zip(asked, came, strict=True))
        if not fits:
            raise AssertionError(sequence(came, asked))


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call that came: what was asked, and what it got.

    `asked` is the request as it was read, in no provider's shape; None where it was refused before, or is still on its
    way.
    """

    row: Exchange
    asked: Asked | None

    @property
    def number(self) -> int:
        """Its number, from 1, as in the header x-mockserver-call."""
        return self.row.seq

    @property
    def attempt(self) -> int:
        """The client's try: 1 at first; from its retry header, else from repeats."""
        return 1 if self.asked is None else self.asked.attempt

    @property
    def method(self) -> str:
        """GET, POST..."""
        return self.row.method

    @property
    def path(self) -> str:
        """Where it went, without a namespace."""
        return self.row.path

    @property
    def dialect(self) -> str:
        """The dialect that was spoken."""
        return self.row.dialect

    @property
    def operation(self) -> str:
        """What was asked for: chat, responses, models... Empty where nothing stands at its path."""
        return self.row.operation

    @property
    def model(self) -> str:
        """The model that was asked."""
        return self.row.model

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, each message with role, text, tool calls."""
        return () if self.asked is None else self.asked.messages

    @property
    def last_user(self) -> str:
        """The text of the last user message."""
        return "" if self.asked is None else self.asked.last_user

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that were offered."""
        return () if self.asked is None else self.asked.tools

    @property
    def stream(self) -> bool:
        """Whether a stream was asked for."""
        return self.asked is not None and self.asked.stream

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's headers, with names in lower case."""
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.row.headers}

    @property
    def body(self) -> Any:
        """The request's body, parsed; None where it is no JSON."""
        if self.asked is not None:
            return self.asked.raw
        try:
            return json.loads(self.row.body)
        except ValueError:
            return None

    @property
    def source(self) -> str:
        """What answered: `rule tests/test_app.py:12`, `cassette chat.yaml#3`, `generated`, `unmatched`, `invalid`..."""
        return self.row.source

    @property
    def modified_by(self) -> tuple[str, ...]:
        """The rules that only said how the answer goes out."""
        return self.row.modified_by

    @property
    def faults(self) -> tuple[str, ...]:
        """The names of the faults that befell the answer."""
        return self.row.faults

    @property
    def status(self) -> int:
        """The status of the answer; 0 where there is none yet."""
        return self.row.status

    @property
    def reply(self) -> bytes:
        """The body of the answer as far as it has left (and as far as it is kept: 1 MB)."""
        return b"".join(data for _, data in self.row.sent)

    @property
    def frames(self) -> tuple[str, ...]:
        """The data of each event of a stream that has left."""
        return tuple(frame.text for frame in frames(self.row.sent)) if self.row.streams else ()

    @property
    def error(self) -> str:
        """What an answer says that went wrong, in the provider's words; empty where it is no error."""
        return told_by(self.reply) if self.status >= _WRONG else ""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that were there when it came."""
        return tuple(rule for rule in self.row.rules if isinstance(rule, Rule))

    @property
    def secrets(self) -> Secrets:
        """Its credentials, which no report shows."""
        return secrets_of(tuple(self.row.headers), self.row.query, self.row.body)

    @property
    def usage(self) -> Usage | None:
        """The tokens of the answer, where it has such."""
        return self.row.usage

    @property
    def ended(self) -> str:
        """How the answer ended: complete, `client left after 3 frames`, cut short...; open, where it has not."""
        return self.row.ending

    def __repr__(self) -> str:
        return f"<{line(self)}>"


class Calls(Assertions, Sequence[Call]):
    """The calls in order of arrival. What an assertion wants of a call is said as in `on(...)`."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self._calls = tuple(calls)

    @classmethod
    def of_rows(cls, rows: Sequence[Exchange]) -> "Calls":
        """The calls that rows of a journal tell of."""
        tries = attempts(rows)
        return cls(Call(row, _tried(row.call, tries[row.seq])) for row in rows)

    @overload
    def __getitem__(self, at: int) -> Call: ...
    @overload
    def __getitem__(self, at: slice) -> "Calls": ...
    def __getitem__(self, at: int | slice) -> "Call | Calls":
        if isinstance(at, slice):
            return Calls(self._calls[at])
        try:
            return self._calls[at]
        except IndexError:
            raise IndexError(f"there is no call [{at}]; {listed(self._calls)}") from None

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    def __repr__(self) -> str:
        return repr(list(self._calls)) if self._calls else "<no calls>"

    def of(self, fits: Callable[[Call], bool]) -> "Calls":
        """Those of which this holds."""
        return Calls(filter(fits, self._calls))

    def where(self, **when: Unpack[When]) -> "Calls":
        """Those that are as is said."""
        asked = wanted(when)
        return self.of(lambda call: asked.fits(call.asked))

    def snapshot(self) -> str:
        """What was asked, as a stable text for approval tests; ids that vary are numbered."""
        return snapshot(call.asked for call in self._calls if call.asked is not None)

    def _came(self) -> tuple[Call, ...]:
        return self._calls


def _tried(call: Asked | None, attempt: int) -> Asked | None:
    """The call with the try that it is, which is counted only where a rule asks for it."""
    return call if call is None or call.attempt == attempt else replace(call, attempt=attempt)


_WRONG = 400  # the first status that tells of an error
