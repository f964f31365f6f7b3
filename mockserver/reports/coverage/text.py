"""Coverage as text: a table, and the rules that nobody used."""

from collections.abc import Iterable, Iterator, Sequence

from mockserver.reports.coverage.value import KINDS, Coverage, Entry, summed


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
