"""Which rules, steps, branches and faults the tests used, also over several processes: as table, JSON and HTML page.

Every pytest run imports this module, so its own imports are few.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mockserver.core.text import align_columns, truncate

if TYPE_CHECKING:
    from mockserver.core.row import Row
    from mockserver.rules.load import Rule

KINDS = {"rule": "rules", "step": "steps", "branch": "branches", "fault": "faults"}
VERSION = 1  # of the JSON report
_MAX_CODE = 80  # characters of a rule declared in a test


class Entry(Struct, frozen=True):
    """A rule, or a step, branch or fault of one: `path` is its place in the rule, `rule` the line of the rule.

    `name` is the name of the rule or the fault, `text` its line in the file.
    """

    kind: str
    line: int
    column: int
    name: str
    hits: int
    path: str = ""
    text: str = ""
    rule: int = 0

    @property
    def label(self) -> str:
        return " ".join(part for part in (self.path or self.kind, self.name) if part)


class FileCoverage(Struct, frozen=True):
    """The entries of a file in order; `name` is its path for people; `declared`: by tests, not in a rules file."""

    path: str
    name: str
    declared: bool
    entries: tuple[Entry, ...]

    @property
    def unused(self) -> tuple[Entry, ...]:
        """The entries without hits, except the parts of unused rules."""
        idle = {entry.rule for entry in self.entries if entry.kind == "rule" and not entry.hits}
        return tuple(each for each in self.entries if not each.hits and (each.kind == "rule" or each.rule not in idle))


class Coverage(Struct, frozen=True):
    files: tuple[FileCoverage, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for file in self.files for entry in file.entries)


Key = tuple[str, int, int]  # file, line, column


class Watch:
    """The rules and the hits of a test run; servers report rows from their own threads."""

    def __init__(self) -> None:
        # The rules declared at one place, in a loop perhaps many; `branches`: line, column and fault name by path.
        self._places: dict[Key, dict[str, Any]] = {}
        self._sources: set[str] = set()
        self._hits: Counter[str] = Counter()
        self._latest: Sequence[Rule] = ()
        self._lock = Lock()

    @property
    def empty(self) -> bool:
        return not self._places

    def record(self, row: Row) -> None:
        used = (row.source, *row.modified_by, *row.trace)
        with self._lock:
            self._hits.update(used)

    def add_rules(self, rules: Sequence[Rule], *, declared: bool = False) -> None:
        if not rules or rules is self._latest:
            return
        for rule in rules:
            if rule.source not in self._sources and not rule.service:
                self._add(rule, declared=declared)
        self._latest = self._latest if declared else rules

    def _add(self, rule: Rule, *, declared: bool) -> None:
        self._sources.add(rule.source)
        place = rule.place
        if place is None:
            return
        branches = {branch.path: (branch.place or place, branch.fault) for branch in rule.then.branches}
        self._merge_place(
            (os.path.abspath(place.file), place.line, place.column),
            {
                "declared": declared,
                "text": place.text,
                "name": rule.name if "name" in rule.spec else "",
                "sources": {rule.source: True},
                "branches": {path: [at.line, at.column, fault] for path, (at, fault) in branches.items()},
            },
        )

    def _merge_place(self, key: Key, rules: dict[str, Any]) -> None:
        known = self._places.setdefault(key, rules)
        known["sources"] |= rules["sources"]
        known["branches"] |= rules["branches"]

    def export(self) -> dict[str, Any]:
        """Return the rules and hits as JSON values, for another process."""
        return {"rules": [[list(key), rules] for key, rules in self._places.items()], "hits": dict(self._hits)}

    def merge(self, other: Mapping[str, Any]) -> None:
        for (file, line, column), rules in other["rules"]:
            self._merge_place((file, line, column), rules)
        self._hits.update(other["hits"])

    def compute_coverage(self, root: str) -> Coverage:
        """Return the coverage of each file; names are relative to `root`."""
        hits = self._count_hits()
        found: dict[tuple[bool, str], list[Entry]] = {}
        for (path, line, column), rules in sorted(self._places.items(), key=lambda each: each[0]):
            found.setdefault((rules["declared"], path), []).extend(_list_entries(rules, line, column=column, hits=hits))
        files = (
            FileCoverage(path, _shorten_path(path, root), declared=declared, entries=tuple(entries))
            for (declared, path), entries in sorted(found.items(), key=lambda each: each[0])
        )
        return Coverage(tuple(files))

    def _count_hits(self) -> Counter[str]:
        """Return the hits of each rule: the source of an answer to several prompts names several."""
        counted = Counter[str]()
        known = set[str]()
        for rules in self._places.values():
            for source in rules["sources"]:
                known |= {source, *(f"{source}: {path}" for path in rules["branches"])}
        for source, hits in self._hits.items():
            for one in (source,) if source in known else source.split(", "):
                counted[one] += hits
        return counted


def _list_entries(rules: Mapping[str, Any], line: int, column: int, hits: Counter[str]) -> Iterator[Entry]:
    used = sum(hits[source] for source in rules["sources"])
    yield Entry("rule", line, column=column, name=rules["name"], hits=used, text=rules["text"], rule=line)
    for path, (at, at_column, fault) in rules["branches"].items():
        kind = _KINDS[path.rpartition(".")[2].partition("[")[0]]
        used = sum(hits[f"{source}: {path}"] for source in rules["sources"])
        yield Entry(kind, at, column=at_column, name=fault, hits=used, path=path, rule=line)


watching: list[Watch] = []  # only the last one counts: a test can run another test session


def find_watch() -> Watch | None:
    return watching[-1] if watching else None


def _shorten_path(path: str, root: str) -> str:
    inside = path.startswith(os.path.join(root, ""))
    return os.path.relpath(path, root).replace(os.sep, "/") if inside else path


_KINDS = {"steps": "step", "one_of": "branch", "faults": "fault"}


def list_unused_rules(coverage: Coverage) -> Iterator[tuple[str, str]]:
    """Yield the rules without hits: their files, and a line for each. Of a rule in a test without a name, its code."""
    for file in coverage.files:
        for entry in file.unused:
            if entry.kind == "rule":
                called = entry.name or (file.declared and truncate(entry.text.strip(), _MAX_CODE))
                yield file.name, f"{file.name}:{entry.line}" + (f" {called}" if called else "")


def count_used(entries: Iterable[Entry], kind: str | None = None) -> tuple[int, int]:
    """Return how many entries of a kind (None: of any) were used, and how many there are."""
    counted = [entry for entry in entries if kind in (None, entry.kind)]
    return sum(bool(entry.hits) for entry in counted), len(counted)


def compute_percent(entries: Iterable[Entry]) -> int:
    used, total = count_used(entries)
    return 100 * used // total if total else 100


def write_json(coverage: Coverage) -> str:
    """Return the report as indented JSON, the same for equal runs."""
    files = [
        {
            "file": file.name,
            "kind": "tests" if file.declared else "rules",
            "totals": _show_totals(file.entries),
            "entries": list(map(_show_entry, file.entries)),
        }
        for file in coverage.files
    ]
    report = {"version": VERSION, "totals": _show_totals(coverage.entries), "files": files}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _show_entry(entry: Entry) -> dict[str, Any]:
    common = {"kind": entry.kind, "line": entry.line, "hits": entry.hits}
    within = {"path": entry.path, "rule_line": entry.rule} if entry.path else {}
    return {**common, **({"name": entry.name} if entry.name else {}), **within}


def _show_totals(entries: Sequence[Entry]) -> dict[str, Any]:
    counts = {name: count_used(entries, kind) for kind, name in KINDS.items()}
    return {**{name: {"used": u, "all": n} for name, (u, n) in counts.items()}, "percent": compute_percent(entries)}


def write_table(coverage: Coverage) -> Iterator[str]:
    """Yield a line for each file: what was used, and the places of what was not."""
    if not coverage.files:
        yield "no test used any rules"
        return
    kinds = [kind for kind in KINDS if count_used(coverage.entries, kind)[1]]
    rows = [("File", *(KINDS[kind].capitalize() for kind in kinds), "Cover", "Never used")]
    for file in coverage.files:
        unused = ", ".join(f"{entry.line} {entry.label}" for entry in file.unused)
        rows.append((file.name, *_write_cells(file.entries, kinds, "-"), unused))
    if len(coverage.files) > 1:
        rows.append(("TOTAL", *_write_cells(coverage.entries, kinds, "-"), ""))
    yield from align_columns(rows, right=range(1, len(kinds) + 2))


def _write_cells(entries: Sequence[Entry], kinds: Iterable[str], none: str) -> Iterator[str]:
    for kind in kinds:
        used, total = count_used(entries, kind)
        yield f"{used}/{total}" if total else none
    yield f"{compute_percent(entries)}%"


Texts = Mapping[str, Sequence[str]]  # the lines of files, by path


def write_page(coverage: Coverage, texts: Texts) -> str:
    """Return an HTML page without external resources: totals, then each file with hits per line.

    Of a file without `texts`, only the first line of each entry is shown.
    """
    heads = ("File", *map(str.capitalize, KINDS.values()), "Cover")
    links = (f'<a href="#file-{at}">{escape(file.name)}</a>' for at, file in enumerate(coverage.files))
    rows = [(link, *_write_cells(file.entries, KINDS, "")) for link, file in zip(links, coverage.files, strict=True)]
    rows.append(("Total", *_write_cells(coverage.entries, KINDS, "")))
    totals = [_write_row("th", heads), *(_write_row("td", row) for row in rows)]
    files = (line for at, file in enumerate(coverage.files) for line in _write_file(at, file, texts))
    body = "\n".join(["<table class=totals>", *totals, "</table>", *files])
    return _PAGE.format(style=_STYLE, percent=compute_percent(coverage.entries), body=body)


def _write_row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"


def _write_file(at: int, file: FileCoverage, texts: Texts) -> Iterator[str]:
    used, total = count_used(file.entries)
    kind = "declared in tests" if file.declared else "rules file"
    yield f"<h2 id=file-{at}>{escape(file.name)} <small>{kind}, {used} of {total} used</small></h2>"
    yield "<table>"
    text = () if file.declared else texts.get(file.path, ())
    owners = find_owners(text, file.entries)
    shown = dict(enumerate(text, 1)) or {
        number: next((entry.text for entry in entries if entry.text), entries[0].label)
        for number, entries in sorted(owners.items())
    }
    for number, line in shown.items():
        here = owners.get(number, ())
        hits = " ".join(_write_hits(entry) for entry in here if entry.line == number)
        yield f"<tr class={_find_state(here)}><td>{number}</td><td>{hits}</td><td>{escape(line)}</td></tr>"
    yield "</table>"


def _write_hits(entry: Entry) -> str:
    hits = f"{entry.hits}&times;" if entry.hits else "never"
    return f'<b class={_find_state([entry])} title="{escape(entry.label)}">{hits}</b>'


def _find_state(entries: Sequence[Entry]) -> str:
    used, total = count_used(entries)
    return "none" if not total else "used" if used == total else "part" if used else "unused"


def find_owners(text: Sequence[str], entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Return the innermost entries that each line belongs to; several if several begin on it."""
    owners: dict[int, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.line, entry.kind != "rule", entry.column)):
        for line in _find_lines(text, entry):
            others = owners.get(line, []) if line == entry.line else []
            owners[line] = [*(other for other in others if other.line == line), entry]
    return owners


