"""Counts how often each rule is used, also over several processes.

Every pytest run imports this module, so its own imports are few.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockserver.core.exchange import Exchange
    from mockserver.reports.coverage import Coverage, Entry
    from mockserver.rules.load import Rule

Key = tuple[str, int, int]  # file, line, column


class _Rules:
    """The rules declared at one place, in a loop perhaps many. `branches`: line, column and fault name by path."""

    __slots__ = ("branches", "declared", "name", "sources", "text")

    def __init__(self, declared: bool, text: str, name: str) -> None:
        self.declared, self.text, self.name = declared, text, name
        self.sources: set[str] = set()
        self.branches: dict[str, tuple[int, int, str]] = {}


class Watch:
    """The rules and the hits of a test run; servers report exchanges from their own threads."""

    def __init__(self) -> None:
        self._places: dict[Key, _Rules] = {}
        self._sources: set[str] = set()
        self._hits: Counter[str] = Counter()
        self._latest: Sequence[Rule] = ()
        self._lock = Lock()

    @property
    def empty(self) -> bool:
        """Whether no rules were declared."""
        return not self._places

    def record(self, exchange: Exchange) -> None:
        """Count what answered an exchange."""
        used = (exchange.source, *exchange.modified_by, *exchange.trace)
        with self._lock:
            self._hits.update(used)

    def add_rules(self, rules: Sequence[Rule], *, declared: bool = False) -> None:
        """Add rules of files, or rules `declared` by tests."""
        if not rules or rules is self._latest:
            return
        for rule in rules:
            source = rule.source
            if source not in self._sources:
                self._add(rule, source, declared=declared)
        self._latest = self._latest if declared else rules

    def _add(self, rule: Rule, source: str, *, declared: bool) -> None:
        self._sources.add(source)
        place = rule.place
        if place is None:
            return
        name = rule.name if "name" in rule.spec else ""
        key = (os.path.abspath(place.file), place.line, place.column)
        rules = self._places.setdefault(key, _Rules(declared, place.text, name))
        rules.sources.add(source)
        for branch in rule.then.branches:
            at = branch.place or place
            rules.branches[branch.path] = (at.line, at.column, branch.fault)

    def as_dict(self) -> dict[str, Any]:
        """The rules and hits as JSON values, for another process."""
        rules = [
            [list(key), rules.declared, rules.text, rules.name, sorted(rules.sources), _listed(rules.branches)]
            for key, rules in self._places.items()
        ]
        return {"rules": rules, "hits": dict(self._hits)}

    def merge(self, other: Mapping[str, Any]) -> None:
        """Add the rules and hits of another process."""
        for (file, line, column), declared, text, name, sources, branches in other["rules"]:
            rules = self._places.setdefault((file, line, column), _Rules(declared, text, name))
            rules.sources.update(sources)
            rules.branches |= {path: (at, column, fault) for path, at, column, fault in branches}
        self._hits.update(other["hits"])

    def coverage(self, root: str) -> Coverage:
        """The coverage of each file; names are relative to `root`."""
        from mockserver.reports.coverage import Coverage, FileCoverage

        hits = self._counted()
        found: dict[tuple[bool, str], list[Entry]] = {}
        for (path, line, column), rules in sorted(self._places.items()):
            found.setdefault((rules.declared, path), []).extend(_entries(rules, line, column, hits))
        files = (
            FileCoverage(path, _near(path, root), declared, tuple(entries))
            for (declared, path), entries in sorted(found.items(), key=lambda each: each[0])
        )
        return Coverage(tuple(files))

    def _counted(self) -> Counter[str]:
        """The hits of each rule: the source of an answer to several prompts names several."""
        counted = Counter[str]()
        known = {
            key for rules in self._places.values() for source in rules.sources for key in _keys(source, rules.branches)
        }
        for source, hits in self._hits.items():
            for one in (source,) if source in known else source.split(", "):
                counted[one] += hits
        return counted


def _keys(source: str, paths: Iterable[str]) -> Iterator[str]:
    """How exchanges name a rule and its steps, branches and faults."""
    yield source
    yield from (f"{source}: {path}" for path in paths)


def _entries(rules: _Rules, line: int, column: int, hits: Mapping[str, int]) -> Iterator[Entry]:
    def used(path: str = "") -> int:
        return sum(hits.get(f"{source}: {path}" if path else source, 0) for source in rules.sources)

    from mockserver.reports.coverage import Entry

    yield Entry("rule", line, column, rules.name, used(), text=rules.text, rule=line)
    for path, (at, at_column, fault) in rules.branches.items():
        kind = _KINDS[path.rpartition(".")[2].partition("[")[0]]
        yield Entry(kind, at, at_column, fault, used(path), path, rule=line)


def _listed(branches: Mapping[str, tuple[int, int, str]]) -> list[list[Any]]:
    return [[path, *stands] for path, stands in branches.items()]


watching: list[Watch] = []  # only the last one counts: a test can run another test session


def current_watch() -> Watch | None:
    """The watch of the current test session, if it measures coverage."""
    return watching[-1] if watching else None


def _near(path: str, root: str) -> str:
    inside = path.startswith(os.path.join(root, ""))
    return os.path.relpath(path, root).replace(os.sep, "/") if inside else path


_KINDS = {"steps": "step", "one_of": "branch", "faults": "fault"}
