"""Loads rules files: checks and compiles them, and reports all mistakes at once. Lints rules that may be unintended."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from mockserver.config.errors import RuleError, SourceLocation
from mockserver.config.source import Document, Mistakes, raise_if_any
from mockserver.config.timing import PROFILES, Profiles
from mockserver.config.validation_errors import validated
from mockserver.config.yaml_reader import collector_at_rest
from mockserver.core.action import Faults
from mockserver.core.call import OTHER, Call
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.protocols import Precondition, times_counter
from mockserver.core.text import shown
from mockserver.rules.answer.checks import (
    Known,
    check_features,
    check_operations,
    check_when,
    for_its_operations,
    is_stub,
    purposes_of,
)
from mockserver.rules.answer.compile import CompiledThen, compile_then
from mockserver.rules.match.conditions import All, Condition, Leaf, pinned
from mockserver.rules.match.parse import compile_when
from mockserver.rules.schema import RulesHead, RuleSpec
from mockserver.rules.templates import CompileContext, Templates

ONLY_STUBS = "no dialect has this path: there, rules answer with raw, json or error"
_NONE: Faults = {}


class State(Struct, frozen=True):
    """A scenario step: the rule answers in state `is_` and moves to `becomes`."""

    is_: str
    becomes: str


class Rule(Struct, frozen=True, dict=True):
    """One compiled rule. `where` is `rules.yaml:14`; `spec` is the rule as written."""

    name: str
    where: str
    when: Condition
    then: CompiledThen
    times: int | None
    state: State | None
    spec: Mapping[str, Json]
    place: SourceLocation | None = None
    slow: bool = False  # it answers with a function of the user, which may take long
    stubs: bool = False  # it may answer at paths that no dialect knows

    @lazy_property
    def counts(self) -> bool:
        return self.times is not None or self.state is not None

    @lazy_property
    def precondition(self) -> Precondition:
        """Return what must hold for it to answer, by `times` and `state`."""
        counter, state = times_counter(self.name), self.state
        if state is None:
            return Precondition(counter, self.times)
        return Precondition(counter, self.times, state.is_, None if state.becomes == state.is_ else state.becomes)

    @lazy_property
    def source(self) -> str:
        """Return the source that reports and headers show: `rule rules.yaml:14 weather`."""
        return f"rule {self.where} {self.name}" if "name" in self.spec else f"rule {self.where}"

    @property
    def quoted_name(self) -> str:
        """Return ` "weather"`; empty if the user gave no name."""
        return f" {shown(self.name)}" if "name" in self.spec else ""


def load(
    documents: Sequence[Document], known: Known, *, faults: Faults = _NONE, profiles: Profiles | None = PROFILES
) -> tuple[Rule, ...]:
    """Load the rules of several files, in order; `known` maps dialects to their features.

    `faults` are those of delivery, `profiles` the timings that have names. Raises RuleError with every mistake of every
    file.
    """
    loader = _Loader(known, faults, profiles)
    with collector_at_rest():
        rules = [rule for document in documents for rule in loader.rules(document)]
    raise_if_any(loader.mistakes, RuleError)
    return tuple(rules)


def answering(rules: Sequence[Rule], call: Call) -> Sequence[Rule]:
    """Return the suited rules that answer, without those that only change how later rules' answers are delivered."""
    return [rule for rule in suited(rules, call) if any(rule.then.answers)]


def suited(rules: Sequence[Rule], call: Call) -> Sequence[Rule]:
    """Return the rules that can answer where a call is made: at a path that no dialect knows, only some."""
    return [rule for rule in rules if rule.stubs] if call.operation == OTHER else rules


