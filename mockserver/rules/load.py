"""Loads rules files: checks and compiles their rules, and reports the mistakes of all files at once."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import RuleError, SourceLocation
from mockserver.config.source import Document, Mistakes, raise_if_any
from mockserver.config.timing import PROFILES, Profiles
from mockserver.config.validation_errors import validate_table
from mockserver.config.yaml_reader import pause_collector
from mockserver.core.action import Faults
from mockserver.core.call import OTHER, WEBSOCKET, Call
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.mcp_server import McpServer
from mockserver.core.plan import SERVICE
from mockserver.core.state import Precondition, name_times_counter
from mockserver.core.text import show_value
from mockserver.rules.answer.compile import CompiledThen, compile_then
from mockserver.rules.checks import TARGETS, AnswerCheck, Known, check_when
from mockserver.rules.match.conditions import All, Condition
from mockserver.rules.match.index import find_pinned
from mockserver.rules.match.parse import compile_when, require_calls
from mockserver.rules.mcp_definitions import find_servers, list_rules_beside
from mockserver.rules.schema import RulesHead, RuleSpec
from mockserver.rules.templates import CompileContext, Templates

ONLY_STUBS = "no dialect serves this path, so the rule must answer with raw, json or error"
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
    service: bool = False  # it answers what a program asks for itself, such as a title; such calls count nowhere

    @lazy_property
    def counts(self) -> bool:
        """Return whether the rule counts calls or follows a scenario, so that it may match and still not answer."""
        return self.times is not None or self.state is not None

    @lazy_property
    def precondition(self) -> Precondition:
        """Return the state and counts that `times` and `state` require before the rule answers."""
        counter = name_times_counter(self.name)
        state = self.state
        if state is None:
            return Precondition(counter, self.times)
        return Precondition(
            counter, self.times, state=state.is_, becomes=None if state.becomes == state.is_ else state.becomes
        )

    @property
    def order_dependence(self) -> list[str]:
        """Return the names of the rule's features that depend on the order of calls, such as `times`."""
        stated = {
            "times": self.times is not None,
            "state": self.state is not None,
            "attempt": "attempt" in self.when.uses,
        }
        return [*(name for name, there in stated.items() if there), *self.then.order_dependent]

    @lazy_property
    def source(self) -> str:
        """Return the source that reports and headers show: `rule rules.yaml:14 weather`, `service opencode title`."""
        if self.service:
            return f"{SERVICE}{self.name if 'name' in self.spec else self.where}"
        return f"rule {self.where} {self.name}" if "name" in self.spec else f"rule {self.where}"

    @property
    def quoted_name(self) -> str:
        """Return ` "weather"`; empty if the user gave no name."""
        return f" {show_value(self.name)}" if "name" in self.spec else ""


def load(
    documents: Sequence[Document],
    known: Known,
    *,
    faults: Faults = _NONE,
    profiles: Profiles | None = PROFILES,
    hosts: Collection[str] | None = None,
) -> tuple[Rule, ...]:
    """Load the rules of several files, in order; `known` maps dialects to their features.

    `faults` are those of delivery, `profiles` the named timings, `hosts` the names of those of the dialect
    `compatible`; None: any will do. Raises RuleError with every mistake of every file.
    """
    loader = _Loader(known, faults, profiles=profiles, hosts=hosts)
    with pause_collector():
        rules = [rule for document in documents for rule in loader.load_rules(document)]
    raise_if_any(loader.mistakes, RuleError)
    return tuple(rules)


def load_servers(documents: Sequence[Document]) -> Mapping[str, McpServer]:
    """Load the MCP servers of several files. Raises RuleError with every mistake of every file."""
    servers: dict[str, McpServer] = {}
    collected: list[Mistakes] = []
    for document in documents:
        mistakes = Mistakes(document)
        collected.append(mistakes)
        for name, server in find_servers(document, mistakes.add).items():
            if name in servers:
                mistakes.add(f'the MCP server "{name}" is already defined; rename one of them', ("mcp", name), key=True)
            servers[name] = server
    raise_if_any(collected, RuleError)
    return servers


def select_answering(rules: Sequence[Rule], call: Call) -> Sequence[Rule]:
    """Return the suited rules that answer what is asked.

    Those are left out that only change how later rules' answers are delivered, and those for a program's own calls;
    at an MCP server, those for a prompt where a tool is asked, for example.
    """
    return [
        rule
        for rule in select_suited(rules, call)
        if any(rule.then.answers) and not rule.service and _may_ask(rule, call.operation)
    ]


def _may_ask(rule: Rule, operation: str) -> bool:
    operations = [asked for field, asked in TARGETS.items() if field in rule.when.uses]
    return not operations or operation in operations or operation not in TARGETS.values()


def select_suited(rules: Sequence[Rule], call: Call) -> Sequence[Rule]:
    """Return the rules that can answer the call as far as its kind says."""
    return [rule for rule in rules if is_suited(rule, call)] if call.operation in FOR_FEW_RULES else rules


FOR_FEW_RULES = (OTHER, WEBSOCKET)  # operations


