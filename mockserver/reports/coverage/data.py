"""Coverage as JSON, for programs. `VERSION` rises when something that is there gets another meaning, or goes."""

import json
from collections.abc import Sequence
from typing import Any

from mockserver.reports.coverage.value import KINDS, Coverage, Entry, File, summed

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