class _Loader:
    def __init__(self, known: Known, faults: Faults, profiles: Profiles | None) -> None:
        self.known, self.faults, self.profiles = known, faults, profiles
        self.templates = Templates()
        self.names: dict[str, CompileContext] = {}  # and where each is defined
        self.mistakes: list[Mistakes] = []
        self.count = 0

    def rules(self, document: Document) -> Iterator[Rule]:
        mistakes = Mistakes(document)
        self.mistakes.append(mistakes)
        for index, spec in enumerate(_listed(document, mistakes)):
            if mistakes.full:
                return
            self.count += 1
            rule = self._rule(spec, CompileContext(mistakes, self.templates, f"rule {self.count}", ("rules", index)))
            if rule is not None:
                yield rule

    def _rule(self, spec: Json, context: CompileContext) -> Rule | None:
        try:
            return self._compiled(spec, context)
        except RecursionError:
            context.refuse("this rule is nested too deeply; flatten it")
            return None

    def _compiled(self, spec: Json, context: CompileContext) -> Rule | None:
        model = validated(RuleSpec, spec, "a rule", context.add)
        raw = spec if isinstance(spec, Mapping) else {}
        written = _condition(raw, context)
        check_when(raw.get("when"), context, self.known)
        if model is None:
            return None
        purposes = purposes_of(model.then)
        check_features(written, model.then, context, self.known)
        check_operations(written, model.then, purposes, context)
        name = self._name(model.name, context)
        groups = frozenset(
            name for leaf in written.leaves if leaf.predicate == "regex" for name in _GROUP.findall(leaf.expected)
        )
        here = CompileContext(
            context.mistakes, context.templates, name, (*context.path, "then"), groups, self.profiles, self.faults
        )
        place = context.mistakes.document.place(context.path)
        state = None if model.state is None else State(model.state.is_, model.state.becomes or model.state.is_)
        return Rule(
            name=name,
            where=place.where if place else context.mistakes.document.file,
            when=for_its_operations(written, purposes),
            then=compile_then(model.then, here),
            times=model.times,
            state=state,
            spec=raw,
            place=place,
            stubs=is_stub(written, model.then),
        )

    def _name(self, name: str | None, context: CompileContext) -> str:
        """Return the rule's name, which must be unique: counters and random choices are keyed by it."""
        called, here = (context.rule, context) if name is None else (name, context.at("name"))
        first = self.names.setdefault(called, here)
        if first is not here:
            place = first.mistakes.document.place(first.path)
            nobody = "" if name else "; a rule without a name is called by its number"
            here.refuse(f'the name "{called}" is taken: {place.where if place else first.rule} has it already{nobody}')
        return called


def _listed(document: Document, mistakes: Mistakes) -> Sequence[Json]:
    content = document.data
    if content is None:
        return ()
    if isinstance(content, list):
        mistakes.add('a rules file is a table; put this list under "rules:"', ())
        return ()
    rules = content.get("rules") if isinstance(content, Mapping) else None
    if isinstance(rules, list | tuple):
        validated(RulesHead, {**content, "rules": []}, "a rules file", mistakes.add)
        return rules
    validated(RulesHead, content, "a rules file", mistakes.add)
    return ()


def _condition(spec: Mapping[str, Json], context: CompileContext) -> Condition:
    report = partial(context.at("when").add, key=True)
    return All() if spec.get("when") is None else compile_when(spec["when"], report)


_GROUP = re.compile(r"\(\?P?<([A-Za-z_]\w*)>")


class Remark(Struct, frozen=True):
    rule: Rule
    text: str
    before: Rule | None = None  # the earlier rule because of which it never answers, or not when it should


def review(rules: Sequence[Rule]) -> tuple[Remark, ...]:
    seen, rounds = _Seen(rules), _ToolRounds()
    return tuple(remark for rule in rules for remark in _remarks(rule, seen, rounds))


def repeated_calls(rules: Sequence[Rule]) -> Iterator[Remark]:
    """Yield the rules for a tool's result that get none, as the rule that calls the tool answers again."""
    rounds = _ToolRounds()
    for rule in rules:
        yield from rounds.remark(rule)
        rounds.add(rule)


