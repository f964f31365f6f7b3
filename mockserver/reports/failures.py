"""Why a test fails, each reason in one line and in full: unmatched calls, rules not called, exceeded budgets."""

import traceback
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct

from mockserver.config.errors import RuleError
from mockserver.core.call import Call
from mockserver.core.text import one_line, plural, ranges, shown, truncate, up_to
from mockserver.engine.memory import LOOK_UPS
from mockserver.reports.calls import (
    MAX_LISTED,
    NO_CALLS,
    REJECTED,
    UNMATCHED,
    ReceivedCall,
    call_line,
    call_list,
    call_name,
    rejected,
    requests,
    sources,
)
from mockserver.reports.diff import by_closeness, condition_lines, request_lines
from mockserver.reports.suggest import Table, change, field_in_python, rule_in_python, suggestion
from mockserver.rules.lint.remarks import Remark, review
from mockserver.rules.load import Rule, select_answering
from mockserver.rules.match.conditions import Condition
from mockserver.rules.match.fields import read_path_without_mount
from mockserver.rules.nearest import NearMiss, explain_closed, find_nearest, find_unmatched

MAX_IN_FULL = 3  # unmatched calls
MAX_NEAREST = 3  # rules per call, or calls per rule
_MAX_HEADLINE, _MAX_ERROR_LINE = 100, 500  # characters
_MAX_FRAMES = 10  # of a function that raised
# How the server's own messages begin.
_NO_RULE, _NO_EPISODE = "no rule answers this request", "no episode of "
_NO_ENDPOINT = "mockserver does not have this endpoint; a rule can answer it"
_PACKAGE = str(Path(__file__).parents[1])


class Problem(Struct, frozen=True):
    """Why a test fails: `headline` on one line, cut; `text` in full; `count`: for how many reasons at once."""

    headline: str
    text: str
    count: int = 1


def problem(headline: str, more: Iterable[str] = (), *, count: int = 1) -> Problem:
    """A problem with a headline and indented lines below it."""
    text = "\n".join((headline, *(f"  {line}" for line in more)))
    return Problem(truncate(headline, _MAX_HEADLINE), text, count)


def failure_text(problems: Sequence[Problem]) -> str:
    """All problems as one text; its first line is what short reports show."""
    if not problems:
        return ""
    first, *others = problems
    head, newline, rest = first.text.partition("\n")
    more = f" (and {sum(each.count for each in others)} more)" if others else ""
    return "\n\n".join((f"{head}{more}{newline}{rest}", *(each.text for each in others)))


def server_report(calls: Sequence[ReceivedCall], problems: Sequence[Problem]) -> str:
    refused = "\n".join((*rejected(calls), *_stubs(calls)))
    return "\n\n".join(filter(None, (failure_text(problems), refused, call_list(calls))))


def _stubs(calls: Sequence[ReceivedCall]) -> Iterator[str]:
    """A rule in Python for the first endpoint that the provider has and its dialect does not."""
    missed = next((call for call in calls if call.source == "invalid" and _NO_ENDPOINT in call.error), None)
    if missed is not None:
        yield "add a rule to the test:"
        when = {"path": read_path_without_mount(missed.unparsed), "method": missed.method}
        yield from (f"  {line}" for line in rule_in_python(when, {"json": {}}))


class Budget(Struct, frozen=True):
    """How many calls and tokens a test may use; None: any number."""

    max_calls: int | None = None
    max_tokens: int | None = None

    def exceeded(self, calls: Sequence[ReceivedCall]) -> Iterator[Problem]:
        """The limits that these calls exceed."""
        allowed = self.max_calls
        if allowed is not None and len(calls) > allowed:
            over = call_name(calls[allowed])
            head = f"{plural(len(calls), 'call')} received, {allowed} allowed; first one over: {over}"
            yield problem(head, _around(calls, allowed))
        if self.max_tokens is not None:
            yield from self._tokens(calls, self.max_tokens)

    def _tokens(self, calls: Sequence[ReceivedCall], allowed: int) -> Iterator[Problem]:
        total, over, lines = 0, None, list[str]()
        for call in calls:
            used = 0 if call.usage is None else call.usage.total
            total += used
            over = call if over is None and total > allowed else over
            excess = f", {total - allowed} over" if total > allowed else ""
            lines.append(f"{plural(used, 'token')}, {total} so far{excess}: {call_line(call)}")
        if over is not None:
            head = f"{total} tokens used, {allowed} allowed; exceeded by {call_name(over)}"
            yield problem(head, up_to(lines, MAX_LISTED))


