"""Remarks on rules that load but may not be as intended, found by reading only the rules.

A rule may never answer because an earlier one matches whenever it does, miss a tool's result because the rule that
calls the tool answers again, name what no MCP server has or a state to which no rule leads, or depend on the order in
which calls arrive. Only certain problems get a remark.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from mockserver.config.source import did_you_mean
from mockserver.config.spelling import FLAGS, Spelling
from mockserver.core.draft import PlayCassette
from mockserver.core.json import Json
from mockserver.core.mcp_server import UPSTREAM, McpChange, McpServer
from mockserver.core.plan import Forward
from mockserver.core.state import START
from mockserver.core.text import show_value
from mockserver.rules.checks import is_for_mcp
from mockserver.rules.load import Rule
from mockserver.rules.match.conditions import All, Condition, Leaf
from mockserver.rules.match.fields import FREE_TEXT
from mockserver.rules.match.index import find_pinned
from mockserver.rules.match.regexes import read_slashed


class Remark(Struct, frozen=True):
    """What may be unintended about a rule; `before` is the earlier rule that causes it, if there is one."""

    rule: Rule
    text: str
    before: Rule | None = None

    @property
    def line(self) -> str:
        """Return it with the place and the name of its rule."""
        return f"{self.rule.where}: rule{self.rule.quoted_name} {self.text}"


def review(rules: Sequence[Rule]) -> tuple[Remark, ...]:
    """Return all remarks on these rules, in the order of the rules."""
    found: list[Remark] = []
    earlier = _EarlierRules(rules)
    rounds = _ToolRounds()
    entered = {rule.state.becomes for rule in rules if rule.state and rule.state.becomes != rule.state.is_}
    for rule in rules:
        if (wider := earlier.find_wider(rule)) is not None:
            found.append(Remark(rule, f"never answers: {_describe_earlier(wider)} matches whenever it does", wider))
        else:
            found += rounds.find_remarks(rule)
            rounds.add(rule)
        found += [Remark(rule, text) for text in _find_slashed(rule.when.leaves)]
        if rule.state and rule.state.is_ not in (START, *entered) and (meant := did_you_mean(rule.state.is_, entered)):
            found.append(Remark(rule, f"needs the state {show_value(rule.state.is_)}, to which no rule leads{meant}"))
        if rule.order_dependence:
            found.append(Remark(rule, f"depends on the order of calls: it uses {', '.join(rule.order_dependence)}"))
        if not rule.counts and all(rule.then.answers):
            earlier.add(rule)
    return tuple(found)


def _find_slashed(leaves: Iterable[Leaf]) -> Iterator[str]:
    """Yield what is odd about texts between slashes: they are compared as they are, slashes and all."""
    for leaf in leaves:
        is_compared = leaf.predicate in ("equals", "glob") and isinstance(leaf.expected, str)
        if is_compared and leaf.field.name in FREE_TEXT and (pattern := read_slashed(leaf.expected)) is not None:
            name = leaf.field.name
            instead = f"{name}: {json.dumps(pattern)}"
            yield f"compares {name} with {show_value(leaf.expected)}, slashes and all; for a pattern, write {instead}"


def find_repeated_calls(rules: Sequence[Rule]) -> Iterator[Remark]:
    """Yield remarks on rules that miss a tool's result because the rule that calls the tool answers again."""
    rounds = _ToolRounds()
    for rule in rules:
        yield from rounds.find_remarks(rule)
        rounds.add(rule)


def _describe_earlier(rule: Rule) -> str:
    return f"the earlier rule{rule.quoted_name} ({rule.where})"