def _remarks(rule: Rule, seen: "_Seen", rounds: "_ToolRounds") -> Iterator[Remark]:
    before = seen.wider(rule)
    if before is not None:
        yield Remark(rule, f"never answers: {_earlier(before)} matches whenever it does", before)
    else:
        yield from rounds.remark(rule)
        rounds.add(rule)
    if why := order_dependence(rule):
        yield Remark(rule, f"depends on the order of calls: it uses {', '.join(why)}")
    if not rule.counts and all(rule.then.answers):
        seen.add(rule)


def _earlier(rule: Rule) -> str:
    return f"the earlier rule{rule.quoted_name} ({rule.where})"


def order_dependence(rule: Rule) -> list[str]:
    """Name what in a rule depends on the order of calls."""
    stated = {"times": rule.times is not None, "state": rule.state is not None, "attempt": "attempt" in rule.when.uses}
    return [*(name for name, there in stated.items() if there), *rule.then.order_dependent]


class _Wanted(NamedTuple):
    """One condition of a rule as written; `text` if it is bare text."""

    field: str
    written: str
    text: str | None = None

    @property
    def pattern(self) -> re.Pattern[str] | None:
        if self.text is None or "*" not in self.text or set("\\[?") & set(self.text):
            return None
        return _compiled(self.text)


class _Seen:
    """Rules that may shadow later ones, each under the condition that the fewest rules share."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._common = Counter(wanted for rule in rules for wanted in _conditions(rule.spec))
        self._unconditional: list[Rule] = []
        self._by_condition: dict[_Wanted, list[Rule]] = defaultdict(list)
        self._patterns: dict[str, dict[_Wanted, re.Pattern[str]]] = defaultdict(dict)

    def add(self, rule: Rule) -> None:
        rarest = min(_conditions(rule.spec), key=lambda wanted: self._common[wanted], default=None)
        if rarest is None:
            self._unconditional.append(rule)
            return
        self._by_condition[rarest].append(rule)
        if pattern := rarest.pattern:
            self._patterns[rarest.field][rarest] = pattern

    def wider(self, rule: Rule) -> Rule | None:
        """Return an earlier rule that matches whenever this one does, as far as their text shows."""
        given = list(_conditions(rule.spec))
        known = [*self._unconditional, *(other for wanted in given for other in self._by_condition.get(wanted, ()))]
        for field, _, text in given:
            if text is not None and "*" not in text:
                for wanted, pattern in self._patterns[field].items():
                    if pattern.match(text):
                        known += self._by_condition[wanted]
        return next((other for other in known if _covers(other, rule, given)), None)


def _covers(general: Rule, special: Rule, given: Sequence[_Wanted]) -> bool:
    return _are_given(_conditions(general.spec), given) and _answers_operations_of(general, special)


def _are_given(conditions: Iterable[_Wanted], given: Sequence[_Wanted]) -> bool:
    return all(any(_implied(wanted, other) for other in given) for wanted in conditions)


def _answers_operations_of(general: Rule, special: Rule) -> bool:
    if not any(leaf.implied for leaf in general.when.leaves):
        return True
    operations, answered = pinned(special.when, "operation"), pinned(general.when, "operation")
    return operations is not None and answered is not None and operations <= answered


def _conditions(spec: Mapping[str, Json]) -> Iterator[_Wanted]:
    """Yield the conditions that must all hold, one predicate each unless a modifier applies."""
    for field, wanted in (spec.get("when") or {}).items():
        plain = isinstance(wanted, dict) and not {"ignore_case", "ignore_space"} & set(wanted)
        if plain and field not in ("tool_result", "body", "not"):
            yield from (_Wanted(field, _written({predicate: value})) for predicate, value in wanted.items())
        else:
            yield _Wanted(field, _written(wanted), wanted if isinstance(wanted, str) and field != "body" else None)


def _implied(general: _Wanted, special: _Wanted) -> bool:
    if general == special:
        return True
    pattern = general.pattern if general.field == special.field else None
    text = special.text
    return pattern is not None and text is not None and not set("*\\") & set(text) and bool(pattern.match(text))


def _written(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


@lru_cache(maxsize=1024)
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(translate(text))


class _ToolRounds:
    """Finds rules that call a tool, and answer again when the client sends the same request with its result."""

    def __init__(self) -> None:
        # By tool, each with its conditions and how many of the rules in `_later` precede it.
        self._calling: dict[str, list[tuple[Rule, Sequence[_Wanted], int]]] = defaultdict(list)
        self._later: list[Rule] = []  # those that may match the request with the result, but not the first one

    def add(self, rule: Rule) -> None:
        if not all(rule.then.answers):
            return
        if rule.state is not None or any(_CHANGING.match(leaf.field.name) for leaf in rule.when.leaves):
            self._later.append(rule)
        elif rule.times is None and rule.when.uses <= _LASTING:
            for tool in _last_called(rule.spec["then"]):
                self._calling[tool].append((rule, list(_conditions(rule.spec)), len(self._later)))

    def remark(self, rule: Rule) -> Iterator[Remark]:
        """Yield a remark if this rule needs a tool's result that an earlier rule keeps from it."""
        if "tool_result" not in rule.when.uses or _may_hold(rule.when, None):
            return
        for tool in self._calling:
            if _may_hold(rule.when, tool) and (caller := self._caller(tool, rule)):
                why = f"{_earlier(caller)} calls it, and still matches when the same request comes with the result"
                instead = "put this rule first, or add tool_result: {exists: false} to the earlier one"
                yield Remark(rule, f"misses the result of {shown(tool)}: {why}; {instead}", caller)
                return

    def _caller(self, tool: str, rule: Rule) -> Rule | None:
        wanted = [each for each in _conditions(rule.spec) if each.field != "tool_result"]
        for caller, given, preceding in islice(reversed(self._calling[tool]), _MOST_COMPARED):
            if _are_given(wanted, given) and _answers_operations_of(rule, caller):
                others = reversed(self._later[:preceding])
                return None if any(_may_hold(other.when, tool) for other in others) else caller
        return None


