"""Which text must stand in every match of a regular expression, where that is plain to see.

It reads simple patterns only and gives up on all others: saying nothing costs a little time, saying too much would make
a rule miss.
"""

import re
from collections.abc import Iterator

# One element of a pattern. What none of these reads, such as (?i), \p{L} or a nested set, is not simple.
_ELEMENT = re.compile(
    r"""
      (?P<open>    \( (?: \?: | \?P?<[A-Za-z_]\w*> )? (?!\?) )
    | (?P<close>   \) )
    | (?P<or>      \| )
    | (?P<quantity> [*+?] | \{ [^{}]* \} )
    | (?P<break>   [.^$] | \\[dDwWsSbBAZntrfv] | \[ \^?+ \]?+ (?: [^\[\]\\] | \\[^\W_] | \\\W )* \] )
    | (?P<escaped> \\ [^\w\s] )
    | (?P<letter>  [^\\()|*+?{}\[\].^$] )
    """,
    re.VERBOSE | re.DOTALL,
)


def literals(pattern: str) -> tuple[str, ...]:
    """Pieces of text that stand in every text in which the pattern is found; none where that is not plain."""
    elements = list(_elements(pattern))
    if not elements or elements[-1][0] == "unknown":
        return ()
    outside = list(_outside(elements))
    if any(kind == "or" for kind, _ in outside):
        return ()
    return tuple(_runs(outside))


def _elements(pattern: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(pattern):
        found = _ELEMENT.match(pattern, at)
        if found is None:
            yield "unknown", pattern[at:]
            return
        yield str(found.lastgroup), found[0]
        at = found.end()


def _outside(elements: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The elements outside of all groups; a group is a break."""
    depth = 0
    for kind, text in elements:
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            yield "break", text
        elif depth == 0:
            yield kind, text


def _runs(elements: list[tuple[str, str]]) -> Iterator[str]:
    """Letters that stand side by side and must all be there."""
    run = ""
    for kind, text in [*elements, ("break", "")]:
        if kind in ("letter", "escaped"):
            run += text[-1]
            continue
        if kind == "quantity" and text != "+":
            run = run[:-1]  # perhaps it is not there at all
        if run:
            yield run
        run = ""
