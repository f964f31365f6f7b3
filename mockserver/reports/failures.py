"""Why a test fails, each reason in one line and in full: unmatched calls, rules not called, exceeded budgets."""

import traceback
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct

from mockserver.config.errors import RuleError
from mockserver.config.spelling import Spelling
from mockserver.core.call import Call
from mockserver.core.text import count_noun, join_to_line, limit_lines, truncate, write_ranges
from mockserver.kinds import LOOK_UPS
from mockserver.reports.calls import (
    MAX_LISTED,
    NO_CALLS,
    REJECTED,
    UNMATCHED,
    ReceivedCall,
    describe_call,
    describe_rejected,
    list_calls,
    list_requests,
    list_sources,
    name_call,
    was_used,
)
from mockserver.reports.diff import describe_request, explain_conditions, sort_by_closeness
from mockserver.reports.suggest import Table, suggest_change, suggest_rule, write_python_field, write_python_rule
from mockserver.rules.lint.remarks import Remark, review
from mockserver.rules.load import Rule, select_answering
from mockserver.rules.match.conditions import Condition
from mockserver.rules.match.fields import read_path_without_mount
from mockserver.rules.nearest import NearMiss, explain_closed, find_nearest, find_unmatched

MAX_IN_FULL = 3  # unmatched calls
MAX_NEAREST = 3  # rules per call, or calls per rule
_MAX_HEADLINE = 100  # characters
_MAX_ERROR_LINE = 500  # characters
_MAX_FRAMES = 10  # of a function that raised
# How the server's own messages begin.
_NO_RULE = "no rule answers this request"
_NO_EPISODE = "no episode of "
_NO_ENDPOINT = "mockserver does not have this endpoint; a rule can answer it"
_PACKAGE = str(Path(__file__).parents[1])


class Problem(Struct, frozen=True):
    """Why a test fails: `headline` on one line, cut; `text` in full; `count`: for how many reasons at once."""

    headline: str
    text: str
    count: int = 1


def make_problem(headline: str, more: Iterable[str] = (), *, count: int = 1) -> Problem:
    """Return a problem with a headline and indented lines below it."""
    text = "\n".join((headline, *(f"  {line}" for line in more)))
    return Problem(truncate(headline, _MAX_HEADLINE), text, count)


def write_failure(problems: Sequence[Problem]) -> str:
    """Return all problems as one text; its first line is what short reports show."""
    if not problems:
        return ""
    first, *others = problems
    head, newline, rest = first.text.partition("\n")
    more = f" (and {sum(each.count for each in others)} more)" if others else ""
    return "\n\n".join((f"{head}{more}{newline}{rest}", *(each.text for each in others)))


def write_server_report(calls: Sequence[ReceivedCall], problems: Sequence[Problem]) -> str:
    refused = "\n".join((*describe_rejected(calls), *_suggest_stub(calls)))
    return "\n\n".join(filter(None, (write_failure(problems), refused, list_calls(calls))))


def _suggest_stub(calls: Sequence[ReceivedCall]) -> Iterator[str]:
    """Yield a rule in Python for the first endpoint that the provider has and its dialect does not."""
    missed = next((call for call in calls if call.source == "invalid" and _NO_ENDPOINT in call.error), None)
    if missed is not None:
        yield "add a rule to the test:"
        when = {"path": read_path_without_mount(missed.unparsed), "method": missed.method}
        yield from (f"  {line}" for line in write_python_rule(when, {"json": {}}))


class Budget(Struct, frozen=True):
    """How many calls and tokens a test may use; None: any number."""

    max_calls: int | None = None
    max_tokens: int | None = None

    def find_exceeded(self, calls: Sequence[ReceivedCall]) -> Iterator[Problem]:
        """Yield the limits that these calls exceed."""
        allowed = self.max_calls
        if allowed is not None and len(calls) > allowed:
            over = name_call(calls[allowed])
            head = f"{count_noun(len(calls), 'call')} received, {allowed} allowed; first one over: {over}"
            yield make_problem(head, _list_around(calls, allowed))
        if self.max_tokens is not None:
            yield from self._check_tokens(calls, self.max_tokens)

    def _check_tokens(self, calls: Sequence[ReceivedCall], allowed: int) -> Iterator[Problem]:
        total = 0
        over = None
        lines = list[str]()
        for call in calls:
            used = 0 if call.usage is None else call.usage.total
            total += used
            over = call if over is None and total > allowed else over
            excess = f", {total - allowed} over" if total > allowed else ""
            lines.append(f"{count_noun(used, 'token')}, {total} so far{excess}: {describe_call(call)}")
        if over is not None:
            head = f"{total} tokens used, {allowed} allowed; exceeded by {name_call(over)}"
            yield make_problem(head, limit_lines(lines, MAX_LISTED))