class _Criterion(Struct, frozen=True):
    """One condition of a rule as written: a field and the JSON to compare it with; `text` if that is bare text."""

    field: str
    written: str
    text: str | None = None

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The pattern of a text with wildcards; None without any, or with characters that are special to fnmatch."""
        if self.text is None or "*" not in self.text or set("\\[?") & set(self.text):
            return None
        return _compile_wildcards(self.text)

    def follows_from(self, other: "_Criterion") -> bool:
        """Return whether this holds whenever the other does, as far as their texts show."""
        if self == other:
            return True
        pattern = self.pattern if self.field == other.field else None
        text = other.text
        return pattern is not None and text is not None and not set("*\\") & set(text) and bool(pattern.match(text))


@lru_cache(maxsize=1024)
def _compile_wildcards(text: str) -> re.Pattern[str]:
    return re.compile(translate(text))


def _list_criteria(rule: Rule) -> Iterator[_Criterion]:
    """Yield the conditions of a rule that must all hold: one for each predicate, unless a modifier applies."""
    for field, wanted in (rule.spec.get("when") or {}).items():
        is_plain_table = isinstance(wanted, dict) and not {"ignore_case", "ignore_space"} & set(wanted)
        if is_plain_table and field not in ("tool_result", "body", "not"):
            yield from (_Criterion(field, _write({predicate: value})) for predicate, value in wanted.items())
        else:
            text = wanted if isinstance(wanted, str) and field != "body" else None
            yield _Criterion(field, _write(wanted), text)


def _write(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _do_all_follow(wanted: Iterable[_Criterion], given: Sequence[_Criterion]) -> bool:
    return all(any(criterion.follows_from(other) for other in given) for criterion in wanted)


def _answers_operations_of(general: Rule, special: Rule) -> bool:
    if not any(leaf.implied for leaf in general.when.leaves):
        return True
    operations = find_pinned(special.when, "operation")
    answered = find_pinned(general.when, "operation")
    return operations is not None and answered is not None and operations <= answered


class _EarlierRules:
    """Rules that always answer when they match, each under the criterion that the fewest rules share.

    Comparing each rule with all earlier ones would take too long in files of thousands of rules.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._common = Counter(criterion for rule in rules for criterion in _list_criteria(rule))
        self._unconditional: list[Rule] = []
        self._by_criterion: dict[_Criterion, list[Rule]] = defaultdict(list)
        self._patterns: dict[str, dict[_Criterion, re.Pattern[str]]] = defaultdict(dict)

    def add(self, rule: Rule) -> None:
        rarest = min(_list_criteria(rule), key=lambda criterion: self._common[criterion], default=None)
        if rarest is None:
            self._unconditional.append(rule)
            return
        self._by_criterion[rarest].append(rule)
        if pattern := rarest.pattern:
            self._patterns[rarest.field][rarest] = pattern

    def find_wider(self, rule: Rule) -> Rule | None:
        """Return an earlier rule that matches whenever this one does, as far as their texts show."""
        given = list(_list_criteria(rule))
        candidates = [*self._unconditional]
        for criterion in given:
            candidates += self._by_criterion.get(criterion, ())
        for criterion in given:
            text = criterion.text
            if text is not None and "*" not in text:
                for wildcards, pattern in self._patterns[criterion.field].items():
                    if pattern.match(text):
                        candidates += self._by_criterion[wildcards]
        for other in candidates:
            if _do_all_follow(_list_criteria(other), given) and _answers_operations_of(other, rule):
                return other
        return None


class _Caller(Struct, frozen=True):
    """A rule that calls a tool, and how many of the rules that may take over after the call come before it."""

    rule: Rule
    criteria: Sequence[_Criterion]
    preceding: int


class _ToolRounds:
    """Finds rules that call a tool, and answer again when the client repeats the request with the result."""

    def __init__(self) -> None:
        self._callers: dict[str, list[_Caller]] = defaultdict(list)  # by tool
        self._later: list[Rule] = []  # those that may match the request with the result, but not the first one

    def add(self, rule: Rule) -> None:
        if not all(rule.then.answers):
            return
        if rule.state is not None or any(_CHANGING.match(leaf.field.name) for leaf in rule.when.leaves):
            self._later.append(rule)
        elif rule.times is None and rule.when.uses <= _LASTING:
            for tool in _find_last_tools(rule.spec["then"]):
                self._callers[tool].append(_Caller(rule, list(_list_criteria(rule)), len(self._later)))

    def find_remarks(self, rule: Rule) -> Iterator[Remark]:
        """Yield a remark if this rule needs the result of a tool that an earlier rule takes."""
        if "tool_result" not in rule.when.uses or _may_hold(rule.when, None):
            return
        for tool in self._callers:
            if _may_hold(rule.when, tool) and (caller := self._find_caller(tool, rule)):
                earlier = _describe_earlier(caller)
                why = f"{earlier} calls it, and still matches when the same request comes with the result"
                instead = "put this rule first, or add tool_result: {exists: false} to the earlier one"
                yield Remark(rule, f"misses the result of {show_value(tool)}: {why}; {instead}", caller)
                return

    def _find_caller(self, tool: str, rule: Rule) -> Rule | None:
        wanted = [criterion for criterion in _list_criteria(rule) if criterion.field != "tool_result"]
        for caller in islice(reversed(self._callers[tool]), _MAX_COMPARED):
            if _do_all_follow(wanted, caller.criteria) and _answers_operations_of(rule, caller.rule):
                others = reversed(self._later[: caller.preceding])
                return None if any(_may_hold(other.when, tool) for other in others) else caller.rule
        return None


