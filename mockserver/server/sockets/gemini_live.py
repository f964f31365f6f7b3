"""Gemini Live over a WebSocket: a session keeps the contents, and each turn is a request, as in `realtime_session.py`.

What is written and what is heard becomes contents; the answer's events leave as Google's messages, in text or as the
tone that carries it.
"""

import asyncio
import re
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec.structs import replace
from pydantic_core import to_json
from starlette.types import Message, Receive, Scope, Send

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, try_parse
from mockserver.core.plan import Failure
from mockserver.core.socket_turn import SocketAnswers, SocketTurn
from mockserver.dialects._parse import Body, clip, read_json
from mockserver.dialects.gemini.live import (
    TOKENS,
    count_usage,
    find_candidate,
    hash_key,
    list_parts,
    read_client_message,
    read_contents,
    use_token,
)
from mockserver.dialects.gemini.request import NAME
from mockserver.engine.offload import LARGEST_IN_LOOP, on_thread
from mockserver.engine.planning import open_objects
from mockserver.kinds.realtime import AUTH_TOKEN
from mockserver.media.samples import PCM, SampleFormat
from mockserver.media.sound_files import resample
from mockserver.media.speech_detection import STEP, SpeechDetector
from mockserver.server.access import check_key
from mockserver.server.respond import Responder
from mockserver.server.socket_frames import fit_to_socket, is_stream
from mockserver.server.sockets.realtime_turn import Event, TurnSender
from mockserver.server.sockets.socket_session import CUT_SHORT, FAILED
from mockserver.server.sockets.spoken_record import RecordedSession
from mockserver.server.visit import Response, Visit
from mockserver.wire.realtime import PIECE, Voice

# codes with which Google closes a session, by what is wrong
INVALID = 1007
DENIED = 1008
BROKEN = 1011
SILENCE = 500  # milliseconds that end a turn
THRESHOLD = 0.5  # what is louder is not silence
USUAL_RATE = 16_000  # samples a second
RATES = range(8_000, 96_001)  # samples a second
MAX_BYTES = 16_000_000  # of the contents of a session
MAX_SOUND = 32_000_000  # of the sound of one turn
LONGEST_REASON = 123  # bytes of a close frame (RFC 6455, 5.5)
_RATE = re.compile(r"rate=(\d{4,6})")


