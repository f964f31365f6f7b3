"""Cassettes of VCR for Ruby, and of Betamax, which has the same layout."""

from collections.abc import Sequence

from mockserver.cassettes.recordings.foreign_exchange import RecorderFormat, Row, list_rows
from mockserver.cassettes.recordings.vcrpy import VCRPY
from mockserver.core.json import Json


def _find_rows(root: Json) -> Sequence[Row] | None:
    return list_rows(root, "http_interactions")


# An interaction has the keys of vcrpy's, and a body the encoding of its text.
RUBY_VCR = RecorderFormat("VCR for Ruby", "interaction", _find_rows, VCRPY.read)
