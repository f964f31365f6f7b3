"""Rules that would answer a call: a condition of another rule changed, or a rule of its own, ready to be pasted.

Each is tried on the call before it is shown. What is a credential in the call never stands in them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mockserver.cassettes.redaction.redact import Secrets
from mockserver.config.errors import RuleError
from mockserver.core import tool_results
from mockserver.core.call import Call
from mockserver.core.exchange import ConditionResult
from mockserver.core.json import Json, compact
from mockserver.core.plan import DOCUMENTS
from mockserver.core.text import one_line, plural
from mockserver.engine.answer import singles
from mockserver.engine.memory import LOOK_UPS
from mockserver.reports.diff import blurred, is_secret, span_of
from mockserver.reports.expected import field_in_python, field_in_yaml, in_python, in_yaml, python
from mockserver.rules.answer.checks import GENERATIVE
from mockserver.rules.load import Rule
from mockserver.rules.match.parse import compile_when
from mockserver.rules.nearest import Near

LONGEST = 60  # letters of a text that is compared whole
LONGEST_NAME = 200  # letters of a model, a path or an id that is compared whole
_CUT = 40  # letters of each end of a longer one
_LONG_TOOLS = 4  # tools that are all named
_SHORTEST = 3  # letters by which a text is told from others

When = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A rule for one call: when and then, as rules files have them; `tool` might be called instead."""

    when: Mapping[str, Json]
    then: Mapping[str, Json]
    tool: str | None = None

    @property
    def lines(self) -> Iterator[str]:
        """The rule as a test declares it, then as a rules file has it."""
        yield "a rule that answers it, for the test:"
        yield from (f"  {line}" for line in in_python(self.when, self.then))
        if self.tool is not None:
            yield f"  # or have a tool called: .reply(tool_calls=[{python({'name': self.tool, 'arguments': 'auto'})}])"
        yield "or for a rules file:"
        yield from (f"  {line}" for line in in_yaml(self.when, self.then))


def suggestion(call: Call, secrets: Secrets, *, lost: bool = False) -> Suggestion | None:
    """A rule for this call, and for as few others as can be told; `lost`: nobody knows the answer it goes on from."""
    whole, plainly = _exactly(call, secrets, lost=lost), {"operation": call.operation}
    asked = {"model": _name(call.model, secrets), **plainly} if _clean(call.model, secrets) else plainly
    for when in (whole, {**asked, **whole}, asked, plainly):
        if when and _holds(when, call):
            return Suggestion(when, _then(call), _tool(call, secrets))
    return None


def change(near: Near[Rule], call: Call, secrets: Secrets) -> str | None:
    """What to write in a rule that misses by one condition; None where it misses by more, or that is no help."""
    rule, missed, when = near.rule, [finding for finding in near.results if not finding.ok], near.rule.spec.get("when")
    if not missed and rule.times is not None:
        return (
            f"{rule.where} has answered its {plural(rule.times, 'call')}; increase times, or add a rule for later calls"
        )
    if len(missed) != 1 or not isinstance(when, Mapping) or missed[0].field not in when or _is_another(missed[0]):
        return None
    [finding] = missed
    value = None if is_secret(finding) else _instead(finding, when[finding.field], secrets)
    changed = {name: inner for name, inner in when.items() if name != finding.field}
    changed |= {} if value is None else {finding.field: value}
    if not _holds(changed, call):
        return None
    if value is None:
        return f"in {rule.where} leave out {one_line(finding.field)}"
    written = field_in_python if rule.place is not None and rule.place.file.endswith(".py") else field_in_yaml
    return f"in {rule.where} write: {written(finding.field, value)}"


def _is_another(finding: ConditionResult) -> bool:
    """Whether a text has so little in common with what a rule wants that the rule is for something else."""
    return finding.field in _FREE and span_of(finding) is None and not blurred(finding)


def _instead(finding: ConditionResult, stated: Json, secrets: Secrets) -> Json:
    """A condition that what stood there fulfils; None: none at all."""
    actual: Json = finding.actual
    if more := blurred(finding):
        table = stated if isinstance(stated, Mapping) else {finding.predicate: stated}
        return {**table, **dict.fromkeys(more, True)}
    match actual:
        case bool() | int() | float():
            return actual
        case str():
            return _text(actual, secrets)
        case list() | tuple() if finding.field == "tools" and all(_clean(name, secrets) for name in actual):
            return _tools(tuple(actual)) if actual else {"exists": False}
        case Mapping() if len(compact(actual)) <= LONGEST and _clean(compact(actual), secrets):
            return {"equals": actual}
    return None


