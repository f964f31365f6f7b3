"""The fault matrix: which faults a test or a program runs under, and how the outcome of each run is judged."""

import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import ConfigError, Mistake, SourceLocation
from mockserver.config.source import Document, did_you_mean
from mockserver.config.types import parse_seconds
from mockserver.core.action import POSITIONS, options
from mockserver.core.exchange import MOST_KEPT
from mockserver.core.json import Json, try_parse
from mockserver.core.text import align_columns, plural
from mockserver.delivery.faults import FAULTS
from mockserver.reports.calls import ReceivedCall, describe_call
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.load import Rule
from mockserver.server.sources import compile_rules
from mockserver.testing.options import find_test_frames, find_user_line, flatten_when

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
    return f"{plural(len(rows), 'run')}: {totals}; {sum(row.bad for row in rows) or 'none'} bad"


_GRACE = 1.0  # seconds between aborting the answers and interrupting the thread


class HungError(BaseException):
    """Interrupts a thread that hangs. Not an Exception, so that no `except Exception` catches it."""


class TimeLimit:
    """A `with` block with a time limit in seconds.

    At the limit, another thread calls `abort`, which ends the answers that the block waits for. If it still runs
    after that, HungError interrupts it in the main thread. `exceeded` says whether the limit was reached, `where` at
    which line of the user's code.
    """

    def __init__(self, seconds: float, abort: Callable[[], None]) -> None:
        self.seconds = seconds
        self.exceeded = False
        self.where = ""
        self._abort = abort
        self._over = threading.Event()
        self._timer = threading.Thread(target=self._wait, name="mockserver limit", daemon=True)
        self._limited = threading.current_thread()
        self._interrupts = _SIGNAL is not None and self._limited is threading.main_thread()
        self._handler: object = None

    def __enter__(self) -> "TimeLimit":
        if self._interrupts:
            self._handler = signal.signal(_SIGNAL, self._interrupt)  # type: ignore[arg-type]
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._timer.join()
        if self._interrupts:
            signal.signal(_SIGNAL, self._handler)  # type: ignore[arg-type]

    def _wait(self) -> None:
        if self._over.wait(self.seconds):
            return
        frame = sys._current_frames().get(self._limited.ident or 0)
        self.exceeded = True
        self.where = find_user_line(find_test_frames(frame))
        self._abort()
        if not self._over.wait(_GRACE) and self._interrupts:
            signal.pthread_kill(self._limited.ident or 0, _SIGNAL)  # type: ignore[arg-type]

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._over.is_set():
            raise HungError(f"{self.seconds:g} s have passed")


# Hardly anything else uses this signal. Windows has no pthread_kill: there, aborting the answers has to be enough.
_SIGNAL = getattr(signal, "SIGVTALRM", None) if hasattr(signal, "pthread_kill") else None


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


def _make_cases(place: SourceLocation, faults: Sequence[Written], given: Mapping[str, Any]) -> tuple[FaultCase, ...]:
    """Return the cases: first without a fault, then errors, then faults; by default the usual ones."""
    usual = not faults and given.get("errors") is None
    retry_after = given.get("retry_after", 1)
    errors = DEFAULT_ERRORS if usual else _make_list(given.get("errors") or ())
    made = [_make_error_case(error, retry_after) for error in errors]
    positions = [
        dict([_parse_option(each)]) if isinstance(each, str) else each
        for each in _make_list(given.get("positions") or ())
    ]
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
    known = next((each.among for each in options(_ALL[name]) if each.kind == "position"), ())
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
        if call.status >= 400 or row.size > MOST_KEPT or empty or not (left or cut):
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
            cases = _make_cases(place, faults, given)
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
        (outcome, details), also = run.judge(), dict[str, str](run.judge_further())
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
        found[name] = tuple(map(_read_outcome, _make_list(outcomes)))
        for each in found[name]:
            if each.islower() and each not in OUTCOMES:  # names of errors are capitalized
                raise ValueError(f'expect: there is no outcome "{each}"{did_you_mean(each, OUTCOMES)}')
    return found


def _read_outcome(outcome: Any) -> str:
    if isinstance(outcome, str | type):
        return outcome if isinstance(outcome, str) else outcome.__name__
    raise ValueError(f"expect takes an outcome or an error, not {outcome!r}")


def _read_allowed(written: Any) -> tuple[str, ...]:
    words = tuple(_make_list(written))
    for word in words:
        if word not in BAD:
            raise ValueError(f'allow: "{word}" is not one of the bad outcomes: {", ".join(BAD)}')
    return words


def _make_list(value: Any) -> Sequence[Any]:
    single = isinstance(value, str | Mapping) or not isinstance(value, Iterable)
    return [value] if single else list(value)
