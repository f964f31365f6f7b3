"""What a program did under a fault: judged by how its run ended, and by the calls that the server saw."""

import os
import re
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal, TypedDict, Unpack

from mockserver.config.errors import ConfigError, Mistake, Place
from mockserver.config.source import Document, did_you_mean
from mockserver.config.types import seconds
from mockserver.core.action import POSITIONS, options
from mockserver.core.exchange import MOST_KEPT
from mockserver.core.json import Json, parsed
from mockserver.delivery.faults import FAULTS
from mockserver.reports.calls import line
from mockserver.reports.failures import BAD, OUTCOMES, Row
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.load import Rule
from mockserver.server.live import compiled
from mockserver.testing.calls import Call
from mockserver.testing.options import table

GRACE = 1.0  # seconds between the two


class HungError(BaseException):
    """Breaks off what waits for something else than its answers. No Exception, so that nobody takes it for an error."""


class Limit:
    """A `with` block that takes no longer than so many seconds.

    Then `let_go` is called, by another thread: it ends the answers that are waited for. What goes on all the same
    gets HungError, if it is the main thread's. `passed` says whether it came to that, `where` at which line it was.
    """

    def __init__(self, seconds: float, let_go: Callable[[], None]) -> None:
        self.seconds, self.passed, self.where = seconds, False, ""
        self._let_go, self._over = let_go, threading.Event()
        self._thread = threading.Thread(target=self._watch, name="mockserver limit", daemon=True)
        self._watched = threading.current_thread()
        self._breaks = _SIGNAL is not None and self._watched is threading.main_thread()
        self._before: object = None

    def __enter__(self) -> "Limit":
        if self._breaks:
            self._before = signal.signal(_SIGNAL, self._break_off)  # type: ignore[arg-type]
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if self._breaks:
            signal.signal(_SIGNAL, self._before)  # type: ignore[arg-type]

    def _watch(self) -> None:
        if self._over.wait(self.seconds):
            return
        self.passed, self.where = True, _at(sys._current_frames().get(self._watched.ident or 0))
        self._let_go()
        if not self._over.wait(GRACE) and self._breaks:
            signal.pthread_kill(self._watched.ident or 0, _SIGNAL)  # type: ignore[arg-type]

    def _break_off(self, number: int, frame: FrameType | None) -> None:
        if not self._over.is_set():
            raise HungError(f"{self.seconds:g} s have passed")


def _at(frame: FrameType | None) -> str:
    """The innermost line of the user's own code that is at work, as `app.py:12`; nothing where there is none."""
    own, here = f"{Path.cwd()}{os.sep}", Path.cwd()
    for each in takewhile(lambda each: _RUNNER not in each.f_code.co_filename, _outwards(frame)):
        file = each.f_code.co_filename
        if file.startswith(own) and not file.startswith(_FOREIGN):
            return f"{Path(file).relative_to(here).as_posix()}:{each.f_lineno}"
    return ""


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