def _find_lines(text: Sequence[str], entry: Entry) -> range:
    """Return the lines of an entry: its own, and the following ones that are indented as far, but for comments."""
    last = entry.line
    for number, line in enumerate(text[entry.line :], entry.line + 1):
        bare = line.lstrip()
        if not bare or bare.startswith("#"):
            continue
        if len(line) - len(bare) < entry.column - 1:
            break
        last = number
    return range(entry.line, last + 1)


_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
table { font: 13px/1.6 ui-monospace, monospace; border-collapse: collapse }
th, td { padding: 0 .75rem; text-align: right; white-space: pre; vertical-align: top }
th:first-child, .totals td:first-child, td:nth-child(3):last-child { text-align: left }
.used { color: #2a8a3e } .unused { color: #c62828 }
tr.used, tr.unused { color: inherit }
tr.part { background: #b5890020 } tr.unused { background: #c6282820 }
"""
_PAGE = """<!doctype html>
<html lang=en>
<head>
<meta charset=utf-8>
<meta http-equiv=Content-Security-Policy content="default-src 'none'; style-src 'unsafe-inline'">
<title>Rule coverage: {percent}%</title>
<style>{style}</style>
</head>
<body>
<h1>Rule coverage: {percent}%</h1>
{body}
</body>
</html>
"""
