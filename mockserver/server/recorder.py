"""Listens to an answer on its way through a relay, and keeps it if it was whole. Knows no socket and no file."""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from mockserver.cassettes.redaction.find import environment_secrets
from mockserver.cassettes.redaction.leaks import leaks
from mockserver.cassettes.redaction.redact import Redactor
from mockserver.config.errors import CassetteError
from mockserver.config.recording import UPSTREAM_KEY
from mockserver.config.settings import Settings
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent
from mockserver.core.exchange import Exchange
from mockserver.core.http import Headers
from mockserver.core.json import parsed
from mockserver.core.plan import Failure
from mockserver.core.seed import monotonic, wall
from mockserver.core.text import printable
from mockserver.delivery.script import WITHOUT_BODY
from mockserver.server.snapshot import Decoding, codings_of


@dataclass(frozen=True, slots=True)
class RecordingPolicy:
    """What the settings and the environment say of it."""

    scrubber: Redactor
    allowed: tuple[str, ...] = ()

    def live(self, sent: Sent) -> Sent:
        """A request as it would have been recorded; the very object, if that is the same."""
        return self.scrubber.request(sent)

    def kept(self, episode: Episode) -> Episode:
        """What is recorded of an episode. Raises CassetteError where something in it looks like a secret."""
        kept = self.scrubber.episode(episode)
        if found := leaks(kept, self.allowed):
            raise CassetteError(*map(str, found))
        return kept


def recording_policy(settings: Settings, environ: Mapping[str, str]) -> RecordingPolicy:
    """What recordings go through by these settings; headers that are compared are kept."""
    compared = tuple(name.partition(".")[2] for name in settings.match.also if name.startswith("header."))
    return RecordingPolicy(
        Redactor(settings.scrub, environment_secrets(environ), settings.allow_secrets, compared), settings.allow_secrets
    )


def misconfiguration(reply: Recorded, call: Call) -> str | None:
    """Return what an answer says about a wrong key or URL and what to do next, or None."""
    status, dialect = reply.status, call.dialect
    if status in (401, 403):
        return f"{status}: the upstream rejected the API key; give the client a valid one, or set {_key(dialect)}{_ALL}"
    if status == 404 and not _speaks_of(call, reply.bytes.decode("utf-8", "replace")):
        return f"404: the URL in --upstream {dialect}=URL looks wrong (is /v1 missing?){_ALL}"
    return None


def _key(dialect: str) -> str:
    return UPSTREAM_KEY + dialect.upper()


def _speaks_of(call: Call, body: str) -> bool:
    """Whether an error names the model or the id that was asked, as no server does that does not know the path.

    A path that it repeats says nothing: there are models in paths.
    """
    if not isinstance(parsed(body), dict | list):
        return False
    said = _PATH.sub("", body)
    return any(name and name in said for name in (call.model, call.id)) or _ASKED.search(said) is not None


_ALL = " (--record-errors records it too)"
_PATH = re.compile(r"(?<![\w.])/[^\s\"']*")
_ASKED = re.compile(
    r"model_?not_?found|deployment_?not_?found|\bwith id\b|\b(?:response|completion)_id\b", re.IGNORECASE
)


MOST_RECORDED = 1 << 26  # bytes of an answer; a larger one is not kept
_LONGEST = 2000  # letters of the log about an answer that is not recorded

log = logging.getLogger("mockserver")

Save = Callable[[Episode], Awaitable[str]]  # says where it is once it is on the disk; raises what hinders it
Fields = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Take:
    """What is recorded, and where: a request as it was sent, and the call that it is.

    `errors`: whether answers of 400 and above are kept too; None: those that tell of what was asked.
    """

    cassette: str
    dialect: str
    call: Call
    request: Sent
    errors: bool | None = None


