"""A foreign exchange becomes an episode: its place in this server, bodies in plain, the events of a joined stream."""

import re
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from mockserver.cassettes.importing.foreign import Foreign, Left, UnfitError, header
from mockserver.cassettes.importing.known import Known, Spot, dialect_of, spot
from mockserver.core.episode import Beat, Episode, Recorded, Sent
from mockserver.core.http import Headers
from mockserver.core.json_text import parsed


def episode(found: Foreign, known: Known, dialect: str | None = None) -> Episode | Left:
    """The episode of an exchange; what cannot be one is left."""
    try:
        own = found.dialect if found.dialect in known.mounts else None
        speaks = dialect or own or dialect_of(found.url, known)
        if speaks is None:
            host = urlsplit(found.url).hostname or found.url[:60]
            return Left(found.where, "no known provider's", host)
        place = spot(found.method, found.url, speaks, known)
        if place is None:
            path = urlsplit(found.url).path[:80]
            return Left(found.where, f"{speaks} has no operation at {found.method} {path}")
        return _episode(found, place, known)
    except UnfitError as unfit:
        return Left(found.where, str(unfit))
    except ValueError:  # urlsplit
        return Left(found.where, f"{found.url[:80]!r} is no URL")


def _episode(found: Foreign, place: Spot, known: Known) -> Episode:
    if not 200 <= found.status <= 599 or 300 <= found.status < 400:
        raise UnfitError(f"it has no answer that could be replayed (status {found.status})")
    body = _plain(found.headers, found.body, known, "request")
    sent = Sent(found.method, place.path, place.query, _kept(found.headers), body)
    at = found.at or _dated(header(found.reply_headers, "date"))
    return Episode(place.dialect, place.operation, _model(sent), sent, _reply(found, known), at)


def _reply(found: Foreign, known: Known) -> Recorded:
    headers = _kept(found.reply_headers)
    if found.beats is not None:
        return Recorded(found.status, headers, frames=found.beats, took=found.took)
    body = _plain(found.reply_headers, found.reply, known, "answer")
    if "event-stream" in header(headers, "content-type"):
        if not body:
            raise UnfitError("the body of its stream was not written down")
        return Recorded(found.status, headers, frames=split(body), took=found.took)
    if not body and found.status not in (204, 205) and header(found.reply_headers, "content-length") != "0":
        raise UnfitError("the body of its answer was not written down")
    return Recorded(found.status, headers, body, took=found.took)


def split(body: bytes) -> tuple[Beat, ...]:
    """The events of a joined stream, each with all that ends it; when they came nobody knows."""
    ends = [found.end() for found in _END.finditer(body)]
    if not ends or ends[-1] < len(body):
        ends.append(len(body))
    return tuple((0.0, body[start:end]) for start, end in zip([0, *ends], ends, strict=False))


def _plain(headers: Headers, body: bytes, known: Known, what: str) -> bytes:
    """A body without its codings. Most tools take them off and leave the header: bytes that are text have none."""
    if not header(headers, "content-encoding") or not body or _is_text(body):
        return body
    try:
        return known.plain(headers, body)
    except ValueError as error:
        raise UnfitError(f"the body of its {what} cannot be decoded: {error}") from None


def _is_text(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _kept(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name not in _OF_THE_WAY)


def _model(sent: Sent) -> str:
    body = parsed(sent.body.decode("utf-8", "replace"))
    named = body.get("model") if isinstance(body, dict) else None
    deployed = _DEPLOYMENT.search(sent.path)
    return named if isinstance(named, str) else deployed[1] if deployed else ""


def _dated(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return 0.0


_END = re.compile(rb"(?:\r\n\r\n|\n\n|\r\r)[\r\n]*")
_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/")
# Headers of one connection, and of a body that is no longer as it was sent.
_OF_THE_WAY = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade"),
        *("content-length", "content-encoding", "host", "accept-encoding"),
    )
)