# Fields with the same value when a client sends its request again with a tool's result, and those with another.
_LASTING = frozenset(
    ("dialect", "operation", "path", "method", "model", "stream", "last_user", "system", "tools", "response_format")
)
_CHANGING = re.compile(
    r"tool_|last_message|conversation|turn|body|previous_|images|prompt_tokens|param\.(messages|input|contents)"
)
_MOST_COMPARED = 100


def _last_called(then: Json) -> Sequence[str]:
    """Return the tools whose results end the conversation after an answer, if every such answer calls one."""
    if not isinstance(then, Mapping) or _BREAKING & set(then):
        return ()
    if "steps" in then:
        return _last_called(then["steps"][-1])
    branches = [_last_called(branch["then"]) for branch in then.get("one_of") or ()]
    if branches:
        return [tool for tools in branches for tool in tools] if all(branches) else ()
    made = then.get("tool_calls") or [part["tool_call"] for part in then.get("parts") or () if "tool_call" in part]
    return [made[-1]["name"]] if made else ()


_BREAKING = {"faults", "failed", "finish", "content_filter"}  # clients may not call the tools of such an answer


def _may_hold(condition: Condition, tool: str | None) -> bool:
    """Whether a condition may hold if the conversation ends with a result of this tool; None: with no result."""
    if not isinstance(condition, Leaf):
        return (all if isinstance(condition, All) else any)(_may_hold(part, tool) for part in condition.parts)
    field = condition.field
    if field.family != "tool_result" or (tool is not None and field.name in ("tool_result.text", "tool_result.json")):
        return True
    return bool(condition.test(tool if tool is None or field.name == "tool_result.name" else {"name": tool}))
