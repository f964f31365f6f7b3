"""What a test run has of rules, and how often each was used; what other processes saw can be added.

Every run of pytest imports this: no more than it needs.
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


class Stock:
    """What stands at one place: of rules declared in a loop there are many. `branches`: line, column, fault by path."""

    __slots__ = ("branches", "declared", "name", "sources", "text")

    def __init__(self, declared: bool, text: str, name: str) -> None:
        self.declared, self.text, self.name = declared, text, name
        self.sources: set[str] = set()
        self.branches: dict[str, tuple[int, int, str]] = {}


class Watch:
    """Is told of rules and of exchanges, the latter by the threads of several servers."""

    def __init__(self) -> None:
        self._stocks: dict[Key, Stock] = {}
        self._sources: set[str] = set()
        self._hits: Counter[str] = Counter()
        self._latest: Sequence[Rule] = ()
        self._lock = Lock()

    @property
    def empty(self) -> bool:
        """Whether there were no rules at all."""
        return not self._stocks

    def note(self, exchange: Exchange) -> None:
        """An exchange is over: what answered it was used."""
        used = (exchange.source, *exchange.modified_by, *exchange.trace)
        with self._lock:
            self._hits.update(used)

    def declares(self, rules: Sequence[Rule], *, declared: bool = False) -> None:
        """There are these rules, of files or `declared` by tests."""
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
        stock = self._stocks.setdefault(key, Stock(declared, place.text, name))
        stock.sources.add(source)
        for branch in rule.then.branches:
            at = branch.place or place
            stock.branches[branch.path] = (at.line, at.column, branch.fault)

    # From process to process.

    def told(self) -> dict[str, Any]:
        """All that was seen, in plain values."""
        rules = [
            [list(key), stock.declared, stock.text, stock.name, sorted(stock.sources), _listed(stock.branches)]
            for key, stock in self._stocks.items()
        ]
        return {"rules": rules, "hits": dict(self._hits)}

    def add(self, told: Mapping[str, Any]) -> None:
        """Another process has seen this."""
        for (file, line, column), declared, text, name, sources, branches in told["rules"]:
            stock = self._stocks.setdefault((file, line, column), Stock(declared, text, name))
            stock.sources.update(sources)
            stock.branches |= {path: (at, column, fault) for path, at, column, fault in branches}
        self._hits.update(told["hits"])

    # What it comes to.

    def coverage(self, root: str) -> Coverage:
        """What was used, of each file; those below `root` are named from there."""
        from mockserver.reports.coverage import Coverage, File

        hits = self._counted()
        found: dict[tuple[bool, str], list[Entry]] = {}
        for (path, line, column), stock in sorted(self._stocks.items()):
            found.setdefault((stock.declared, path), []).extend(_entries(stock, line, column, hits))
        files = (
            File(path, _near(path, root), declared, tuple(entries))
            for (declared, path), entries in sorted(found.items(), key=lambda each: each[0])
        )
        return Coverage(tuple(files))

    def _counted(self) -> Counter[str]:
        """The hits of each source by itself: an answer to several prompts names all that had a part in it."""
        counted = Counter[str]()
        known = {
            key for stock in self._stocks.values() for source in stock.sources for key in _keys(source, stock.branches)
        }
        for source, hits in self._hits.items():
            for one in (source,) if source in known else source.split(", "):
                counted[one] += hits
        return counted


def _keys(source: str, paths: Iterable[str]) -> Iterator[str]:
    """How exchanges name a rule, and what it has."""
    yield source
    yield from (f"{source}: {path}" for path in paths)


def _entries(stock: Stock, line: int, column: int, hits: Mapping[str, int]) -> Iterator[Entry]:
    def used(path: str = "") -> int:
        return sum(hits.get(f"{source}: {path}" if path else source, 0) for source in stock.sources)

    from mockserver.reports.coverage import Entry

    yield Entry("rule", line, column, stock.name, used(), text=stock.text, rule=line)
    for path, (at, at_column, fault) in stock.branches.items():
        kind = _KINDS[path.rpartition(".")[2].partition("[")[0]]
        yield Entry(kind, at, at_column, fault, used(path), path, rule=line)


def _listed(branches: Mapping[str, tuple[int, int, str]]) -> list[list[Any]]:
    return [[path, *stands] for path, stands in branches.items()]


watching: list[Watch] = []  # those that are told, the latest only: a test run may run within a test


def watch() -> Watch | None:
    """What is to be told; None: nobody wants to know."""
    return watching[-1] if watching else None


def _near(path: str, root: str) -> str:
    inside = path.startswith(os.path.join(root, ""))
    return os.path.relpath(path, root).replace(os.sep, "/") if inside else path


_KINDS = {"steps": "step", "one_of": "branch", "faults": "fault"}
