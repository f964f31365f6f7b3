"""JSONPath, as far as it says where something stands: names, numbers, all of them, and any depth. No filters."""

import json
import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Step:
    """From a value to some within it: by name, by number (from the end, where negative), or to all (None).

    `deep`: not only directly within it, but at any depth.
    """

    key: str | int | None
    deep: bool = False


JsonPath = tuple[Step, ...]


@cache
def steps(text: str) -> JsonPath:
    """The steps of a path such as `$.messages[*].name`, `$..user` or `$['x y'][0]`. Raises ValueError: what, where."""
    if text[:1] != "$":
        raise ValueError("it must begin with $, as in $.user")
    at, found = 1, list[Step]()
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ValueError(f"{_advice(text[at:])}, at letter {at + 1}")
        found.append(_step(step))
        at = step.end()
    return tuple(found)


def _step(found: re.Match[str]) -> Step:
    deep = found["dots"] == ".." or found["deep"] is not None
    if found["name"] is not None:
        return Step(found["name"], deep)
    if found["quoted"] is not None:
        return Step(_unquoted(found["quoted"]), deep)
    return Step(None if found["number"] is None else int(found["number"]), deep)


def _unquoted(text: str) -> str:
    """A name in quotes; within them, a backslash means what it means in JSON."""
    inner = text[1:-1].replace("\\'", "'")
    if text[0] == "'":
        inner = _BARE_QUOTE.sub(r'\1\\"', inner)
    try:
        name: str = json.loads(f'"{inner}"')
    except ValueError:
        raise ValueError(f"the name {text} has an escape that is none") from None
    return name


def _advice(rest: str) -> str:
    for beginning, words in _ADVICE.items():
        if re.match(beginning, rest):
            return words
    return "there must be a name after a dot, or a number, a name in quotes or * in brackets"


_STEP = re.compile(
    r"""(?:(?P<dots>\.\.?)(?:(?P<name>[^\W\d][\w-]*)|\*)
        |(?P<deep>\.\.)?\[\s*(?:(?P<number>-?\d{1,9})|(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\*)\s*\])""",
    re.VERBOSE,
)
_BARE_QUOTE = re.compile(r'((?:^|[^\\])(?:\\\\)*)"')
_ADVICE = {
    r"\.{0,2}\[\s*\??\(|\.{0,2}\[\s*\?": "filters are not understood",
    r"\.{0,2}\[[^\]'\"]*:": "ranges are not understood",
    r"\.{0,2}\[[^\]]*,": "several keys at once are not understood; make a rule of each",
    r"\[[^\d'\"*\]]": "a name in brackets needs quotes, as in ['name']",
    r"\.{1,2}\d": "a number needs brackets, as in [0]",
}
