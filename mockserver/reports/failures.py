"""What a test should fail for, each in one line and in full: rules not asked or failed, budgets that were passed."""

import traceback
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.text import one_line, plural, shown, truncate
from mockserver.engine.memory import LOOK_UPS
from mockserver.reports.calls import MOST, NONE_CAME, REFUSED, Came, line, listed, named, refused, sources
from mockserver.reports.diff import asked, findings, ranked
from mockserver.reports.suggest import change, suggestion
from mockserver.rules.load import Rule, answering
from mockserver.rules.nearest import Near, nearest

MOST_FRAMES = 10  # of a function that failed
WIDE = 100  # characters of a headline


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong: `headline` in one line, cut where it is too wide; `text` in full; `count` of them at once."""

    headline: str
    text: str
    count: int = 1


def problem(headline: str, more: Iterable[str] = (), *, count: int = 1) -> Problem:
    """A problem of a headline, which is cut where it is too wide, and of lines below it."""
    head = truncate(headline, WIDE)
    lines = [f"  {line}" for line in more]
    return Problem(head, "\n".join((headline, *lines)), count)


def told(problems: Sequence[Problem]) -> str:
    """All of it as one text, whose first line is what short reports show."""
    if not problems:
        return ""
    first, *others = problems
    if not others:
        return first.text
    head, _, rest = first.text.partition("\n")
    head = f"{head} (and {sum(each.count for each in others)} more)"
    return "\n\n".join(("\n".join(filter(None, (head, rest))), *(each.text for each in others)))


@dataclass(frozen=True, slots=True)
class Budget:
    """How many calls and tokens a test may take; None: any number."""

    max_calls: int | None = None
    max_tokens: int | None = None

    def passed(self, calls: Sequence[Came]) -> Iterator[Problem]:
        """Which bounds the calls went over, and with which call."""
        if self.max_calls is not None and len(calls) > self.max_calls:
            head = (
                f"{plural(len(calls), 'call')} came, {self.max_calls} may; one too many: {named(calls[self.max_calls])}"
            )
            yield problem(head, _beyond(calls, self.max_calls))
        if self.max_tokens is not None:
            sums = list(_sums(calls))
            over = next((call for call, total in zip(calls, sums, strict=True) if total > self.max_tokens), None)
            if over is not None:
                head = f"{sums[-1]} tokens were used, {self.max_tokens} may be; passed by {named(over)}"
                yield problem(head, _spent(calls, sums, self.max_tokens))


def unmet(rule: Rule, wanted: int, came: int, calls: Sequence[Came]) -> Problem:
    """A rule that answered fewer calls than it was to, and the calls that came nearest to it."""
    head = f"{one_line(rule.where)} was to answer {plural(wanted, 'call')} and answered {came}"
    if not calls:
        return problem(head, [NONE_CAME])
    others = [call for call in calls if rule.source not in sources(call)]
    held = [(call, rule.when.results(call.asked)) for call in others if call.asked is not None]
    told = [] if held else [f"no other call came that it could have answered; {plural(len(calls), 'call')} came in all"]
    for call, found in ranked(held)[:NEAREST]:
        told.append(line(call))
        if all(finding.ok for finding in found):
            told.append("  it would have fit, but what answered it came first")
        told += [f"  {each}" for each in findings(found, call.secrets)]
    if len(held) > NEAREST:
        told.append(f"... and {plural(len(held) - NEAREST, 'other call')}")
    return problem(head, [*told, *refused([call for call in calls if call.source in REFUSED])])


def unanswered(where: str) -> Problem:
    """A rule that was declared without an answer."""
    return problem(f"{where}: this on(...) says no answer; add .reply(...), .fail(...) or .then({{...}})")


def failing(where: str, errors: Sequence[Exception]) -> Problem:
    """A function of a rule that failed, once or several times; the last frames are those of the test."""
    first = errors[0]
    words = shown(str(first))[1:-1] if str(first) else ""
    often = f", {len(errors)} times" if len(errors) > 1 else ""
    name = f"{type(first).__name__}: {words}" if words else type(first).__name__
    return problem(f"{name} in the function of {one_line(where)}{often}", map(one_line, _traceback(first)))


def _beyond(calls: Sequence[Came], allowed: int) -> Iterator[str]:
    """The calls around the first that is one too many."""
    begin = max(0, allowed - MOST // 2)
    for at, call in enumerate(calls[begin : begin + MOST], begin):
        yield f"{'>' if at == allowed else ' '} {line(call)}"
    if len(calls) > begin + MOST:
        yield f"  ... and {len(calls) - begin - MOST} more"


def _sums(calls: Sequence[Came]) -> Iterator[int]:
    total = 0
    for call in calls:
        total += 0 if call.usage is None else call.usage.total
        yield total


def _spent(calls: Sequence[Came], sums: Sequence[int], allowed: int) -> Iterator[str]:
    """What each call took, and all so far."""
    for call, total in list(zip(calls, sums, strict=True))[:MOST]:
        took = 0 if call.usage is None else call.usage.total
        over = f", {total - allowed} too many" if total > allowed else ""
        yield f"{plural(took, 'token')}, {total} so far{over}: {line(call)}"
    if len(calls) > MOST:
        yield f"... and {len(calls) - MOST} more"


def _traceback(error: Exception) -> Iterator[str]:
    """Where an error came from, without the frames of this package; the deepest last."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_HOUSE)]
    for frame in frames[-MOST_FRAMES:]:
        yield f"{_near(frame.filename)}:{frame.lineno}: in {frame.name}"
        yield f"  {(frame.line or '').strip()}"
    yield from "".join(traceback.format_exception_only(error)).splitlines()


