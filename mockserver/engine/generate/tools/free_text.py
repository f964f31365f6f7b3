"""What is put into a tool that takes free text: what was quoted for it, or else what was said of it.

Knows texts and grammars, no conversation.
"""

import re

from mockserver.core.call import Tool
from mockserver.core.seed import Seed
from mockserver.engine.generate.filler import sentence
from mockserver.engine.generate.grammar import text_of
from mockserver.engine.generate.prompt import Mentions


def free_text(tool: Tool, said: Mentions, seed: Seed) -> str:
    """The input of a custom tool: by its grammar, if it has one, or else out of what was said.

    Raises Failure where the grammar is broken.
    """
    if tool.grammar is not None:
        return text_of(*tool.grammar, seed.branch("grammar", tool.name), said)
    return _quoted(said.text) or _rest(tool, said.text) or sentence(seed.stream("custom", tool.name))


def _quoted(said: str) -> str:
    """What stands in a fence or in quotes."""
    for pattern in (_FENCE, _TICKS, _QUOTES):
        if found := pattern.search(said):
            return next(group for group in found.groups() if group is not None).strip("\n")
    return ""


def _rest(tool: Tool, said: str) -> str:
    """What follows a colon or the words that ask for the tool."""
    asked = re.compile(rf"^.{{0,60}}?\b{re.escape(tool.name)}\b(?:\s+tool)?\s*(?:to|with|on|for|and)?\s*", re.I | re.S)
    rest = asked.sub("", said, count=1)
    _, colon, after = rest.partition(": ")
    return (after if colon else _POLITE.sub("", rest)).strip()


_FENCE = re.compile(r"```(?:\w*\n)?([^`]*)```")
_TICKS = re.compile(r"`([^`\n]+)`")
_QUOTES = re.compile(r'"([^"]+)"|“([^“”]+)”|«([^«»]+)»')
_POLITE = re.compile(r"^\s*(?:please|can you|could you|would you|kindly)\s+", re.IGNORECASE)
