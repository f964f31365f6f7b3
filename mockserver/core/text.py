"""Values as text for people: on one line, cut, and with every character escaped that would not show as itself."""

import json
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

MAX_LOG_LINE = 300  # characters of a line in a log
SHOWN = 80  # characters of a value in a message


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun: `1 call`, `2 calls`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def format_size(size: int) -> str:
    """Return a number of bytes as people read it: `5 B`, `5.3 kB`."""
    for unit, bytes_each in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= bytes_each:
            return f"{size / bytes_each:.1f} {unit}"
    return f"{size} B"


def show_value(value: object, longest: int = SHOWN) -> str:
    """Return a value as JSON on one line, cut after `longest` characters."""
    text = ""
    whole = truncate(value, longest) if isinstance(value, str) else value
    for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(whole):
        text += piece
        if len(text) > longest + 2:
            return join_to_line(text[: longest + 1]) + "…"
    return join_to_line(text)


def make_reprs(*names: str) -> tuple[Callable[[Struct], str], Callable[[Struct], list[tuple[str, Any]]]]:
    """Return `__repr__` and `__rich_repr__` without the fields of these names, which no traceback may show."""

    def list_fields(struct: Struct) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in asdict(struct).items() if name not in names]

    def show(struct: Struct) -> str:
        return f"{type(struct).__name__}({', '.join([f'{name}={value!r}' for name, value in list_fields(struct)])})"

    return show, list_fields


def truncate(text: str, longest: int = SHOWN) -> str:
    """Cut a text to `longest` characters, the last of which says so: `…`."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def limit_lines(lines: Sequence[str], most: int) -> Iterator[str]:
    """Yield the first `most` lines, then one that says how many more there are."""
    yield from lines[:most]
    if len(lines) > most:
        yield f"... and {len(lines) - most} more"


def count_shared_start(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike, by bisection, as both may be huge."""
    low = 0
    high = min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def count_shared_ends(one: str, other: str) -> tuple[int, int]:
    """Return how many characters two texts begin with alike, and with how many of the rest they end alike."""
    front = count_shared_start(one, other)
    return front, count_shared_start(one[front:][::-1], other[front:][::-1])


def join_to_line(text: str) -> str:
    """Return a text with its line breaks and invisible characters as the escapes of JSON."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


def align_columns(rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> Iterator[str]:
    """Align rows of cells in columns, two spaces apart; columns in `right` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(widths[at]) if at in right else cell.ljust(widths[at]) for at, cell in enumerate(row))
        yield "  ".join(cells).rstrip()


def write_ranges(numbers: Sequence[int], most: int = 10) -> str:
    """Return ascending numbers, consecutive ones as a range: `#1, #3 to #5`; at most `most` ranges."""
    starts = [numbers[0], *(after for before, after in pairwise(numbers) if after - before > 1)]
    ends = [*(before for before, after in pairwise(numbers) if after - before > 1), numbers[-1]]
    found = [f"#{start}" + f" to #{end}" * (end > start) for start, end in zip(starts, ends, strict=True)]
    return ", ".join((*found[:most], *(("...",) if len(found) > most else ())))


def escape_line(text: str, longest: int = MAX_LOG_LINE) -> str:
    """Return a text in ASCII on one line of a log, cut after `longest` characters."""
    if len(text) > longest:
        text = text[:longest] + "..."
    if text.isascii() and text.isprintable():
        return text
    escaped = text.encode("ascii", "backslashreplace").decode("ascii")
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in escaped)


def escape_lines(text: str) -> str:
    """Several lines, each escaped and marked with a bar, so that none can be taken for a log line of its own."""
    return "\n".join(f"| {escape_line(line, MAX_LOG_LINE)}" for line in text.split("\n"))


def is_unicode(text: str) -> bool:
    """Return whether a text has no half of a character (a lone surrogate), which no other program takes."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