def answers(rule: Rule, calls: Sequence[ReceivedCall]) -> int:
    """How many calls, and requests of batches, a rule answered."""
    answered = [call for call in calls if rule.source in (*sources(call), *call.modified_by)]
    return sum(sum(rule.when.holds(each) is not None for each in requests(call)) or 1 for call in answered)


def too_few_answers(rule: Rule, expected: int, calls: Sequence[ReceivedCall]) -> Problem:
    """A rule that answered fewer calls than its `times`, and the calls that come nearest to it."""
    others = [call for call in calls if rule.source not in sources(call)]
    head = f"{one_line(rule.where)} answered {answers(rule, calls)} of {plural(expected, 'expected call')}"
    if not calls:
        return problem(head, [NO_CALLS])
    compared = by_closeness((call, rule.when.explain(call.asked)) for call in others if call.asked is not None)
    lines = [] if compared else [f"no other call could match it; {plural(len(calls), 'call')} received in total"]
    for call, results in compared[:MAX_NEAREST]:
        lines.append(call_line(call))
        if all(result.ok for result in results):
            lines.append("  it matches, but another rule answered first")
        lines += [f"  {line}" for line in condition_lines(results, call.secrets)]
    if len(compared) > MAX_NEAREST:
        lines.append(f"... and {plural(len(compared) - MAX_NEAREST, 'other call')}")
    return problem(head, [*lines, *rejected([call for call in calls if call.source in REJECTED])])


def never_reached(rules: Sequence[Rule]) -> Iterator[Problem]:
    """The first rule that a nameless rule without conditions hides."""
    for remark in review(rules):
        before = remark.before
        if before is not None and "name" not in before.spec and not before.spec["when"]:
            hidden = one_line(remark.rule.where)
            head = f"{one_line(before.where)}: this rule has no conditions, so {hidden} never answers"
            yield problem(head, ['declare it last, or say when it answers, such as on("*hello*")'])
            return


def unanswerable(remarks: Iterable[Remark]) -> Iterator[Problem]:
    """The rules that no request can reach, or not the one that they are for."""
    return (problem(f"{one_line(remark.rule.where)}: this rule {remark.text}") for remark in remarks)


def impossible_answers(calls: Sequence[ReceivedCall]) -> Iterator[Problem]:
    """The answers of rules that no model could give, each remark once."""
    return _remarked({call: call.answer_remarks for call in calls}, 'if you mean it, set lint="off"')


def refused_histories(calls: Sequence[ReceivedCall]) -> Iterator[Problem]:
    """The histories that a live provider would refuse, each remark once."""
    return _remarked({call: call.history_remarks for call in calls}, 'if you mean it, set replay="off"')


def _remarked(remarks: Mapping[ReceivedCall, Sequence[str]], remedy: str) -> Iterator[Problem]:
    found: dict[str, list[ReceivedCall]] = {}
    for call, texts in remarks.items():
        for text in texts:
            found.setdefault(text, []).append(call)
    for text, those in found.items():
        more = f" and {plural(len(those) - 1, 'more call')}" if len(those) > 1 else ""
        yield problem(one_line(text), [f"{call_line(those[0])}{more}", remedy])


def no_answer(where: str) -> Problem:
    return problem(f"{where}: on(...) has no answer; add .reply(...), .fail(...) or .then({{...}})")


def function_raised(where: str, errors: Sequence[Exception]) -> Problem:
    """A rule's function that raised, with the frames of the test."""
    first = errors[0]
    message = f": {shown(str(first))[1:-1]}" if str(first) else ""
    times = f", {len(errors)} times" if len(errors) > 1 else ""
    head = f"{type(first).__name__}{message} in the function of {one_line(where)}{times}"
    return problem(head, map(one_line, _traceback(first)))


def unmatched(calls: Sequence[ReceivedCall], rules: Sequence[Rule]) -> Iterator[Problem]:
    """The unmatched calls, equal ones once; `rules` are those that exist now.

    No change is suggested to a rule that answered another call, which would be unmatched then.
    """
    used = {source for call in calls for source in sources(call)}
    lost = [part for call in calls if UNMATCHED in sources(call) for part in _without_rule(call)]
    groups = list(_groups(lost))
    for group in groups[:MAX_IN_FULL]:
        request = group[0].asked
        if request is not None and (not group[0].error or group[0].error.startswith(_NO_RULE)):
            yield _no_rule(group, request, rules, used)
        else:
            yield _unanswered(group)
    if more := groups[MAX_IN_FULL:]:
        yield problem(
            f"{len(more)} more unmatched requests:", up_to(list(map(_name, more)), MAX_LISTED), count=len(more)
        )


