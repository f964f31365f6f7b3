"""The journal of a server of ours, as its control paths tell it: one call in full, or a list of them with bodies."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from mockserver.cassettes.importing.foreign import Foreign, Left, UnfitError, encoded, listed, moment
from mockserver.core.episode import Beat
from mockserver.core.json_text import Json, compact


def of_journal(root: Mapping[str, Json], file: str) -> Iterator[Foreign | Left]:
    """The exchanges of a journal."""
    calls = root.get("calls", [root])
    for at, call in enumerate(calls if isinstance(calls, list) else [], 1):
        number = call.get("call", at) if isinstance(call, Mapping) else at
        where = f"{file}: call {number}"
        try:
            yield _foreign(call, where)
        except UnfitError as unfit:
            yield Left(where, str(unfit))


def _foreign(call: Json, where: str) -> Foreign:
    if not isinstance(call, Mapping):
        raise UnfitError("it is no table")
    request, reply = call.get("request"), call.get("reply")
    if not isinstance(request, Mapping) or not isinstance(reply, Mapping):
        raise UnfitError("it has no bodies: ask for calls?bodies=true")
    if "cut_off" in request or "cut_off" in reply:
        raise UnfitError("the journal did not keep all of it")
    if call.get("ended") != "complete":
        raise UnfitError(f"its answer did not end well: {call.get('ended')}")
    query, status = request.get("query"), reply.get("status")
    headers = listed(reply.get("headers"))
    return Foreign(
        where=where,
        method=str(request.get("method") or "GET"),
        url=_url(request, query if isinstance(query, Mapping) else {}),
        headers=listed(request.get("headers")),
        body=_body(request.get("body")),
        status=status if isinstance(status, int) else 0,
        reply_headers=tuple((name, value) for name, value in headers if not name.startswith("x-mockserver-")),
        reply=_body(reply.get("body")),
        beats=_beats(reply.get("frames")),
        at=moment(call.get("at")),
        took=_seconds(call.get("elapsed_ms")),
        dialect=call["dialect"] if isinstance(call.get("dialect"), str) else "",
    )


def _url(request: Mapping[str, Json], query: Mapping[str, Json]) -> str:
    return f"{request.get('path')}" + (f"?{urlencode(query)}" if query else "")


def _body(body: Json) -> bytes:
    """A body as bytes: JSON was parsed to be shown, and is written anew."""
    if body is None:
        return b""
    return encoded(body if isinstance(body, str) else compact(body))


def _beats(stated: Json) -> tuple[Beat, ...] | None:
    if stated is None:
        return None
    if not isinstance(stated, list) or not all(isinstance(frame, Mapping) for frame in stated):
        raise UnfitError("its frames are no list of tables")
    return tuple((_seconds(frame.get("at_ms")), _event(frame)) for frame in stated)


def _event(frame: Mapping[str, Json]) -> bytes:
    """An event as it was sent, or a comment."""
    data = _body(frame.get("data"))
    if data.startswith(b":") and not frame.get("event"):
        return data + b"\n\n"
    named = encoded(f"event: {frame['event']}\n") if frame.get("event") else b""
    return named + b"".join(b"data: %s\n" % line for line in data.split(b"\n")) + b"\n"


def _seconds(milliseconds: Json) -> float:
    return max(0.0, milliseconds / 1000) if isinstance(milliseconds, int | float) else 0.0
