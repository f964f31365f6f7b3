"""Regular expressions of `when`: searched for within a time limit, and read for the texts that each match contains."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from mockserver.config.errors import RuleError
from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily
from mockserver.core.pattern_size import check_size

REGEX_SECONDS = 0.1  # for every million characters or part of it


def compile_search(pattern: str, *, fold: bool) -> Callable[[Json], bool | Mapping[str, str]]:
    """Return the test whether a value is a text with a match of a pattern, which `fold` lets ignore case.

    The test returns the named groups if there are any, and raises RuleError if it takes too long. Raises ValueError for
    an invalid pattern.
    """
    compiled = cache(partial(_compile, pattern, fold=fold))
    alike = _reads_alike(pattern)
    if not alike:
        compiled()  # its mistakes are reported now
    required = "" if fold else max(find_literals(pattern), key=len, default="")
    surely_fast = _SHORT_TEXT if alike and _is_simple(pattern) else -1  # characters of a text

    def search(actual: Json) -> bool | Mapping[str, str]:
        if not isinstance(actual, str) or required not in actual:  # much faster than a search by the pattern
            return False
        expression = compiled()
        if len(actual) <= surely_fast:
            found = expression.search(actual)  # reading the clock takes longer
        else:
            try:
                found = expression.search(actual, timeout=REGEX_SECONDS * (1 + len(actual) // 1_000_000))
            except (TimeoutError, MemoryError):  # the library raises MemoryError for some patterns
                raise RuleError(_explain_timeout(pattern)) from None
        return found is not None and (found.groupdict("") or True)

    return search


def read_slashed(text: str) -> Mapping[str, Json] | None:
    """Return the condition that a text means which is a pattern as other languages write it: `/hello/i`; else None."""
    found = _SLASHED.fullmatch(text)
    if found is None:
        return None
    return {"regex": found["pattern"], **({"ignore_case": True} if "i" in found["flags"] else {})}


def _compile(pattern: str, *, fold: bool) -> Any:
    import regex  # type: ignore[import-untyped]  # slow to import, and many rules files have no pattern

    try:
        return regex.compile(check_size(pattern), regex.IGNORECASE if fold else 0)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"invalid regular expression: {error}") from None


def _reads_alike(pattern: str) -> bool:
    """Return whether `regex` and the standard library read a pattern alike, and the latter accepts it.

    If so, `regex` is not imported until a text is searched.
    """
    if len(pattern) > _LONGEST_ALIKE or not _ALIKE.fullmatch(pattern):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _is_simple(pattern: str) -> bool:
    """Return whether a pattern that reads alike is short, repeats at most one character, and has no other choice."""
    if len(pattern) > _SIMPLE or "|" in pattern or pattern.count("?") > pattern.count("(?"):
        return False
    return pattern.count("*") + pattern.count("+") <= 1 and ")*" not in pattern and ")+" not in pattern


_SIMPLE = 60  # characters of a pattern: the search then stays far below its time limit
_SHORT_TEXT = 200  # characters of a text
_LONGEST_ALIKE = 200  # characters
_ALIKE = compile_lazily(
    r"""(?:
      [^\(){}\[\]?]
    | \\[dDwWsSbB] | \\[^\w\s]
    | \( (?: \?: | \?P<[A-Za-z_]\w*+> )?+ (?!\?) | \) | \?
    | \[ \^?+ (?: \w-\w | \w | \\[dDwWsS] | [ .,/'"!] )++ -?+ \]
    )*+""",
    re.VERBOSE,
)


def _explain_timeout(pattern: str) -> str:
    shown = json.dumps(pattern if len(pattern) <= 80 else pattern[:79] + "…", ensure_ascii=False)
    return f"the pattern {shown} took more than {REGEX_SECONDS} s, or ran out of memory, on this request; simplify it"


def find_literals(pattern: str) -> tuple[str, ...]:
    """Return literal texts that every match of the pattern must contain; none if that is not obvious."""
    runs: list[str] = []
    run = ""
    depth = 0
    at = 0
    while at < len(pattern):
        element = _ELEMENT.match(pattern, at)
        kind = element.lastgroup if element else None
        if element is None or (kind == "or" and not depth):
            return ()
        at = element.end()
        depth += (kind == "open") - (kind == "close")
        if depth == 0 and kind in ("letter", "escaped"):
            run += element[0][-1]
        elif depth == 0:
            # A quantity other than + makes the last letter optional.
            runs.append(run[:-1] if kind == "quantity" and element[0] != "+" else run)
            run = ""
    return tuple(filter(None, (*runs, run)))


_SLASHED = compile_lazily(r"/(?P<pattern>.+)/(?P<flags>[a-z]*)", re.DOTALL)

# One element of a pattern. Anything else, such as (?i), \p{L} or a nested set, counts as unknown.
_ELEMENT = compile_lazily(
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
