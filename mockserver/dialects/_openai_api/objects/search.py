"""Searches in vector stores: chunks of texts, ranked by the words that they share with a query.

The live API ranks by meaning. Here the score is the share of the query's words that a chunk has, so that a test can
tell which chunk is the best one. Filters are exact (https://platform.openai.com/docs/guides/retrieval).
"""

import asyncio
import re
from array import array
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from heapq import nlargest
from itertools import accumulate

from msgspec import Struct

from mockserver.core.json import Json, find_in
from mockserver.core.lazy import Memo
from mockserver.core.tokens import APPROX
from mockserver.dialects._errors import refuse
from mockserver.dialects._parse import Body, Complaint

USUAL_RESULTS = 10
MAX_RESULTS = 50
MAX_CHUNKS = 2_000  # of one file
MAX_QUERIES = 32  # of one search
_MAX_ASKED = 4_096  # characters of a query that are read
_TURN = 50  # chunks that are looked at before other requests have their turn
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s|$)[^\n.!?]*)*[.!?]?")
_LONGEST_SENTENCE = 1_000  # characters
_WORD_SIZE = 250  # bytes that a word takes, with the numbers of its chunks
_READABLE = re.compile(rb"[\t\n\r -~]{4,}")
MAX_READ = 1_000_000  # bytes of a file


class Source(Struct, frozen=True, kw_only=True):
    """A file as searches see it."""

    file_id: str
    name: str
    text: str
    attributes: Mapping[str, Json]
    chunking: Mapping[str, Json]

    async def open(self) -> "Chunks":
        """Return the parts of the text, which overlap; they are found once for equal texts."""
        stated = self.chunking.get("static")
        sizes = stated if isinstance(stated, Mapping) else {}
        size = _read_number(sizes.get("max_chunk_size_tokens"), usual=800, least=100, most=4096)
        overlap = _read_number(sizes.get("chunk_overlap_tokens"), usual=400, least=0, most=size // 2)
        key = (self.text, size, overlap)
        found = _OPENED.get(key)
        if found is None:
            found = await split_chunks(self.text, size=size, overlap=overlap)
            _OPENED.keep(key, found, found.memory)
        return found


class Chunks(Struct, frozen=True):
    """The parts of a text, and for each word the numbers of those that have it."""

    text: str
    spans: Sequence[slice]
    places: Mapping[str, Sequence[int]]

    @property
    def memory(self) -> int:
        """About how many bytes they take."""
        return len(self.text) + 200 * len(self.spans) + sum([_WORD_SIZE + 2 * len(at) for at in self.places.values()])

    def read(self, number: int) -> str:
        """Return the text of one part."""
        return self.text[self.spans[number]]

    def score(self, queries: Sequence[frozenset[str]]) -> list[float]:
        """Return a score for each part: the largest share of a query's words that the part has."""
        scores = [0.0] * len(self.spans)
        for query in queries:
            shared = Counter(number for word in query for number in self.places.get(word, ()))
            for number, count in shared.items():
                scores[number] = max(scores[number], round(count / len(query), 4))
        return scores


async def split_chunks(text: str, *, size: int, overlap: int) -> Chunks:
    """Return the parts of a text, of `size` tokens each, of which it shares `overlap` with the part before it."""
    tokens = APPROX.split(text)
    starts = range(0, max(1, len(tokens) - overlap), max(1, size - overlap))
    ends = [0, *accumulate(map(len, tokens))]
    spans = list[slice]()
    places: dict[str, array[int]] = {}
    for number, start in enumerate(starts[:MAX_CHUNKS]):
        if number % _TURN == 0:
            await asyncio.sleep(0)  # let other requests run
        spans.append(slice(ends[start], ends[min(start + size, len(tokens))]))
        for word in _list_words(text[spans[-1]]):
            places.setdefault(word, array("H")).append(number)
    return Chunks(text, spans, places)


class Found(Struct, frozen=True):
    """One chunk that a search found."""

    source: Source
    score: float
    text: str

    def show_in_page(self) -> Body:
        """Return it as a search of a vector store shows it."""
        return {
            "file_id": self.source.file_id,
            "filename": self.source.name,
            "score": self.score,
            "attributes": self.source.attributes,
            "content": [{"type": "text", "text": self.text}],
        }

    def show_in_item(self) -> Body:
        """Return it as the item of a tool call shows it."""
        return {
            "attributes": self.source.attributes,
            "file_id": self.source.file_id,
            "filename": self.source.name,
            "score": self.score,
            "text": self.text,
        }


async def rank_chunks(source: Source, asked: Body) -> Sequence[Found]:
    """Return the best chunks of a file for a search, by the fields of a request: `queries`, `filters`, ...

    Only the first queries and the first letters of each are read: what one search costs is bounded.
    """
    filters = asked.get("filters")
    if isinstance(filters, Mapping) and not fits(source.attributes, filters):
        return ()
    begun = [query[:_MAX_ASKED] for query in asked["queries"][:MAX_QUERIES]]
    queries = [words for query in begun if (words := _list_words(query))]
    threshold = find_in(asked, "ranking_options", "score_threshold")
    least = threshold if isinstance(threshold, int | float) else 0.0
    chunks = await source.open()
    scores = chunks.score(queries)
    best = nlargest(MAX_RESULTS, range(len(scores)), key=lambda number: (scores[number], -number))
    return [Found(source, scores[number], chunks.read(number)) for number in best if scores[number] >= least]


def find_sentence(text: str, query: str) -> str:
    """Return the sentence of a text that shares most words with a query, if several do, the first that has an end.

    It is cut if it is long, and empty if the text is.
    """
    wanted = _list_words(query)
    sentences = [" ".join(found[0].split()).lstrip("#>*- ") for found in _SENTENCE.finditer(text)]

    def rank(sentence: str) -> tuple[int, bool]:
        return len(wanted & _list_words(sentence)), sentence.endswith((".", "!", "?"))

    return max(filter(None, sentences), key=rank, default="")[:_LONGEST_SENTENCE]


def select_best(found: Sequence[Found], asked: Body) -> Sequence[Found]:
    """Return the chunks that fit best, as many as a request asks for."""
    most = _read_number(asked.get("max_num_results"), usual=USUAL_RESULTS, least=1, most=MAX_RESULTS)
    return sorted(found, key=lambda each: (-each.score, each.source.file_id))[:most]


def read_text(data: bytes, name: str) -> str:
    """Return the text of a file; of one that is not plain text, its name and the readable parts."""
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"", "utf-8-sig")):
        if data.startswith(mark) and not data.startswith(b"%PDF"):
            try:
                return getincrementaldecoder(encoding)().decode(data)  # the data may end within a letter
            except UnicodeDecodeError:
                break
    parts = [part.decode("ascii") for part in _READABLE.findall(data)]
    return "\n".join((name, *parts))


