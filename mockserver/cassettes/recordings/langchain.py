"""Cassettes of langchain-tests: vcrpy's requests and responses in two lists, as its CustomSerializer writes them."""

from collections.abc import Sequence
from itertools import zip_longest

from mockserver.cassettes.recordings.foreign_exchange import RecorderFormat, Row, list_rows
from mockserver.cassettes.recordings.vcrpy import VCRPY
from mockserver.core.json import Json


def _find_rows(root: Json) -> Sequence[Row] | None:
    requests, responses = list_rows(root, "requests"), list_rows(root, "responses")
    if requests is None or responses is None:
        return None
    return [
        Row((asked or answered).path, {"request": asked and asked.content, "response": answered and answered.content})
        for asked, answered in zip_longest(requests, responses)
    ]


LANGCHAIN = RecorderFormat("langchain-tests", "request", _find_rows, VCRPY.read)