class LiveSession(RecordedSession):
    """The session of a client."""

    expiry = "The session has reached its maximum duration."

    def __init__(
        self, responder: Responder, handshake: HttpRequest, *, scope: Scope, receive: Receive, send: Send
    ) -> None:
        super().__init__(responder, handshake, scope=scope, receive=receive, send=send)
        self._setup: Body | None = None
        self._stated_setup: Body = {}  # by the token that opens the session; it wins over that of the client
        self._contents: list[dict[str, Json]] = []
        self._size = 0  # bytes of the contents
        self._calls = 0
        self._sound = _make_format(USUAL_RATE)
        self._heard = bytearray()
        self._detector: SpeechDetector | None = None
        self._silence = SILENCE
        self._turn: LiveTurn | None = None
        self._task: asyncio.Task[None] | None = None  # sends the turn
        self._leave = asyncio.Event()

    async def greet(self) -> bool:
        refusal = None
        key = self.responder.dialect.read_credential(self.handshake) or ""
        if key.startswith(TOKENS.prefix):
            try:
                await self._use_token(key)
            except Failure as failure:
                refusal = failure
        self.begin_record("")
        try:
            if refusal is not None:
                raise refusal
            check_key(self.responder.dialect.read_credential(self.handshake), self.responder.live.settings.keys)
        except Failure as failure:
            await self.complain(failure)
            return False
        return True

    async def _use_token(self, name: str) -> None:
        """Open the session for the key behind a token, with its setup; an unknown token is a key like any other.

        Without a list of keys, the hash of that key stands for it. Raises Failure if the token cannot be used any more.
        """
        live = self.responder.live
        call = Call(NAME, AUTH_TOKEN.name, model="", http=self.handshake, meaning={})
        made_for = await use_token(name, open_objects(live.find_engine(self.handshake.namespace), call))
        if made_for is None:
            return
        self._stated_setup = made_for["setup"]
        digest = made_for["key"]
        key = next((each for each in live.settings.keys or () if hash_key(each) == digest), digest)
        others = [field for field in self.handshake.headers if field[0] != b"x-goog-api-key"]
        field = (b"x-goog-api-key", key.encode("latin-1", "replace"))
        self.handshake = replace(self.handshake, headers=(*others, field))

    @property
    def size(self) -> int:
        return self._size + len(self._heard)

    async def act(self, message: Message) -> None:
        body = message.get("bytes") or (message.get("text") or "").encode("utf-8", "surrogatepass")
        read = await on_thread(read_json, body) if len(body) > LARGEST_IN_LOOP else read_json(body)
        kind, inner = read_client_message(read)
        self.hold_message(body)
        if (self._setup is None) is not (kind == "setup"):
            raise Failure("bad_parameter", "The first message of a session must be its setup, and no other.")
        await _ACTS[kind](self, inner)

    async def complain(self, failure: Failure) -> None:
        """Close the session in the words of the provider, as Google does."""
        await self._close_as(self.responder.dialect.fail(self.handshake, failure, None))

    async def _close_as(self, reply: Reply) -> None:
        stated: Any = try_parse(reply.body.decode("utf-8", "replace"))
        error = stated.get("error") if isinstance(stated, Mapping) else None
        words = str(error.get("message")) if isinstance(error, Mapping) else reply.body.decode("utf-8", "replace")
        await self.end_with(reply.status, words)

    async def end_with(self, status: int, words: str) -> None:
        """Close the session with an error that has a status over HTTP."""
        code = DENIED if status in (401, 403, 404) else INVALID if status < 429 else BROKEN
        await self.close(code, words.encode("utf-8", "replace")[:LONGEST_REASON].decode("utf-8", "ignore"))

    async def _set_up(self, found: Body) -> None:
        found = {**found, **self._stated_setup}
        model = str(found.get("model") or "").rpartition("/")[2]
        self.responder.live.find_engine(self.handshake.namespace).policy.models.admit(model)
        self._setup = found
        if self.record is not None:
            self.record.visit.row.model = model
        detection: Body = (found.get("realtimeInputConfig") or {}).get("automaticActivityDetection") or {}
        if detection.get("disabled") is not True:
            self._silence = max(detection.get("silenceDurationMs") or SILENCE, STEP)
            self._detector = self._make_detector()
        await self._say(setupComplete={})

    def _make_detector(self) -> SpeechDetector:
        return SpeechDetector(self._sound, threshold=THRESHOLD, silence=self._silence)

    # Messages of the client

    async def _take_content(self, content: Body) -> None:
        self._add(read_contents(content.get("turns") or []))
        if content.get("turnComplete") is True:
            await self._respond_to()

    async def _take_results(self, response: Body) -> None:
        results = response.get("functionResponses") or []
        self._add([{"role": "user", "parts": [{"functionResponse": each} for each in results]}])
        await self._respond_to()

    async def _take_input(self, given: Body) -> None:
        chunks = [*(given.get("mediaChunks") or ()), *[given[name] for name in ("audio", "video") if name in given]]
        for chunk in chunks:
            if str(chunk.get("mimeType", "")).startswith("audio/"):
                await self._hear(_decode(chunk.get("data")), str(chunk.get("mimeType")))
            else:
                self._add([{"role": "user", "parts": [{"inlineData": chunk}]}])
        if isinstance(text := given.get("text"), str) and text:
            self._add([{"role": "user", "parts": [{"text": text}]}])
            await self._respond_to()
        if "activityStart" in given:
            await self._interrupt()
            self._heard.clear()
        if "activityEnd" in given or given.get("audioStreamEnd") is True:
            await self._end_stream()

    async def _end_stream(self) -> None:
        """End the speech that goes on, if any does; the client sends another sound from now on."""
        was_silent = self._is_silent
        self._detector = None if self._detector is None else self._make_detector()
        if was_silent:
            self._heard.clear()
        else:
            await self._end_speech()

    @property
    def _is_silent(self) -> bool:
        """Whether speech is looked for, and nobody speaks."""
        return self._detector is not None and not self._detector.is_speech

    async def _hear(self, data: bytes, media_type: str) -> None:
        rate = int(stated[1]) if (stated := _RATE.search(media_type)) else USUAL_RATE
        if rate not in RATES:
            raise Failure("bad_parameter", f"Unsupported sample rate {rate} in {clip(media_type)!r}.")
        if rate != self._sound.rate:
            if self._heard and not self._is_silent:
                raise Failure("bad_parameter", "The sample rate of the audio cannot change within a turn.")
            self._heard.clear()
            self._sound = _make_format(rate)
            self._detector = None if self._detector is None else self._make_detector()
        if len(self._heard) + len(data) > MAX_SOUND:
            raise Failure("bad_parameter", f"The audio of one turn may have at most {MAX_SOUND:,} bytes.")
        if self._detector is None:
            self._heard += data
            return
        size = self._sound.count_bytes(STEP)
        for at in range(0, len(data), size):  # what comes after the end of speech belongs to the next turn
            await self._follow_speech(self._detector, data[at : at + size])
        if self._is_silent:
            spare = len(self._heard) - self._sound.bytes_per_second  # the last second may begin a word
            del self._heard[: max(spare - spare % self._sound.width, 0)]

    async def _follow_speech(self, detector: SpeechDetector, data: bytes) -> None:
        """Take a piece of sound. Speech that begins interrupts the answer; of speech that ends, a turn is made."""
        self._heard += data
        for border in detector.feed(data):
            if border.is_start:
                await self._interrupt()
            else:
                await self._end_speech()

    async def _end_speech(self) -> None:
        """Make a turn of what was heard."""
        audio = bytes(self._heard)
        self._heard = bytearray()
        if not audio or self._setup is None:
            return
        rate = self._sound.rate
        samples = audio if rate == PCM.rate else await on_thread(resample, audio, rate)
        heard = (await self.hear({}, samples, PCM)).text or ""
        if "inputAudioTranscription" in self._setup:
            await self._say(serverContent={"inputTranscription": {"text": heard, "finished": True}})
        self._add([{"role": "user", "parts": [{"text": heard}]}])
        await self._respond_to()

    def _add(self, contents: list[dict[str, Json]]) -> None:
        self._size += len(to_json(contents))
        if self._size > MAX_BYTES:
            raise Failure("bad_parameter", f"The contents of a session may have at most {MAX_BYTES:,} bytes.")
        self._contents += contents

    # Answers

    async def _interrupt(self) -> None:
        """End the turn that goes on, if one does."""
        turn = self._turn
        task = self._task
        if turn is None or task is None or task.done():
            return
        if not turn.is_sent:
            self._leave.set()
        await asyncio.wait((task,))
        if not turn.is_sent:
            await self._say(serverContent={"interrupted": True})

    async def _respond_to(self) -> None:
        await self._interrupt()
        if self.is_over:  # that turn was refused
            return
        assert self._setup is not None  # it comes first
        own = {name: value for name, value in self._setup.items() if name in _TURN_SETTINGS}
        config: Body = self._setup.get("generationConfig") or {}
        of_turn = {name: value for name, value in config.items() if name not in _SPEECH_SETTINGS}
        body = to_json({**own, "generationConfig": of_turn, "contents": self._contents})
        self._leave = asyncio.Event()
        visit = self.open_turn(body, SocketTurn(SocketAnswers()), self._leave)
        self._turn = LiveTurn(self, config)
        self._task = self.start_task(self._run(self._turn, visit))

    async def _run(self, turn: "LiveTurn", visit: Visit) -> None:
        """Answer a turn to its end, whatever happens."""
        sender = LiveSender(turn.pass_on)
        try:
            await self.answer(self._respond(visit, sender), visit, sender)
            if turn.is_over:
                self._add([{"role": "model", "parts": turn.parts}] if turn.parts else [])
            elif not self._leave.is_set() and not self.is_over:  # a fault has cut it short
                await self.close(CUT_SHORT)
        except Failure as failure:  # the session has become too long
            await self.complain(failure)
        except Exception:  # a bug of mockserver: nobody is to wait for what never comes
            self.log_bug()
            await self.close(FAILED)

    async def _respond(self, visit: Visit, sender: TurnSender) -> Response:
        response = await self.responder.respond(visit)
        if response.forwarded is None and response.reply.status >= 400 and not is_stream(response):
            await self._close_as(response.reply)
        response = fit_to_socket(response, visit)
        sender.expect(response)
        return response

    def name_call(self) -> str:
        """Return the id of the next function call."""
        self._calls += 1
        return f"function-call-{self._calls}"

    @property
    def wants_transcript(self) -> bool:
        return self._setup is not None and "outputAudioTranscription" in self._setup

    async def _say(self, **message: Json) -> None:
        await self.send_message(message)

    async def send_message(self, message: Mapping[str, Json]) -> None:
        await self.send_noted(to_json(message), is_text=False)  # as Google does

    async def say_expired(self) -> None:
        await self._say(goAway={"timeLeft": "0s"})

    async def end_answers(self, *, in_time: float | None) -> None:
        if in_time is not None:
            self._leave.set()
        try:
            await self.end_tasks(in_time=in_time)
        finally:
            self.responder.live.unsent.release(self)


