"""Coverage as a page: one file of HTML that needs no other. Everything that is shown in it is escaped."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

KINDS = {"rule": "rules", "step": "steps", "branch": "branches", "fault": "faults"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule, or a step, branch or fault of one: `path` says which, `rule` in which line its rule begins.

    `name` is that of the rule or of the fault, `text` the line as it stood there.
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
        """What it is, in few words: `rule weather`, `steps[1]`, `faults[0] cut`."""
        return " ".join(part for part in (self.path or self.kind, self.name) if part)


@dataclass(frozen=True, slots=True)
class Sum:
    """How many there are of something, and how many of them were used."""

    used: int
    all: int

    @property
    def percent(self) -> int:
        """Rounded down: 100 means all."""
        return 100 * self.used // self.all if self.all else 100


@dataclass(frozen=True, slots=True)
class File:
    """A file with its entries in order; `name` is how people know it, `declared`: it is a test's, not a rules file."""

    path: str
    name: str
    declared: bool
    entries: tuple[Entry, ...]

    @property
    def unused(self) -> tuple[Entry, ...]:
        """What was never used, without the parts of rules that never were themselves."""
        idle = {entry.rule for entry in self.entries if entry.kind == "rule" and not entry.hits}
        return tuple(each for each in self.entries if not each.hits and (each.kind == "rule" or each.rule not in idle))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Files in order of their paths, those of tests behind the rules files."""

    files: tuple[File, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Those of all files."""
        return tuple(entry for file in self.files for entry in file.entries)

    @property
    def unused_rules(self) -> tuple[tuple[File, Entry], ...]:
        """The rules of rules files that were never used; those that tests declare are not among them."""
        return tuple(
            (file, entry) for file in self.files if not file.declared for entry in file.unused if entry.kind == "rule"
        )


def summed(entries: Iterable[Entry], kind: str | None = None) -> Sum:
    """Entries of one kind, or of all, summed up."""
    counted = [entry for entry in entries if kind in (None, entry.kind)]
    return Sum(sum(bool(entry.hits) for entry in counted), len(counted))


VERSION = 1