# Fields that stay the same when a client sends its request again with a tool's result, and fields that change.
_LASTING = frozenset(
    ("dialect", "operation", "path", "method", "model", "stream", "last_user", "system", "tools", "response_format")
)
_CHANGING = re.compile(
    r"tool_|last_message|conversation|turn|body|previous_|images|prompt_tokens|param\.(messages|input|contents)"
)
_MAX_COMPARED = 100


def _find_last_tools(then: Json) -> Sequence[str]:
    """Return the tools whose results end the conversation after an answer, if every such answer calls one."""
    if not isinstance(then, Mapping) or _BREAKING & set(then):
        return ()
    if "steps" in then:
        return _find_last_tools(then["steps"][-1])
    branches = [_find_last_tools(branch["then"]) for branch in then.get("one_of") or ()]
    if branches:
        return [tool for tools in branches for tool in tools] if all(branches) else ()
    calls = then.get("tool_calls") or [part["tool_call"] for part in then.get("parts") or () if "tool_call" in part]
    return [calls[-1]["name"]] if calls else ()


_BREAKING = {"faults", "failed", "finish", "content_filter"}  # clients may not call the tools of such an answer


def _may_hold(condition: Condition, tool: str | None) -> bool:
    """Return whether a condition may hold if the last message is a result of this tool; None means no result."""
    if not isinstance(condition, Leaf):
        return (all if isinstance(condition, All) else any)(_may_hold(part, tool) for part in condition.parts)
    field = condition.field
    if field.family != "tool_result" or (tool is not None and field.name in ("tool_result.text", "tool_result.json")):
        return True
    return bool(condition.test(tool if tool is None or field.name == "tool_result.name" else {"name": tool}))


# Rules that need something outside the rules files.


def find_without_upstream(
    rules: Sequence[Rule], upstreams: Collection[str], spelling: Spelling = FLAGS
) -> Iterator[Remark]:
    """Yield a remark for each rule that forwards what has no upstream, as far as the rule says what it forwards."""
    for rule in rules:
        if not _may_forward(rule.spec["then"]):
            continue
        kind, prefix = ("mcp", UPSTREAM) if is_for_mcp(rule.when) else ("dialect", "")
        named = find_pinned(rule.when, "host") or find_pinned(rule.when, kind) or frozenset()
        names = {f"{prefix}{name}" for name in named if name != "compatible"}  # compatible stands for any of its hosts
        lacking = sorted(names - set(upstreams))
        usable = [name for name in upstreams if name.startswith(UPSTREAM) == bool(prefix)]
        if lacking or (not names and not usable):
            name = lacking[0] if lacking else f"{prefix}NAME" if prefix else "DIALECT"
            written = spelling.write("upstream", {name: "URL"})
            yield Remark(rule, f"forwards, but no upstream is set; set {written}")


def _may_forward(then: Json) -> bool:
    if not isinstance(then, Mapping):
        return False
    inner = [*(then.get("steps") or ()), *(branch["then"] for branch in then.get("one_of") or ())]
    return "forward" in then or any(map(_may_forward, inner))


def find_unserved(rules: Sequence[Rule], servers: Mapping[str, McpServer]) -> Iterator[Remark]:
    """Yield a remark for each rule that names a server, tool, resource or prompt that there is not.

    Without any server there are none, as tests may declare them. What a real server has, to which rules pass calls on
    or whose recordings they play, is not known.
    """
    real = [find_pinned(rule.when, "mcp") for rule in rules if is_for_mcp(rule.when) and _asks_real_server(rule)]
    for rule in rules if servers else ():
        named = find_pinned(rule.when, "mcp")
        if any(named is None or others is None or named & others for others in real):
            continue
        meant = [server for name, server in servers.items() if named is None or name in named]
        known = {"mcp": servers.keys(), **_list_offers(meant)}
        for field, word in _SERVED.items():
            stated = find_pinned(rule.when, field)
            if stated and not stated & known[field]:
                name = str(next(iter(sorted(map(str, stated)))))
                yield Remark(rule, f'never answers: there is no {word} "{name}"{did_you_mean(name, known[field])}')
                break


_SERVED = {"mcp": "MCP server", "tool": "tool", "resource": "resource", "prompt_name": "prompt"}


def _asks_real_server(rule: Rule) -> bool:
    return rule.then.known is not None and isinstance(rule.then.known.outcome, Forward | PlayCassette)


def _list_offers(servers: Iterable[McpServer]) -> dict[str, set[str]]:
    """Return the names of all that servers offer at any time, by the fields of rules."""
    offers: list[McpServer | McpChange] = []
    for server in servers:
        offers += (server, *server.changes)
    return {
        "tool": {tool.name for each in offers for tool in each.tools},
        "resource": {resource.uri for each in offers for resource in each.resources},
        "prompt_name": {prompt.name for each in offers for prompt in each.prompts},
    }
