"""HAR 1.2, as browsers and proxies write it; and the beats that our own export puts beside a stream."""

from base64 import b64decode
from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from mockserver.cassettes.importing.foreign import Foreign, Left, UnfitError, encoded, listed, moment
from mockserver.core.episode import Beat
from mockserver.core.json_text import Json

BEATS = "_beats"  # of a response: [milliseconds since the request, bytes] of each event


def of_har(root: Mapping[str, Json], file: str) -> Iterator[Foreign | Left]:
    """The exchanges of a log."""
    for at, entry in enumerate(root["log"]["entries"], 1):
        where = f"{file}: entry {at}"
        try:
            yield _foreign(entry, where)
        except UnfitError as unfit:
            yield Left(where, str(unfit))


def _foreign(entry: Json, where: str) -> Foreign:
    request, response = _table(entry, "request"), _table(entry, "response")
    if not isinstance(request.get("url"), str):
        raise UnfitError("its request has no url")
    body = _content(response.get("content"))
    status, took = response.get("status"), entry.get("time")
    return Foreign(
        where=where,
        method=str(request.get("method") or "GET").upper(),
        url=request["url"],
        headers=listed(request.get("headers")),
        body=_posted(request.get("postData")),
        status=status if isinstance(status, int) else 0,
        reply_headers=_headers(response),
        reply=body,
        beats=_beats(response.get(BEATS), body),
        at=moment(entry.get("startedDateTime")),
        took=max(0.0, took / 1000) if isinstance(took, int | float) else 0.0,
    )


def _table(entry: Json, name: str) -> Mapping[str, Json]:
    found = entry.get(name) if isinstance(entry, Mapping) else None
    if not isinstance(found, Mapping):
        raise UnfitError(f"it has no {name}")
    return found


def _headers(response: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """The headers; a log that has none of them still knows the type of the content."""
    headers = listed(response.get("headers"))
    content = response.get("content")
    kind = content.get("mimeType") if isinstance(content, Mapping) else None
    if isinstance(kind, str) and kind and all(name != "content-type" for name, _ in headers):
        return (*headers, ("content-type", kind))
    return headers


def _content(content: Json) -> bytes:
    text = content.get("text") if isinstance(content, Mapping) else None
    if not isinstance(text, str):
        return b""
    if content.get("encoding") != "base64":
        return encoded(text)
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise UnfitError("its content is not the base64 that it is said to be") from None


def _posted(posted: Json) -> bytes:
    """What was sent: text, or the parameters of a form."""
    if not isinstance(posted, Mapping):
        return b""
    if isinstance(posted.get("text"), str) and (posted["text"] or not posted.get("params")):
        return _content(posted)
    params = [row for row in posted.get("params") or () if isinstance(row, Mapping)]
    return urlencode([(str(row.get("name")), str(row.get("value", ""))) for row in params]).encode()


def _beats(stated: Json, body: bytes) -> tuple[Beat, ...] | None:
    """The events of a stream, where they are stated and fit the body."""
    if not isinstance(stated, list) or not all(_is_beat(beat) for beat in stated):
        return None
    if sum(size for _, size in stated) != len(body):
        return None
    beats, start = list[Beat](), 0
    for milliseconds, size in stated:
        beats.append((milliseconds / 1000, body[start : start + size]))
        start += size
    return tuple(beats)


def _is_beat(beat: Json) -> bool:
    return isinstance(beat, list) and len(beat) == 2 and isinstance(beat[0], int | float) and _is_size(beat[1])


def _is_size(value: Json) -> bool:
    return isinstance(value, int) and value >= 0
