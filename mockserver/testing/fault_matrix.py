"""The fault matrix: what came of each run of a test or a program under a fault, and whether that is good."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from msgspec import Struct

from mockserver.config.errors import ConfigError, Mistake, SourceLocation
from mockserver.config.source import did_you_mean
from mockserver.config.types import parse_seconds
from mockserver.core.json import try_parse
from mockserver.core.row import MAX_KEPT
from mockserver.core.text import align_columns, count_noun
from mockserver.delivery.faults import FAULTS
from mockserver.reports.calls import ReceivedCall, describe_call
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.testing.fault_cases import FaultCase, Written, make_cases, make_list

# What a program does under a fault.
OUTCOMES = {
    "recovered": "The app got its answer, at once or after retries.",
    "raised": "The app raised an error; a program exited with a code other than 0.",
    "unaffected": "The fault changed nothing, for example because there is no tool call.",
    "hung": "The app was still waiting at the time limit.",
    "truncated": "The app took an incomplete answer for complete: it neither retried nor raised.",
    "failed": "The app went on, but an assertion failed, or no rule matched its next call.",
    "left_open": "The app ended without closing an open stream.",
    "ignored_retry_after": "The app retried before the advertised wait.",
}
BAD = ("hung", "truncated", "failed", "left_open", "ignored_retry_after")


class FaultRow(Struct, frozen=True):
    """One run of the matrix: its test (or program) and fault, `asked`: stream or plain, and what happened.

    `outcome` is a key of OUTCOMES, `details` the same in more words; a `bad` one fails the run. `at` is its place among
    the rows of its test.
    """

    test: str
    fault: str
    asked: str
    outcome: str
    details: str
    bad: bool
    at: int = 0


def write_matrix(rows: Sequence[FaultRow]) -> Iterator[str]:
    """Yield the matrix as lines: each test with its faults, then the totals."""
    width = max([len(row.fault) for row in rows], default=0)
    ordered = sorted(rows, key=lambda row: (row.test, row.at))
    for test in dict.fromkeys(row.test for row in ordered):
        yield test
        yield from write_rows([row for row in ordered if row.test == test], width)
    yield write_totals(rows)


def write_rows(rows: Sequence[FaultRow], width: int) -> Iterator[str]:
    """Return a line for each run; `width` is the length of the longest name of a fault."""
    verdict = {True: "  BAD", False: "  ok "}
    return align_columns([(verdict[row.bad], row.fault.ljust(width), f"{row.asked:6}", row.details) for row in rows])


def write_totals(rows: Sequence[FaultRow]) -> str:
    """Return how many runs had which outcome."""
    counts = Counter(row.outcome for row in rows)
    totals = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    return f"{count_noun(len(rows), 'run')}: {totals}; {sum(row.bad for row in rows) or 'none'} bad"


class RunResult(Struct, frozen=True):
    """How a run ended: it passed, raised an error, or failed an assertion.

    `details` is the error or the assertion in short, `names` are those by which the error can be expected, `hung` is
    what it was doing at the time limit. `same`: whether its result is the same as without a fault, if that is known.
    """

    how: Literal["passed", "raised", "failed"]
    details: str = ""
    names: tuple[str, ...] = ()
    hung: str = ""
    same: bool | None = None


class FaultVerdict(NamedTuple):
    """One of OUTCOMES, and the same with details."""

    outcome: str
    details: str


class _Run(Struct, frozen=True):
    """A run under a case, its calls, and those hit by the fault."""

    case: FaultCase
    result: RunResult
    calls: Sequence[ReceivedCall]
    hit: Sequence[ReceivedCall]

    def find_retries(self, call: ReceivedCall) -> Sequence[ReceivedCall]:
        """Return the later calls with the same request, even to another model."""
        return [each for each in self.calls if each.number > call.number and _is_same_call(each, call)]

    def judge(self) -> FaultVerdict:
        """Say what came of the run in the first place."""
        result = self.result
        retries = len(self.find_retries(self.hit[0])) if self.hit else 0
        after = f", {retries} retr{'y' if retries == 1 else 'ies'}" if retries else ""
        if result.hung:
            return FaultVerdict("hung", f"hung: {result.hung}{after}")
        unmatched = next((call for call in self.calls if call.source == "unmatched"), None)
        if unmatched is not None:
            return FaultVerdict("failed", f"failed: no rule answered {describe_call(unmatched)}")
        if result.how == "raised":
            return FaultVerdict("raised", f"raised {result.details}{after}")
        short = next((call for call in self.hit if self._is_truncated(call) and not self.find_retries(call)), None)
        if short is not None and not result.same:
            return FaultVerdict("truncated", _describe_accepted(short))
        if result.how == "failed":
            return FaultVerdict("failed", f"failed: {result.details}{after}")
        if why := self._explain_unaffected():
            return FaultVerdict("unaffected", f"unaffected: {why}")
        differs = ", but its output differs" if result.same is False else ""
        return FaultVerdict("recovered", f"recovered{after}{differs}")

    def judge_further(self) -> Iterator[FaultVerdict]:
        """Yield what came of it besides."""
        still = next((call for call in self.calls if call.ended == "open"), None)
        if still is not None and not self.result.hung:
            yield FaultVerdict("left_open", f"left the stream of call {still.number} open")
        for call in self.hit:
            advertised = _retry_after(call)
            retries = self.find_retries(call)
            waited = (
                retries[0].row.began - (call.row.began + call.row.elapsed) if advertised and retries else advertised
            )
            if waited < advertised * _ALMOST:
                when = "at once" if waited < _AT_ONCE else f"after {waited:.1f} s"
                details = f"ignored Retry-After: retried {when}, not after {advertised:g} s"
                yield FaultVerdict("ignored_retry_after", details)
                return

    def _explain_unaffected(self) -> str:
        """Return why the fault could not be injected; empty if it was."""
        if self.case.rule is None:
            return ""
        if not self.hit:
            return "no call matches" if self.calls else "no calls received"
        if self.case.kind in ANSWER_FAULTS and not any(_CALLS_TOOL.search(call.reply) for call in self.hit):
            return "the answer has no tool call"
        if self.case.kind in _ENDING and all(call.ended == "complete" for call in self.hit):
            return "the answer ended before the fault"
        if self.case.kind in FAULTS and all(call.row.unaffected for call in self.hit):
            return "the answer has nothing that the fault changes"
        return ""

    def _is_truncated(self, call: ReceivedCall) -> bool:
        """Return whether an answer lacks its end because of the fault, not because the program stopped reading."""
        row = call.row
        missed = self.result.how == "failed" or _has_waited(call)
        left = self.case.kind == "stall" and row.ended == "client left" and row.size > 0 and missed
        cut = row.ended in ("cut short", "disconnected", "reset", "complete")
        empty = row.ended == "complete" and not row.size  # a 204, for one
        if call.status >= 400 or row.size > MAX_KEPT or empty or not (left or cut):
            return False
        if row.streams:
            return not any(_FINISH.search(frame) for frame in call.frames)
        said = try_parse(call.reply.decode("utf-8", "replace"))
        return said is None or (isinstance(said, Mapping) and said.get("error") is not None)


def _is_same_call(one: ReceivedCall, other: ReceivedCall) -> bool:
    first = one.asked
    second = other.asked
    if first is None or second is None or not first.messages:
        return bool(one.body == other.body)
    texts = [[(message.role, message.text) for message in call.messages] for call in (first, second)]
    return first.operation == second.operation and texts[0] == texts[1]


def _has_waited(call: ReceivedCall) -> bool:
    """Return whether a client waited for more of a stream; one that stops reading leaves at once."""
    row = call.row
    return row.streams and bool(row.sent) and row.began + row.elapsed - row.sent[-1][0] >= _AT_ONCE


def _describe_accepted(call: ReceivedCall) -> str:
    if call.row.ended == "complete":
        return "accepted a malformed answer"
    how = "abandoned" if call.row.ended == "client left" else call.row.ended
    return f"accepted a truncated answer, {how}{call.ended.removeprefix(call.row.ended)}"


def _retry_after(call: ReceivedCall) -> float:
    value = next((value for name, value in call.row.reply_headers if name.lower() == "retry-after"), "")
    return float(value) if re.fullmatch(r"\d+(\.\d+)?", value) else 0.0


_AT_ONCE = 0.25  # seconds
_ALMOST = 0.95  # of the advertised time: clocks differ
_ENDING = ("cut", "disconnect", "reset", "stall")
# In the words of every dialect.
_FINISH = re.compile(
    r'"(?:finish_reason|stop_reason|finishReason|blockReason)":\s*"|"type":\s*"response\.(?:completed|incomplete)"|'
    r'"done":\s*true'
)
_CALLS_TOOL = re.compile(
    rb'"tool_calls":\s*\[|"function_?[cC]all":\s*\{|"type":\s*"(?:function_call|custom_tool_call|tool_use)"'
)


DEFAULT_LIMIT = 10.0  # seconds
Outcome = str | type[BaseException]


class MatrixOptions(TypedDict, total=False):
    """The options of a matrix besides its faults; a single item is short for a list of one."""

    positions: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
    errors: Written | Sequence[Written] | None
    retry_after: float | str | None
    times: int | None
    when: Mapping[str, Any] | None
    limit: float | str
    expect: Mapping[str | int, Outcome | Sequence[Outcome]]
    allow: str | Sequence[str]


class FaultMatrix(Struct, frozen=True):
    """The cases, the time limit of each run in seconds, and which outcomes are good.

    `expect` maps names of cases or faults to outcomes or names of errors; a fault that was not injected meets it.
    `allow`: bad outcomes that are accepted.
    """

    cases: tuple[FaultCase, ...]
    limit: float = DEFAULT_LIMIT
    expect: Mapping[str, Sequence[str]] = {}
    allow: Sequence[str] = ()

    @classmethod
    def declare(cls, place: SourceLocation, *faults: Written, **options: Unpack[MatrixOptions]) -> "FaultMatrix":
        """Return the matrix declared at a place. Raises MockserverError with that place."""
        given: dict[str, Any] = {**options}
        try:
            for name in given:
                if name not in MatrixOptions.__annotations__:
                    hint = did_you_mean(name, MatrixOptions.__annotations__)
                    raise ValueError(f'a fault matrix has no option "{name}"{hint}')
                if name in ("expect", "when") and not isinstance(given[name], Mapping | None):
                    raise ValueError(f"{name} must be a table, not {given[name]!r}")
            limit = given.get("limit")
            cases = make_cases(place, faults, given)
            expect = _read_expected(given.get("expect") or {}, cases)
            return cls(
                cases,
                DEFAULT_LIMIT if limit is None else _read_limit(limit),
                expect,
                _read_allowed(given.get("allow") or ()),
            )
        except ValueError as error:
            raise ConfigError(Mistake(str(error), place)) from None

    def make_row(self, test: str, case: FaultCase, result: RunResult, calls: Sequence[ReceivedCall]) -> FaultRow:
        """Return the row for a run under a case, whose rule was tried before all others."""
        source = None if case.rule is None else case.rule.source
        run = _Run(
            case, result, calls=calls, hit=[call for call in calls if source in (call.source, *call.modified_by)]
        )
        outcome, details = run.judge()
        also = dict[str, str](run.judge_further())
        expected = self.expect.get(case.name, self.expect.get(case.kind))
        bad = outcome in BAD and outcome not in self.allow
        if expected is not None and outcome != "unaffected":
            bad = {outcome, *also, *(result.names if outcome == "raised" else ())}.isdisjoint(expected)
            details += f"; expected {' or '.join(expected)}" if bad else ""
        bad = bad or bool(also.keys() - {*self.allow, *(expected or ())})
        first = next(iter(run.hit or calls), None)
        asked = "" if first is None else "stream" if first.stream else "plain"
        return FaultRow(
            test,
            case.name,
            asked=asked,
            outcome=outcome,
            details="; ".join([details, *also.values()]),
            bad=bad,
            at=case.at,
        )


def _read_limit(written: float | str) -> float:
    if limit := parse_seconds(written):
        return limit
    raise ValueError("limit must be more than 0 s")


def _read_expected(written: Mapping[Any, Any], cases: Sequence[FaultCase]) -> Mapping[str, tuple[str, ...]]:
    """Return the expected outcomes, by the name of a case or of its fault."""
    known = {name for case in cases for name in (case.name, case.kind)}
    found = {}
    for key, outcomes in written.items():
        name = f"error={key}" if f"error={key}" in known else str(key)
        if name not in known:
            raise ValueError(f'expect: the matrix has no fault "{name}"{did_you_mean(name, known)}')
        found[name] = tuple(map(_read_outcome, make_list(outcomes)))
        for each in found[name]:
            if each.islower() and each not in OUTCOMES:  # names of errors are capitalized
                raise ValueError(f'expect: there is no outcome "{each}"{did_you_mean(each, OUTCOMES)}')
    return found


def _read_outcome(outcome: Any) -> str:
    if isinstance(outcome, str | type):
        return outcome if isinstance(outcome, str) else outcome.__name__
    raise ValueError(f"expect takes an outcome or an error, not {outcome!r}")


def _read_allowed(written: Any) -> tuple[str, ...]:
    words = tuple(make_list(written))
    for word in words:
        if word not in BAD:
            raise ValueError(f'allow: "{word}" is not one of the bad outcomes: {", ".join(BAD)}')
    return words