def _exactly(call: Call, secrets: Secrets, *, lost: bool) -> When:
    """What tells the call from others: what was said last, and in which circumstances."""
    when: When = {}
    if call.operation not in (*GENERATIVE, *DOCUMENTS):
        when["operation"] = call.operation
        if _clean(call.http.path, secrets):
            when["path"] = _name(call.http.path, secrets)
    if lost and call.previous is not None and _clean(call.previous, secrets):
        when["previous_response"] = _name(call.previous, secrets)
    result = tool_results.last(call)
    if result is not None:
        told = {"name": result["name"] and _exact(result["name"]), "text": _text(result["text"], secrets)}
        when["tool_result"] = {name: value for name, value in told.items() if value is not None} or {"exists": True}
        return when
    said = _text(call.last_user, secrets) if call.last_user and len(call.prompts) <= 1 else None
    if said is not None:
        when["last_user"] = said
    if call.tools:
        names = tuple(tool.name for tool in call.tools)
        if call.previous is None:
            when["turn"] = call.turn  # what comes back with a tool's result is another turn
        if all(_clean(name, secrets) for name in names):
            when["tools"] = _tools(names)
    return when


def _tools(names: tuple[str, ...]) -> Json:
    if any("*" in name or "\\" in name for name in names):
        return {"length": len(names)}
    if len(names) > _LONG_TOOLS:
        return {"includes": list(names[:_LONG_TOOLS])}
    return names[0] if len(names) == 1 else list(names)


def _text(text: str, secrets: Secrets) -> Json:
    """A condition for a text: all of it, both ends if it is long, or some of it; None where that is little."""
    found = _pieces(text, secrets)
    if found == [text]:
        return _exact(text) if len(text) <= LONGEST else {"starts_with": _beginning(text), "ends_with": _end(text)}
    ends = {"starts_with": _beginning(found[0]), "ends_with": _end(found[-1])}
    told = {name: piece for name, piece in ends.items() if len(piece) >= _SHORTEST}
    longest = _beginning(max(found, key=len))
    return told or ({"contains": longest} if len(longest) >= _SHORTEST else None)


def _name(text: str, secrets: Secrets) -> Json:
    """A condition for what is mostly short and told from others by its end."""
    return _exact(text) if len(text) <= LONGEST_NAME else _text(text, secrets)


def _beginning(text: str) -> str:
    """The beginning of a text, up to the end of a word."""
    cut = text[:_CUT]
    words = cut.rpartition(" ")[0] if len(text) > _CUT else cut
    return words if len(words) > _CUT // 2 else cut


def _end(text: str) -> str:
    """The end of a text, from the beginning of a word."""
    return _beginning(text[-LONGEST:][::-1])[::-1]


def _pieces(text: str, secrets: Secrets) -> list[str]:
    """The text between its credentials, and between halves of letters, which no file can hold."""
    return _HALF.sub(_GAP, replace(secrets, instead=lambda _: _GAP).text(text)).split(_GAP)


def _clean(text: str, secrets: Secrets) -> bool:
    return _pieces(text, secrets) == [text]


def _exact(text: str) -> Json:
    """A condition for this text alone."""
    return {"equals": text} if "*" in text or "\\" in text else text


def _holds(when: Mapping[str, Json], call: Call) -> bool:
    mistakes = list[str]()
    condition = compile_when(when, lambda message, path: mistakes.append(message))
    calls = singles(call) if len(call.prompts) > 1 else (call,)
    try:
        return not mistakes and all(condition.holds(each) is not None for each in calls)
    except RuleError:  # a pattern that takes too long
        return False


def _tool(call: Call, secrets: Secrets) -> str | None:
    """The tool that might be called: the first, unless one has just given a result."""
    waits = call.tools and tool_results.last(call) is None and call.operation in _WITH_TOOLS
    return call.tools[0].name if waits and _clean(call.tools[0].name, secrets) else None


def _then(call: Call) -> Mapping[str, Json]:
    """An answer of the kind that is asked for."""
    if call.operation in LOOK_UPS:
        return {"error": 404}
    if call.operation == "embeddings":
        return {"embedding": [0.1, 0.2, 0.3]}
    if call.operation == "moderations":
        return {"moderation": {"violence": 0.9}}
    return {"json": {}} if call.response_format in ("json_object", "json_schema") else {"text": "..."}


_WITH_TOOLS = ("chat", "responses")
# Fields that hold what somebody said, in words of their own.
_FREE = frozenset(("last_user", "last_message", "system", "conversation"))
_HALF = re.compile("[\ud800-\udfff]")
_GAP = "\ue000"  # stands in no text that people write
