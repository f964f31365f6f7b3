"""What a test should fail for, each in one line and in full: rules not asked or failed, budgets that were passed."""

import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mockserver.engine.nearest import plain, shown
from mockserver.engine.rules import Rule
from mockserver.reports.asked import findings, ranked
from mockserver.reports.came import MOST, NONE_CAME, REFUSED, Came, line, many, named, refused, sources

NEAREST = 3  # calls that are held against a rule
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
    head = headline if len(headline) <= WIDE else f"{headline[: WIDE - 1]}…"
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
            head = f"{many(len(calls))} came, {self.max_calls} may; one too many: {named(calls[self.max_calls])}"
            yield problem(head, _beyond(calls, self.max_calls))
        if self.max_tokens is not None:
            sums = list(_sums(calls))
            over = next((call for call, total in zip(calls, sums, strict=True) if total > self.max_tokens), None)
            if over is not None:
                head = f"{sums[-1]} tokens were used, {self.max_tokens} may be; passed by {named(over)}"
                yield problem(head, _spent(calls, sums, self.max_tokens))


def unmet(rule: Rule, wanted: int, came: int, calls: Sequence[Came]) -> Problem:
    """A rule that answered fewer calls than it was to, and the calls that came nearest to it."""
    head = f"{plain(rule.where)} was to answer {many(wanted)} and answered {came}"
    if not calls:
        return problem(head, [NONE_CAME])
    others = [call for call in calls if rule.source not in sources(call)]
    held = [(call, rule.when.findings(call.asked)) for call in others if call.asked is not None]
    told = [] if held else [f"no other call came that it could have answered; {many(len(calls))} came in all"]
    for call, found in ranked(held)[:NEAREST]:
        told.append(line(call))
        if all(finding.ok for finding in found):
            told.append("  it would have fit, but what answered it came first")
        told += [f"  {each}" for each in findings(found, call.secrets)]
    if len(held) > NEAREST:
        told.append(f"... and {many(len(held) - NEAREST, 'other call')}")
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
    return problem(f"{name} in the function of {plain(where)}{often}", map(plain, _traceback(first)))


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
        yield f"{many(took, 'token')}, {total} so far{over}: {line(call)}"
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