def count_answers(rule: Rule, calls: Sequence[ReceivedCall]) -> int:
    """Return how many calls, and requests of batches, a rule answered."""
    answered = [call for call in calls if was_used(rule, call)]
    return sum(sum(rule.when.holds(each) is not None for each in list_requests(call)) or 1 for call in answered)


def explain_too_few_answers(
    rule: Rule, expected: int, calls: Sequence[ReceivedCall], uncounted: Sequence[ReceivedCall] = ()
) -> Problem:
    """Return a rule that answered fewer calls than its `times`, and the calls that come nearest to it.

    `uncounted` are requests such as handshakes, which show that the client has found the server.
    """
    others = [call for call in calls if rule.source not in list_sources(call)]
    head = (
        f"{join_to_line(rule.where)} answered {count_answers(rule, calls)} of {count_noun(expected, 'expected call')}"
    )
    if not calls and uncounted:
        listed = limit_lines([describe_call(call) for call in uncounted if call.source not in REJECTED], MAX_LISTED)
        lines = ["no calls received, only requests that do not count:", *listed, *describe_rejected(uncounted)]
        return make_problem(head, lines)
    if not calls:
        return make_problem(head, [NO_CALLS])
    compared = sort_by_closeness((call, rule.when.explain(call.asked)) for call in others if call.asked is not None)
    lines = [] if compared else [f"no other call could match it; {count_noun(len(calls), 'call')} received in total"]
    for call, results in compared[:MAX_NEAREST]:
        lines.append(describe_call(call))
        if all(result.ok for result in results):
            lines.append("  it matches, but another rule answered first")
        lines += [f"  {line}" for line in explain_conditions(results, call.secrets)]
    if len(compared) > MAX_NEAREST:
        lines.append(f"... and {count_noun(len(compared) - MAX_NEAREST, 'other call')}")
    return make_problem(head, [*lines, *describe_rejected([call for call in calls if call.source in REJECTED])])


def find_never_reached(rules: Sequence[Rule]) -> Iterator[Problem]:
    """Yield the first rule that a nameless rule without conditions hides."""
    for remark in review(rules):
        before = remark.before
        if before is not None and "name" not in before.spec and not before.spec["when"]:
            hidden = join_to_line(remark.rule.where)
            head = f"{join_to_line(before.where)}: this rule has no conditions, so {hidden} never answers"
            yield make_problem(head, ['declare it last, or say when it answers, such as on("*hello*")'])
            return


def explain_lost(calls: Sequence[ReceivedCall]) -> Iterator[Problem]:
    """Yield that no call has reached the rules, if all went to paths that the server does not have."""
    if calls and not any(call.operation or call.source not in REJECTED for call in calls):
        yield make_problem("no call reached the rules of this test", list(describe_rejected(calls)))


def explain_unanswerable(remarks: Iterable[Remark]) -> Iterator[Problem]:
    """Return the rules that no request can reach, or not the one that they are for."""
    return (make_problem(f"{join_to_line(remark.rule.where)}: this rule {remark.text}") for remark in remarks)


def find_impossible_answers(calls: Sequence[ReceivedCall]) -> Iterator[Problem]:
    """Return the answers of rules that no model could give, each remark once."""
    return _group_remarks({call: call.answer_remarks for call in calls}, 'if this is intended, set lint="off"')


def find_refused_histories(calls: Sequence[ReceivedCall]) -> Iterator[Problem]:
    """Return the histories that a live provider would refuse, each remark once."""
    return _group_remarks({call: call.history_remarks for call in calls}, 'if this is intended, set replay="off"')