class Recorder:
    """Gets what comes of one answer, piece by piece, makes an episode of it and has it saved.

    What came of that is noted in the exchange.
    """

    def __init__(self, take: Take, save: Save, exchange: Exchange) -> None:
        self._take, self._save, self._exchange = take, save, exchange
        self.began = monotonic()  # when the request was sent
        self._at = wall()
        self._body: _Body | None = None
        self._keeping: asyncio.Task[None] | None = None

    def open(self, status: int, headers: Fields) -> None:
        """The head of the answer is there; the names of its headers are lower case."""
        if status < 400 or self._take.errors is not False:
            self._body = _Body(status, headers, _ENDS.get(self._take.call.operation) if status < 300 else None)

    def hear(self, piece: bytes) -> None:
        """A piece of the body has come."""
        if self._body is not None and self._keeping is None and not self._body.hear(monotonic() - self.began, piece):
            self._drop(f"the answer is larger than {MOST_RECORDED} bytes")

    @property
    def ripe(self) -> bool:
        """Whether the answer is all there as far as its own words or its length say, and not yet saved."""
        return self._body is not None and self._keeping is None and self._body.ripe

    async def keep(self) -> None:
        """The answer is whole: return when it is saved, or when log and exchange say why it is not.

        Whoever stops waiting does not stop the saving.
        """
        if self._keeping is None:
            if self._body is None:
                return
            if self._body.lacks_end:
                self._drop("the stream ended without the event that ends such a stream")
                return
            if self._body.torn:
                self._drop("it told no length, and its JSON ended before it was whole")
                return
            self._keeping = asyncio.create_task(self._kept(self._body, monotonic() - self.began))
        await asyncio.shield(self._keeping)

    async def settle(self) -> None:
        """Nothing more will come: return when what is all there by its own words is saved. Anything else is not."""
        if self.ripe or self._keeping is not None:
            await self.keep()
        elif self._body is not None:
            self.forget("it ended before it was whole")

    def forget(self, why: str) -> None:
        """Keep nothing of it, unless it is saved already."""
        if self._keeping is None:
            self._unkept(why)

    def _unkept(self, why: str) -> None:
        self._body, self._exchange.unrecorded = None, printable(why, _LONGEST)

    async def _kept(self, body: "_Body", took: float) -> None:
        take, call = self._take, self._take.call
        try:
            reply = body.recorded(took)
            if take.errors is None and (why := misconfiguration(reply, call)):
                raise CassetteError(why)
            episode = Episode(take.dialect, call.operation, call.model, take.request, reply, self._at)
            self._exchange.recorded = await self._save(episode)
        except Exception as error:
            self._drop(str(error) or type(error).__name__)

    def _drop(self, why: str) -> None:
        """Keep nothing of it, and say so."""
        self._unkept(why)
        log.error("cassette %s: an answer is not recorded: %s", self._take.cassette, self._exchange.unrecorded)


class _Body:
    """What has come of an answer: as bytes, in plain where it is coded, by events where it is a stream."""

    def __init__(self, status: int, headers: Fields, end: re.Pattern[bytes] | None) -> None:
        self._status, self._headers = status, headers
        self._coded, self._decoding = _decoding(headers)
        self._plain: list[bytes] = []
        self._size, self._length = 0, _length(headers)
        self._events = _Events(end) if _streams(headers) and (self._decoding or not self._coded) else None

    def hear(self, at: float, piece: bytes) -> bool:
        """A piece has come at this moment; False: it is too much."""
        self._size += len(piece)
        if self._coded:
            piece = self._decoded(piece)
        self._plain.append(piece)
        if self._events is not None:
            self._events.hear(at, piece)
        return self._size <= MOST_RECORDED

    def _decoded(self, piece: bytes) -> bytes:
        """What a coded piece adds in plain; nothing once it has turned out not to be what it says."""
        if self._decoding is None:
            return b""
        try:
            return self._decoding.feed(piece)
        except Exception:  # each library has its own
            self._decoding = self._events = None
            return b""

    @property
    def ripe(self) -> bool:
        """Whether all that was told has come, or the event that ends a stream."""
        return self._size == self._length or (self._events is not None and self._events.ended)

    @property
    def lacks_end(self) -> bool:
        """Whether it is a stream whose last event is missing."""
        return self._events is not None and self._events.unended

    @property
    def torn(self) -> bool:
        """Whether it is JSON that ended with its connection, as in HTTP/1.0, and too early."""
        told = self._length >= 0 or self._status in WITHOUT_BODY  # how long it is
        if told or self._coded or self._events is not None or not _is_json(self._headers):
            return False
        try:
            json.loads(b"".join(self._plain))
        except (ValueError, RecursionError):
            return True
        return False

    def recorded(self, took: float) -> Recorded:
        """The answer, now that it is whole. Raises CassetteError where it is coded, and nobody can read it."""
        decoded = self._decoding is not None and self._decoding.whole and self._size > 0
        if self._coded and self._size and not decoded:
            raise CassetteError("its content coding cannot be undone, so nobody knows what is in it")
        headers = _texts(self._headers, _OF_CODED if decoded else ())
        if self._events is not None:
            return Recorded(self._status, headers, frames=self._events.all(), took=took)
        return Recorded(self._status, headers, b"".join(self._plain), took=took)