# One that hardly anybody else uses; Windows has no such thing, there it ends with the answers that are let go.
_SIGNAL = getattr(signal, "SIGVTALRM", None) if hasattr(signal, "pthread_kill") else None
_RUNNER = f"{os.sep}_pytest{os.sep}"  # what is further out is no part of a test
_OWN = str(Path(__file__).parents[1] / "_").removesuffix("_")
_FOREIGN = (_OWN, *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


Stated = str | int | Mapping[str, Any]  # cut, "cut@after_tokens=3", "error=429", {"cut": {"after_tokens": 3}}


@dataclass(frozen=True, slots=True)
class Probe:
    """A fault (or `error`) under a name, what a rule's `then` says of it, and the rule; intact has none.

    `at` is its place among all.
    """

    name: str
    kind: str
    then: Mapping[str, Json]
    rule: Rule | None = None
    at: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """Which probes there are to be; nothing said: the usual ones.

    `positions` take the place of the usual ones, for the faults that can have them. Each probe befalls so many `times`
    calls (None: all) of those that are as `when` says.
    """

    faults: Sequence[Stated] = ()
    positions: Sequence[str | Mapping[str, Any]] = ()
    errors: Sequence[Stated] | None = None
    retry_after: float | str | None = 1
    times: int | None = 1
    when: Mapping[str, Json] | None = None

    def probes(self, place: Place) -> tuple[Probe, ...]:
        """First the one without a fault, then the errors, then the faults. Raises ConfigError for what stands there."""
        usual = not self.faults and self.errors is None
        errors = ERRORS if usual else self.errors or ()
        faults = self.faults if self.faults or not usual else tuple(USUAL)
        try:
            made = [*map(self._error, errors), *(probe for stated in faults for probe in self._spread(stated))]
        except ValueError as error:
            raise ConfigError(Mistake(str(error), place)) from None
        unique = {probe.name: probe for probe in made}
        return (INTACT, *self._ruled(tuple(unique.values()), place))

    def _ruled(self, probes: Sequence[Probe], place: Place) -> Iterator[Probe]:
        beside = {"when": dict(self.when or {}), **({} if self.times is None else {"times": self.times})}
        rules = [{"name": probe.name, **beside, "then": probe.then} for probe in probes]
        ready = compiled((Document.at({"rules": rules}, place),), None)
        pairs = enumerate(zip(probes, ready, strict=True), 1)
        return (replace(probe, rule=rule, at=at) for at, (probe, rule) in pairs)

    def _error(self, stated: Stated) -> Probe:
        """An error, with Retry-After where that goes with it."""
        if isinstance(stated, Mapping):
            return Probe(f"error={stated.get('status', stated.get('reason', '?'))}", "error", {"error": dict(stated)})
        said = _scalar(str(stated).removeprefix("error="))
        later = {"retry_after": self.retry_after} if said in _LATER and self.retry_after is not None else {}
        return Probe(f"error={said}", "error", {"error": said, **later})

    def _spread(self, stated: Stated) -> Iterator[Probe]:
        """A fault as it is stated, or at each of its positions where none is."""
        if isinstance(stated, int) or str(stated).startswith("error="):
            yield self._error(stated)
            return
        name, table = _read(stated)
        if table or name not in _ALL:
            yield _fault(name, table)
            return
        places = [place for place in map(_place, self.positions) if _takes(name, place)]
        for usual in places or USUAL.get(name, ({},)):
            yield _fault(name, usual)


def _fault(name: str, table: Mapping[str, Json]) -> Probe:
    told = ",".join(key if value is True else f"{key}={value}" for key, value in table.items())
    return Probe(f"{name}@{told}" if told else name, name, {"faults": [{name: dict(table)} if table else name]})


def _read(stated: str | Mapping[str, Any]) -> tuple[str, Mapping[str, Json]]:
    """The name of a fault and its table. Raises ValueError."""
    if isinstance(stated, str):
        name, _, rest = stated.partition("@")
        return name.strip(), dict(map(_option, rest.split(","))) if rest else {}
    if isinstance(stated, Mapping) and len(stated) == 1:
        ((name, table),) = stated.items()
        if isinstance(name, str) and isinstance(table, Mapping):
            return name, table
    raise ValueError(f'a fault is a name, "cut@after_tokens=3" or {{"cut": {{"after_tokens": 3}}}}, not {stated!r}')


def _option(text: str) -> tuple[str, Json]:
    key, equals, value = text.partition("=")
    return key.strip(), _scalar(value) if equals else True


def _place(stated: str | Mapping[str, Any]) -> Mapping[str, Json]:
    return dict([_option(stated)]) if isinstance(stated, str) else stated


def _takes(name: str, place: Mapping[str, Json]) -> bool:
    """Whether a fault can befall an answer there; what is no position at all is let pass, for the rule to refuse."""
    told = next((each.among for each in options(_ALL[name]) if each.kind == "position"), ())
    return all(key in told or (key not in POSITIONS and told) for key in place)


def _scalar(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text.strip()


INTACT = Probe("intact", "intact", {})
ERRORS = (429, 500, 503)
_LATER = (429, "rate_limit")  # what comes with Retry-After
_ALL: Mapping[str, Any] = {**FAULTS, **ANSWER_FAULTS}

# The usual faults, each where it tells most. What no network and no provider does (events twice or in another order) is
# not among them.
USUAL: Mapping[str, Sequence[Mapping[str, Json]]] = {
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


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended: well, with an error of the program, or with a result that its test does not accept.

    `told` says so for people (the name of an error, the first line of what is not accepted), `names` are those by which
    the error may be expected, `hung` is what it still did when its time was over. `same`: its result is known to be
    what it is without a fault.
    """

    how: Literal["passed", "raised", "failed"]
    told: str = ""
    names: tuple[str, ...] = ()
    hung: str = ""
    same: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a program did: a word of reports.faults.OUTCOMES, the same for people, and what else there is to say."""

    outcome: str
    told: str
    asked: str = ""
    names: tuple[str, ...] = ()
    also: Mapping[str, str] = field(default_factory=dict)  # left_open, ignored_retry_after: each told for people


@dataclass(frozen=True, slots=True)
class Standard:
    """What is held against a program: outcomes that are wanted under a fault, and bad ones that are allowed.

    `expect` goes by the name of a probe or of its fault, and says outcomes or names of errors; where the fault could
    not befall anything it is met.
    """

    expect: Mapping[str, Sequence[str]] = field(default_factory=dict)
    allow: Sequence[str] = ()

    def row(self, test: str, probe: Probe, verdict: Verdict) -> Row:
        """The verdict as a row of the matrix."""
        wanted = self.expect.get(probe.name, self.expect.get(probe.kind))
        bad, told = verdict.outcome in BAD and verdict.outcome not in self.allow, verdict.told
        if wanted is not None and verdict.outcome != "unaffected":
            bad = {verdict.outcome, *verdict.names, *verdict.also}.isdisjoint(wanted)
            told += f"; {' or '.join(wanted)} was expected" if bad else ""
        worse = verdict.also.keys() - {*self.allow, *(wanted or ())}
        told = "; ".join([told, *verdict.also.values()])
        return Row(test, probe.name, verdict.asked, verdict.outcome, told, bad or bool(worse), probe.at)


def judged(probe: Probe, end: End, calls: Sequence[Call]) -> Verdict:
    """What a program did under a probe, whose rule stood before all others."""
    seen = _Seen(calls, [call for call in calls if befell(probe, call)])
    asked = next(iter(seen.bent or calls), None)
    kind = "" if asked is None else "stream" if asked.stream else "plain"
    outcome, told = _outcome(probe, end, seen)
    return Verdict(outcome, told, kind, end.names if outcome == "raised" else (), dict(_besides(end, seen)))


def befell(probe: Probe, call: Call) -> bool:
    """Whether it was a probe that answered a call, or bent its answer."""
    return probe.rule is not None and probe.rule.source in (call.source, *call.modified_by)


@dataclass(frozen=True, slots=True)
class _Seen:
    """All calls, and those that the fault befell."""

    calls: Sequence[Call]
    bent: Sequence[Call]

    def again(self, call: Call) -> Sequence[Call]:
        """The later calls that ask the same as this one, be it of another model."""
        return [each for each in self.calls if each.number > call.number and _same(each, call)]

    @property
    def retries(self) -> int:
        """How often was asked again what the fault befell first."""
        return len(self.again(self.bent[0])) if self.bent else 0


def _same(one: Call, other: Call) -> bool:
    first, second = one.asked, other.asked
    if first is None or second is None or not first.messages:
        return bool(one.body == other.body)
    said = [[(message.role, message.text) for message in call.messages] for call in (first, second)]
    return first.operation == second.operation and said[0] == said[1]


def _outcome(probe: Probe, end: End, seen: _Seen) -> tuple[str, str]:
    """The outcome, and the same for people."""
    often = f", {seen.retries} retr{'y' if seen.retries == 1 else 'ies'}" if seen.retries else ""
    if end.hung:
        return "hung", f"hung: {end.hung}{often}"
    unruled = next((call for call in seen.calls if call.source == "unmatched"), None)
    if unruled is not None:
        return "failed", f"failed: no rule answered {line(unruled)}"
    if end.how == "raised":
        return "raised", f"raised {end.told}{often}"
    short = next((call for call in seen.bent if _is_short(probe, end, call) and not seen.again(call)), None)
    if short is not None and not end.same:
        return "truncated", _taken(short)
    if end.how == "failed":
        return "failed", f"failed: {end.told}{often}"
    why = _unaffected(probe, seen)
    return ("unaffected", f"unaffected: {why}") if why else ("recovered", f"recovered{often}")


def _unaffected(probe: Probe, seen: _Seen) -> str:
    """Why the fault could not befall what was asked for; nothing where it has."""
    if probe.rule is None:
        return ""
    if not seen.calls:
        return "no call came"
    if not seen.bent:
        return "no call is one that it befalls"
    if probe.kind in ANSWER_FAULTS and not any(_CALLS_TOOL.search(call.reply) for call in seen.bent):
        return "the answer calls no tool"
    if probe.kind in _ENDING and all(call.ended == "complete" for call in seen.bent):
        return "the answer ends before that"
    return ""


def _is_short(probe: Probe, end: End, call: Call) -> bool:
    """Whether an answer lacks its end by the fault, and not because the program had enough of it."""
    missed = end.how == "failed" or _waited(call)
    left = probe.kind == "stall" and call.row.ended == "client left" and call.row.size > 0 and missed
    cut = call.row.ended in ("cut short", "disconnected", "reset", "complete")
    empty = call.row.ended == "complete" and not call.row.size  # as it should be: a 204, for one
    if call.status >= 400 or call.row.size > MOST_KEPT or empty or not (left or cut):
        return False
    if call.row.streams:
        return not any(_FINISH.search(frame) for frame in call.frames)
    said = parsed(call.reply.decode("utf-8", "replace"))
    return said is None or (isinstance(said, Mapping) and said.get("error") is not None)


def _waited(call: Call) -> bool:
    """Whether a client waited for more of a stream before it left: one that has enough goes at once."""
    row = call.row
    return row.streams and bool(row.sent) and row.began + row.elapsed - row.sent[-1][0] >= _AT_ONCE


def _taken(call: Call) -> str:
    """That an answer was taken for whole, and what it was."""
    if call.row.ended == "complete":
        return "took a malformed answer for whole"
    how = "given up" if call.row.ended == "client left" else call.row.ended
    return f"took a truncated answer for whole: it was {how}{call.ended.removeprefix(call.row.ended)}"


def _besides(end: End, seen: _Seen) -> Iterator[tuple[str, str]]:
    """What else was bad."""
    still = next((call for call in seen.calls if call.ended == "open"), None)
    if still is not None and not end.hung:
        yield "left_open", f"left the stream of call {still.number} open"
    for call in seen.bent:
        wanted, again = _told_to_wait(call), seen.again(call)
        waited = again[0].row.began - (call.row.began + call.row.elapsed) if wanted and again else wanted
        if waited < wanted * _ALMOST:
            when = "at once" if waited < _AT_ONCE else f"after {waited:.1f} s"
            yield "ignored_retry_after", f"ignored Retry-After: came again {when}, not after {wanted:g} s"
            return


def _told_to_wait(call: Call) -> float:
    """The seconds of an answer's Retry-After."""
    told = next((value for name, value in call.row.reply_headers if name.lower() == "retry-after"), "")
    return float(told) if re.fullmatch(r"\d+(\.\d+)?", told) else 0.0


_AT_ONCE = 0.25  # seconds
_ALMOST = 0.95  # of the time that was told: clocks differ
_ENDING = ("cut", "disconnect", "reset", "stall")
_FINISH = re.compile(r'"finish_reason":\s*"|"type":\s*"response\.(?:completed|incomplete)"')
_CALLS_TOOL = re.compile(rb'"tool_calls":\s*\[|"function_call":\s*\{|"type":\s*"function_call"')


LIMIT = 10.0  # seconds
Wanted = str | type[BaseException]


class Options(TypedDict, total=False):
    """What can be said of a matrix beside its faults. One alone may stand for a list of one."""

    positions: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
    errors: Stated | Sequence[Stated] | None
    retry_after: float | str | None
    times: int | None
    when: Mapping[str, Any] | None
    limit: float | str
    expect: Mapping[str | int, Wanted | Sequence[Wanted]]
    allow: str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The probes, how many seconds each run may take, and what is held against a program."""

    probes: tuple[Probe, ...]
    limit: float
    standard: Standard

    @classmethod
    def of(cls, place: Place, *faults: Stated, **options: Unpack[Options]) -> "Matrix":
        """The matrix that is stated at a place. Raises MockserverError with what is wrong there."""
        stated: dict[str, Any] = {**options}
        unknown = next((name for name in stated if name not in Options.__annotations__), None)
        if unknown is not None:
            hint = did_you_mean(unknown, Options.__annotations__)
            raise ConfigError(Mistake(f'a fault matrix has no option "{unknown}"{hint}', place))
        limit, allow = stated.pop("limit", None), _listed(stated.pop("allow", None) or ())
        stated |= {name: _listed(stated[name]) for name in ("positions", "errors") if stated.get(name) is not None}
        try:
            expect, when = (_table(name, stated.pop(name, None)) for name in ("expect", "when"))
            probes = Choice(faults, when=None if when is None else table(when), **stated).probes(place)
            held = Standard(_expected(expect or {}, probes), _allowed(allow))
            return cls(probes, LIMIT if limit is None else _limit(limit), held)
        except ValueError as error:
            raise ConfigError(Mistake(str(error), place)) from None


def _table(name: str, stated: Any) -> Mapping[Any, Any] | None:
    if stated is None or isinstance(stated, Mapping):
        return stated
    raise ValueError(f"{name} is a table, not {stated!r}")


def _limit(stated: float | str) -> float:
    if limit := seconds(stated):
        return limit
    raise ValueError("limit: a run takes longer than 0 s")


def _expected(stated: Mapping[Any, Any], probes: Sequence[Probe]) -> Mapping[str, tuple[str, ...]]:
    """What is expected, by the name of a probe or of its fault."""
    known, found = {name for probe in probes for name in (probe.name, probe.kind)}, {}
    for key, wanted in stated.items():
        name = f"error={key}" if f"error={key}" in known else str(key)
        if name not in known:
            raise ValueError(f'expect: the matrix has no fault "{name}"{did_you_mean(name, known)}')
        found[name] = tuple(map(_name, _listed(wanted)))
        for each in found[name]:
            if each.islower() and each not in OUTCOMES:  # names of errors begin with a capital
                raise ValueError(f'expect: there is no outcome "{each}"{did_you_mean(each, OUTCOMES)}')
    return found


def _name(wanted: Any) -> str:
    if isinstance(wanted, str | type):
        return wanted if isinstance(wanted, str) else wanted.__name__
    raise ValueError(f"expect: an outcome or an error is wanted, not {wanted!r}")


def _allowed(words: Sequence[str]) -> tuple[str, ...]:
    for word in words:
        if word not in BAD:
            raise ValueError(f'allow: "{word}" is not among what is bad: {", ".join(BAD)}')
    return tuple(words)


def _listed(stated: Any) -> Sequence[Any]:
    alone = isinstance(stated, str | Mapping) or not isinstance(stated, Iterable)
    return [stated] if alone else list(stated)