def fits(attributes: Mapping[str, Json], condition: Mapping[str, Json]) -> bool:
    """Return whether attributes meet a filter; an absent attribute is not equal to anything, and in no list.

    Raises Failure if there is no such filter.
    """
    kind = condition.get("type")
    inner = condition.get("filters")
    if kind in ("and", "or"):
        results = (
            [fits(attributes, each) for each in inner if isinstance(each, Mapping)] if isinstance(inner, list) else []
        )
        return all(results) if kind == "and" else any(results)
    if not condition:
        return True
    compare = _COMPARISONS.get(str(kind))
    if compare is None:
        raise refuse(Complaint("value", ("filters", "type"), got=kind, expected=(*_COMPARISONS, "and", "or")))
    found = attributes.get(str(condition.get("key")))
    if found is None:
        return kind in ("ne", "nin")
    try:
        return compare(found, condition.get("value"))
    except TypeError:  # a text compared to a number
        return False


def _is_in(found: Json, values: Json) -> bool:
    return isinstance(values, list) and found in values


_COMPARISONS: Mapping[str, Callable[[Json, Json], bool]] = {
    "eq": lambda found, value: bool(found == value),
    "ne": lambda found, value: bool(found != value),
    "gt": lambda found, value: bool(found > value),
    "gte": lambda found, value: bool(found >= value),
    "lt": lambda found, value: bool(found < value),
    "lte": lambda found, value: bool(found <= value),
    "in": _is_in,
    "nin": lambda found, value: not _is_in(found, value),
}


def _list_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _read_number(stated: Json, *, usual: int, least: int, most: int) -> int:
    return min(max(stated, least), most) if isinstance(stated, int) else usual


_OPENED: Memo[tuple[str, int, int], Chunks] = Memo(most=100_000_000)