def _near(file: str) -> str:
    """A file as people find it from where they are."""
    path, here = Path(file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file


_HOUSE = str(Path(__file__).parents[1])


def beside(calls: Sequence[Came], problems: Sequence[Problem]) -> str:
    """Problems, then the calls that were refused and why, then all calls in a line each, or that none came."""
    return "\n\n".join(filter(None, (told(problems), "\n".join(refused(calls)), listed(calls))))


IN_FULL = 3  # calls that are told in full
NEAREST = 3  # rules that are told of each
_NO_RULE = "no rule answers this request"  # how the server itself begins, where it looked at rules
_NO_EPISODE = "no episode of "
_LONGEST = 500  # letters of a line of what the server said


def unmatched(calls: Sequence[Came], rules: Sequence[Rule]) -> Iterator[Problem]:
    """What to tell of those calls that are unmatched, equal ones once; `rules` are those that there are now.

    A rule that has answered another of the calls is no candidate for a change: that one would be unmatched then.
    """
    used = {source for call in calls for source in sources(call)}
    groups = list(_groups([call for call in calls if call.source == "unmatched"]))
    yield from (_told(group, rules, used) for group in groups[:IN_FULL])
    if more := groups[IN_FULL:]:
        told = list(map(_named, more[:MOST]))
        told += [f"... and {len(more) - MOST} more"] if len(more) > MOST else []
        yield problem(f"nor was there an answer to {len(more)} more:", told, count=len(more))


def _groups(calls: Sequence[Came]) -> Iterator[list[Came]]:
    """Calls that ask for the same and were refused in the same words."""
    groups: dict[object, list[Came]] = {}
    for call in calls:
        same = call.number if call.asked is None else (call.asked.fingerprint, call.asked.stream, call.path)
        groups.setdefault((same, call.error), []).append(call)
    yield from groups.values()


def _told(group: Sequence[Came], rules: Sequence[Rule], used: Container[str]) -> Problem:
    call, who = group[0], _named(group)
    if call.asked is not None and call.error.startswith(_NO_RULE):
        return _no_rule(group, call.asked, rules, used)
    error = call.secrets.text(call.error)
    first, *others = (one_line(line[:_LONGEST]) for line in error.split("\n"))
    told = [] if call.asked is None else list(asked(call.asked, call.secrets))
    if error.startswith(_NO_EPISODE):
        head = f"{first.partition(' answers ')[0]} answers {who}"
        told += [first, *others]
    else:
        head, told = f"no answer to {who}; {first}", [*told, *others]
    if call.operation in LOOK_UPS or (call.asked is not None and call.asked.previous is not None):
        told.append("an answer is kept as long as the test lasts, if it was not asked for with store: false")
    return problem(head, [*told, *_pasted(call, call.asked, lost=True)])


def _no_rule(group: Sequence[Came], what: Call, rules: Sequence[Rule], used: Container[str]) -> Problem:
    """Calls that no rule answered: the nearest rules, then what may be done."""
    call = group[0]
    near, secrets = nearest(answering(call.rules), what, limit=NEAREST), call.secrets
    free = [each for each in near if each.rule.source not in used or each.rule.times is not None]
    changes = [(each, words) for each in free if (words := change(each, what, secrets)) is not None]
    told = list(asked(what, secrets))
    told.append("the nearest rules:" if near else "there are no rules that answer")
    for each in near:
        told.append(f"  {_rule(each.rule)}: {_verdict(each)}")
        told += [f"    {line}" for line in findings(each.results, secrets)]
    if (late := _late(call, what, rules)) is not None:
        told.append(f"{late.where} would have answered it, but was declared after it came")
    else:
        told += [*(words for _, words in changes[:1]), *_pasted(call, what)]
    head = f"no rule answered {_named(group)}; {_nearest(changes[0][0] if changes else next(iter(near), None))}"
    return problem(head, told)


def _late(call: Came, what: Call, rules: Sequence[Rule]) -> Rule | None:
    """A rule that would answer the call, and was not there when it came."""
    tried = set(map(id, call.rules))
    try:
        return next((rule for rule in rules if id(rule) not in tried and rule.when.holds(what) is not None), None)
    except RuleError:  # a pattern that takes too long
        return None


def _pasted(call: Came, what: Call | None, *, lost: bool = False) -> Iterator[str]:
    found = None if what is None else suggestion(what, call.secrets, lost=lost)
    return iter(()) if found is None else found.lines


def _named(group: Sequence[Came]) -> str:
    """Which call, and how often it came."""
    return named(group[0]) + (f", {len(group)} times" if len(group) > 1 else "")


def _nearest(near: Near[Rule] | None) -> str:
    """In a few words, what comes nearest and what it misses."""
    if near is None:
        return "there are no rules"
    missed = dict.fromkeys(one_line(finding.field) for finding in near.results if not finding.ok)
    return f"nearest {one_line(near.where)}: {', '.join(missed) or _used_up(near.rule)}"


def _verdict(near: Near[Rule]) -> str:
    total = len(near.results)
    if near.held == total:
        return f"its conditions hold, but {_used_up(near.rule)}"
    return f"{near.held} of {plural(total, 'condition')} hold{'s' * (total == 1)}"


def _used_up(rule: Rule) -> str:
    if rule.state is not None:
        return f"its state {shown(rule.state.is_)} is another now"
    return f"it has answered its {plural(rule.times, 'call')}" if rule.times is not None else "it was not asked"


def _rule(rule: Rule) -> str:
    return one_line(f"{rule.where} {shown(rule.name)}" if "name" in rule.spec else rule.where)


MAX_UNPLAYED = 10  # runs of numbers that are listed


@dataclass(frozen=True, slots=True)
class Tape:
    """A cassette that was played: its file, how many episodes it held, and the numbers of those that were played."""

    file: str
    size: int
    played: tuple[int, ...]

    @property
    def idle(self) -> tuple[int, ...]:
        """The numbers of the episodes that were not played."""
        return tuple(sorted({*range(1, self.size + 1)} - {*self.played}))


def unplayed(tape: Tape) -> Iterator[Problem]:
    """What a test is told of its cassette, if there is anything to tell."""
    if tape.idle:
        line = f"{_of(tape)}; record it anew (--mockserver-record=all), or see why they are no longer asked for"
        yield Problem(line, line)


def summary(tapes: Iterable[Tape]) -> Iterator[str]:
    """What is told at the end of a run, a line for each cassette; several tests may have played one."""
    every: dict[str, Tape] = {}
    for tape in tapes:
        before = every.get(tape.file, tape)
        every[tape.file] = Tape(tape.file, min(before.size, tape.size), (*before.played, *tape.played))
    yield from (_of(tape) for _, tape in sorted(every.items()) if tape.idle)


def _of(tape: Tape) -> str:
    idle = tape.idle
    return f"{tape.file}: {len(idle)} of {plural(tape.size, 'episode')} not played: {_numbers(idle)}"


def _numbers(numbers: tuple[int, ...]) -> str:
    """Numbers in their order, those that follow each other in short: `#1, #3 to #5`."""
    starts = [numbers[0], *(after for before, after in pairwise(numbers) if after - before > 1)]
    ends = [*(before for before, after in pairwise(numbers) if after - before > 1), numbers[-1]]
    runs = [f"#{start}" + f" to #{end}" * (end > start) for start, end in zip(starts, ends, strict=True)]
    return ", ".join((*runs[:MAX_UNPLAYED], *(("...",) if len(runs) > MAX_UNPLAYED else ())))


# What can be said of a program under a fault; some of it is bad by itself.
OUTCOMES = {
    "recovered": "The app got its answer, at once or after retries.",
    "raised": "The app raised an error; a program exited with a code other than 0.",
    "unaffected": "The fault could not be injected, for example because there is no tool call.",
    "hung": "The app was still waiting at the time limit.",
    "truncated": "The app took an incomplete answer for complete: it neither retried nor raised.",
    "failed": "The app went on, but an assertion failed, or no rule matched its next call.",
    "left_open": "The app ended without closing an open stream.",
    "ignored_retry_after": "The app retried before the advertised wait.",
}
BAD = ("hung", "truncated", "failed", "left_open", "ignored_retry_after")


@dataclass(frozen=True, slots=True)
class Row:
    """One run: of which test (or program), under which fault, whether it asked for a stream, and what it did.

    `outcome` is a word of OUTCOMES, `told` the same for people; `bad`: the run fails for it. `at` is its place among
    those of its test.
    """

    test: str
    fault: str
    asked: str
    outcome: str
    told: str
    bad: bool
    at: int = 0


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of a matrix: each test with its faults, then how many did what."""
    width = max([len(row.fault) for row in rows], default=0)
    ordered = sorted(rows, key=lambda row: (row.test, row.at))
    for test in dict.fromkeys(row.test for row in ordered):
        yield test
        yield from (fault_line(row, width) for row in ordered if row.test == test)
    yield fault_summary(rows)


def fault_line(row: Row, width: int) -> str:
    """A run in one line; `width` is that of the longest name of a fault."""
    return f"  {'BAD' if row.bad else 'ok '}  {row.fault:{width}}  {row.asked:6}  {row.told}"


def fault_summary(rows: Sequence[Row]) -> str:
    """How many runs there were, and what came of them, in one line."""
    counts = Counter(row.outcome for row in rows)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    bad = sum(row.bad for row in rows)
    return f"{plural(len(rows), 'run')}: {told}; {bad or 'none'} bad"
