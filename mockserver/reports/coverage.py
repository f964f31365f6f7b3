"""Which rules, steps, branches and faults the tests used: as a table, as JSON, and as an HTML page."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from mockserver.core.text import aligned

KINDS = {"rule": "rules", "step": "steps", "branch": "branches", "fault": "faults"}
VERSION = 1  # of the JSON report


@dataclass(frozen=True, slots=True)
class Entry:
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
        """A short name: `rule weather`, `steps[1]`, `faults[0] cut`."""
        return " ".join(part for part in (self.path or self.kind, self.name) if part)


@dataclass(frozen=True, slots=True)
class FileCoverage:
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


@dataclass(frozen=True, slots=True)
class Coverage:
    """Files in order of their paths, rules files first."""

    files: tuple[FileCoverage, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of all files."""
        return tuple(entry for file in self.files for entry in file.entries)


def unused_rules(coverage: Coverage) -> Iterator[str]:
    """A line for each unused rule of a rules file."""
    for file in coverage.files:
        for entry in file.unused:
            if entry.kind == "rule" and not file.declared:
                yield f"{file.name}:{entry.line}" + (f" {entry.name}" if entry.name else "")


def count(entries: Iterable[Entry], kind: str | None = None) -> tuple[int, int]:
    """How many entries of a kind (None: of any) were used, and how many there are."""
    counted = [entry for entry in entries if kind in (None, entry.kind)]
    return sum(bool(entry.hits) for entry in counted), len(counted)


def percent(entries: Iterable[Entry]) -> int:
    """The share of used entries, rounded down: 100 means all."""
    used, total = count(entries)
    return 100 * used // total if total else 100


def as_json(coverage: Coverage) -> str:
    """The report as indented JSON, the same for equal runs."""
    files = [
        {
            "file": file.name,
            "kind": "tests" if file.declared else "rules",
            "totals": _totals(file.entries),
            "entries": list(map(_entry, file.entries)),
        }
        for file in coverage.files
    ]
    report = {"version": VERSION, "totals": _totals(coverage.entries), "files": files}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _entry(entry: Entry) -> dict[str, Any]:
    common = {"kind": entry.kind, "line": entry.line, "hits": entry.hits}
    within = {"path": entry.path, "rule_line": entry.rule} if entry.path else {}
    return {**common, **({"name": entry.name} if entry.name else {}), **within}


def _totals(entries: Sequence[Entry]) -> dict[str, Any]:
    counts = {name: count(entries, kind) for kind, name in KINDS.items()}
    return {**{name: {"used": u, "all": n} for name, (u, n) in counts.items()}, "percent": percent(entries)}


def as_table(coverage: Coverage) -> Iterator[str]:
    """A line for each file: what was used, and the places of what was not."""
    if not coverage.files:
        yield "no test used any rules"
        return
    kinds = [kind for kind in KINDS if count(coverage.entries, kind)[1]]
    rows = [("File", *(KINDS[kind].capitalize() for kind in kinds), "Cover", "Never used")]
    for file in coverage.files:
        unused = ", ".join(f"{entry.line} {entry.label}" for entry in file.unused)
        rows.append((file.name, *_cells(file.entries, kinds, "-"), unused))
    if len(coverage.files) > 1:
        rows.append(("TOTAL", *_cells(coverage.entries, kinds, "-"), ""))
    yield from aligned(rows, right=range(1, len(kinds) + 2))


def _cells(entries: Sequence[Entry], kinds: Iterable[str], none: str) -> Iterator[str]:
    for kind in kinds:
        used, total = count(entries, kind)
        yield f"{used}/{total}" if total else none
    yield f"{percent(entries)}%"


Texts = Mapping[str, Sequence[str]]  # the lines of files, by path


def as_page(coverage: Coverage, texts: Texts) -> str:
    """An HTML page without external resources: totals, then each file with hits per line.

    Of a file without `texts`, only the first line of each entry is shown.
    """
    heads = ("File", *map(str.capitalize, KINDS.values()), "Cover")
    links = (f'<a href="#file-{at}">{escape(file.name)}</a>' for at, file in enumerate(coverage.files))
    rows = [(link, *_cells(file.entries, KINDS, "")) for link, file in zip(links, coverage.files, strict=True)]
    rows.append(("Total", *_cells(coverage.entries, KINDS, "")))
    totals = [_row("th", heads), *(_row("td", row) for row in rows)]
    files = (line for at, file in enumerate(coverage.files) for line in _file(at, file, texts))
    body = "\n".join(["<table class=totals>", *totals, "</table>", *files])
    return _PAGE.format(style=_STYLE, percent=percent(coverage.entries), body=body)


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"


def _file(at: int, file: FileCoverage, texts: Texts) -> Iterator[str]:
    used, total = count(file.entries)
    kind = "declared in tests" if file.declared else "rules file"
    yield f"<h2 id=file-{at}>{escape(file.name)} <small>{kind}, {used} of {total} used</small></h2>"
    yield "<table>"
    text = () if file.declared else texts.get(file.path, ())
    owners = line_owners(text, file.entries)
    shown = dict(enumerate(text, 1)) or {
        number: next((entry.text for entry in entries if entry.text), entries[0].label)
        for number, entries in sorted(owners.items())
    }
    for number, line in shown.items():
        yield _line(number, line, owners.get(number, ()))
    yield "</table>"


def _line(number: int, text: str, owners: Sequence[Entry]) -> str:
    hits = " ".join(map(_hits, (entry for entry in owners if entry.line == number)))
    return f"<tr class={_state(owners)}><td>{number}</td><td>{hits}</td><td>{escape(text)}</td></tr>"


def _hits(entry: Entry) -> str:
    hits = f"{entry.hits}&times;" if entry.hits else "never"
    return f'<b class={_state([entry])} title="{escape(entry.label)}">{hits}</b>'


def _state(entries: Sequence[Entry]) -> str:
    used, total = count(entries)
    return "none" if not total else "used" if used == total else "part" if used else "unused"


def line_owners(text: Sequence[str], entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """The innermost entries that each line belongs to; several if several begin on it."""
    owners: dict[int, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.line, entry.kind != "rule", entry.column)):
        for line in _lines_of(text, entry):
            others = owners.get(line, []) if line == entry.line else []
            owners[line] = [*(other for other in others if other.line == line), entry]
    return owners


def _lines_of(text: Sequence[str], entry: Entry) -> range:
    """The lines of an entry: its own, and the following ones that are indented as far, without trailing comments."""
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
