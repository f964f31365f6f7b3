"""Cassettes of go-vcr: version 1 of the format, which go-vcr 1 and 2 write, and version 2 of go-vcr 3 and 4."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from mockserver.cassettes.recordings.foreign_exchange import (
    ForeignExchange,
    RecorderFormat,
    Row,
    list_rows,
    read_body,
    read_headers,
    read_method,
    read_status,
    read_table,
    read_text,
)
from mockserver.core.json import Json


def _find_rows(root: Json) -> Sequence[Row] | None:
    """The interactions, if some have a code next to the status, where vcrpy has a table."""
    rows = list_rows(root, "interactions") or ()
    responses = (row.content.get("response") for row in rows if isinstance(row.content, Mapping))
    return rows if any(isinstance(response, Mapping) and "code" in response for response in responses) else None


def _read(interaction: Json) -> ForeignExchange:
    request, response = read_table(interaction, "request"), read_table(interaction, "response")
    return ForeignExchange(
        method=read_method(request),
        url=read_text(request, "url"),
        headers=read_headers(request.get("headers")),
        body=read_body(request.get("body")) or _read_form(request.get("form")),
        status=read_status(response.get("code")) or read_status(response.get("status")),
        reply_headers=read_headers(response.get("headers")),
        reply=read_body(response.get("body")),
        took=_read_duration(response.get("duration")),
    )


def _read_form(form: Json) -> bytes:
    return urlencode(form, doseq=True).encode() if isinstance(form, Mapping) else b""


def _read_duration(duration: Json) -> float:
    """The seconds of a duration as Go writes it: `1m2.5s`, `350ms`; 0 for any other text."""
    if not isinstance(duration, str) or not _DURATION.fullmatch(duration):
        return 0.0
    return sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(duration))


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(?:\d{1,12}(?:\.\d{1,12})?(?:h|ms|m|s|us|µs|μs|ns)){1,6}")
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|μs|ns)")

GO_VCR = RecorderFormat("go-vcr", "interaction", _find_rows, _read)