def _without_rule(call: ReceivedCall) -> Iterator[ReceivedCall]:
    """A call, or of a batch its requests that no rule matches."""
    for asked in (None,) if call.asked is None else find_unmatched(call.rules, call.asked):
        yield ReceivedCall(call.row, asked)


def _groups(calls: Sequence[ReceivedCall]) -> Iterator[list[ReceivedCall]]:
    groups: dict[object, list[ReceivedCall]] = {}
    for call in calls:
        same = call.number if call.asked is None else (call.asked.fingerprint, call.asked.stream, call.path)
        groups.setdefault((same, call.error), []).append(call)
    yield from groups.values()


def _unanswered(group: Sequence[ReceivedCall]) -> Problem:
    """Calls for which a cassette or the memory of answers had nothing."""
    call, request = group[0], group[0].asked
    error = call.secrets.text(call.error)
    first, *others = (one_line(line[:_MAX_ERROR_LINE]) for line in error.split("\n"))
    lines = [] if request is None else list(request_lines(request, call.secrets))
    if error.startswith(_NO_EPISODE):
        head = f"{first.partition(' answers ')[0]} answers {_name(group)}"
        lines += [first, *others]
    else:
        head, lines = f"no answer to {_name(group)}; {first}", [*lines, *others]
    if call.operation in LOOK_UPS or (request is not None and request.previous_response_id is not None):
        lines.append("answers are stored until the test ends, except with store: false")
    return problem(head, [*lines, *_new_rule(call, lost=True)])


def _no_rule(group: Sequence[ReceivedCall], request: Call, rules: Sequence[Rule], used: Container[str]) -> Problem:
    call, secrets = group[0], group[0].secrets
    near = find_nearest(select_answering(call.rules, request), request, limit=MAX_NEAREST)
    free = [each for each in near if each.rule.source not in used or each.rule.times is not None]
    changes = [(each, text) for each in free if (text := change(each, request, secrets)) is not None]
    lines = [*request_lines(request, secrets), "the nearest rules:" if near else "there are no rules that answer"]
    for each in near:
        verdict = each.describe_verdict(explain_closed(each.rule))
        lines.append(f"  {one_line(each.rule.where + each.rule.quoted_name)}: {verdict}")
        lines += [f"    {line}" for line in condition_lines(each.results, secrets)]
    if (late := _declared_later(call, request, rules)) is not None:
        lines.append(f"{late.where} matches, but was declared after this call")
    else:
        lines += [*(text for _, text in changes[:1]), *_new_rule(call)]
    best = changes[0][0] if changes else next(iter(near), None)
    return problem(f"no rule answered {_name(group)}; {_nearest(best)}", lines)


def _declared_later(call: ReceivedCall, request: Call, rules: Sequence[Rule]) -> Rule | None:
    tried = set(map(id, call.rules))
    try:
        return next((rule for rule in rules if id(rule) not in tried and rule.when.holds(request) is not None), None)
    except RuleError:  # a pattern that takes too long
        return None


def _new_rule(call: ReceivedCall, *, lost: bool = False) -> Iterator[str]:
    found = None if call.asked is None else suggestion(call.asked, call.secrets, lost=lost)
    return iter(()) if found is None else found.lines


def _name(group: Sequence[ReceivedCall]) -> str:
    return call_name(group[0]) + (f", {len(group)} times" if len(group) > 1 else "")


def _nearest(near: NearMiss | None) -> str:
    if near is None:
        return "there are no rules"
    failed = dict.fromkeys(one_line(result.field) for result in near.results if not result.ok)
    return f"nearest {one_line(near.rule.where)}: {', '.join(failed) or explain_closed(near.rule)}"


def _around(calls: Sequence[ReceivedCall], marked: int) -> Iterator[str]:
    begin = max(0, marked - MAX_LISTED // 2)
    for at, call in enumerate(calls[begin : begin + MAX_LISTED], begin):
        yield f"{'>' if at == marked else ' '} {call_line(call)}"
    if len(calls) > begin + MAX_LISTED:
        yield f"  ... and {len(calls) - begin - MAX_LISTED} more"


def _traceback(error: Exception) -> Iterator[str]:
    """Where an error was raised, without the frames of this package."""
    here = Path.cwd()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_PACKAGE)]
    for frame in frames[-_MAX_FRAMES:]:
        path = Path(frame.filename)
        file = path.relative_to(here).as_posix() if path.is_relative_to(here) else frame.filename
        yield f"{file}:{frame.lineno}: in {frame.name}"
        yield f"  {(frame.line or '').strip()}"
    yield from "".join(traceback.format_exception_only(error)).splitlines()