class LiveTurn:
    """A turn while it is sent: the responses of its stream become messages of the session."""

    def __init__(self, session: LiveSession, config: Body) -> None:
        self._session = session
        speech: Body = (config.get("speechConfig") or {}).get("voiceConfig") or {}
        name = (speech.get("prebuiltVoiceConfig") or {}).get("voiceName") or "Puck"
        spoken = "TEXT" not in (config.get("responseModalities") or ["AUDIO"])
        self._voice = Voice(str(name)) if spoken else None
        self._text = ""
        self._sound = b""  # the sound that a rule states
        self._calls: list[Json] = []
        self.is_over = False  # the last response of its stream has come
        self.is_sent = False  # all was sent, but the message that ends it

    @property
    def parts(self) -> list[Json]:
        """The text and the calls of the model so far, as parts of its content."""
        texts: list[Json] = [{"text": self._text}] if self._text else []
        return texts + [{"functionCall": call} for call in self._calls]

    async def pass_on(self, data: bytes, event: Event | None) -> None:
        """Send what a response of the stream has. Data without an `event` is sent as a rule or a fault made it."""
        if self.is_over:
            return
        if event is None:
            await self._session.send_noted(data, is_text=False)
            return
        if isinstance(error := event.get("error"), Mapping):
            status = error.get("code")
            await self._session.end_with(status if isinstance(status, int) else 500, str(error.get("message")))
            return
        send = self._session.send_message
        for part in list_parts(event):
            if isinstance(called := part.get("functionCall"), Mapping):
                self._calls.append({"id": self._session.name_call(), **called})
            elif isinstance(blob := part.get("inlineData"), Mapping) and "audio/" in str(blob.get("mimeType")):
                self._sound += _decode(blob.get("data"))
            elif part.get("thought") is not True and isinstance(text := part.get("text"), str):
                self._text += text
                if self._voice is None:
                    await send({"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": text}]}}})
                elif text and self._session.wants_transcript:
                    await send({"serverContent": {"outputTranscription": {"text": text}}})
        if find_candidate(event).get("finishReason") is None:
            return
        self.is_over = True
        if self._voice is not None:
            await self._speak(self._sound or await on_thread(self._voice.speak, self._text))
        self.is_sent = True
        usage = count_usage(event)
        if self._calls:  # all at once, and last: the turn goes on with their results, so that one loop receives it all
            await send({"toolCall": {"functionCalls": self._calls}, "usageMetadata": usage})
            return
        await send({"serverContent": {"generationComplete": True}})
        await send({"serverContent": {"turnComplete": True}, "usageMetadata": usage})

    async def _speak(self, sound: bytes) -> None:
        size = PCM.count_bytes(PIECE)
        for at in range(0, len(sound), size):
            blob = {"mimeType": f"audio/pcm;rate={PCM.rate}", "data": b64encode(sound[at : at + size]).decode()}
            turn = {"role": "model", "parts": [{"inlineData": blob}]}
            await self._session.send_message({"serverContent": {"modelTurn": turn}})


class LiveSender(TurnSender):
    """Has the session send an answer whose events are Google's: an error among them has several lines."""

    async def send_event(self, event: bytes) -> None:
        await super().send_event(b" ".join(event.splitlines()))


_ACTS: Mapping[str, Callable[[LiveSession, Body], Awaitable[None]]] = {
    "setup": LiveSession._set_up,
    "clientContent": LiveSession._take_content,
    "realtimeInput": LiveSession._take_input,
    "toolResponse": LiveSession._take_results,
}
_TURN_SETTINGS = ("model", "systemInstruction", "tools")
_SPEECH_SETTINGS = ("responseModalities", "speechConfig", "mediaResolution", "enableAffectiveDialog")


def _make_format(rate: int) -> SampleFormat:
    """Return the format of sound with this many samples a second."""
    return SampleFormat("audio/pcm", rate, width=2, silence=b"\0\0")


def _decode(text: Json) -> bytes:
    """Return the bytes of base64, also of the kind for URLs. Raises Failure."""
    try:
        return b64decode(str(text).replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        raise Failure(
            "bad_parameter", "Invalid value at 'realtime_input.audio.data': Base64 decoding failed."
        ) from None
