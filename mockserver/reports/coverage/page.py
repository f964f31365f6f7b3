"""Coverage as a page: one file of HTML that needs no other. Everything that is shown in it is escaped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from mockserver.reports.coverage.value import KINDS, Coverage, Entry, File, summed

Texts = Mapping[str, Sequence[str]]  # the lines of files, by path


def page(coverage: Coverage, texts: Texts) -> str:
    """The page. Of a file without `texts` only the lines are shown where its rules begin."""
    files = (part for at, file in enumerate(coverage.files) for part in _file(at, file, texts))
    body = "\n".join([*_overview(coverage), *files])
    return _FRAME.format(style=_STYLE, percent=summed(coverage.entries).percent, body=body)


def _overview(coverage: Coverage) -> Iterator[str]:
    heads = "".join(f"<th>{name.capitalize()}</th>" for name in KINDS.values())
    yield f"<table class=sums><thead><tr><th>File</th>{heads}<th>Cover</th></tr></thead><tbody>"
    for at, file in enumerate(coverage.files):
        yield _sums(f'<a href="#file-{at}">{escape(file.name)}</a>', file.entries)
    yield f"</tbody><tfoot>{_sums('Total', coverage.entries)}</tfoot></table>"


def _sums(name: str, entries: Sequence[Entry]) -> str:
    cells = []
    for kind in KINDS:
        found = summed(entries, kind)
        state = "" if found.used == found.all else " class=less"
        cells.append(f"<td{state}>{found.used} / {found.all}</td>" if found.all else "<td>&ndash;</td>")
    percent = summed(entries).percent
    return f"<tr><th>{name}</th>{''.join(cells)}<td><meter max=100 value={percent}></meter> {percent}%</td></tr>"


def _file(at: int, file: File, texts: Texts) -> Iterator[str]:
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
