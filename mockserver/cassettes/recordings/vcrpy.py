"""Cassettes of vcrpy and pytest-recording, of serializers that parse JSON bodies, and of tools with the same layout."""

from collections.abc import Mapping, Sequence

from mockserver.cassettes.recordings.foreign_exchange import (
    ForeignExchange,
    RecorderFormat,
    Row,
    encode_json,
    list_rows,
    read_body,
    read_headers,
    read_method,
    read_status,
    read_table,
    read_text,
    read_time,
)
from mockserver.core.json import Json


def _find_rows(root: Json) -> Sequence[Row] | None:
    rows = list_rows(root, "interactions") if isinstance(root, Mapping) else list_rows(root)
    if rows == [] and isinstance(root, Mapping):  # nothing was recorded
        return rows
    return rows if any(isinstance(row.content, Mapping) and "request" in row.content for row in rows or ()) else None


def _read(interaction: Json) -> ForeignExchange:
    request, response = read_table(interaction, "request"), read_table(interaction, "response")
    return ForeignExchange(
        method=read_method(request),
        url=read_text(request, "uri", "url"),
        headers=read_headers(request.get("headers")),
        body=_read_message_body(request),
        status=read_status(response.get("status")),
        reply_headers=read_headers(response.get("headers")),
        reply=_read_message_body(response),
        at=read_time(interaction.get("recorded_at")),
    )


def _read_message_body(message: Mapping[str, Json]) -> bytes:
    """The body; pydantic-ai's serializer writes JSON as `parsed_body` in its place."""
    if "parsed_body" in message and not message.get("body"):
        return encode_json(message["parsed_body"])
    return read_body(message.get("body", message.get("content")))


VCRPY = RecorderFormat("vcrpy", "interaction", _find_rows, _read)
