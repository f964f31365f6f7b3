"""Values as lines of YAML that read well in a diff: no line is folded, a text of several lines is a block.

What it writes means the same to readers of YAML 1.1 and 1.2. It must not know what a cassette is about.
"""

import re
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring

from mockserver.cassettes.bodies import Lexeme, Style
from mockserver.core.json_text import Json


class Flow(str):
    """What is YAML already, on one line."""

    __slots__ = ()


def lines(table: Mapping[str, Json]) -> list[str]:
    """A table, a key a line."""
    written: list[str] = []
    _entries(written, table, 0, "")
    return written


def quoted(text: str) -> str:
    """A text in double quotes."""
    return one_line(encode_basestring(text))


def flow(tree: Json) -> Flow:
    """JSON on one line."""
    return Flow(one_line(_ONE_LINE.text(tree)))


def word(text: str) -> str:
    """A text without quotes, where it is a plain word; safe in a flow too."""
    return text if _WORD.fullmatch(text) and text.lower() not in _MEANING else quoted(text)


def scalar(text: str) -> str:
    """A text on one line, in quotes where it needs them."""
    if len(text) <= _LONGEST_MEANING and text.lower() in _MEANING:
        return quoted(text)
    if _PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("'", "''") + "'" if '"' in text and _SEEN.fullmatch(text) else quoted(text)


def one_line(text: str) -> str:
    """What a YAML file may not hold, or takes for the end of a line, as escapes."""
    return text if text.isascii() and "\x7f" not in text else _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _entries(written: list[str], table: Mapping[str, Json], indent: int, lead: str) -> None:
    """The lines of a table; `lead` stands before its first key, in place of the indentation."""
    for key, value in table.items():
        _put(written, f"{lead}{scalar(key)}:", value, indent)
        lead = " " * indent


def _items(written: list[str], items: Sequence[Json], indent: int) -> None:
    lead = " " * indent + "-"
    for item in items:
        if isinstance(item, Mapping) and item:
            _entries(written, item, indent + 2, lead + " ")
        else:
            _put(written, lead, item, indent)


def _put(written: list[str], lead: str, value: Json, indent: int) -> None:
    """One value behind its key or dash; `indent` is the column of that."""
    if isinstance(value, str) and not isinstance(value, Lexeme | Flow):
        if "\n" in value and not _UNFIT.search(value) and value.strip("\n"):
            _block(written, lead, value, indent + 2)
        else:
            written.append(f"{lead} {scalar(value)}")
    elif isinstance(value, Mapping) and value:
        written.append(lead)
        _entries(written, value, indent + 2, " " * (indent + 2))
    elif isinstance(value, list | tuple) and not all(isinstance(item, Lexeme) for item in value):
        written.append(lead)
        _items(written, value, indent + 2)
    else:
        written.append(f"{lead} {value if isinstance(value, Flow) else flow(value)}")


def _block(written: list[str], lead: str, text: str, indent: int) -> None:
    """A text of several lines as it is, below its key."""
    mark = "2" if text[0] in " \t\n" else ""
    chomp = "-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else ""
    written.append(f"{lead} |{mark}{chomp}")
    begin = " " * indent
    written.extend(begin + line if line else "" for line in text.removesuffix("\n").split("\n"))


_ONE_LINE = Style("spaced")
_WORD = re.compile(r"[A-Za-z][\w.-]*+", re.ASCII)
_BEYOND = "\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff"  # what does not show, or ends a line, beside controls
_UNSEEN = "\x00-\x1f" + _BEYOND
# A letter or a slash, then anything but what ends a plain scalar, ends a line or does not show.
_PLAIN = re.compile(rf"(?:[^\W\d_{_UNSEEN}]|/)(?:[^:# {_UNSEEN}]|:(?=\S)|#| (?=[^#\s]))*+")
_SEEN = re.compile(rf"[^\\{_UNSEEN}]*+")
_UNSAFE = re.compile(f"[{_BEYOND}]")
_UNFIT = re.compile(f"[\x00-\x08\x0b-\x1f{_BEYOND}]")
_MEANING = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))
_LONGEST_MEANING = 5
