"""Rows of a knowledge graph (GraphRAG, LightRAG): cells between signs, `("entity"<|>Ada<|>person<|>…)`, then an end.

The entities are the names in the text that a message sets apart, and those in one sentence are related.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.lazy import compile_lazily
from mockserver.model.arguments.mentions import find_phrases
from mockserver.model.choosing import find_option
from mockserver.model.conversation import cut_examples, find_material
from mockserver.model.notations import TextAgent
from mockserver.model.prose import SENTENCE
from mockserver.model.vocabulary import cut_excerpt


class GraphRow(Struct, frozen=True):
    """The kind of a row, the names of its other cells, and the signs before it and between its cells."""

    kind: str
    cells: Sequence[str]
    opening: str
    sign: str

    def write(self, values: Mapping[str, str]) -> str:
        """Return the row with the value for the cell that has it in its name, such as `name`; else the description."""
        cells = (next((values[word] for word in values if word in cell), values["about"]) for cell in self.cells)
        quote = '"' if self.opening.endswith('"') else ""
        written = (cell if cell.isdecimal() else f"{quote}{cell}{quote}" for cell in cells)
        return self.opening + self.sign.join((f"{self.kind}{quote}", *written)) + ")" * self.opening.count("(")


def read(call: Call, prompt: str) -> TextAgent | None:
    shown = islice(_ROW.finditer(prompt), _MOST) if "<|" in prompt else ()
    rows = [GraphRow(row["kind"], re.findall(r"\w+", row["cells"]), row["opening"], row["sign"]) for row in shown]
    entity = next((row for row in rows if not any("source" in cell for cell in row.cells)), None)
    relation = next((row for row in rows if any("source" in cell for cell in row.cells)), None)
    if entity is None or relation is None:
        return None
    kinds = [kind.strip(" \"'`") for kind in ["other", *_TYPES.findall(prompt)][-1].split(",")]
    cases = ((each.text, find_material(cut_examples(each.text))) for each in reversed(call.messages))
    text = next((case for said, case in cases if case != said), "")
    known = "\n".join(each.text for each in call.messages if each.role == "assistant")
    graph = _write_rows(cut_excerpt(_LABEL.split(text)[-1]), entity, relation, kinds)
    separator = f"{found[1]}\n" if (found := _SEPARATOR.search(prompt)) else "\n"
    lines = separator.join(row for row in graph if row not in known)
    return TextAgent(call, lambda calls: "", lambda answer: f"{lines}\n{''.join(_END.findall(prompt)[-1:])}".strip())


def _write_rows(text: str, entity: GraphRow, relation: GraphRow, kinds: Sequence[str]) -> Iterator[str]:
    """Yield the rows of the entities in a text, then those that relate two of them."""
    stated = [" ".join(each[0].split()) for each in SENTENCE.finditer(text)]
    phrases = {about: [each for each in find_phrases(about) if each.kind == "name"] for about in stated}
    named = {about: [str(each.value) for each in found if each.unit != "label"] for about, found in phrases.items()}
    usual = next((kind for kind in kinds if kind.lower() == "person"), kinds[0])
    for name in [*dict.fromkeys(chain.from_iterable(named.values()))][:_MOST]:
        about = next(about for about in stated if name in about)
        kind = find_option(about, dict.fromkeys(kinds, "")) or usual
        yield entity.write({"name": name, "type": kind, "about": about})
    pairs = {pair: about for about, names in named.items() for pair in combinations(sorted({*names})[:4], 2)}
    for (one, other), about in pairs.items():
        values = {"source": one, "target": other, "strength": "8", "keywords": f"{one}, {other}", "about": about}
        yield relation.write(values)


_MOST = 40  # rows that are shown, and entities
_ROW = compile_lazily(
    r"(?P<opening>\(?\"?)\b(?P<kind>\w{3,20})\"?(?P<sign><\|\W{0,3}>)(?P<cells><?\w{3,40}>?(?:(?P=sign)<?\w{3,40}>?){2,6})"
)
_TYPES = compile_lazily(r"(?i)(?:\b|_)types?\b[^:\n]{0,40}:\s{0,9}\[?([\w\"' -]{2,40}(?:,[\w\"' -]{2,40}){1,40})")
_END = compile_lazily(r"<\|(?i:complete|done|end)\w{0,10}\|>")
_SEPARATOR = compile_lazily(r"(?i)\buse \W{0,3}?([^\w\s*]{1,5})\W{0,3} as the (?:list|record) delimiter")
_LABEL = compile_lazily(r"(?m)^(?i:input )?[Tt]ext:[ \t]*")