class _Events:
    """The events of a stream, each with the moment at which the last of its bytes came."""

    def __init__(self, end: re.Pattern[bytes] | None) -> None:
        self._end = end
        self._beats: list[RecordedEvent] = []
        self._rest = bytearray()  # of an event whose end has not come
        self._late = 0.0
        self.ended = False

    @property
    def unended(self) -> bool:
        """Whether there should be an event that ends it, and was not."""
        return self._end is not None and not self.ended

    def hear(self, at: float, piece: bytes) -> None:
        """Bytes have come at this moment."""
        rest, start = self._rest, 0
        looked = max(0, len(rest) - 3)
        rest += piece
        for found in _BLANK.finditer(rest, looked):
            event = bytes(rest[start : found.end()])
            start = found.end()
            self._beats.append((at, event))
            self.ended = self.ended or (self._end is not None and self._end.search(event) is not None)
        if piece:
            self._late = at
        if start:
            self._rest = rest[start:]

    def all(self) -> tuple[RecordedEvent, ...]:
        """Every event; what stands after the last blank line is one too."""
        return (*self._beats, (self._late, bytes(self._rest))) if self._rest else tuple(self._beats)


def _decoding(headers: Fields) -> tuple[bool, Decoding | None]:
    """Whether a body is coded, and what takes that off; None: nothing does here."""
    try:
        codings = codings_of(headers)
        return bool(codings), Decoding(codings, MOST_RECORDED) if codings else None
    except (Failure, KeyError):
        return True, None


def _length(headers: Fields) -> int:
    """How many bytes there will be by the head; -1 where it does not tell."""
    return next((int(value) for name, value in headers if name == b"content-length" and value.isdigit()), -1)


def _streams(headers: Fields) -> bool:
    return any(name == b"content-type" and b"event-stream" in value.lower() for name, value in headers)


def _is_json(headers: Fields) -> bool:
    return any(name == b"content-type" and b"application/json" in value.lower() for name, value in headers)


def _texts(headers: Fields, dropped: Sequence[bytes]) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers if name not in dropped)


_OF_CODED = (b"content-encoding", b"content-length")
_BLANK = re.compile(rb"\r\n\r\n|\n\r?\n|\r\r")
_LINE = rb"(?:\A|[\r\n])"
_DONE = _LINE + rb"data: ?\[DONE\][ \t]*[\r\n]"
_FAILED = _LINE + rb'(?:event: ?error[ \t]*[\r\n]|data: ?\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error"))'
_CLOSED = rb'"type"\s*:\s*"response\.(?:completed|incomplete|failed)"'
_OF_CHUNKS = re.compile(_DONE + b"|" + _FAILED)
_OF_STEPS = re.compile(_CLOSED + b"|" + _FAILED)

# By operation: how the last event of a stream is known, where there is one that ends it. An error ends any.
_ENDS: Mapping[str, re.Pattern[bytes]] = {
    "chat": _OF_CHUNKS,
    "completions": _OF_CHUNKS,
    "responses": _OF_STEPS,
    "response": _OF_STEPS,
}
