"""Recordings that other tools made: the files of every recorder become the same rows of requests and answers."""

import re
from collections.abc import Iterable, Iterator, Mapping

from mockserver.cassettes.recordings.document import read_document
from mockserver.cassettes.recordings.exchange import ForeignExchange, UnreadableError
from mockserver.cassettes.recordings.go_vcr import GO_VCR
from mockserver.cassettes.recordings.har import HAR
from mockserver.cassettes.recordings.langchain import LANGCHAIN
from mockserver.cassettes.recordings.ruby_vcr import RUBY_VCR
from mockserver.cassettes.recordings.vcrpy import VCRPY
from mockserver.config.errors import CassetteError
from mockserver.core.json import Json
from mockserver.core.text import shown, up_to

# The first that recognises a file reads it: go-vcr's files have the keys of vcrpy's, and more.
RECORDERS = (HAR, LANGCHAIN, RUBY_VCR, GO_VCR, VCRPY)
KNOWN = f"{', '.join(recorder.name for recorder in RECORDERS[:-1])} and {RECORDERS[-1].name}"


def read_recording(data: bytes, file: str) -> Iterator[tuple[str, ForeignExchange | UnreadableError]]:
    """Each exchange of a file, or why it is unreadable, with its place.

    Raises CassetteError if the file is damaged, or no known recorder wrote it.
    """
    document = read_document(data, file)
    found = ((recorder, recorder.find_rows(document.root)) for recorder in RECORDERS)
    recorder, rows = next(((recorder, rows) for recorder, rows in found if rows is not None), (None, None))
    if document.mistakes and (recorder is not None or _LISTING.search(document.text)):
        raise CassetteError(*document.mistakes)
    if recorder is None or rows is None:
        hint = f"; read as YAML: {document.mistakes[0]}" if document.mistakes else ""
        what = _describe(document.root)
        raise CassetteError(f"{file}: not written by a known recorder: {what}; you can import files of {KNOWN}{hint}")
    for number, row in enumerate(rows, 1):
        where = f"{document.place(row.path)}: {recorder.noun} {number}"
        try:
            yield where, recorder.read(row.content)
        except UnreadableError as error:
            yield where, error


def _describe(root: Json) -> str:
    """What a file has at its top, for a user who wonders which tool wrote it."""
    match root:
        case {"interactions": [Mapping() as first, *_]}:
            return f"its interactions have {_list_keys(first)}, but no request"
        case Mapping():
            return f"it has {_list_keys(root)}"
        case [Mapping() as first, *_]:
            return f"a list of items that have {_list_keys(first)}"
        case list():
            return "a list"
    return "plain text"


def _list_keys(table: Iterable[str]) -> str:
    return ", ".join(up_to([shown(key, 40) for key in table], 5)) or "no keys"


# What shows that a damaged file of YAML was a recording.
_LISTING = re.compile(r"^(?:(?:http_)?interactions|requests)[ \t]*+:|^-[ \t]++request\b", re.MULTILINE)