def _group_remarks(remarks: Mapping[ReceivedCall, Sequence[str]], remedy: str) -> Iterator[Problem]:
    found: dict[str, list[ReceivedCall]] = {}
    for call, texts in remarks.items():
        for text in texts:
            found.setdefault(text, []).append(call)
    for text, those in found.items():
        more = f" and {count_noun(len(those) - 1, 'more call')}" if len(those) > 1 else ""
        yield make_problem(join_to_line(text), [f"{describe_call(those[0])}{more}", remedy])


def describe_left_open(calls: Iterable[ReceivedCall]) -> Iterator[str]:
    """Yield the answers that were still being sent when the test ended."""
    for call in calls:
        yield (
            f"the test left an answer open, {describe_call(call)}: read the stream to its end or close it, and wait for"
            " background tasks"
        )


def describe_unrecorded(calls: Iterable[ReceivedCall]) -> Iterator[str]:
    """Yield the answers that could not be recorded, once for each reason."""
    lost: dict[str, list[ReceivedCall]] = {}
    for call in calls:
        if call.row.unrecorded:
            lost.setdefault(call.secrets.mask_text(call.row.unrecorded), []).append(call)
    for why, (first, *others) in lost.items():
        head = f"{len(others) + 1} answers were not recorded, first" if others else "an answer was not recorded,"
        yield f"{head} {describe_call(first)}: {why}"


def explain_no_answer(where: str) -> Problem:
    return make_problem(f"{where}: on(...) has no answer; add .reply(...), .fail(...) or .then({{...}})")


_LONGEST_RAISED = 300  # characters: a mistake in a rule names its place, and what to write instead


def explain_raised(where: str, errors: Sequence[Exception]) -> Problem:
    """Return a rule's function that raised, with the frames of the test."""
    first = errors[0]
    message = f": {join_to_line(truncate(str(first), _LONGEST_RAISED))}" if str(first) else ""
    times = f", {len(errors)} times" if len(errors) > 1 else ""
    head = f"{type(first).__name__}{message} in the function of {join_to_line(where)}{times}"
    return make_problem(head, map(join_to_line, _write_traceback(first)))


def explain_defects(calls: Sequence[ReceivedCall]) -> Iterator[Problem]:
    """Yield why rules, or mockserver itself, failed on calls, each reason once."""
    failed: dict[str, list[ReceivedCall]] = {}
    for call in calls:
        if call.row.defect:
            failed.setdefault(call.defect, []).append(call)
    for defect, those in failed.items():
        times = f", {len(those)} times" if len(those) > 1 else ""
        yield make_problem(f"{join_to_line(defect)}{times}", limit_lines(list(map(describe_call, those)), MAX_LISTED))


def explain_unmatched(calls: Sequence[ReceivedCall], rules: Sequence[Rule]) -> Iterator[Problem]:
    """Yield the unmatched calls, equal ones once; `rules` are those that exist now.

    No change is suggested to a rule that answered another call, which would be unmatched then.
    """
    used = {source for call in calls for source in list_sources(call)}
    lost = [part for call in calls if UNMATCHED in list_sources(call) for part in _split_batch(call)]
    groups = list(_group_equal(lost))
    for group in groups[:MAX_IN_FULL]:
        request = group[0].asked
        if request is not None and (not group[0].error or group[0].error.startswith(_NO_RULE)):
            yield _explain_no_rule(group, request, rules=rules, used=used)
        else:
            yield _explain_unanswered(group)
    if more := groups[MAX_IN_FULL:]:
        yield make_problem(
            f"{len(more)} more unmatched requests:",
            limit_lines(list(map(_name_group, more)), MAX_LISTED),
            count=len(more),
        )


def _split_batch(call: ReceivedCall) -> Iterator[ReceivedCall]:
    """Yield a call, or of a batch its requests that no rule matches."""
    for asked in (None,) if call.asked is None else find_unmatched(call.rules, call.asked):
        yield ReceivedCall(call.row, asked)


def _group_equal(calls: Sequence[ReceivedCall]) -> Iterator[list[ReceivedCall]]:
    groups: dict[object, list[ReceivedCall]] = {}
    for call in calls:
        same = call.number if call.asked is None else (call.asked.fingerprint, call.asked.stream, call.path)
        groups.setdefault((same, call.error), []).append(call)
    yield from groups.values()