def as_json(coverage: Coverage) -> str:
    """The whole of it, indented; the same run gives the same text."""
    whole = {"version": VERSION, "totals": _totals(coverage.entries), "files": [_file(file) for file in coverage.files]}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _file(file: File) -> dict[str, Any]:
    kind = "tests" if file.declared else "rules"
    return {
        "file": file.name,
        "kind": kind,
        "totals": _totals(file.entries),
        "entries": [_entry(entry) for entry in file.entries],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    stands = {"kind": entry.kind, "line": entry.line, "hits": entry.hits}
    within = {"path": entry.path, "rule_line": entry.rule} if entry.path else {}
    return {**stands, **({"name": entry.name} if entry.name else {}), **within}


def _totals(entries: Sequence[Entry]) -> dict[str, Any]:
    sums = {name: summed(entries, kind) for kind, name in KINDS.items()}
    counted = {name: {"used": found.used, "all": found.all} for name, found in sums.items()}
    return {**counted, "percent": summed(entries).percent}


def table(coverage: Coverage) -> Iterator[str]:
    """A line for each file, what of it was used, and where stands what never was."""
    if not coverage.files:
        yield "no test had any rules"
        return
    kinds = [kind for kind in KINDS if summed(coverage.entries, kind).all]
    rows = [("File", *(KINDS[kind].capitalize() for kind in kinds), "Cover", "Never used")]
    rows += [(file.name, *_sums(file.entries, kinds), _places(file.unused)) for file in coverage.files]
    if len(coverage.files) > 1:
        rows.append(("TOTAL", *_sums(coverage.entries, kinds), ""))
    yield from _aligned(rows)


def unused(coverage: Coverage) -> Iterator[str]:
    """A line for each rule of rules files that was never used."""
    for file, entry in coverage.unused_rules:
        yield f"{file.name}:{entry.line}" + (f" {entry.name}" if entry.name else "")


def _sums(entries: Sequence[Entry], kinds: Iterable[str]) -> Iterator[str]:
    for kind in kinds:
        found = summed(entries, kind)
        yield f"{found.used}/{found.all}" if found.all else "-"
    yield f"{summed(entries).percent}%"


def _places(entries: Iterable[Entry]) -> str:
    return ", ".join(f"{entry.line} {entry.label}" for entry in entries)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Names to the left, numbers to the right, what is long at the end."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *numbers, last in rows:
        middle = (number.rjust(width) for number, width in zip(numbers, widths[1:-1], strict=True))
        yield "  ".join((first.ljust(widths[0]), *middle, last)).rstrip()


Texts = Mapping[str, Sequence[str]]  # the lines of files, by path


def page(coverage: Coverage, texts: Texts) -> str:
    """The page. Of a file without `texts` only the lines are shown where its rules begin."""
    files = (part for at, file in enumerate(coverage.files) for part in _page_file(at, file, texts))
    body = "\n".join([*_overview(coverage), *files])
    return _FRAME.format(style=_STYLE, percent=summed(coverage.entries).percent, body=body)


def _overview(coverage: Coverage) -> Iterator[str]:
    heads = "".join(f"<th>{name.capitalize()}</th>" for name in KINDS.values())
    yield f"<table class=sums><thead><tr><th>File</th>{heads}<th>Cover</th></tr></thead><tbody>"
    for at, file in enumerate(coverage.files):
        yield _page_sums(f'<a href="#file-{at}">{escape(file.name)}</a>', file.entries)
    yield f"</tbody><tfoot>{_page_sums('Total', coverage.entries)}</tfoot></table>"


def _page_sums(name: str, entries: Sequence[Entry]) -> str:
    cells = []
    for kind in KINDS:
        found = summed(entries, kind)
        state = "" if found.used == found.all else " class=less"
        cells.append(f"<td{state}>{found.used} / {found.all}</td>" if found.all else "<td>&ndash;</td>")
    percent = summed(entries).percent
    return f"<tr><th>{name}</th>{''.join(cells)}<td><meter max=100 value={percent}></meter> {percent}%</td></tr>"


def _page_file(at: int, file: File, texts: Texts) -> Iterator[str]:
    found = summed(file.entries)
    told = f"{found.used} of {found.all} used"
    words = "declared in tests" if file.declared else "rules file"
    yield f"<details open id=file-{at}><summary>{escape(file.name)} <small>{words}, {told}</small></summary>"
    yield "<table class=text><tbody>"
    text = () if file.declared else texts.get(file.path, ())
    yield from _whole(file, text) if text else _begun(file)
    yield "</tbody></table></details>"


def _whole(file: File, text: Sequence[str]) -> Iterator[str]:
    owners = owned(text, file.entries)
    for number, line in enumerate(text, 1):
        yield _line(number, line, owners.get(number, ()))


def _begun(file: File) -> Iterator[str]:
    """The lines in which rules begin, as they stood when they were used."""
    begun: dict[int, list[Entry]] = {}
    for entry in file.entries:
        begun.setdefault(entry.line, []).append(entry)
    for number, entries in sorted(begun.items()):
        yield _line(number, next((entry.text for entry in entries if entry.text), entries[0].label), entries)


def _line(number: int, text: str, owners: Sequence[Entry]) -> str:
    here = "".join(_chip(entry) for entry in owners if entry.line == number)
    return f"<tr class={_state(owners)}><td>{number}</td><td>{here}</td><td>{escape(text)}</td></tr>"


def _chip(entry: Entry) -> str:
    hits = f"{entry.hits}&times;" if entry.hits else "never"
    return f'<b class={_state([entry])} title="{escape(entry.label)}">{hits}</b>'


def _state(entries: Sequence[Entry]) -> str:
    if not entries:
        return "none"
    used = sum(bool(entry.hits) for entry in entries)
    return "used" if used == len(entries) else "part" if used else "unused"


def owned(text: Sequence[str], entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """The innermost entries that each line belongs to; several, where several begin in it."""
    owners: dict[int, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.line, entry.kind != "rule", entry.column)):
        for line in _span(text, entry):
            beside = owners.get(line, []) if line == entry.line else []
            owners[line] = [*(other for other in beside if other.line == line), entry]
    return owners


def _span(text: Sequence[str], entry: Entry) -> range:
    """The lines of an entry: its own, and those behind that are indented as far; comments do not count."""
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
:root { color-scheme: light dark; --used: #2a8a3e; --part: #b58900; --unused: #c62828; --line: #8884 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem }
table { border-collapse: collapse }
.sums { width: 100%; margin-bottom: 2rem }
.sums th, .sums td { padding: .35rem .75rem; border-bottom: 1px solid var(--line); text-align: right }
.sums th:first-child { text-align: left; font-weight: normal }
.sums thead th { font-weight: bold !important }
.sums tfoot { font-weight: bold }
.less { color: var(--unused) }
details { margin: 1rem 0; border: 1px solid var(--line); border-radius: 6px; overflow-x: auto }
summary { padding: .5rem .75rem; cursor: pointer; font-weight: bold }
small { font-weight: normal; opacity: .7 }
.text { width: 100%; font: 13px/1.6 ui-monospace, monospace; border-top: 1px solid var(--line) }
.text td { padding: 0 .75rem; white-space: pre; vertical-align: top }
.text td:nth-child(-n+2) { width: 1%; text-align: right; user-select: none }
.text td:first-child { opacity: .5 }
.text td:last-child { border-left: 3px solid transparent }
.text b { margin-left: .4rem; font-weight: 600 }
b.used { color: var(--used) } b.unused { color: var(--unused) }
tr.used td:last-child { border-color: var(--used) }
tr.part td:last-child { border-color: var(--part); background: color-mix(in srgb, var(--part) 12%, transparent) }
tr.unused td:last-child { border-color: var(--unused); background: color-mix(in srgb, var(--unused) 12%, transparent) }
"""

_FRAME = """<!doctype html>
<html lang=en>
<head>
<meta charset=utf-8>
<meta name=viewport content="width=device-width, initial-scale=1">
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
