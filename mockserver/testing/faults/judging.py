"""What a program did under a fault: judged by how its run ended, and by the calls that the server saw."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mockserver.core.exchange import MOST_KEPT
from mockserver.core.json_text import parsed
from mockserver.engine.answer_faults import ANSWER_FAULTS
from mockserver.reports.came import line
from mockserver.reports.faults import BAD, Row
from mockserver.testing.calls import Call
from mockserver.testing.faults.probes import Probe


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
    return probe.rule is not None and probe.rule.source in (call.source, *call.bent_by)


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