def is_suited(rule: Rule, call: Call) -> bool:
    """Return whether a rule can answer a call of an operation that is `FOR_FEW_RULES`.

    At a path that no dialect knows, only some can; a WebSocket is refused only by those that name its operation.
    """
    return rule.stubs if call.operation == OTHER else WEBSOCKET in (find_pinned(rule.when, "operation") or ())


class _Loader:
    """Loads the rules of several files, whose names must differ across the files."""

    def __init__(self, known: Known, faults: Faults, profiles: Profiles | None, hosts: Collection[str] | None) -> None:
        self.known = known
        self.faults = faults
        self.profiles = profiles
        self.hosts = hosts
        self.templates = Templates()
        self.names: dict[str, CompileContext] = {}  # and where each is defined
        self.mistakes: list[Mistakes] = []
        self.count = 0

    def load_rules(self, document: Document) -> Iterator[Rule]:
        """Yield the rules of a file that can be compiled; collect the mistakes of the others."""
        mistakes = Mistakes(document)
        self.mistakes.append(mistakes)
        for index, spec in enumerate(_list_rules(document, mistakes)):
            if mistakes.full:
                return
            self.count += 1
            yield from self._load_rule(
                spec, CompileContext(mistakes, self.templates, rule=f"rule {self.count}", path=("rules", index))
            )
        for each in list_rules_beside(document):  # last, so that every rule of the file can answer in their place
            name = f"mcp {' '.join(each.names)}"
            context = CompileContext(mistakes, self.templates, rule=name, path=each.path, depth=len(each.path))
            for rule in self._load_rule(each.spec, context):
                yield replace(rule, when=All((rule.when, require_calls(each.after)))) if each.after else rule

    def _load_rule(self, spec: Json, context: CompileContext) -> Iterator[Rule]:
        """Yield the rule, if it can be compiled."""
        try:
            rule = self._compile(spec, context)
        except RecursionError:
            context.refuse("this rule is nested too deeply; flatten it")
        else:
            if rule is not None:
                yield rule

    def _compile(self, spec: Json, context: CompileContext) -> Rule | None:
        model = validate_table(RuleSpec, spec, whole="a rule", add=context.add)
        raw = spec if isinstance(spec, Mapping) else {}
        name = self._claim_name(raw.get("name"), context)
        written: Condition = All()
        groups: frozenset[str] | None = frozenset()
        if (when := raw.get("when")) is not None:
            already = len(context.mistakes.found)
            written = compile_when(when, partial(context.at("when").add, key=True))
            groups = _find_groups(written) if len(context.mistakes.found) == already else None
            check_when(when, context, known=self.known, hosts=self.hosts)
        if model is None:
            return None
        check = AnswerCheck(written, model.then, context)
        check.check_features(self.known)
        check.check_operations()
        then_context = CompileContext(
            context.mistakes,
            context.templates,
            rule=name,
            path=(*context.path, "then"),
            depth=context.depth,
            groups=groups,
            profiles=self.profiles,
            faults=self.faults,
        )
        place = context.mistakes.document.find_place(context.path)
        state = None if model.state is None else State(model.state.is_, model.state.becomes or model.state.is_)
        return Rule(
            name=name,
            where=place.where if place else context.mistakes.document.file,
            when=check.restrict_when(),
            then=compile_then(model.then, then_context),
            times=model.times,
            state=state,
            spec=raw,
            place=place,
            stubs=check.is_stub,
            service=model.service,
        )

    def _claim_name(self, name: Json, context: CompileContext) -> str:
        """Return the rule's name. It must be unique, as counters and random choices are keyed by it."""
        claimed, here = (name, context.at("name")) if isinstance(name, str) else (context.rule, context)
        first = self.names.setdefault(claimed, here)
        if first is not here:
            place = first.mistakes.document.find_place(first.path)
            used = f"at {place.where}" if place else f"by {first.rule}"
            hint = "" if name else "; a rule without a name is named after its number"
            here.refuse(f'the name "{claimed}" is already used {used}{hint}')
        return claimed


def _find_groups(when: Condition) -> frozenset[str]:
    patterns = [leaf.expected for leaf in when.leaves if leaf.predicate == "regex"]
    return frozenset(group for pattern in patterns for group in _GROUP.findall(pattern))


_GROUP = re.compile(r"\(\?P?<([A-Za-z_]\w*)>")


def _list_rules(document: Document, mistakes: Mistakes) -> Sequence[Json]:
    content = document.data
    if content is None:
        return ()
    if isinstance(content, list):
        mistakes.add('a rules file must be a table; put this list under "rules:"', ())
        return ()
    rules = content.get("rules") if isinstance(content, Mapping) else None
    if isinstance(rules, list | tuple):
        # The rules are checked one by one, as a mistake in one must not hide those in others.
        validate_table(RulesHead, {**content, "rules": []}, whole="a rules file", add=mistakes.add)
        return rules
    validate_table(RulesHead, content, whole="a rules file", add=mistakes.add)
    return ()
