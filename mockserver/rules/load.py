"""Loads rules files: reads, checks and compiles them. Reports all mistakes of all files at once."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from mockserver.config.errors import RuleError, SourceLocation
from mockserver.config.source import Document, Mistakes, raise_if_any
from mockserver.config.timing import PROFILES, Profiles
from mockserver.config.validation_errors import complaints, in_quotes
from mockserver.config.yaml_reader import collector_at_rest
from mockserver.core.action import Faults
from mockserver.core.json import Json
from mockserver.rules.answer.checks import Known, check_dialects, check_features, check_operations, for_its_operations
from mockserver.rules.answer.compile import CompiledThen, compile_then
from mockserver.rules.match.conditions import All, Condition
from mockserver.rules.match.parse import Report, compile_when
from mockserver.rules.schema import RulesFile, RuleSpec
from mockserver.rules.templates import CompileContext, Templates

_NONE: Faults = {}


@dataclass(frozen=True, slots=True)
class State:
    """A scenario step: the rule answers in state `is_` and moves to `becomes`."""

    is_: str
    becomes: str


@dataclass(frozen=True, slots=True)
class Rule:
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

    @property
    def counts(self) -> bool:
        """Return whether it counts calls, so that its answer depends on earlier ones."""
        return self.times is not None or self.state is not None

    @property
    def source(self) -> str:
        """Return the source that reports and headers show: `rule rules.yaml:14 weather`."""
        return f"rule {self.where} {self.name}" if "name" in self.spec else f"rule {self.where}"


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


def answering(rules: Sequence[Rule]) -> Sequence[Rule]:
    """Return the rules that answer, without those that only change how later rules' answers are delivered."""
    return [rule for rule in rules if any(rule.then.answers)]


class _Loader:
    """Compiles one document after the other; names are unique across all of them."""

    def __init__(self, known: Known, faults: Faults, profiles: Profiles | None) -> None:
        self.known, self.faults, self.profiles = known, faults, profiles
        self.templates = Templates()
        self.names: dict[str, str] = {}  # and where each is defined
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
        model = _checked(spec, context)
        raw = spec if isinstance(spec, Mapping) else {}
        when = for_its_operations(_condition(raw, context), None if model is None else model.then)
        check_dialects(raw.get("when"), context, self.known)
        if model is None:
            return None
        check_features(when, model.then, context, self.known)
        check_operations(when, model.then, context)
        name = self._name(model.name, context)
        groups = frozenset(_groups(when))
        here = CompileContext(
            context.mistakes, context.templates, name, (*context.path, "then"), groups, self.profiles, self.faults
        )
        place = context.mistakes.document.place(context.path)
        state = None if model.state is None else State(model.state.is_, model.state.becomes or model.state.is_)
        return Rule(
            name=name,
            where=place.where if place else context.mistakes.document.file,
            when=when,
            then=compile_then(model.then, here),
            times=model.times,
            state=state,
            spec=raw,
            place=place,
        )

    def _name(self, name: str | None, context: CompileContext) -> str:
        """Return the rule's name, which must be unique: counters and random choices are keyed by it."""
        called, here = (context.rule, context) if name is None else (name, context.at("name"))
        if called in self.names:
            nobody = "" if name else "; a rule without a name is called by its number"
            here.refuse(f'the name "{called}" is taken: {self.names[called]} has it already{nobody}')
        place = context.mistakes.document.place(here.path)
        self.names.setdefault(called, place.where if place else context.rule)
        return called


def _listed(document: Document, mistakes: Mistakes) -> Sequence[Json]:
    content = document.data
    if content is None:
        return ()
    if isinstance(content, list):
        mistakes.add('a rules file is a table; put this list under "rules:"', ())
        return ()
    rules = content.get("rules") if isinstance(content, Mapping) else None
    is_list = isinstance(rules, list | tuple)
    # Each rule is checked on its own, so that a mistake in one does not hide those in another.
    head = {**content, "rules": []} if is_list else content
    try:
        RulesFile.model_validate(head)
    except ValidationError as error:
        for complaint in complaints(error, RulesFile, in_quotes("a rules file")):
            mistakes.add(complaint.message, complaint.path, key=complaint.key)
    return rules if isinstance(rules, list | tuple) else ()


def _checked(spec: Json, context: CompileContext) -> RuleSpec | None:
    try:
        return RuleSpec.model_validate(spec)
    except ValidationError as error:
        for complaint in complaints(error, RuleSpec, in_quotes("a rule")):
            context.mistakes.add(complaint.message, (*context.path, *complaint.path), key=complaint.key)
        return None


def _condition(spec: Mapping[str, Json], context: CompileContext) -> Condition:
    here = context.at("when")
    report: Report = lambda message, path: context.mistakes.add(message, (*here.path, *path), key=True)  # noqa: E731
    return All() if spec.get("when") is None else compile_when(spec["when"], report)


def _groups(when: Condition) -> Iterator[str]:
    """Yield the names of the groups in all regular expressions."""
    for leaf in when.leaves:
        if leaf.predicate == "regex":
            yield from _GROUP.findall(leaf.expected)


_GROUP = re.compile(r"\(\?P?<([A-Za-z_]\w*)>")