class PlayedCassette(Struct, frozen=True):
    """A replayed cassette: its file, how many episodes it has, and the numbers of those that were played."""

    file: str
    size: int
    played: tuple[int, ...]

    @property
    def unplayed(self) -> tuple[int, ...]:
        """The numbers of the episodes that were not played."""
        return tuple(sorted({*range(1, self.size + 1)} - {*self.played}))

    def __str__(self) -> str:
        unplayed = self.unplayed
        episodes = f"{len(unplayed)} of {plural(self.size, 'episode')} not played"
        return f"{self.file}: {episodes}: {ranges(unplayed)}"


def unplayed_episodes(cassette: PlayedCassette) -> Iterator[Problem]:
    if cassette.unplayed:
        advice = "re-record it (--mockserver-record=all), or find out why they are no longer requested"
        line = f"{cassette}; {advice}"
        yield Problem(line, line)


def unplayed_summary(cassettes: Iterable[PlayedCassette]) -> Iterator[str]:
    """A line for each cassette of which no test played some episodes."""
    merged: dict[str, PlayedCassette] = {}
    for one in cassettes:
        before = merged.get(one.file, one)
        merged[one.file] = PlayedCassette(one.file, min(before.size, one.size), (*before.played, *one.played))
    yield from (str(one) for _, one in sorted(merged.items()) if one.unplayed)


_MAX_EXPECTED = 60  # characters of an expectation in a headline


class Expectation(Struct, frozen=True):
    condition: Condition
    when: Table

    def matches(self, call: ReceivedCall) -> bool:
        """Whether a request matches; of one that was not parsed, only where it went is known."""
        if call.asked is None and not self.condition.uses <= _KNOWN_OF_ALL:
            return False
        return any(self.condition.holds(each) is not None for each in requests(call))

    def __str__(self) -> str:
        return truncate(", ".join(map(field_in_python, self.when, self.when.values())) or "any call", _MAX_EXPECTED)


_KNOWN_OF_ALL = {"path", "method", "dialect", "operation", "header"}


def too_few(calls: Sequence[ReceivedCall], expected: Expectation, number: str) -> str:
    """The report that fewer calls matched than `number` (such as "at least 1"), with the nearest others."""
    others = [call for call in calls if not expected.matches(call)]
    nearest = by_closeness((call, expected.condition.explain(call.asked)) for call in others if call.asked is not None)
    lines = [
        f"expected {number} call{'s' * (number.split()[-1] != '1')}{_with(expected)}, got {len(calls) - len(others)}"
    ]
    for call, results in nearest[:MAX_NEAREST]:
        lines += [f"  {call_line(call)}", *(f"    {line}" for line in condition_lines(results, call.secrets))]
    return "\n".join([*lines, call_list(calls)])


def too_many(calls: Sequence[ReceivedCall], expected: Expectation, number: int) -> str:
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
        yield f"{'ok   ' if step.matches(call) else 'MISS '} {number}. {call_line(call)}"
        if call.asked is not None and not step.matches(call):
            yield from (f"        {line}" for line in condition_lines(step.condition.explain(call.asked), call.secrets))


def _first_difference(rows: Sequence[_Row]) -> str:
    number = 0
    for step, call in rows:
        number += step is not None
        if step is None and call is not None:
            return f"wrong sequence after step {number}: expected no call, got {call_name(call)}"
        if step is not None and (call is None or not step.matches(call)):
            return f"wrong sequence at step {number}: expected {step}, got {call_name(call) if call else 'no call'}"
    return "wrong sequence"


def _aligned(calls: Sequence[ReceivedCall], steps: Sequence[Expectation]) -> Iterator[_Row]:
    """Pairs of step and call, so that a missing or an additional call moves no other."""
    same = [next(at for at, one in enumerate(steps) if one.when == step.when) for step in steps]
    found = [next((at for at, step in enumerate(steps) if step.matches(call)), -1) for call in calls]
    for _, begin, end, first, last in SequenceMatcher(None, same, found, autojunk=False).get_opcodes():
        yield from zip_longest(steps[begin:end], calls[first:last])


def _with(expected: Expectation) -> str:
    return f" with {expected}" if expected.when else ""
