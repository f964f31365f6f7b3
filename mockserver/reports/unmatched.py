"""Calls that nothing answered: each held against the nearest rules (or episode), with a rule that would answer it."""

from collections.abc import Container, Iterator, Sequence

from mockserver.core.call import Call
from mockserver.core.errors import RuleError
from mockserver.engine.memory import LOOK_UPS
from mockserver.engine.nearest import Near, nearest, plain, shown
from mockserver.engine.rules import Rule, answering
from mockserver.reports.asked import asked, findings
from mockserver.reports.came import MOST, Came, many, named, sources
from mockserver.reports.problems import Problem, problem
from mockserver.reports.suggested import change, suggestion

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
    first, *others = (plain(line[:_LONGEST]) for line in error.split("\n"))
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
        told += [f"    {line}" for line in findings(each.findings, secrets)]
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
    missed = dict.fromkeys(plain(finding.field) for finding in near.findings if not finding.ok)
    return f"nearest {plain(near.where)}: {', '.join(missed) or _used_up(near.rule)}"


def _verdict(near: Near[Rule]) -> str:
    total = len(near.findings)
    if near.held == total:
        return f"its conditions hold, but {_used_up(near.rule)}"
    return f"{near.held} of {total} condition{'s' * (total != 1)} hold{'s' * (total == 1)}"


def _used_up(rule: Rule) -> str:
    if rule.state is not None:
        return f"its state {shown(rule.state.is_)} is another now"
    return f"it has answered its {many(rule.times)}" if rule.times is not None else "it was not asked"


def _rule(rule: Rule) -> str:
    return plain(f"{rule.where} {shown(rule.name)}" if "name" in rule.spec else rule.where)
