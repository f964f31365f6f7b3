"""Rows of a knowledge graph (GraphRAG, LightRAG): cells between signs, `("entity"<|>Ada<|>person<|>…)`, then an end.

The entities are the names in the text that the prompt ends with, and those in one sentence are related.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice

from msgspec import Struct

from mockserver.core.call import Call, Message
from mockserver.core.lazy import compile_lazily
from mockserver.model.arguments.evidence import Mention
from mockserver.model.arguments.mentions import find_phrases
from mockserver.model.choosing import find_option
from mockserver.model.conversation import cut_examples, find_material
from mockserver.model.notations import TextAgent
from mockserver.model.prose import SENTENCE, list_content_words
from mockserver.model.vocabulary import ENGLISH, cut_excerpt


class Row(Struct, frozen=True):
    """The kind of a row, the names of its other cells, and the signs around the row and between its cells."""

    kind: str
    cells: Sequence[str]
    opening: str
    sign: str
    closing: str

    @property
    def relates(self) -> bool:
        return any("source" in cell for cell in self.cells)

    def write(self, values: Mapping[str, str]) -> str:
        """Return the row with the value for the cell that has it in its name, such as `name`; else the description."""
        cells = (next((values[word] for word in values if word in cell), values["about"]) for cell in self.cells)
        quote = '"' if self.opening.endswith('"') else ""
        written = (cell if cell.isdecimal() else f"{quote}{cell}{quote}" for cell in cells)
        return f"{self.opening}{self.sign.join((f'{self.kind}{quote}', *written))}{self.closing}"


def read(call: Call, prompt: str) -> TextAgent | None:
    shown = islice(_ROW.finditer(prompt), _MOST_SHOWN) if "<|" in prompt else ()
    rows = [*{row["kind"]: _read_row(row) for row in reversed([*shown])}.values()]
    if {row.relates for row in rows} != {True, False}:
        return None
    listed = ["other", *_TYPES.findall(prompt)][-1]
    kinds = [kind.strip(" \"'`") for kind in listed.split(",")]
    text = next(filter(None, map(_find_text, reversed(call.messages))), "")
    known = "\n".join(each.text for each in call.messages if each.role == "assistant")
    records = [record for record in _write_rows(text, rows, kinds) if record not in known]
    separator = f"{found[1]}\n" if (found := _SEPARATOR.search(prompt)) else "\n"
    graph = f"{separator.join(records)}\n{''.join(_END.findall(prompt)[-1:])}".strip()
    return TextAgent(call, lambda calls: "", lambda answer: graph)


def _read_row(shown: re.Match[str]) -> Row:
    cells = re.findall(r"\w+", shown["cells"])
    return Row(shown["kind"], cells, shown["opening"], shown["sign"], ")" if "(" in shown["opening"] else "")


def _find_text(message: Message) -> str:
    """Return the text that a message sets apart for the graph."""
    case = find_material(cut_examples(message.text))
    return "" if case == message.text else cut_excerpt(_LABEL.split(case)[-1])


def _write_rows(text: str, rows: Sequence[Row], kinds: Sequence[str]) -> Iterator[str]:
    """Yield the rows of the entities in a text, then those that relate two of them."""
    stated = [" ".join(each[0].split()) for each in SENTENCE.finditer(text)]
    named = {about: [str(name.value) for name in find_phrases(about) if _is_name(name)] for about in stated}
    usual = next((kind for kind in kinds if kind.lower() == "person"), kinds[0])
    for name in [*dict.fromkeys(chain.from_iterable(named.values()))][:_MOST_ENTITIES]:
        about = next(about for about in stated if name in about)
        kind = find_option(about, dict.fromkeys(kinds, "")) or usual
        yield from (row.write({"name": name, "type": kind, "about": about}) for row in rows if not row.relates)
    pairs = {
        pair: about for about, names in named.items() for pair in combinations(sorted({*names})[:_MOST_RELATED], 2)
    }
    for (one, other), about in pairs.items():
        keywords = ", ".join(list_content_words(about, ENGLISH)[:2])
        values = {"source": one, "target": other, "strength": "8", "keywords": keywords, "about": about}
        yield from (row.write(values) for row in rows if row.relates)


def _is_name(found: Mention) -> bool:
    return found.kind == "name" and found.unit != "label"


_MOST_SHOWN = 40
_MOST_ENTITIES = 40
_MOST_RELATED = 4  # names of a sentence
_ROW = compile_lazily(
    r"(?P<opening>\(?\"?)\b(?P<kind>\w{3,20})\"?(?P<sign><\|\W{0,3}>)(?P<cells><?\w{3,40}>?(?:(?P=sign)<?\w{3,40}>?){2,6})"
)
_TYPES = compile_lazily(r"(?i)(?:\b|_)types?\b[^:\n]{0,40}:\s{0,9}\[?([\w\"' -]{2,40}(?:,[\w\"' -]{2,40}){1,40})")
_END = compile_lazily(r"<\|(?i:complete|done|end)\w{0,10}\|>")
_SEPARATOR = compile_lazily(r"(?i)\buse \W{0,3}?([^\w\s*]{1,5})\W{0,3} as the (?:list|record) delimiter")
_LABEL = compile_lazily(r"(?m)^(?i:input )?[Tt]ext:[ \t]*")
