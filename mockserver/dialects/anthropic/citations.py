"""Where the documents of a request can be cited: each place has the keys of the citation that names it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from mockserver.dialects._parse import Body

Citable = Mapping[int, Mapping[str, Sequence[Body]]]  # by the identity of a block: its `citable` places


def citable_places(messages: Iterable[Body]) -> Citable:
    """Return the places in blocks with citations enabled, counting documents and search results separately."""
    found: dict[int, Mapping[str, Sequence[Body]]] = {}
    counts = {"document": 0, "search_result": 0}
    for block in _list_sources(messages):
        if (block.get("citations") or {}).get("enabled"):
            places = _PLACES[block["type"]](block, counts[block["type"]])
            found[id(block)] = {"citable": tuple(places)}
        counts[block["type"]] += 1
    return found


def _list_sources(messages: Iterable[Body]) -> Iterator[Body]:
    for message in messages:
        for block in content if isinstance(content := message.get("content"), list) else ():
            inner = block.get("content") if block["type"] == "tool_result" else None
            for each in (block, *(inner if isinstance(inner, list) else ())):
                if each["type"] in _PLACES:
                    yield each


def _cite_document(block: Body, index: int) -> Iterator[Body]:
    source = block["source"]
    named = {"document_index": index, "document_title": block.get("title")}
    if source["type"] == "content":
        for at, text in enumerate(source_texts(source)):
            span = {"start_block_index": at, "end_block_index": at + 1, "file_id": None}
            yield {"type": "content_block_location", "cited_text": text, **named, **span}
        return
    for found in _SENTENCE.finditer("".join(source_texts(source))):
        span = {"start_char_index": found.start(), "end_char_index": found.end(), "file_id": None}
        yield {"type": "char_location", "cited_text": found[0], **named, **span}


def _cite_search_result(block: Body, index: int) -> Iterator[Body]:
    named = {"source": block["source"], "title": block["title"], "search_result_index": index}
    for at, content in enumerate(block["content"]):
        span = {"start_block_index": at, "end_block_index": at + 1}
        yield {"type": "search_result_location", "cited_text": content["text"], **named, **span}


def source_texts(source: Body) -> list[str]:
    """Return the texts of a document, one for each of its blocks; none if only its bytes are known."""
    match source:
        case {"type": "text", "data": text} | {"type": "content", "content": str(text)}:
            return [text]
        case {"type": "content", "content": blocks}:
            return [block["text"] if block["type"] == "text" else "" for block in blocks]
    return []


_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]{0,2000}[.!?]*")
_PLACES: Mapping[str, Callable[[Body, int], Iterator[Body]]] = {
    "document": _cite_document,
    "search_result": _cite_search_result,
}
