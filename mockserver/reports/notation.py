"""Rules as people write them, in a test (`mockserver.on(...).reply(...)`) and in a rules file.

What stands in them is data: every character that does not show as itself is escaped.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from mockserver.core.json_text import Json

WIDE = 100  # characters of a rule on one line
Table = Mapping[str, Json]


def in_python(when: Table, then: Table) -> Iterator[str]:
    """The lines of a rule that a test declares."""
    arguments = [f"{name}={python(value)}" for name, value in _keywords(when).items()]
    answer = _answer(then)
    one = f"mockserver.on({', '.join(arguments)}){answer}"
    if len(one) <= WIDE:
        yield one
    else:
        yield "mockserver.on("
        yield from (f"    {argument}," for argument in arguments)
        yield f"){answer}"


def in_yaml(when: Table, then: Table) -> Iterator[str]:
    """The lines of a rule as an item of `rules`."""
    fields = [f"{name}: {yaml(value)}" for name, value in when.items()]
    one = f"- when: {{{', '.join(fields)}}}"
    if len(one) <= WIDE:
        yield one
    else:
        yield "- when:"
        yield from (f"    {field}" for field in fields)
    yield f"  then: {yaml(then)}"


def field_in_python(name: str, value: Json) -> str:
    """One condition as an argument of `on`: `last_user="hello"`."""
    [(keyword, written)] = _keywords({name: value}).items()
    return f"{keyword}={python(written)}"


def field_in_yaml(name: str, value: Json) -> str:
    """One condition as a line of `when`: `last_user: hello`."""
    return f"{name}: {yaml(value)}"


def python(value: Json) -> str:
    """A value as a literal of Python."""
    return _written(value, {True: "True", False: "False", None: "None"}, _quoted, _quoted)


def yaml(value: Json) -> str:
    """A value as YAML on one line."""
    return _written(value, {True: "true", False: "false", None: "null"}, _scalar, _scalar)


def _written(value: Json, words: Mapping[object, str], text: Callable[[str], str], key: Callable[[str], str]) -> str:
    match value:
        case bool() | None:
            return words[value]
        case str():
            return text(value)
        case Mapping():
            pairs = (f"{key(str(name))}: {_written(inner, words, text, key)}" for name, inner in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(_written(inner, words, text, key) for inner in value)}]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    """A text in double quotes, as Python and YAML both read it."""
    return '"' + "".join(map(_letter, text)) + '"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    return _NAMED.get(letter) or (f"\\u{code:04x}" if code < _WIDE_CODE else f"\\U{code:08x}")


def _scalar(text: str) -> str:
    """A text of YAML: bare where it is a plain word."""
    return text if _BARE.fullmatch(text) and text.lower() not in _WORDS else _quoted(text)


def _keywords(when: Table) -> dict[str, Json]:
    """A `when` as the arguments of `on`: `param.n` stands in a table `param`, `not` is `not_`."""
    found: dict[str, Json] = {}
    for name, value in when.items():
        family, _, inner = name.partition(".")
        if inner:
            found.setdefault(family, {})[inner] = value
        else:
            found["not_" if name == "not" else name] = value
    return found


def _answer(then: Table) -> str:
    if "error" in then:
        return f".fail({python(then['error'])})"
    if "text" in then:
        return f".reply({python(then['text'])})"
    return f".reply({', '.join(f'{name}={python(value)}' for name, value in then.items())})"


_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WIDE_CODE = 0x10000
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