def _explain_unanswered(group: Sequence[ReceivedCall]) -> Problem:
    """Return calls for which a cassette or the memory of answers had nothing."""
    call = group[0]
    request = group[0].asked
    error = call.secrets.mask_text(call.error)
    first, *others = (join_to_line(line[:_MAX_ERROR_LINE]) for line in error.split("\n"))
    lines = [] if request is None else list(describe_request(request, call.secrets))
    if error.startswith(_NO_EPISODE):
        head = f"{first.partition(' answers ')[0]} answers {_name_group(group)}"
        lines += [first, *others]
    else:
        head = f"no answer to {_name_group(group)}; {first}"
        lines = [*lines, *others]
    if call.operation in LOOK_UPS or (request is not None and request.previous_response_id is not None):
        lines.append("answers are stored until the test ends, except with store: false")
    return make_problem(head, [*lines, *_suggest_rule_lines(call, lost=True)])


def _explain_no_rule(
    group: Sequence[ReceivedCall], request: Call, rules: Sequence[Rule], used: Container[str]
) -> Problem:
    call = group[0]
    secrets = group[0].secrets
    near = find_nearest(select_answering(call.rules, request), request, limit=MAX_NEAREST)
    free = [each for each in near if each.rule.source not in used or each.rule.times is not None]
    changes = [(each, text) for each in free if (text := suggest_change(each, request, secrets)) is not None]
    lines = [*describe_request(request, secrets), "the nearest rules:" if near else "there are no rules that answer"]
    for each in near:
        verdict = each.describe_verdict(explain_closed(each.rule))
        lines.append(f"  {join_to_line(each.rule.where + each.rule.quoted_name)}: {verdict}")
        lines += [f"    {line}" for line in explain_conditions(each.results, secrets)]
    if (late := _find_declared_later(call, request, rules)) is not None:
        lines.append(f"{late.where} matches, but was declared after this call")
    else:
        lines += [*(text for _, text in changes[:1]), *_suggest_rule_lines(call)]
        if not near:
            lines.append('or, if any answer will do, set unmatched="generate"')
    best = changes[0][0] if changes else next(iter(near), None)
    return make_problem(f"no rule answered {_name_group(group)}; {_describe_nearest(best)}", lines)


def _find_declared_later(call: ReceivedCall, request: Call, rules: Sequence[Rule]) -> Rule | None:
    tried = set(map(id, call.rules))
    try:
        return next((rule for rule in rules if id(rule) not in tried and rule.when.holds(request) is not None), None)
    except RuleError:  # a pattern that takes too long
        return None


def _suggest_rule_lines(call: ReceivedCall, *, lost: bool = False) -> Iterator[str]:
    found = None if call.asked is None else suggest_rule(call.asked, call.secrets, lost=lost)
    return iter(()) if found is None else found.lines


def _name_group(group: Sequence[ReceivedCall]) -> str:
    return name_call(group[0]) + (f", {len(group)} times" if len(group) > 1 else "")


def _describe_nearest(near: NearMiss | None) -> str:
    if near is None:
        return "there are no rules"
    failed = dict.fromkeys(join_to_line(result.field) for result in near.results if not result.ok)
    return f"nearest {join_to_line(near.rule.where)}: {', '.join(failed) or explain_closed(near.rule)}"


