"""HAR files: the logs of browsers, proxies and our own export."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from mockserver.cassettes.recordings.foreign_exchange import (
    ForeignExchange,
    RecorderFormat,
    Row,
    decode_base64,
    encode_text,
    list_rows,
    read_headers,
    read_method,
    read_status,
    read_table,
    read_text,
    read_time,
)
from mockserver.core.http import Headers
from mockserver.core.json import Json


def _find_rows(root: Json) -> Sequence[Row] | None:
    return list_rows(root, "log", "entries")


def _read(entry: Json) -> ForeignExchange:
    request, response, time = read_table(entry, "request"), read_table(entry, "response"), entry.get("time")
    return ForeignExchange(
        method=read_method(request),
        url=read_text(request, "url"),
        headers=read_headers(request.get("headers")),
        body=_read_posted(request.get("postData")),
        status=read_status(response.get("status")),
        reply_headers=_read_reply_headers(response),
        reply=_read_content(response.get("content")),
        at=read_time(entry.get("startedDateTime")),
        took=max(0.0, time / 1000) if isinstance(time, int | float) else 0.0,
    )


def _read_reply_headers(response: Mapping[str, Json]) -> Headers:
    """The headers; a log without any still knows the type of the content."""
    headers, content = read_headers(response.get("headers")), response.get("content")
    kind = content.get("mimeType") if isinstance(content, Mapping) else None
    if isinstance(kind, str) and kind and all(name != "content-type" for name, _ in headers):
        return (*headers, ("content-type", kind))
    return headers


def _read_content(content: Json) -> bytes:
    text = content.get("text") if isinstance(content, Mapping) else None
    if not isinstance(text, str):
        return b""
    return decode_base64(text, "content") if content.get("encoding") == "base64" else encode_text(text)


def _read_posted(posted: Json) -> bytes:
    if not isinstance(posted, Mapping):
        return b""
    if isinstance(posted.get("text"), str) and (posted["text"] or not posted.get("params")):
        return _read_content(posted)
    params = [row for row in posted.get("params") or () if isinstance(row, Mapping)]
    return urlencode([(str(row.get("name")), str(row.get("value", ""))) for row in params]).encode()


HAR = RecorderFormat("HAR", "entry", _find_rows, _read)
