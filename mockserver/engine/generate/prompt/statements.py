"""What a text says of something in a sentence: "the capital is Paris", "Ottawa is the capital"."""

import re
from collections.abc import Iterator

from mockserver.engine.generate.prompt.mention import Mention
from mockserver.engine.generate.prompt.words import listed

_BEING = r"(?:is|are|was|were|ist|war|est|es|è)"
_OWNING = (
    r"(?:[Tt]he|[Mm]y|[Ii]ts|[Hh]is|[Hh]er|[Oo]ur|[Tt]heir|[Yy]our|[Dd]er|[Dd]ie|[Dd]as|[Mm]eine?|[Ll][ae]|[Ee]l"
    r"|[Mm]i)"
)
_SAID = re.compile(
    rf"(?<!\w){_OWNING} (?P<key>[^\W\d_A-Z][\w-]{{1,30}}(?: [^\W\d_A-Z][\w-]{{1,30}}){{0,2}}?) {_BEING} (?:that of )?"
    r"(?=(?P<value>[\"'“«]?(?:[A-Z0-9$€£#+-]|[^\W\d_a-z])[^\n;!?]{0,200}))"
)
_WHAT = re.compile(
    rf"(?<![\w.])(?P<value>[A-Z][\w'’.-]{{0,30}}(?: [A-Z][\w'’.-]{{0,30}}){{0,4}}) {_BEING} "
    r"(?:the|an?|our|my|its|their) (?P<key>[a-z][\w-]{1,30})(?= (?:of|for|in|at|and|on|with|who|that|from)\b|[.,;!?]|$)"
)
_END = re.compile(
    r"\.(?=\s|$)|,(?=\s)|\)(?!\S)| (?:and|but|with|from|who|which|because|while|in|on|for|at|by|as|und|et|y|where)\b"
)
_NOBODY = frozenset(listed("it this that he she they we you what who where there here which today"))


def statements(text: str) -> Iterator[Mention]:
    """The values that sentences give to what they name, up to the next clause; names and numbers only."""
    for found in _SAID.finditer(text):
        start = found.start("value")
        ended = _END.search(found["value"])
        value = (found["value"][: ended.start()] if ended else found["value"]).rstrip(" .")
        if value:
            yield Mention("pair", value.strip("\"'“”«»"), start, start + len(value), key=found["key"])
    for found in _WHAT.finditer(text):
        if found["value"].lower() not in _NOBODY:
            yield Mention("pair", found["value"], *found.span("value"), key=found["key"])
