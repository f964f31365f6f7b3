"""Recordings that other tools made: the files of every recorder become the same rows of requests and answers."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mockserver.cassettes.recordings.foreign_exchange import ForeignExchange, RecorderFormat, Row, UnreadableError
from mockserver.cassettes.recordings.foreign_file import read_foreign_file
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
    foreign = read_foreign_file(data, file)
    recorder, rows = _recognise(foreign.root)
    if foreign.mistakes and (recorder is not None or _LISTING.search(foreign.text)):
        raise CassetteError(*foreign.mistakes)
    if recorder is None:
        hint = f"; read as YAML: {foreign.mistakes[0]}" if foreign.mistakes else ""
        what = _describe(foreign.root)
        raise CassetteError(f"{file}: not written by a known recorder: {what}; you can import files of {KNOWN}{hint}")
    for number, row in enumerate(rows, 1):
        where = f"{foreign.place(row.path)}: {recorder.noun} {number}"
        try:
            yield where, recorder.read(row.content)
        except UnreadableError as error:
            yield where, error


def _recognise(root: Json) -> tuple[RecorderFormat | None, Sequence[Row]]:
    for recorder in RECORDERS:
        if (rows := recorder.find_rows(root)) is not None:
            return recorder, rows
    return None, ()


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
