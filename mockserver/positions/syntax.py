"""What a YAML parser complains of, in words that say what to mend. Knows both libyaml's phrases and PyYAML's own."""

from collections.abc import Callable
from typing import Any

BARE_STAR = 'a text that starts with "*" must stand in quotes'
BARE_BRACES = 'a text that starts with "{{" must stand in quotes'


def explain(error: Any, text: str) -> tuple[str, int, int]:
    """Plain words for a MarkedYAMLError, and the line and column (from 0) that they are about."""
    complaint = f"{error.context}: {error.problem}"
    about, words = next((rule[1:] for rule in _PHRASES if rule[0] in complaint), (_here, f"no YAML: {error.problem}"))
    mark = about(error)
    lines = text.splitlines()
    if mark.line >= len(lines) or (mark.line == len(lines) - 1 and mark.column >= len(lines[-1])):
        return _end(error, lines)
    line = lines[mark.line]
    if callable(words):
        words = words(line[: mark.column], line[mark.column :])
    opened = error.context_mark.line + 1 if error.context_mark else mark.line + 1
    return words.replace("LINE", f"line {opened}"), mark.line, mark.column


def _end(error: Any, lines: list[str]) -> tuple[str, int, int]:
    """The file ends too early; what is still open matters more than the end."""
    mark = _opening(error)
    if mark.line >= len(lines):
        return "the file ends in the middle of something", len(lines) - 1, len(lines[-1])
    return f'this "{lines[mark.line][mark.column : mark.column + 1]}" is never closed', mark.line, mark.column


def _here(error: Any) -> Any:
    return error.problem_mark


def _opening(error: Any) -> Any:
    return error.context_mark or error.problem_mark


def _start(before: str, after: str) -> str:
    if after.startswith("\t"):
        return _TAB
    return f'a text that starts with "{after[:1]}" must stand in quotes'


def _open_table(before: str, after: str) -> str:
    """A table in braces that goes on where it should not."""
    if "{{" in before or after.startswith("{{"):
        return "a text with {{ }} must stand in quotes here, inside the braces of a table"
    return 'a "," or "}" is missing before this, for the "{" of LINE'


def _misfit(before: str, after: str) -> str:
    """Something stands where a key, or the end of the table, should."""
    if "{{" in before and "}" in before:
        return BARE_BRACES
    if before.rstrip().endswith(('"', "'")):
        return "text behind a closing quote; put the whole value in one pair of quotes"
    if after.startswith(("]", "}")):
        return f'this "{after[0]}" closes nothing'
    if not before.strip():
        return "this line is not indented like the lines of its table"
    return "this does not fit here; look at the quotes and the indentation of this line and the one above"


_TAB = "a tab stands where only spaces may: YAML is indented with spaces"
_COLON = 'this ":" does not fit here: put a text that holds ": " in quotes, or mend the indentation'
_INDENT = 'this line is not indented like the "-" above it'

# What the complaint holds, the mark that matters, and the words: the first that fits.
_PHRASES: tuple[tuple[str, Callable[[Any], Any], str | Callable[[str, str], str]], ...] = (
    ("scanning an alias", _opening, BARE_STAR),
    ("scanning an anchor", _opening, 'a text that starts with "&" must stand in quotes'),
    ("scanning a tag", _opening, 'a text that starts with "!" must stand in quotes'),
    ("parsing a tag", _opening, 'a text that starts with "!" must stand in quotes'),
    ("undefined tag handle", _opening, 'a text that starts with "!" must stand in quotes'),
    ("scanning a directive", _opening, 'a text that starts with "%" must stand in quotes'),
    ("incompatible YAML document", _here, "only YAML 1.1 and 1.2 can be read"),
    ("tab character", _here, _TAB),
    ("cannot start any token", _here, _start),
    ("mapping values are not allowed", _here, _COLON),
    ("sequence entries are not allowed", _here, 'a list cannot begin here: put its "-" on a line of its own'),
    ("parsing a flow sequence", _here, 'a "," or "]" is missing before this, for the "[" of LINE'),
    ("parsing a flow mapping", _here, _open_table),
    ("unexpected end of stream", _opening, "this quote is never closed"),
    ("unexpected document", _opening, "this quote is never closed"),
    ("escape", _here, 'no escape that YAML knows; write "\\\\" for a backslash, or use single quotes'),
    ("scanning a block scalar", _opening, 'behind "|" or ">" the line must end; the text begins on the next line'),
    ("scanning a simple key", _opening, 'this line is no "key: value"; is a ":" missing?'),
    ("node content", _here, "a value is missing before this; a text that starts with this must stand in quotes"),
    ("parsing a block mapping", _here, _misfit),
    ("parsing a block collection", _here, _INDENT),
    ("document start", _here, "this line is not indented like the first one"),
)