def _list_around(calls: Sequence[ReceivedCall], marked: int) -> Iterator[str]:
    begin = max(0, marked - MAX_LISTED // 2)
    for at, call in enumerate(calls[begin : begin + MAX_LISTED], begin):
        yield f"{'>' if at == marked else ' '} {describe_call(call)}"
    if len(calls) > begin + MAX_LISTED:
        yield f"  ... and {len(calls) - begin - MAX_LISTED} more"


def _write_traceback(error: Exception) -> Iterator[str]:
    """Yield where an error was raised, without the frames of this package."""
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
        episodes = f"{len(unplayed)} of {count_noun(self.size, 'episode')} not played"
        return f"{self.file}: {episodes}: {write_ranges(unplayed)}"


def find_unplayed(cassette: PlayedCassette, spelling: Spelling) -> Iterator[Problem]:
    if cassette.unplayed:
        advice = f"re-record it ({spelling.write('record', 'all')}), or find out why they are no longer requested"
        line = f"{cassette}; {advice}"
        yield Problem(line, line)


def summarize_unplayed(cassettes: Iterable[PlayedCassette]) -> Iterator[str]:
    """Yield a line for each cassette of which no test played some episodes."""
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
        """Return whether a request matches; of one that was not parsed, only where it went is known."""
        if call.asked is None and not self.condition.uses <= _KNOWN_OF_ALL:
            return False
        requests = list_requests(call) if call.recalled is None else (call.recalled,)
        return any(self.condition.holds(each) is not None for each in requests)

    def __str__(self) -> str:
        return truncate(", ".join(map(write_python_field, self.when, self.when.values())) or "any call", _MAX_EXPECTED)


_KNOWN_OF_ALL = {"path", "method", "dialect", "operation", "header"}


def explain_too_few(
    calls: Sequence[ReceivedCall], expected: Expectation, number: str, among: Sequence[ReceivedCall] = ()
) -> str:
    """Return the report that fewer calls matched than `number` (such as "at least 1"), with the nearest others.

    `among`: all calls that were received, if `calls` are a selection.
    """
    others = [call for call in calls if not expected.matches(call)]
    nearest = sort_by_closeness(
        (call, expected.condition.explain(call.recalled or call.asked)) for call in others if call.asked is not None
    )
    calls_expected = f"{number} call{'s' * (number.split()[-1] != '1')}{_describe_expected(expected)}"
    lines = [f"expected {calls_expected}, got {len(calls) - len(others)}"]
    for call, results in nearest[:MAX_NEAREST]:
        lines += [f"  {describe_call(call)}", *(f"    {line}" for line in explain_conditions(results, call.secrets))]
    return "\n".join([*lines, list_calls(calls, among)])


def explain_too_many(calls: Sequence[ReceivedCall], expected: Expectation, number: int) -> str:
    most = count_noun(number, "call") if number else "no calls"
    head = f"expected {most}{_describe_expected(expected)}, got {len(calls)}"
    return f"{head}\n{list_calls(calls)}"


def explain_sequence(calls: Sequence[ReceivedCall], steps: Sequence[Expectation]) -> str:
    """Return calls aligned with expected steps, so that a missing or an extra call does not shift the others."""
    rows = list(_align(calls, steps))
    number = 0
    lines = [_find_first_difference(rows), f"expected {count_noun(len(steps), 'call')}, received {len(calls)}:"]
    for step, call in rows:
        number += step is not None
        lines += [f"  {line}" for line in _describe_step(number, step, call)]
    return "\n".join(lines)


_Row = tuple[Expectation | None, ReceivedCall | None]


def _describe_step(number: int, step: Expectation | None, call: ReceivedCall | None) -> Iterator[str]:
    if call is None:
        yield f"MISS  {number}. {step}: no call"
    elif step is None:
        yield f"MISS  unexpected: {describe_call(call)}"
    else:
        yield f"{'ok   ' if step.matches(call) else 'MISS '} {number}. {describe_call(call)}"
        if call.asked is not None and not step.matches(call):
            yield from (
                f"        {line}" for line in explain_conditions(step.condition.explain(call.asked), call.secrets)
            )


def _find_first_difference(rows: Sequence[_Row]) -> str:
    number = 0
    for step, call in rows:
        number += step is not None
        if step is None and call is not None:
            return f"wrong sequence after step {number}: expected no call, got {name_call(call)}"
        if step is not None and (call is None or not step.matches(call)):
            return f"wrong sequence at step {number}: expected {step}, got {name_call(call) if call else 'no call'}"
    return "wrong sequence"


def _align(calls: Sequence[ReceivedCall], steps: Sequence[Expectation]) -> Iterator[_Row]:
    """Yield pairs of step and call, so that a missing or an additional call moves no other."""
    same = [next(at for at, one in enumerate(steps) if one.when == step.when) for step in steps]
    found = [next((at for at, step in enumerate(steps) if step.matches(call)), -1) for call in calls]
    for _, begin, end, first, last in SequenceMatcher(None, same, found, autojunk=False).get_opcodes():
        yield from zip_longest(steps[begin:end], calls[first:last])


def _describe_expected(expected: Expectation) -> str:
    return f" with {expected}" if expected.when else ""
