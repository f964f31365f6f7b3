"""A recorded answer as a reply: its very bytes, the headers that are still true of it, and its beat."""

from mockserver.core.episode import Recorded
from mockserver.core.http import Headers, Reply
from mockserver.core.timing import Timing
from mockserver.delivery.pace import AT_ONCE, Pace
from mockserver.delivery.script import WITHOUT_BODY


def replayed(recorded: Recorded, pace: Pace, speed: float) -> tuple[Reply, Pace]:
    """The reply, and the pace at which it goes out: one that a rule states, else its own at so many times the speed.

    A speed of 0 lets it leave at once.
    """
    frames = None if recorded.frames is None else tuple(data for _, data in recorded.frames)
    reply = Reply(recorded.status, _headers(recorded), recorded.body, frames)
    if not pace.at_once or not speed:
        return reply, pace
    moments = (recorded.took,) if recorded.frames is None else (at for at, _ in recorded.frames)
    beats = tuple([max(moment, 0.0) / speed for moment in moments])
    last = max(beats, default=0.0)
    if not last:
        return reply, AT_ONCE
    return Reply(recorded.status, reply.headers, recorded.body, frames, beats=beats), Pace(Timing(total=last))


def _headers(recorded: Recorded) -> Headers:
    """The headers without those of the connection that it once came on; a plain body states its length."""
    kept = tuple((name, value) for name, value in recorded.headers if name.lower() not in _OF_THE_CONNECTION)
    if recorded.frames is not None or recorded.status in WITHOUT_BODY:
        return kept
    return (*kept, ("content-length", str(len(recorded.body))))


# What was true of another connection, or of the coding that the body came in; the server dates its answers itself.
_OF_THE_CONNECTION = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
        *("content-length", "content-encoding", "date", "server"),
    }
)
